// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/slice.h"

#include "base/alloc.h"
#include <inttypes.h>

#define SLICE_ALIGNMENT 64u

uint64_t slice_estimate(const genesis *g, const fetch_plan *plan)
{
    return plan->needs_footer ? plan->shape.total_bytes / genesis_slices(g) : plan->where.bytes;
}

/* The facts that every failure must name. */
static bw_status blame(const slice_request *r, const char *key, bw_status status, bw_error *error)
{
    error_prefix(error, "step %" PRIu64 ", slice %u", r->plan.step, r->plan.slice);
    error_set_key(error, key);
    error_set_step(error, r->plan.step);
    return status;
}

static void part_key(const slice_request *r, uint32_t part, object_key *key)
{
    const record *at = &r->plan.record;
    key_part(key, r->plan.id, at->epoch, at->seq, at->nonce, part);
}

/* Reads exactly `where`: by mapping, or into `*buffer`. */
static bw_status read_place(const slice_request *r, store *s, const place *where, bool map,
                            store_mapping *mapping, uint8_t **buffer, bw_error *error)
{
    object_key key;
    part_key(r, where->part, &key);
    store_op op;
    store_op_init(&op, map ? STORE_MAP : STORE_READ, key.text);
    op.offset = where->offset;
    op.length = where->bytes;
    if (!map) {
        *buffer = mem_aligned(SLICE_ALIGNMENT, (size_t)where->bytes);
        if (*buffer == NULL)
            return error_set(error, BW_NOMEM, "no memory for a slice of %" PRIu64 " bytes",
                             where->bytes);
        op.dest = *buffer;
    }
    bw_status status = BW_OK;
    const store_outcome outcome = store_run(s, &op);
    if (outcome == STORE_OK && map) {
        *mapping = op.mapping;
        op.mapping = (store_mapping){0};
    } else if (outcome == STORE_NOT_FOUND) {
        (void)error_set(error, BW_NOT_FOUND, "the part is missing");
        status = blame(r, key.text, BW_NOT_FOUND, error);
    } else if (outcome != STORE_OK) {
        status = store_op_status(&op);
        error_copy(error, &op.error);
        status = blame(r, key.text, status, error);
    }
    store_op_clear(&op);
    if (status != BW_OK && !map) {
        mem_free(*buffer);
        *buffer = NULL;
    }
    return status;
}

/* Only for steps whose slice lengths are too varied to stand in the descriptor. */
static bw_status place_by_footer(slice_request *r, store *s, bw_error *error)
{
    uint8_t *bytes = NULL;
    BW_TRY(read_place(r, s, &r->plan.footer, false, NULL, &bytes, error));
    footer f;
    bw_status status = footer_decode(view_of(bytes, (size_t)r->plan.footer.bytes), &f, error);
    if (status == BW_OK) {
        if (f.nonce != r->plan.record.nonce)
            status = error_set(error, BW_CORRUPT, "footer: of another batch");
        else
            status = handout_place(r->handout, &f, &r->plan, error);
        footer_free(&f);
    }
    mem_free(bytes);
    if (status != BW_OK) {
        object_key key;
        part_key(r, r->plan.footer.part, &key);
        return blame(r, key.text, status, error);
    }
    r->plan.needs_footer = false;
    const uint64_t bytes_needed = r->plan.where.bytes;
    if (bytes_needed > r->reserved)
        (void)budget_take(r->budget, bytes_needed - r->reserved, true);
    else
        budget_give(r->budget, r->reserved - bytes_needed);
    r->reserved = bytes_needed;
    return BW_OK;
}

static slice *slice_new(const slice_request *r)
{
    const size_t items = r->plan.shape.items;
    slice *s = mem_zalloc(sizeof *s + items * (sizeof(frame_item) + sizeof(bw_item)));
    if (s == NULL)
        return NULL;
    atomic_init(&s->references, 1u);
    s->frames = (frame_item *)(void *)(s + 1);
    s->handles = (bw_item *)(void *)(s->frames + items);
    for (uint32_t i = 0; i < items; i++)
        s->handles[i] = (bw_item){s, i};
    s->step = r->plan.step;
    s->nonce = r->plan.record.nonce;
    s->tag = r->plan.shape.tag;
    s->tokens = r->plan.shape.tokens;
    s->d = r->plan.slice / r->genesis->cp;
    s->c = r->plan.slice % r->genesis->cp;
    s->items = (uint32_t)items;
    s->kind = r->plan.shape.kind;
    return s;
}

static bw_status check_frame(const slice_request *r, slice *s, bw_error *error)
{
    const view bytes = view_of(s->data, (size_t)r->plan.where.bytes);
    const frame_head expected = {
        .nonce = s->nonce,
        .slice = r->plan.slice,
        .items = s->items,
        .framed_bytes = r->plan.where.bytes,
        .kind = s->kind,
    };
    if (r->verify)
        return frame_verify(bytes, &expected, s->frames, s->items, error);
    frame_head head;
    BW_TRY(frame_decode_head(bytes, &head, s->frames, s->items, error));
    if (head.nonce != expected.nonce || head.slice != expected.slice ||
        head.items != expected.items || head.framed_bytes != expected.framed_bytes)
        return error_set(error, BW_CORRUPT, "frame: another slice than the one asked for");
    return BW_OK;
}

static void slice_destroy(slice *s)
{
    if (s->mapping.release != NULL)
        store_mapping_release(&s->mapping);
    mem_free(s->buffer);
    if (s->budget != NULL) {
        budget_give(s->budget, s->reserved);
        budget_unref(s->budget);
    }
    mem_free(s);
}

bw_status slice_fetch(slice_request *r, store *s, slice **out, bw_error *error)
{
    if (r->plan.needs_footer)
        BW_TRY(place_by_footer(r, s, error));
    slice *made = slice_new(r);
    if (made == NULL)
        return error_set(error, BW_NOMEM, "out of memory");
    const bool map = r->map && (s->features & STORE_CAN_MAP) != 0;
    bw_status status = read_place(r, s, &r->plan.where, map, &made->mapping, &made->buffer, error);
    if (status == BW_OK) {
        made->data = map ? made->mapping.data : made->buffer;
        status = check_frame(r, made, error);
        if (status != BW_OK) {
            object_key key;
            part_key(r, r->plan.where.part, &key);
            status = blame(r, key.text, status, error);
        }
    }
    if (status != BW_OK) {
        slice_destroy(made);
        return status;
    }
    made->budget = budget_ref(r->budget);
    made->reserved = r->reserved;
    r->reserved = 0;
    *out = made;
    return BW_OK;
}

void slice_unref(slice *s)
{
    if (s != NULL && atomic_fetch_sub(&s->references, 1u) == 1u)
        slice_destroy(s);
}

bw_item *slice_item(slice *s, uint32_t index)
{
    atomic_fetch_add(&s->references, 1u);
    return &s->handles[index];
}

void item_release(bw_item *item)
{
    if (item != NULL)
        slice_unref(item->owner);
}

const char *kind_name(item_kind kind)
{
    static const char *const names[ITEM_KINDS] = {"raw", "samples", "safetensors"};
    return (unsigned)kind < ITEM_KINDS ? names[kind] : "unknown";
}
