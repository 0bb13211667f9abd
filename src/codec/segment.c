// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/segment.h"

#include "base/mutant.h"

#include <string.h>

#define ZERO_AFTER_LEVEL 7u

/* Every commit reads and writes all references of its manifest: a row at once, not field by field.
 */
void segment_ref_encode(const segment_ref *ref, buf *out)
{
    uint8_t row[REFERENCE_BYTES] = {0};
    store_u64(row, ref->first);
    store_u64(row + 8, ref->last);
    memcpy(row + 16, ref->hash.bytes, HASH_BYTES);
    memcpy(row + 32, ref->sum_before.bytes, HASH_BYTES);
    store_u64(row + 48, ref->bytes);
    row[56] = ref->level;
    buf_put(out, row, sizeof row);
}

void segment_ref_read(wire_reader *r, segment_ref *ref)
{
    static const uint8_t zero[ZERO_AFTER_LEVEL];
    const uint8_t *row = wire_view(r, REFERENCE_BYTES).data;
    if (r->failed) {
        *ref = (segment_ref){0};
        return;
    }
    ref->first = load_u64(row);
    ref->last = load_u64(row + 8);
    memcpy(ref->hash.bytes, row + 16, HASH_BYTES);
    memcpy(ref->sum_before.bytes, row + 32, HASH_BYTES);
    ref->bytes = load_u64(row + 48);
    ref->level = row[56];
    r->failed |= ref->first > ref->last || ref->level >= SEGMENT_LEVELS_MAX ||
                 ref->bytes <= OBJECT_EXTRA_BYTES ||
                 ref->bytes > object_bytes_max(OBJECT_SEGMENT) ||
                 memcmp(row + 57, zero, ZERO_AFTER_LEVEL) != 0;
}

bool segment_ref_joins(const segment_ref *ref, const segment_ref *next)
{
    return next->first > ref->last && next->first - ref->last == 1;
}

void segment_ref_key(const segment_ref *ref, object_key *key)
{
    key_segment(key, ref->first, ref->last, &ref->hash);
}

static size_t begin(const uint8_t uuid[UUID_BYTES], const segment_ref *ref, buf *out)
{
    const size_t at = object_begin(out, OBJECT_SEGMENT);
    buf_put(out, uuid, UUID_BYTES);
    buf_put_u8(out, ref->level);
    buf_put_zero(out, ZERO_AFTER_LEVEL);
    buf_put_u64(out, ref->first);
    buf_put_u64(out, ref->last);
    return at;
}

/* Ends the object and completes its reference. */
static bw_status finish(size_t at, buf *out, segment_ref *ref)
{
    object_finish(out, at);
    BW_TRY(buf_status(out));
    ref->bytes = out->size - at;
    return hash_bytes(out->data + at, out->size - at, &ref->hash);
}

bw_status segment_encode_block(const uint8_t uuid[UUID_BYTES], uint64_t first, uint32_t records,
                               view block_bytes, const hash128 *sum_before, buf *out,
                               segment_ref *ref)
{
    if (records == 0 || first > UINT64_MAX - records)
        return BW_INVALID;
    *ref = (segment_ref){.first = first, .last = first + records - 1, .sum_before = *sum_before};
    const size_t at = begin(uuid, ref, out);
    buf_put(out, block_bytes.data, block_bytes.size);
    return finish(at, out, ref);
}

bw_status segment_encode_index(const uint8_t uuid[UUID_BYTES], const segment_ref *children,
                               buf *out, segment_ref *ref)
{
    if (children[0].level + 1u >= SEGMENT_LEVELS_MAX)
        return BW_INVALID;
    *ref = (segment_ref){
        .first = children[0].first,
        .last = children[INDEX_CHILDREN - 1].last,
        .sum_before = children[0].sum_before,
        .level = (uint8_t)(children[0].level + 1),
    };
    const size_t at = begin(uuid, ref, out);
    for (uint32_t i = 0; i < INDEX_CHILDREN; i++)
        segment_ref_encode(&children[i], out);
    return finish(at, out, ref);
}

static bw_status read_children(wire_reader *r, segment *s, bw_error *error)
{
    for (uint32_t i = 0; i < INDEX_CHILDREN; i++) {
        segment_ref *child = &s->children[i];
        segment_ref_read(r, child);
        const bool placed =
            i == 0 ? child->first == s->first : segment_ref_joins(&s->children[i - 1], child);
        r->failed |= child->level + 1u != s->level || !placed;
    }
    if (!wire_done(r) || s->children[INDEX_CHILDREN - 1].last != s->last)
        return error_set(error, BW_CORRUPT, "segment: not %u contiguous references one level down",
                         INDEX_CHILDREN);
    return BW_OK;
}

bw_status segment_decode(view object, uint32_t slices, segment *s, bw_error *error)
{
    memset(s, 0, sizeof *s);
    view body;
    BW_TRY(object_open(object, OBJECT_SEGMENT, &body, error));
    wire_reader r;
    wire_open(&r, body);
    wire_bytes(&r, s->uuid, UUID_BYTES);
    s->level = wire_u8(&r);
    wire_zero(&r, ZERO_AFTER_LEVEL);
    s->first = wire_u64(&r);
    s->last = wire_u64(&r);
    if (r.failed || s->level >= SEGMENT_LEVELS_MAX || s->first > s->last)
        return error_set(error, BW_CORRUPT, "segment: the first fields break the format");
    if (s->level > 0)
        return read_children(&r, s, error);
    BW_TRY(block_decode(wire_view(&r, wire_left(&r)), slices, &s->block, error));
    if (s->block.records == 0 || s->block.records - 1 != s->last - s->first)
        return error_set(error, BW_CORRUPT, "segment: %u descriptors for steps %llu to %llu",
                         s->block.records, (unsigned long long)s->first,
                         (unsigned long long)s->last);
    return BW_OK;
}

bw_status segment_open(view object, const segment_ref *ref, const uint8_t uuid[UUID_BYTES],
                       uint32_t slices, segment *s, bw_error *error)
{
    BW_TRY(segment_decode(object, slices, s, error));
    if (memcmp(s->uuid, uuid, UUID_BYTES) != 0)
        return error_set(error, BW_WRONG_NAMESPACE, "segment: of another namespace");
    hash128 hash;
    if (hash_bytes(object.data, object.size, &hash) != BW_OK)
        return error_set(error, BW_NOMEM, "segment: no memory to hash it");
    if ((!hash_equal(&hash, &ref->hash) && !MUTANT(segment_hash_unchecked)) ||
        object.size != ref->bytes || s->level != ref->level || s->first != ref->first ||
        s->last != ref->last)
        return error_set(error, BW_CORRUPT, "segment: not the object that the reference names");
    return BW_OK;
}
