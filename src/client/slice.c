// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/slice.h"

#include "base/alloc.h"
#include "client/listing.h"
#include "client/slicepool.h"
#include "codec/packing.h"
#include <inttypes.h>

/* To give less than this back costs less than to hand it over. */
#define LATER_BYTES_MIN (32u << 10)
#define PART_MISSING "the part is missing"

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

/* Where mapping is possible, a buffer is for a second look, after bytes were found missing or
 * damaged: what is not there must not cost the memory that a descriptor claims for it. */
static bw_status check_extent(store *s, const char *key, const place *where, bw_error *error)
{
    uint64_t bytes = 0;
    if ((s->features & STORE_CAN_MAP) == 0)
        return BW_OK;
    const bw_status status = listing_size(s, key, &bytes, error);
    if (status == BW_NOT_FOUND)
        return error_set(error, status, PART_MISSING);
    BW_TRY(status);
    if (where->bytes > bytes || where->offset > bytes - where->bytes)
        return error_set(error, BW_CORRUPT,
                         "the part has %" PRIu64 " bytes; %" PRIu64 " at offset %" PRIu64
                         " were asked for",
                         bytes, where->bytes, where->offset);
    return BW_OK;
}

/* What it takes is known now, and read in any case. */
static void reserve(slice_request *r, uint64_t bytes)
{
    if (bytes == r->reserved)
        return;
    if (bytes > r->reserved)
        (void)budget_take(r->budget, bytes - r->reserved, true);
    else
        budget_give(r->budget, r->reserved - bytes);
    r->reserved = bytes;
}

/* Of `bytes` that are reserved; what it is larger is reserved now. */
static slice_buffer take_buffer(slice_request *r, uint64_t bytes)
{
    const slice_buffer one = budget_buffer(r->budget, bytes);
    if (one.data != NULL)
        reserve(r, r->reserved + one.bytes - bytes);
    return one;
}

/* To read exactly `where`: by mapping, or into the buffer, which is made where it is none. */
static bw_status prepare_read(slice_request *r, store *s, const place *where, bool map,
                              slice_read *read, bw_error *error)
{
    object_key key;
    part_key(r, where->part, &key);
    store_op_init(&read->op, map ? STORE_MAP : STORE_READ, key.text);
    read->op.offset = where->offset;
    read->op.length = where->bytes;
    read->made = !map && read->buffer.data == NULL;
    if (read->made) {
        const bw_status fits = check_extent(s, key.text, where, error);
        if (fits != BW_OK)
            return blame(r, key.text, fits, error);
        read->buffer = take_buffer(r, where->bytes);
        if (read->buffer.data == NULL)
            return error_set(error, BW_NOMEM, "no memory for a slice of %" PRIu64 " bytes",
                             where->bytes);
    }
    read->op.dest = read->buffer.data;
    return BW_OK;
}

/* The bytes are where `data` says, or nothing is left of it. */
static bw_status take_answer(const slice_request *r, slice_read *read, bw_error *error)
{
    store_op *op = &read->op;
    bw_status status = BW_OK;
    if (op->outcome == STORE_NOT_FOUND) {
        (void)error_set(error, BW_NOT_FOUND, PART_MISSING);
        status = blame(r, op->key, BW_NOT_FOUND, error);
    } else if (op->outcome != STORE_OK) {
        status = store_op_status(op);
        error_copy(error, &op->error);
        status = blame(r, op->key, status, error);
    } else {
        read->mapping = op->mapping;
        op->mapping = (store_mapping){0};
    }
    read->data = read->mapping.release != NULL ? read->mapping.data : read->buffer.data;
    store_op_clear(op);
    if (status != BW_OK && read->made)
        slice_buffer_free(&read->buffer);
    return status;
}

static void drop_read(slice_read *read)
{
    if (read->mapping.release != NULL)
        store_mapping_release(&read->mapping);
    if (read->made)
        slice_buffer_free(&read->buffer);
}

static bool may_map(const slice_request *r, const store *s)
{
    return r->map && (s->features & STORE_CAN_MAP) != 0;
}

static void give_lent(slice_request *r)
{
    lending_give(r->lent);
    r->lent = NULL;
}

/* Only for steps whose slice lengths are too varied to stand in the descriptor. */
static bw_status place_by_footer(slice_request *r, store *s, bw_error *error)
{
    slice_read read = {0};
    BW_TRY(prepare_read(r, s, &r->plan.footer, may_map(r, s), &read, error));
    (void)store_run(s, &read.op);
    BW_TRY(take_answer(r, &read, error));
    footer f;
    bw_status status = footer_decode(view_of(read.data, (size_t)r->plan.footer.bytes), &f, error);
    if (status == BW_OK) {
        if (f.nonce != r->plan.record.nonce)
            status = error_set(error, BW_CORRUPT, "footer: of another batch");
        else
            status = handout_place(r->handout, &f, &r->plan, error);
        footer_free(&f);
    }
    drop_read(&read);
    if (status != BW_OK) {
        object_key key;
        part_key(r, r->plan.footer.part, &key);
        return blame(r, key.text, status, error);
    }
    r->plan.needs_footer = false;
    if (r->lent != NULL && r->lent->bytes < r->plan.where.bytes)
        give_lent(r);
    if (r->lent == NULL)
        reserve(r, r->plan.where.bytes);
    return BW_OK;
}

static slice *slice_new(const slice_request *r)
{
    const uint32_t items = r->plan.shape.items;
    slice *s = slice_pool_take(r->pool, items);
    if (s == NULL)
        return NULL;
    atomic_init(&s->references, 1u);
    for (uint32_t i = 0; i < items; i++)
        s->handles[i] = (bw_item){.owner = s, .index = i, .order = i, .total = items};
    s->step = r->plan.step;
    s->nonce = r->plan.record.nonce;
    s->tag = r->plan.shape.tag;
    s->tokens = r->plan.shape.tokens;
    s->d = r->plan.slice / r->genesis->cp;
    s->c = r->plan.slice % r->genesis->cp;
    s->items = items;
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

static void drop_frame(slice *s)
{
    if (s->mapping.release != NULL)
        store_mapping_release(&s->mapping);
    slice_buffer_free(&s->buffer);
    s->data = NULL;
}

/* All that it has is one buffer, and that is kept for a next slice. */
static bool keep_buffer(slice *s)
{
    if (s->mapping.release != NULL || s->lent != NULL)
        return false;
    slice_buffer *other = s->buffer.data != NULL ? &s->unpacked : &s->buffer;
    const slice_buffer one = s->buffer.data != NULL ? s->buffer : s->unpacked;
    return other->data == NULL && budget_keep(s->budget, one, s->reserved);
}

static bool release_later(const slice *s, const unmapper_piece *memory)
{
    return s->lent == NULL && s->reserved >= LATER_BYTES_MIN &&
           unmapper_give(budget_unmapper(s->budget), memory);
}

static void slice_destroy(slice *s)
{
    const unmapper_piece memory = {.mapping = s->mapping,
                                   .buffer = s->buffer.data,
                                   .unpacked = s->unpacked.data,
                                   .reserved = s->reserved};
    const bool failed = s->budget == NULL;
    if (failed || (!keep_buffer(s) && !release_later(s, &memory))) {
        unmapper_release(&memory);
        if (!failed)
            budget_give(s->budget, s->reserved);
    }
    budget_unref(s->budget);
    if (s->lent != NULL)
        lending_give(s->lent);
    slice_pool_give(s);
}

static bool is_packed_whole(const slice *s)
{
    for (uint32_t i = 0; i < s->items; i++)
        if (s->frames[i].codec == CODEC_NONE && s->frames[i].stored_bytes > 0)
            return false;
    return true;
}

/* What the frame takes of the budget. */
static uint64_t frame_bytes(const slice_request *r, const slice *s)
{
    return r->lent != NULL ? 0 : s->buffer.data != NULL ? s->buffer.bytes : r->plan.where.bytes;
}

/* Behind the frame in a lent buffer when there is room; else in memory that is ours. */
static uint8_t *room_to_unpack(slice_request *r, slice *s, uint64_t bytes)
{
    const uint64_t behind = align64(r->plan.where.bytes);
    if (r->lent != NULL && behind <= r->lent->bytes && bytes <= r->lent->bytes - behind)
        return r->lent->data + behind;
    reserve(r, frame_bytes(r, s) + bytes + SLICE_SLACK_BYTES);
    s->unpacked = take_buffer(r, bytes);
    return s->unpacked.data;
}

/* Where the plain bytes of each item are: in the frame, or unpacked from it. */
static bw_status find_plain(slice_request *r, slice *s, bw_error *error)
{
    const uint64_t bytes = frame_unpacked_bytes(s->frames, s->items);
    const uint64_t framed = r->plan.where.bytes;
    uint8_t *plain = NULL;
    if (bytes > 0) {
        plain = room_to_unpack(r, s, bytes);
        if (plain == NULL)
            return error_set(error, BW_NOMEM, "no memory to unpack a slice to %" PRIu64 " bytes",
                             bytes);
        const view frame = view_of(s->data, (size_t)framed);
        BW_TRY(frame_unpack(frame, s->frames, s->items, plain, error));
    } else if (r->reserved > frame_bytes(r, s) + SLICE_SLACK_BYTES) { /* more was expected */
        reserve(r, frame_bytes(r, s) + SLICE_SLACK_BYTES);
    }
    if (s->unpacked.data != NULL && is_packed_whole(s)) {
        drop_frame(s);
        if (r->lent != NULL)
            give_lent(r);
        reserve(r, s->unpacked.bytes + SLICE_SLACK_BYTES);
    }
    for (uint32_t i = 0; i < s->items; i++)
        s->handles[i].data = s->frames[i].codec == CODEC_ZSTD ? plain + s->frames[i].unpacked_at
                             : s->data != NULL                ? s->data + s->frames[i].offset
                                                              : plain;
    return BW_OK;
}

bw_status slice_prepare(slice_request *r, store *s, slice_read *read, bw_error *error)
{
    *read = (slice_read){0};
    if (r->plan.needs_footer)
        BW_TRY(place_by_footer(r, s, error));
    if (r->lent != NULL)
        read->buffer = (slice_buffer){.data = r->lent->data, .bytes = r->lent->bytes};
    return prepare_read(r, s, &r->plan.where, r->lent == NULL && may_map(r, s), read, error);
}

bw_status slice_finish(slice_request *r, slice_read *read, slice **out, bw_error *error)
{
    BW_TRY(take_answer(r, read, error));
    /* Only now: the bytes of as many items as are claimed are there. */
    slice *made = slice_new(r);
    if (made == NULL) {
        drop_read(read);
        return error_set(error, BW_NOMEM, "out of memory");
    }
    made->mapping = read->mapping;
    if (read->made)
        made->buffer = read->buffer;
    made->data = read->data;
    bw_status status = check_frame(r, made, error);
    if (status == BW_OK)
        status = find_plain(r, made, error);
    if (status != BW_OK) {
        object_key key;
        part_key(r, r->plan.where.part, &key);
        (void)blame(r, key.text, status, error);
        slice_destroy(made);
        return status;
    }
    made->budget = budget_ref(r->budget);
    made->reserved = r->reserved;
    made->lent = r->lent;
    r->reserved = 0;
    r->lent = NULL;
    *out = made;
    return BW_OK;
}

bw_status slice_fetch(slice_request *r, store *s, slice **out, bw_error *error)
{
    slice_read read;
    BW_TRY(slice_prepare(r, s, &read, error));
    (void)store_run(s, &read.op);
    return slice_finish(r, &read, out, error);
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

const lent_buffer *item_lent(const bw_item *item)
{
    const lent_buffer *lent = item->owner->lent;
    const uintptr_t at = (uintptr_t)item->data;
    /* Of a slice that was packed in part, the rest may lie there alone. */
    return lent != NULL && at - (uintptr_t)lent->data < lent->bytes ? lent : NULL;
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
