// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Segments and references to them (docs/format.md sections 7 and 8). */
#ifndef CODEC_SEGMENT_H
#define CODEC_SEGMENT_H

#include "codec/block.h"
#include "codec/genesis.h"
#include "codec/key.h"

#define REFERENCE_BYTES 64u
#define INDEX_CHILDREN 16u
#define SEGMENT_LEVELS_MAX 16u

typedef struct segment_ref {
    uint64_t first, last; /* steps, last inclusive */
    hash128 hash;
    hash128 sum_before;
    uint64_t bytes;
    uint8_t level;
} segment_ref;

void segment_ref_encode(const segment_ref *ref, buf *out);
void segment_ref_read(wire_reader *r, segment_ref *ref);
/** `next` begins where `ref` ends. */
bool segment_ref_joins(const segment_ref *ref, const segment_ref *next);
void segment_ref_key(const segment_ref *ref, object_key *key);

typedef struct segment {
    uint8_t uuid[UUID_BYTES];
    uint8_t level;
    uint64_t first, last;
    block block;                          /* level 0 */
    segment_ref children[INDEX_CHILDREN]; /* level ≥ 1 */
} segment;

/** Level 0 from an encoded block; index from exactly INDEX_CHILDREN references. `ref` gets
 * everything but is written whole: sum_before is given. */
bw_status segment_encode_block(const uint8_t uuid[UUID_BYTES], uint64_t first, uint32_t records,
                               view block_bytes, const hash128 *sum_before, buf *out,
                               segment_ref *ref);
bw_status segment_encode_index(const uint8_t uuid[UUID_BYTES], const segment_ref *children,
                               buf *out, segment_ref *ref);
/** The object must outlive the segment. */
bw_status segment_decode(view object, uint32_t slices, segment *s, bw_error *error);
/** As above, and it is the object that `ref` names: uuid, hash, bytes, level, first, last.
 * BW_CORRUPT or BW_WRONG_NAMESPACE otherwise. */
bw_status segment_open(view object, const segment_ref *ref, const uint8_t uuid[UUID_BYTES],
                       uint32_t slices, segment *s, bw_error *error);

#endif
