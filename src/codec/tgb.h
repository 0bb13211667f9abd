// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Where slices lie in the parts of a TGB (docs/format.md 5.1), and its footer (5.4). Pure. */
#ifndef CODEC_TGB_H
#define CODEC_TGB_H

#include "codec/frame.h"

#define PARTS_MAX 65535u
#define TGB_BYTES_MAX (1ull << 50)
#define FOOTER_BYTES_MAX (16u << 20)
#define METADATA_BYTES_MAX (1u << 20)

typedef struct place {
    uint32_t part;
    uint64_t offset;
    uint64_t bytes;
} place;

typedef struct tgb_extent {
    uint32_t parts;         /* of slices and footer together */
    uint64_t footer_offset; /* in the last part */
    uint64_t total_bytes;   /* all parts, with the footer */
} tgb_extent;

/** Places of all slices from their framed lengths. `places` has room for `slices` (NULL: only the
 * extent). BW_TOO_LARGE beyond the caps. */
bw_status tgb_pack(const uint64_t *lengths, uint32_t slices, uint64_t part_bytes,
                   uint64_t footer_bytes, place *places, tgb_extent *extent);
/** Place of one slice when all have the same length: O(1). */
void tgb_place_uniform(uint64_t length, uint64_t part_bytes, uint32_t slice, place *out);

typedef struct footer_slice {
    uint64_t framed_bytes;
    uint32_t items_set; /* items that are no pad */
    uint32_t sample_count;
    const view *samples; /* encode: the ids; decode: NULL, see footer_sample */
} footer_slice;

typedef struct footer {
    uint64_t nonce;
    uint32_t dp, cp, items;
    item_kind kind;
    view media_type;
    view metadata;
    uint32_t slice_count;
    footer_slice *slices; /* encode: the caller's; decode: owned, release with footer_free */
    view body;            /* decode: the object's body, which must outlive the footer */
    uint64_t *samples_at; /* decode: offset of each slice's ids in `body` */
} footer;

bw_status footer_encode(const footer *f, buf *out);
bw_status footer_decode(view object, footer *f, bw_error *error);
void footer_free(footer *f);
/** Calls back for each sample id of a slice; stops at the first non-zero answer and returns it. */
int footer_samples(const footer *f, uint32_t slice, int (*each)(void *context, view id),
                   void *context);

#endif
