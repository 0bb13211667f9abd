// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/shape.h"

#include "base/mutant.h"
#include "codec/dedupe.h"
#include "codec/genesis.h"

#define AT_KIND 1u
#define AT_PARTS 2u
#define AT_ITEMS 4u
#define AT_FOOTER_BYTES 8u
#define AT_UNIFORM 16u
#define AT_TOTAL 24u
#define AT_SAMPLES 32u
#define AT_TOKENS 40u
#define AT_TAG 48u

void shape_store(const shape *s, uint32_t side_at, uint8_t row[SHAPE_BYTES])
{
    row[0] = (uint8_t)s->form;
    row[AT_KIND] = (uint8_t)s->kind;
    store_u16(row + AT_PARTS, s->parts);
    store_u32(row + AT_ITEMS, s->items);
    store_u32(row + AT_FOOTER_BYTES, s->footer_bytes);
    store_u32(row + SHAPE_AT_SIDE, side_at);
    store_u64(row + AT_UNIFORM, s->uniform);
    store_u64(row + AT_TOTAL, s->total_bytes);
    store_u64(row + AT_SAMPLES, s->samples);
    store_u64(row + AT_TOKENS, s->tokens);
    store_u64(row + AT_TAG, s->tag);
}

void shape_load(const uint8_t *row, shape *s, uint32_t *side_at)
{
    *s = (shape){
        .form = (shape_form)row[0],
        .kind = (item_kind)row[AT_KIND],
        .parts = load_u16(row + AT_PARTS),
        .items = load_u32(row + AT_ITEMS),
        .footer_bytes = load_u32(row + AT_FOOTER_BYTES),
        .uniform = load_u64(row + AT_UNIFORM),
        .total_bytes = load_u64(row + AT_TOTAL),
        .samples = load_u64(row + AT_SAMPLES),
        .tokens = load_u64(row + AT_TOKENS),
        .tag = load_u64(row + AT_TAG),
    };
    *side_at = load_u32(row + SHAPE_AT_SIDE);
}

static uint64_t mix(uint64_t word, uint64_t factor)
{
    return (word ^ word >> 32) * factor;
}

uint32_t shape_hash(const uint8_t *row, view side)
{
    /* Products with odd constants, which a processor makes side by side. The side offset, between
     * the footer's length and the uniform one, is left out. */
    uint64_t sum = mix(load_u64(row), 0x9e3779b97f4a7c15u);
    sum += mix(load_u32(row + 8), 0xbf58476d1ce4e5b9u);
    sum += mix(load_u64(row + AT_UNIFORM), 0x94d049bb133111ebu);
    sum += mix(load_u64(row + AT_TOTAL), 0xd6e8feb86659fd93u);
    sum += mix(load_u64(row + AT_SAMPLES), 0x2545f4914f6cdd1du);
    sum += mix(load_u64(row + AT_TOKENS), 0xff51afd7ed558ccdu);
    sum += mix(load_u64(row + AT_TAG), 0xc4ceb9fe1a85ec53u);
    const uint32_t hash = (uint32_t)((sum ^ sum >> 29) * 0x9e3779b97f4a7c15u >> 32);
    return side.size > 0 ? dedupe_hash(hash, side.data, side.size) : hash;
}

const char *shape_fault(const shape *s)
{
    if (s->form > FORM_FOOTER)
        return "unknown form";
    if (s->kind >= ITEM_KINDS)
        return "unknown kind";
    if (s->parts == 0)
        return "no part";
    if (s->items == 0 || s->items > ITEMS_MAX)
        return "items out of range";
    if (s->footer_bytes <= OBJECT_EXTRA_BYTES || s->footer_bytes > object_bytes_max(OBJECT_FOOTER))
        return "footer length out of range";
    if (s->total_bytes > TGB_BYTES_MAX)
        return "total above the cap of a TGB";
    if (s->form == FORM_UNIFORM &&
        (s->uniform < frame_bytes_min(s->items) || s->uniform > SLICE_BYTES_MAX))
        return "slice length out of range";
    if (s->form == FORM_INLINE && s->uniform != 0)
        return "a uniform length in the inline form";
    if (s->form == FORM_FOOTER && (s->uniform % 64 != 0 || s->uniform > TGB_BYTES_MAX))
        return "footer offset out of range";
    return NULL;
}

/* The lengths of an inline form, each by itself. */
static const char *inline_fault(shape *s, uint32_t slices, wire_reader *side)
{
    const uint8_t *from = side->at;
    uint64_t first = 0;
    bool equal = true;
    for (uint32_t i = 0; i < slices && !side->failed; i++) {
        const uint64_t length = wire_leb(side);
        if (length < frame_bytes_min(s->items) || length > SLICE_BYTES_MAX)
            return "inline slice length out of range";
        if (i == 0)
            first = length;
        equal &= length == first;
    }
    s->side = view_of(from, (size_t)(side->at - from));
    if (side->failed || s->side.size > INLINE_BYTES_MAX)
        return "inline slice lengths end early or take too many bytes";
    return equal ? "inline slice lengths that are all equal" : NULL;
}

/* A length takes at most this in LEB128, since 2^32 is the largest. */
#define LENGTH_LEB_BYTES 5u

const char *shape_fault_places(shape *s, uint32_t slices, wire_reader *side)
{
    /* A part is opened for a slice only; what walks the parts must not walk more than there can be.
     */
    if (s->parts > slices)
        return "more parts than slices";
    if (s->form == FORM_INLINE)
        return inline_fault(s, slices, side);
    if (s->form == FORM_FOOTER && (uint64_t)slices * LENGTH_LEB_BYTES <= INLINE_BYTES_MAX)
        return "the footer form where the inline form is cheap enough";
    return NULL;
}

bw_status shape_places(shape *s, const uint64_t *lengths, uint32_t slices, buf *side)
{
    bool equal = true;
    size_t leb_bytes = 0;
    for (uint32_t i = 0; i < slices; i++) {
        if (lengths[i] == 0 || lengths[i] > SLICE_BYTES_MAX)
            return BW_TOO_LARGE;
        equal &= lengths[i] == lengths[0];
        leb_bytes += wire_leb_bytes(lengths[i]);
    }
    s->side = view_of(NULL, 0);
    if (slices == 0)
        return BW_INVALID;
    if (equal) {
        s->form = FORM_UNIFORM;
        s->uniform = lengths[0];
        return BW_OK;
    }
    if (leb_bytes > INLINE_BYTES_MAX) {
        s->form = FORM_FOOTER;
        return BW_OK;
    }
    s->form = FORM_INLINE;
    s->uniform = 0;
    BW_TRY(buf_reserve(side, leb_bytes));
    const size_t at = side->size;
    for (uint32_t i = 0; i < slices; i++)
        wire_put_leb(side, lengths[i]);
    s->side = view_of(side->data + at, leb_bytes);
    return buf_status(side);
}

/* Packs the first `slices` slices of an inline form; `out` gets the place of the last of them. */
static bw_status place_inline(const shape *s, uint32_t slices, uint64_t part_bytes, place *out)
{
    wire_reader r;
    wire_open(&r, s->side);
    *out = (place){0, 0, 0};
    for (uint32_t i = 0; i < slices; i++) {
        const uint64_t length = wire_leb(&r);
        const uint64_t end = out->offset + out->bytes;
        const uint64_t start = MUTANT(inline_place_wrong) ? end : align64(end);
        const bool opens = start > 0 && start + length > part_bytes;
        *out = (place){out->part + opens, opens ? 0 : start, length};
    }
    return r.failed ? BW_CORRUPT : BW_OK;
}

bw_status shape_place(const shape *s, uint32_t slices, uint64_t part_bytes, uint32_t slice,
                      place *out)
{
    if (slice >= slices)
        return BW_INVALID;
    switch (s->form) {
    case FORM_UNIFORM:
        tgb_place_uniform(s->uniform, part_bytes, slice, out);
        return BW_OK;
    case FORM_INLINE:
        return place_inline(s, slice + 1, part_bytes, out);
    case FORM_FOOTER:
        break;
    }
    return BW_UNSUPPORTED;
}

bw_status shape_footer(const shape *s, uint32_t slices, uint64_t part_bytes, place *out)
{
    uint64_t offset = s->uniform;
    if (s->form != FORM_FOOTER) {
        place last;
        BW_TRY(shape_place(s, slices, part_bytes, slices - 1, &last));
        offset = align64(last.offset + last.bytes);
    }
    *out = (place){s->parts - 1u, offset, s->footer_bytes};
    return BW_OK;
}
