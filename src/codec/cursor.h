// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The cursor of a training job: the next item to hand out (docs/format.md section 14). */
#ifndef CODEC_CURSOR_H
#define CODEC_CURSOR_H

#include "codec/segment.h"

#define SKIPS_MAX 1024u
#define TAGS_MAX 64u
#define WAY_MAX 4u

typedef enum cursor_mode { MODE_SAME_BATCH = 0, MODE_SCALE_BATCH = 1 } cursor_mode;

typedef struct skip_range {
    uint64_t first, end;
} skip_range;

/** Tags from `first` up to `last`, inclusive; TAG_ANY: without an end. */
typedef struct tag_range {
    uint64_t first, last;
} tag_range;
#define TAG_ANY UINT64_MAX

/** Plain data; `skips` and `tags` are owned (cursor_free). */
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
    uint32_t tag_count; /* 0: steps of all tags are read; else only those of a range */
    tag_range *tags;
    /* Advisory: what leads to the next step below a reference of manifest `version`, from the top
     * down to the segment of level 0; without sums. 0: it has the step in its tail, or in a segment
     * of its own, or nobody knows. */
    uint32_t way_count;
    segment_ref way[WAY_MAX];
} cursor;

/** Appends the canonical JSON. */
bw_status cursor_encode(const cursor *c, buf *out);
/** BW_CURSOR_INVALID says where; never more memory than a small multiple of the text. */
bw_status cursor_decode(view json, cursor *c, bw_error *error);
bw_status cursor_copy(cursor *to, const cursor *from);
void cursor_free(cursor *c);
/** Leaves out steps [first, end) too. BW_CURSOR_INVALID when that are more ranges than a cursor
 * has; then, and without memory, nothing is changed. */
bw_status cursor_skip(cursor *c, uint64_t first, uint64_t end);
/** `5`, `5-9`, `20-` (no end), separated by commas, ascending and apart; `all`: none, which is
 * every tag. False: not such a text, or more than TAGS_MAX. */
bool tags_parse(const char *text, tag_range tags[TAGS_MAX], uint32_t *count);
bool tag_is_wanted(const tag_range *tags, uint32_t count, uint64_t tag);
bool cursor_equal(const cursor *a, const cursor *b);
bw_status cursor_hash(const cursor *c, hash128 *out);

#endif
