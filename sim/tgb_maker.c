// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "tgb_maker.h"

#include "base/alloc.h"
#include "base/crc32c.h"
#include <string.h>

#define ITEM_BYTES_SMALL 24u
#define ITEM_BYTES_LARGE 1500u
#define SLICES_HERE_MAX 4u
#define ITEMS_HERE_MAX 2u

uint64_t tgb_hash(const uint8_t *bytes, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static void fill(uint8_t *bytes, size_t size, uint64_t nonce, uint32_t slice, uint32_t item)
{
    uint64_t x = nonce ^ ((uint64_t)slice << 32 | item) * 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < size; i += 8) {
        x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u + 1;
        for (size_t k = 0; k < 8 && i + k < size; k++)
            bytes[i + k] = (uint8_t)(x >> (8 * k));
    }
}

bool tgb_item_is(const tgb *t, uint32_t slice, uint32_t item, const uint8_t *bytes, size_t size)
{
    uint8_t expected[ITEM_BYTES_LARGE + ITEM_BYTES_SMALL];
    if (size > sizeof expected)
        return false;
    fill(expected, size, t->nonce, slice, item);
    return size == 0 || memcmp(bytes, expected, size) == 0;
}

typedef struct layout {
    uint32_t slices, items;
    frame_head heads[SLICES_HERE_MAX];
    frame_item rows[SLICES_HERE_MAX][ITEMS_HERE_MAX];
    uint64_t lengths[SLICES_HERE_MAX];
} layout;

/* Most slices are small and alike; some differ in length, some fill more than one part. */
static void lay_out(const sim *s, const tgb *t, uint64_t drawn, layout *l)
{
    const bool large = drawn % 24 == 0, varied = drawn / 24 % 4 == 0, padded = drawn / 96 % 8 == 0;
    l->slices = genesis_slices(&s->genesis);
    l->items = t->items;
    for (uint32_t i = 0; i < l->slices; i++) {
        for (uint32_t k = 0; k < l->items; k++) {
            const bool pad = padded && i + 1 == l->slices && k + 1 == l->items;
            uint32_t bytes = large ? ITEM_BYTES_LARGE : ITEM_BYTES_SMALL;
            bytes -= varied ? (uint32_t)(drawn >> (8 + 2 * i + k)) % 16 : 0;
            l->rows[i][k] = (frame_item){
                .stored_bytes = pad ? 0 : bytes, .plain_bytes = pad ? 0 : bytes, .pad = pad};
        }
        l->heads[i] = (frame_head){.nonce = t->nonce, .slice = i, .items = l->items};
        if (frame_layout(&l->heads[i], l->rows[i]) != BW_OK)
            sim_defect("a slice that cannot be");
        l->lengths[i] = l->heads[i].framed_bytes;
    }
}

static void put_slice(layout *l, uint32_t i, const place *at, buf *part)
{
    frame_item *rows = l->rows[i];
    buf frame;
    buf_init(&frame, 1u << 16);
    buf_put_zero(&frame, (size_t)l->heads[i].framed_bytes);
    for (uint32_t k = 0; k < l->items; k++) {
        fill(frame.data + rows[k].offset, rows[k].stored_bytes, l->heads[i].nonce, i, k);
        rows[k].crc = crc32c(0, frame.data + rows[k].offset, rows[k].stored_bytes);
    }
    buf head;
    buf_init(&head, 1u << 16);
    if (frame_encode_head(&l->heads[i], rows, &head) != BW_OK)
        sim_defect("no memory");
    memcpy(frame.data, head.data, head.size);
    buf_put_zero(part, (size_t)at->offset - part->size);
    buf_put(part, frame.data, frame.size);
    buf_free(&head);
    buf_free(&frame);
}

static void put_footer(const sim *s, const tgb *t, const layout *l, buf *out)
{
    footer_slice slices[SLICES_HERE_MAX] = {{0}};
    for (uint32_t i = 0; i < l->slices; i++) {
        slices[i].framed_bytes = l->lengths[i];
        for (uint32_t k = 0; k < l->items; k++)
            slices[i].items_set += !l->rows[i][k].pad;
    }
    const footer f = {.nonce = t->nonce,
                      .dp = s->genesis.dp,
                      .cp = s->genesis.cp,
                      .items = l->items,
                      .slice_count = l->slices,
                      .slices = slices};
    if (footer_encode(&f, out) != BW_OK)
        sim_defect("a footer that cannot be");
}

void tgb_make(sim *s, tgb *t, uint64_t part_seed, descriptor *d, buf *side)
{
    layout l;
    place places[SLICES_HERE_MAX];
    tgb_extent extent;
    buf foot, part;
    lay_out(s, t, part_seed, &l);
    buf_init(&foot, 1u << 16);
    buf_init(&part, 1u << 16);
    put_footer(s, t, &l, &foot);
    if (tgb_pack(l.lengths, l.slices, s->genesis.part_bytes, foot.size, places, &extent) != BW_OK)
        sim_defect("a TGB that cannot be packed");
    t->tag = s->plan.tagged ? part_seed / 768 % 4 : 0;
    d->shape = (shape){.items = t->items, .footer_bytes = (uint32_t)foot.size, .tag = t->tag};
    if (shape_places(&d->shape, l.lengths, l.slices, side) != BW_OK || extent.parts > TGB_PARTS_MAX)
        sim_defect("a TGB with too many places");
    d->shape.parts = (uint16_t)extent.parts;
    d->shape.total_bytes = extent.total_bytes;
    t->parts = extent.parts;
    t->total_bytes = extent.total_bytes;
    for (uint32_t i = 0, n = 0; n < extent.parts; n++) {
        buf_reset(&part);
        for (; i < l.slices && places[i].part == n; i++)
            put_slice(&l, i, &places[i], &part);
        if (n + 1 == extent.parts) {
            buf_put_zero(&part, (size_t)extent.footer_offset - part.size);
            buf_put(&part, foot.data, foot.size);
        }
        t->contents[n] = blob_new(part.data, part.size);
    }
    MARK_IF(s, MULTI_PART, extent.parts > 1);
    MARK_IF(s, INLINE_PLACES, d->shape.form == FORM_INLINE);
    buf_free(&foot);
    buf_free(&part);
}
