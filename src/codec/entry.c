// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Producer entries (docs/format.md section 9) and the page that keeps those of departed producers
 * (section 12). */
#include "codec/parts.h"

#include "base/alloc.h"
#include <string.h>

#define ENTRY_FINISHED 1u
#define ENTRY_FORGOTTEN 2u
#define ENTRY_STATE_IS_OBJECT 4u
#define ENTRY_FLAGS (ENTRY_FINISHED | ENTRY_FORGOTTEN | ENTRY_STATE_IS_OBJECT)

/* What stands behind the id, the same in each entry. */
enum fixed_part {
    AT_EPOCH = 0,
    AT_FLAGS = 4,
    AT_SLOT = 5,
    AT_TOKEN = 7,
    AT_SEQ = 23,
    AT_OFFSET = 31,
    AT_SWEPT_SEQ = 39,
    AT_SWEPT_OFFSET = 47,
    AT_LAST_PUBLISH = 55,
    AT_LAST_COMMIT = 63,
    FIXED_BYTES = 71
};

static uint8_t flags_of(const producer_entry *e)
{
    return (uint8_t)((e->finished ? ENTRY_FINISHED : 0) | (e->forgotten ? ENTRY_FORGOTTEN : 0) |
                     (e->state_is_object ? ENTRY_STATE_IS_OBJECT : 0));
}

void producer_entry_encode(const producer_entry *e, buf *out)
{
    uint8_t fixed[FIXED_BYTES];
    store_u32(fixed + AT_EPOCH, e->epoch);
    fixed[AT_FLAGS] = flags_of(e);
    store_u16(fixed + AT_SLOT, e->slot_ms);
    memcpy(fixed + AT_TOKEN, e->token.bytes, TOKEN_BYTES);
    store_u64(fixed + AT_SEQ, e->seq);
    store_u64(fixed + AT_OFFSET, e->offset);
    store_u64(fixed + AT_SWEPT_SEQ, e->swept_seq);
    store_u64(fixed + AT_SWEPT_OFFSET, e->swept_offset);
    store_u64(fixed + AT_LAST_PUBLISH, e->last_publish);
    store_u64(fixed + AT_LAST_COMMIT, e->last_commit);
    wire_put_text8(out, e->id);
    buf_put(out, fixed, sizeof fixed);
    if (!e->state_is_object) {
        wire_put_text16(out, e->state);
        return;
    }
    buf_put_u32(out, e->state_ref.epoch);
    buf_put_u64(out, e->state_ref.seq);
    buf_put_u64(out, e->state_ref.nonce);
    buf_put_u32(out, e->state_ref.bytes);
    buf_put(out, e->state_ref.hash.bytes, HASH_BYTES);
}

void producer_entry_read(wire_reader *r, producer_entry *e)
{
    memset(e, 0, sizeof *e);
    e->id = wire_text8(r);
    uint8_t fixed[FIXED_BYTES];
    wire_bytes(r, fixed, sizeof fixed);
    e->epoch = load_u32(fixed + AT_EPOCH);
    const uint8_t flags = fixed[AT_FLAGS];
    e->finished = (flags & ENTRY_FINISHED) != 0;
    e->forgotten = (flags & ENTRY_FORGOTTEN) != 0;
    e->state_is_object = (flags & ENTRY_STATE_IS_OBJECT) != 0;
    e->slot_ms = load_u16(fixed + AT_SLOT);
    memcpy(e->token.bytes, fixed + AT_TOKEN, TOKEN_BYTES);
    e->seq = load_u64(fixed + AT_SEQ);
    e->offset = load_u64(fixed + AT_OFFSET);
    e->swept_seq = load_u64(fixed + AT_SWEPT_SEQ);
    e->swept_offset = load_u64(fixed + AT_SWEPT_OFFSET);
    e->last_publish = load_u64(fixed + AT_LAST_PUBLISH);
    e->last_commit = load_u64(fixed + AT_LAST_COMMIT);
    if (e->state_is_object) {
        e->state_ref.epoch = wire_u32(r);
        e->state_ref.seq = wire_u64(r);
        e->state_ref.nonce = wire_u64(r);
        e->state_ref.bytes = wire_u32(r);
        wire_bytes(r, e->state_ref.hash.bytes, HASH_BYTES);
    } else {
        e->state = wire_text16(r);
    }
    r->failed |= !name_is_valid(e->id) || e->epoch == 0 || e->seq > NUMBER_MAX ||
                 (flags & ~ENTRY_FLAGS) != 0 || e->swept_seq > e->seq ||
                 e->swept_offset > e->offset || (e->seq == 0 && e->offset != 0) ||
                 (e->seq == 0) != (e->last_publish == 0) || e->state.size > STATE_INLINE_MAX;
}

bw_status producer_entries_read(wire_reader *r, uint32_t count, producer_entry **entries,
                                bw_error *error)
{
    *entries = NULL;
    if (count > wire_left(r) / ENTRY_BYTES_MIN)
        return error_set(error, BW_CORRUPT, "producers: %u entries in %zu bytes", count,
                         wire_left(r));
    producer_entry *array = mem_array(count, sizeof *array);
    if (array == NULL)
        return error_set(error, BW_NOMEM, "producers: no memory for %u entries", count);
    for (uint32_t i = 0; i < count; i++) {
        producer_entry_read(r, &array[i]);
        if (r->failed || (i > 0 && view_compare(array[i - 1].id, array[i].id) >= 0)) {
            mem_free(array);
            return error_set(error, BW_CORRUPT, "producers: entry %u breaks the format", i);
        }
    }
    *entries = array;
    return BW_OK;
}

const producer_entry *producer_entries_find(const producer_entry *entries, uint32_t count, view id)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = view_compare(entries[middle].id, id);
        if (order == 0)
            return &entries[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bw_status page_encode(const page *p, buf *out)
{
    const size_t at = object_begin(out, OBJECT_PAGE);
    buf_put(out, p->uuid, UUID_BYTES);
    buf_put_u64(out, p->version);
    buf_put_u32(out, p->count);
    for (uint32_t i = 0; i < p->count; i++)
        producer_entry_encode(&p->entries[i], out);
    object_finish(out, at);
    return buf_status(out);
}

bw_status page_decode(view object, page *p, bw_error *error)
{
    memset(p, 0, sizeof *p);
    view body;
    BW_TRY(object_open(object, OBJECT_PAGE, &body, error));
    wire_reader r;
    wire_open(&r, body);
    wire_bytes(&r, p->uuid, UUID_BYTES);
    p->version = wire_u64(&r);
    p->count = wire_u32(&r);
    BW_TRY(producer_entries_read(&r, p->count, &p->entries, error));
    bool good = p->count > 0 && wire_done(&r);
    for (uint32_t i = 0; i < p->count; i++)
        good &= p->entries[i].finished || p->entries[i].forgotten;
    if (good)
        return BW_OK;
    page_free(p);
    return error_set(error, BW_CORRUPT, "page: empty, or an entry that has not departed");
}

void page_free(page *p)
{
    mem_free(p->entries);
    memset(p, 0, sizeof *p);
}

const producer_entry *page_producer(const page *p, view id)
{
    return producer_entries_find(p->entries, p->count, id);
}
