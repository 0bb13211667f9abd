// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Descriptors and the block that holds them, in a manifest's tail and in segments alike
 * (docs/format.md section 6). A decoded block is a view: record k is read in O(1) from the bytes.
 */
#ifndef CODEC_BLOCK_H
#define CODEC_BLOCK_H

#include "codec/tgb.h"

#define RECORD_BYTES 40u
#define SHAPE_BYTES 56u
#define BLOCK_RECORDS_MAX 65535u
#define INLINE_BYTES_MAX 1024u

typedef enum shape_form { FORM_UNIFORM = 0, FORM_INLINE = 1, FORM_FOOTER = 2 } shape_form;

typedef struct shape {
    shape_form form;
    item_kind kind;
    uint16_t parts;
    uint32_t items;
    uint32_t footer_bytes;
    /* uniform: framed length; footer: the footer's offset in the last part; inline: 0 */
    uint64_t uniform;
    uint64_t total_bytes;
    uint64_t samples, tokens, tag;
    view side; /* inline: LEB128 lengths; else empty */
} shape;

typedef struct record {
    uint64_t nonce;
    uint64_t start, end; /* the producer's offsets, half-open */
    uint64_t seq;
    uint32_t epoch;
    uint16_t id_index, shape_index;
} record;

/** One TGB on its own. */
typedef struct descriptor {
    view id;
    record record; /* both index fields 0 */
    shape shape;
} descriptor;

typedef struct block {
    view bytes;
    uint32_t slices; /* genesis' dp·cp */
    uint32_t ids, shapes, records;
    const uint8_t *id_ends, *id_bytes, *shape_table, *record_table, *side;
    uint32_t side_bytes;
} block;

/** Full check, about 10 ns a descriptor; `slices` is genesis' dp·cp. The bytes must outlive the
 * block. */
bw_status block_decode(view bytes, uint32_t slices, block *b, bw_error *error);
/** k < records, i < shapes, i < ids. */
void block_record(const block *b, uint32_t k, record *out);
void block_shape(const block *b, uint32_t i, shape *out);
view block_id(const block *b, uint32_t i);
void block_descriptor(const block *b, uint32_t k, descriptor *out);

/** Encodes `base` (NULL: empty) from its record `from` on, followed by `count` descriptors. The
 * encoding depends only on the descriptors' values. BW_TOO_LARGE above the caps. */
bw_status block_encode(const block *base, uint32_t from, const descriptor *more, uint32_t count,
                       buf *out);
/** The most bytes that one more descriptor can add to a block. */
size_t descriptor_bytes_max(const descriptor *d);

/** The cheapest form for these lengths: sets form, uniform and (inline) writes the LEB128 to
 * `side`, which must outlive the shape. For FORM_FOOTER the caller sets `uniform` to the footer's
 * offset. */
bw_status shape_places(shape *s, const uint64_t *lengths, uint32_t slices, buf *side);
/** Where a slice lies, for uniform and inline forms; BW_UNSUPPORTED for FORM_FOOTER (read the
 * footer, then tgb_pack). */
bw_status shape_place(const shape *s, uint32_t slices, uint64_t part_bytes, uint32_t slice,
                      place *out);
/** Where the footer lies, for every form: part = parts − 1. */
bw_status shape_footer(const shape *s, uint32_t slices, uint64_t part_bytes, place *out);

/** The term of `step` (section 6.4). */
bw_status descriptor_term(uint64_t step, const descriptor *d, hash128 *term);
/** Adds the terms of records [from, to) of a block whose first step is `first`. */
bw_status block_add_terms(const block *b, uint64_t first, uint32_t from, uint32_t to, hash128 *sum);

#endif
