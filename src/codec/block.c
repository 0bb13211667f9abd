// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/block.h"

#include "codec/dedupe.h"
#include "codec/key.h"
#include "codec/shape.h"
#include <string.h>

#define RECORD_AT_START 8u
#define RECORD_AT_END 16u
#define RECORD_AT_SEQ 24u
#define RECORD_AT_EPOCH 32u
#define RECORD_AT_ID 36u
#define RECORD_AT_SHAPE 38u

static const uint8_t *shape_row(const block *b, uint32_t i)
{
    return b->shape_table + (size_t)SHAPE_BYTES * i;
}

static const uint8_t *record_row(const block *b, uint32_t k)
{
    return b->record_table + (size_t)RECORD_BYTES * k;
}

view block_id(const block *b, uint32_t i)
{
    const uint32_t from = i == 0 ? 0 : load_u32(b->id_ends + 4 * (size_t)(i - 1));
    const uint32_t end = load_u32(b->id_ends + 4 * (size_t)i);
    return view_of(b->id_bytes + from, end - from);
}

/* The bytes that the inline lengths of all slices take; checked by block_decode. */
static uint32_t inline_bytes(const block *b, uint32_t at)
{
    uint32_t end = at;
    for (uint32_t lengths = 0; lengths < b->slices && end < b->side_bytes; end++)
        lengths += (b->side[end] & 0x80) == 0;
    return end - at;
}

void block_shape(const block *b, uint32_t i, shape *out)
{
    uint32_t side_at;
    shape_load(shape_row(b, i), out, &side_at);
    if (out->form == FORM_INLINE)
        out->side = view_of(b->side + side_at, inline_bytes(b, side_at));
}

void record_store(const record *r, uint16_t id_index, uint16_t shape_index,
                  uint8_t row[RECORD_BYTES])
{
    store_u64(row, r->nonce);
    store_u64(row + RECORD_AT_START, r->start);
    store_u64(row + RECORD_AT_END, r->end);
    store_u64(row + RECORD_AT_SEQ, r->seq);
    store_u32(row + RECORD_AT_EPOCH, r->epoch);
    store_u16(row + RECORD_AT_ID, id_index);
    store_u16(row + RECORD_AT_SHAPE, shape_index);
}

void block_record(const block *b, uint32_t k, record *out)
{
    const uint8_t *row = record_row(b, k);
    *out = (record){
        .nonce = load_u64(row),
        .start = load_u64(row + RECORD_AT_START),
        .end = load_u64(row + RECORD_AT_END),
        .seq = load_u64(row + RECORD_AT_SEQ),
        .epoch = load_u32(row + RECORD_AT_EPOCH),
        .id_index = load_u16(row + RECORD_AT_ID),
        .shape_index = load_u16(row + RECORD_AT_SHAPE),
    };
}

void block_descriptor(const block *b, uint32_t k, descriptor *out)
{
    block_record(b, k, &out->record);
    out->id = block_id(b, out->record.id_index);
    block_shape(b, out->record.shape_index, &out->shape);
    out->record.id_index = 0;
    out->record.shape_index = 0;
}

static bool same_ids(const void *context, uint32_t a, uint32_t b)
{
    return view_equal(block_id(context, a), block_id(context, b));
}

static bool same_shapes(const void *context, uint32_t a, uint32_t b)
{
    const block *all = context;
    uint8_t rows[2][SHAPE_BYTES];
    memcpy(rows[0], shape_row(all, a), SHAPE_BYTES);
    memcpy(rows[1], shape_row(all, b), SHAPE_BYTES);
    store_u32(rows[0] + SHAPE_AT_SIDE, 0);
    store_u32(rows[1] + SHAPE_AT_SIDE, 0);
    shape first, second;
    block_shape(all, a, &first);
    block_shape(all, b, &second);
    return memcmp(rows[0], rows[1], SHAPE_BYTES) == 0 && view_equal(first.side, second.side);
}

static bw_status check_ids(const block *b, uint32_t id_bytes, dedupe *seen, bw_error *error)
{
    uint32_t from = 0;
    for (uint32_t i = 0; i < b->ids; i++) {
        const uint32_t end = load_u32(b->id_ends + 4 * (size_t)i);
        if (end <= from || end > id_bytes)
            return error_set(error, BW_CORRUPT, "block: id %u ends where it must not", i);
        const view id = view_of(b->id_bytes + from, end - from);
        if (!name_is_valid(id))
            return error_set(error, BW_CORRUPT, "block: id %u is no name", i);
        if (dedupe_add(seen, dedupe_hash(0, id.data, id.size), i, same_ids, b) != i)
            return error_set(error, BW_CORRUPT, "block: id %u stands twice", i);
        from = end;
    }
    if (from != id_bytes)
        return error_set(error, BW_CORRUPT, "block: bytes after the last id");
    return BW_OK;
}

static bw_status check_shapes(const block *b, dedupe *seen, bw_error *error)
{
    wire_reader side;
    wire_open(&side, view_of(b->side, b->side_bytes));
    for (uint32_t i = 0; i < b->shapes; i++) {
        const uint8_t *row = shape_row(b, i);
        const uint32_t side_used = b->side_bytes - (uint32_t)wire_left(&side);
        shape s;
        uint32_t side_at;
        shape_load(row, &s, &side_at);
        const char *fault = shape_fault(&s);
        if (fault == NULL && side_at != (s.form == FORM_INLINE ? side_used : 0))
            fault = "side bytes out of order";
        if (fault == NULL)
            fault = shape_fault_places(&s, b->slices, &side);
        if (fault != NULL)
            return error_set(error, BW_CORRUPT, "block: shape %u: %s", i, fault);
        if (dedupe_add(seen, shape_hash(row, s.side), i, same_shapes, b) != i)
            return error_set(error, BW_CORRUPT, "block: shape %u stands twice", i);
    }
    if (wire_left(&side) != 0)
        return error_set(error, BW_CORRUPT, "block: side bytes that no shape uses");
    return BW_OK;
}

static bw_status check_records(const block *b, bw_error *error)
{
    uint32_t next_id = 0, next_shape = 0;
    for (uint32_t k = 0; k < b->records; k++) {
        record r;
        block_record(b, k, &r);
        /* In order of first use: an index is one seen before or the next new one. */
        const bool in_order = r.id_index <= next_id && r.shape_index <= next_shape;
        next_id += r.id_index == next_id;
        next_shape += r.shape_index == next_shape;
        if (!in_order || next_id > b->ids || next_shape > b->shapes)
            return error_set(error, BW_CORRUPT, "block: record %u uses an index out of order", k);
        if (r.start > r.end || r.seq == 0 || r.epoch == 0)
            return error_set(error, BW_CORRUPT, "block: record %u has values out of range", k);
    }
    if (next_id != b->ids || next_shape != b->shapes)
        return error_set(error, BW_CORRUPT, "block: an id or a shape that no record uses");
    return BW_OK;
}

/* Where the tables lie; BW_CORRUPT when the counts do not fill the bytes exactly. */
static bw_status lay_out(view bytes, block *b, uint32_t *id_bytes, bw_error *error)
{
    wire_reader r;
    wire_open(&r, bytes);
    b->bytes = bytes;
    b->ids = wire_u32(&r);
    b->shapes = wire_u32(&r);
    b->records = wire_u32(&r);
    *id_bytes = wire_u32(&r);
    b->side_bytes = wire_u32(&r);
    const uint64_t need = 4 * (uint64_t)b->ids + *id_bytes + SHAPE_BYTES * (uint64_t)b->shapes +
                          RECORD_BYTES * (uint64_t)b->records + b->side_bytes;
    if (r.failed || need != wire_left(&r))
        return error_set(error, BW_CORRUPT, "block: the tables do not fill the %zu bytes",
                         bytes.size);
    if (b->records > BLOCK_RECORDS_MAX || b->ids > b->records || b->shapes > b->records)
        return error_set(error, BW_CORRUPT, "block: %u records with %u ids and %u shapes",
                         b->records, b->ids, b->shapes);
    b->id_ends = r.at;
    b->id_bytes = b->id_ends + 4 * (size_t)b->ids;
    b->shape_table = b->id_bytes + *id_bytes;
    b->record_table = b->shape_table + (size_t)SHAPE_BYTES * b->shapes;
    b->side = b->record_table + (size_t)RECORD_BYTES * b->records;
    return BW_OK;
}

bw_status block_decode(view bytes, uint32_t slices, block *b, bw_error *error)
{
    *b = (block){.slices = slices};
    uint32_t id_bytes;
    BW_TRY(lay_out(bytes, b, &id_bytes, error));
    BW_TRY(check_records(b, error));
    dedupe ids = {NULL, 0}, shapes = {NULL, 0};
    bw_status status;
    if (dedupe_init(&ids, b->ids) != BW_OK || dedupe_init(&shapes, b->shapes) != BW_OK)
        status = error_set(error, BW_NOMEM, "block: no memory to check %u ids", b->ids);
    else
        status = check_ids(b, id_bytes, &ids, error);
    if (status == BW_OK)
        status = check_shapes(b, &shapes, error);
    dedupe_free(&shapes);
    dedupe_free(&ids);
    return status;
}

bw_status descriptor_term(uint64_t step, const descriptor *d, hash128 *term)
{
    uint8_t bytes[8 + 1 + NAME_MAX_BYTES + RECORD_BYTES + SHAPE_BYTES + INLINE_BYTES_MAX];
    if (d->id.size > NAME_MAX_BYTES || d->shape.side.size > INLINE_BYTES_MAX)
        return BW_TOO_LARGE;
    uint8_t *at = bytes;
    store_u64(at, step);
    at[8] = (uint8_t)d->id.size;
    at += 9;
    if (d->id.size > 0)
        memcpy(at, d->id.data, d->id.size);
    at += d->id.size;
    record_store(&d->record, 0, 0, at);
    at += RECORD_BYTES;
    shape_store(&d->shape, 0, at);
    at += SHAPE_BYTES;
    if (d->shape.side.size > 0)
        memcpy(at, d->shape.side.data, d->shape.side.size);
    at += d->shape.side.size;
    return hash_bytes(bytes, (size_t)(at - bytes), term);
}

bw_status block_add_terms(const block *b, uint64_t first, uint32_t from, uint32_t to, hash128 *sum)
{
    for (uint32_t k = from; k < to; k++) {
        descriptor d;
        hash128 term;
        block_descriptor(b, k, &d);
        BW_TRY(descriptor_term(first + k, &d, &term));
        hash_add(sum, &term);
    }
    return BW_OK;
}
