// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "block_walk.h"
#include "fuzz.h"

#include "base/alloc.h"
#include "codec/segment.h"
#include <string.h>

static bw_status decode(view object, uint32_t slices, void *decoded, bw_error *error)
{
    return segment_decode(object, slices, decoded, error);
}

static bw_status encode_again(const segment *s, buf *out, segment_ref *ref)
{
    static const hash128 sum = {{1, 2, 3}};
    if (s->level > 0)
        return segment_encode_index(s->uuid, s->children, out, ref);
    return segment_encode_block(s->uuid, s->first, s->block.records, s->block.bytes, &sum, out,
                                ref);
}

/* The reference that encoding gave opens the object; one that differs anywhere does not. */
static void check_reference(const segment *s, view object, const segment_ref *ref)
{
    const uint32_t slices = s->block.slices;
    segment again;
    PROMISE(segment_open(object, ref, s->uuid, slices, &again, NULL) == BW_OK);
    segment_ref wrong[5] = {*ref, *ref, *ref, *ref, *ref};
    wrong[0].hash.bytes[7] ^= 1;
    wrong[1].bytes++;
    wrong[2].level ^= 1;
    wrong[3].first++;
    wrong[4].last++;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        PROMISE(segment_open(object, &wrong[i], s->uuid, slices, &again, NULL) == BW_CORRUPT);
    uint8_t other[UUID_BYTES];
    memcpy(other, s->uuid, UUID_BYTES);
    other[0] ^= 1;
    PROMISE(segment_open(object, ref, other, slices, &again, NULL) == BW_WRONG_NAMESPACE);
}

static bw_status encode(const void *decoded, buf *out)
{
    const segment *s = decoded;
    segment_ref ref;
    const bw_status status = encode_again(s, out, &ref);
    if (status == BW_OK && ref.first == s->first && ref.last == s->last)
        check_reference(s, view_of(out->data, out->size), &ref);
    return status;
}

static void walk(const void *decoded)
{
    const segment *s = decoded;
    if (s->level == 0)
        block_walk(&s->block);
    for (uint32_t i = 1; s->level > 0 && i < INDEX_CHILDREN; i++)
        PROMISE(segment_ref_joins(&s->children[i - 1], &s->children[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const object_case segment_case = {.decode = decode, .encode = encode, .walk = walk};
    object_try(&segment_case, data, size);
    return 0;
}
