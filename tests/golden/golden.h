// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Golden objects: each is built from fixed values, decoded into JSON for people and for the
 * independent decoder, and encoded again from what was decoded.
 */
#ifndef GOLDEN_GOLDEN_H
#define GOLDEN_GOLDEN_H

#include "codec/cursor.h"
#include "codec/fold.h"
#include "codec/small.h"
#include <jansson.h>

/* Of the namespace that all objects but the TGB's belong to. 512 slices: two bytes each are just
 * inline. */
#define GOLDEN_DP 32u
#define GOLDEN_CP 16u
#define GOLDEN_SLICES (GOLDEN_DP * GOLDEN_CP)
#define GOLDEN_PART_BYTES ((uint64_t)1 << 20)

/* Of the TGBs whose parts are stored: 2 × 2 slices in parts of 4 KiB. */
#define GOLDEN_TGB_DP 2u
#define GOLDEN_TGB_CP 2u
#define GOLDEN_TGB_PART_BYTES 4096u

typedef struct golden {
    const char *name; /* of NAME.bin and NAME.json */
    void (*build)(buf *out);
    json_t *(*dump)(view object);
    void (*again)(view object, buf *out);
} golden;

/* In golden_build.c */
void build_genesis(buf *out);
void build_genesis_plain(buf *out);
void build_manifest_first(buf *out);
void build_manifest_full(buf *out);
void build_segment_block(buf *out);
void build_segment_index(buf *out);
void build_page(buf *out);
void build_marker(buf *out);
void build_hint(buf *out);
void build_state(buf *out);
void build_cursor(buf *out);
void build_cursor_skips(buf *out);
void build_cursor_tags(buf *out);
void build_cursor_way(buf *out);

/* In golden_tgb.c: part `part` of a TGB of raw items, and of one of samples. */
void build_tgb_raw_0(buf *out);
void build_tgb_raw_1(buf *out);
void build_tgb_samples_0(buf *out);
void build_tgb_zstd_0(buf *out);
json_t *dump_tgb_raw_0(view object);
json_t *dump_tgb_raw_1(view object);
json_t *dump_tgb_samples_0(view object);
json_t *dump_tgb_zstd_0(view object);
void again_tgb_raw_0(view object, buf *out);
void again_tgb_raw_1(view object, buf *out);
void again_tgb_samples_0(view object, buf *out);
void again_tgb_zstd_0(view object, buf *out);

/* In golden_dump.c */
json_t *dump_genesis(view object);
json_t *dump_manifest(view object);
json_t *dump_segment(view object);
json_t *dump_page(view object);
json_t *dump_marker(view object);
json_t *dump_hint(view object);
json_t *dump_state(view object);
json_t *dump_cursor(view object);
void again_genesis(view object, buf *out);
void again_manifest(view object, buf *out);
void again_segment(view object, buf *out);
void again_page(view object, buf *out);
void again_marker(view object, buf *out);
void again_hint(view object, buf *out);
void again_state(view object, buf *out);
void again_cursor(view object, buf *out);

void put_number(json_t *to, const char *key, uint64_t value);
void put_hex(json_t *to, const char *key, const void *bytes, size_t size);
void put_nonce(json_t *to, const char *key, uint64_t nonce);
void put_text(json_t *to, const char *key, view text);
/** Ends the program with a message: nothing of this may fail. */
void must(bool ok, const char *what);

#endif
