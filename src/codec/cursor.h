// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The cursor of a training job: the next item to hand out (docs/format.md section 14). */
#ifndef CODEC_CURSOR_H
#define CODEC_CURSOR_H

#include "codec/genesis.h"

#define SKIPS_MAX 1024u

typedef enum cursor_mode { MODE_SAME_BATCH = 0, MODE_SCALE_BATCH = 1 } cursor_mode;

typedef struct skip_range {
    uint64_t first, end;
} skip_range;

/** Plain data; `skips` is owned (cursor_free). */
typedef struct cursor {
    uint8_t uuid[UUID_BYTES];
    uint64_t step;
    uint32_t item; /* handed out of this step by one rank, in its own order */
    cursor_mode mode;
    uint32_t dp;
    bool has_nonce;
    /* of the step last handed out from: this one when item > 0, else the one before */
    uint64_t nonce;
    uint64_t version; /* advisory */
    uint32_t skip_count;
    skip_range *skips;
} cursor;

/** Appends the canonical JSON. */
bw_status cursor_encode(const cursor *c, buf *out);
/** BW_CURSOR_INVALID says where; never more memory than a small multiple of the text. */
bw_status cursor_decode(view json, cursor *c, bw_error *error);
bw_status cursor_copy(cursor *to, const cursor *from);
void cursor_free(cursor *c);
bool cursor_equal(const cursor *a, const cursor *b);
bw_status cursor_hash(const cursor *c, hash128 *out);

#endif
