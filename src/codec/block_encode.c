// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Encoding a block: gather what the records use in the order of first use, then write the tables.
 * */
#include "codec/block.h"

#include "base/alloc.h"
#include "codec/dedupe.h"
#include "codec/key.h"
#include "codec/shape.h"
#include <string.h>

#define UNSEEN UINT32_MAX

typedef struct shape_entry {
    uint8_t row[SHAPE_BYTES]; /* side offset 0 */
    view side;
} shape_entry;

typedef struct gather {
    view *ids;
    shape_entry *shapes;
    uint8_t *records;
    uint32_t id_count, shape_count, record_count;
    size_t id_bytes, side_bytes;
    dedupe seen_ids, seen_shapes;
    uint32_t *from_base; /* new index of the base's ids, then of its shapes; UNSEEN */
} gather;

static bool equal_ids(const void *context, uint32_t a, uint32_t b)
{
    const gather *g = context;
    return view_equal(g->ids[a], g->ids[b]);
}

static bool equal_shapes(const void *context, uint32_t a, uint32_t b)
{
    const shape_entry *x = &((const gather *)context)->shapes[a];
    const shape_entry *y = &((const gather *)context)->shapes[b];
    return memcmp(x->row, y->row, SHAPE_BYTES) == 0 && view_equal(x->side, y->side);
}

static uint32_t add_id(gather *g, view id)
{
    g->ids[g->id_count] = id;
    const uint32_t hash = dedupe_hash(0, id.data, id.size);
    const uint32_t index = dedupe_add(&g->seen_ids, hash, g->id_count, equal_ids, g);
    if (index == g->id_count) {
        g->id_count++;
        g->id_bytes += id.size;
    }
    return index;
}

static uint32_t add_shape(gather *g, const shape *s)
{
    shape_entry *entry = &g->shapes[g->shape_count];
    shape_store(s, 0, entry->row);
    entry->side = s->side;
    const uint32_t hash = shape_hash(entry->row, s->side);
    const uint32_t index = dedupe_add(&g->seen_shapes, hash, g->shape_count, equal_shapes, g);
    if (index == g->shape_count) {
        g->shape_count++;
        g->side_bytes += s->side.size;
    }
    return index;
}

static void add_record(gather *g, const record *r, uint32_t id, uint32_t shape_index)
{
    record_store(r, (uint16_t)id, (uint16_t)shape_index,
                 g->records + (size_t)RECORD_BYTES * g->record_count++);
}

/* The ids and shapes of the base are distinct already: each is looked up once, not per record. */
static void add_base(gather *g, const block *base, uint32_t from)
{
    uint32_t *ids = g->from_base;
    uint32_t *shapes = g->from_base + base->ids;
    for (uint32_t i = 0; i < base->ids + base->shapes; i++)
        g->from_base[i] = UNSEEN;
    for (uint32_t k = from; k < base->records; k++) {
        record r;
        block_record(base, k, &r);
        if (ids[r.id_index] == UNSEEN)
            ids[r.id_index] = add_id(g, block_id(base, r.id_index));
        if (shapes[r.shape_index] == UNSEEN) {
            shape s;
            block_shape(base, r.shape_index, &s);
            shapes[r.shape_index] = add_shape(g, &s);
        }
        add_record(g, &r, ids[r.id_index], shapes[r.shape_index]);
    }
}

static bw_status add_descriptor(gather *g, const descriptor *d)
{
    const record *r = &d->record;
    if (!name_is_valid(d->id) || r->start > r->end || r->seq == 0 || r->epoch == 0 ||
        shape_fault(&d->shape) != NULL || d->shape.side.size > INLINE_BYTES_MAX ||
        (d->shape.form == FORM_INLINE) != (d->shape.side.size > 0))
        return BW_INVALID;
    const uint32_t id = add_id(g, d->id);
    add_record(g, r, id, add_shape(g, &d->shape));
    return BW_OK;
}

static void write_tables(const gather *g, buf *out)
{
    buf_put_u32(out, g->id_count);
    buf_put_u32(out, g->shape_count);
    buf_put_u32(out, g->record_count);
    buf_put_u32(out, (uint32_t)g->id_bytes);
    buf_put_u32(out, (uint32_t)g->side_bytes);
    size_t end = 0;
    for (uint32_t i = 0; i < g->id_count; i++) {
        end += g->ids[i].size;
        buf_put_u32(out, (uint32_t)end);
    }
    for (uint32_t i = 0; i < g->id_count; i++)
        buf_put(out, g->ids[i].data, g->ids[i].size);
    size_t side_at = 0;
    for (uint32_t i = 0; i < g->shape_count; i++) {
        const shape_entry *entry = &g->shapes[i];
        if (entry->side.size > 0)
            store_u32(g->shapes[i].row + SHAPE_AT_SIDE, (uint32_t)side_at);
        side_at += entry->side.size;
        buf_put(out, entry->row, SHAPE_BYTES);
    }
    buf_put(out, g->records, (size_t)RECORD_BYTES * g->record_count);
    for (uint32_t i = 0; i < g->shape_count; i++)
        buf_put(out, g->shapes[i].side.data, g->shapes[i].side.size);
}

/* One more than can be used: an entry is put down before it is looked up. */
static bw_status gather_init(gather *g, const block *base, uint32_t records, uint32_t count)
{
    *g = (gather){.ids = NULL};
    const uint32_t base_ids = base != NULL ? base->ids : 0;
    const uint32_t base_shapes = base != NULL ? base->shapes : 0;
    g->ids = mem_array((size_t)base_ids + count + 1, sizeof *g->ids);
    g->shapes = mem_array((size_t)base_shapes + count + 1, sizeof *g->shapes);
    g->records = mem_alloc((size_t)RECORD_BYTES * records);
    g->from_base = mem_array((size_t)base_ids + base_shapes, sizeof *g->from_base);
    if (g->ids == NULL || g->shapes == NULL || g->records == NULL || g->from_base == NULL ||
        dedupe_init(&g->seen_ids, base_ids + count) != BW_OK ||
        dedupe_init(&g->seen_shapes, base_shapes + count) != BW_OK)
        return BW_NOMEM;
    return BW_OK;
}

static void gather_free(gather *g)
{
    mem_free(g->ids);
    mem_free(g->shapes);
    mem_free(g->records);
    mem_free(g->from_base);
    dedupe_free(&g->seen_ids);
    dedupe_free(&g->seen_shapes);
}

bw_status block_encode(const block *base, uint32_t from, const descriptor *more, uint32_t count,
                       buf *out)
{
    const uint32_t kept = base != NULL && from < base->records ? base->records - from : 0;
    if (count > BLOCK_RECORDS_MAX || kept + count > BLOCK_RECORDS_MAX)
        return BW_TOO_LARGE;
    gather g;
    bw_status status = gather_init(&g, base, kept + count, count);
    if (status == BW_OK && kept > 0)
        add_base(&g, base, from);
    for (uint32_t i = 0; i < count && status == BW_OK; i++)
        status = add_descriptor(&g, &more[i]);
    if (status == BW_OK) {
        write_tables(&g, out);
        status = buf_status(out);
    }
    gather_free(&g);
    return status;
}

size_t descriptor_bytes_max(const descriptor *d)
{
    return 4 + d->id.size + SHAPE_BYTES + RECORD_BYTES + d->shape.side.size;
}
