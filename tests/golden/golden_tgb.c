// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The parts of three small TGBs: frames, padding and footer. */
#include "golden.h"

#include "base/crc32c.h"
#include "codec/packing.h"
#include "payload/samples.h"
#include <string.h>

#define SLICES (GOLDEN_TGB_DP * GOLDEN_TGB_CP)
#define ITEMS 2u
#define ITEM_BYTES_MAX 2000u

typedef struct tgb {
    const char *producer;
    uint64_t nonce;
    item_kind kind;
    buf items[SLICES][ITEMS];
    bool pad[SLICES][ITEMS];
    uint32_t plain[SLICES][ITEMS]; /* of an item that is stored as a zstd frame; else 0 */
} tgb;

static void put_pattern(buf *b, size_t bytes, uint8_t seed)
{
    for (size_t i = 0; i < bytes; i++)
        buf_put_u8(b, (uint8_t)(seed + i * 7 + i / 256));
}

static void put_sample(samples_builder *b, uint32_t number)
{
    const uint8_t tokens[] = {(uint8_t)number, 0, (uint8_t)(number + 1), 0};
    samples_add(b);
    samples_add_field(b, "tokens", 6, tokens, sizeof tokens);
    samples_add_field(b, "text", 4, "caf\xc3\xa9", number % 6);
}

static void make_raw(tgb *t)
{
    /* Slices 0, 1 and 2 fill the first part, 3 and the footer go to the second. An empty item is no
     * pad. */
    static const size_t sizes[SLICES][ITEMS] = {{1000, 600}, {1900, 0}, {64, 63}, {0, 0}};
    *t = (tgb){.producer = "alpha", .nonce = 0x8000000000000001, .kind = ITEM_RAW};
    for (uint8_t s = 0; s < SLICES; s++) {
        for (uint8_t i = 0; i < ITEMS; i++) {
            buf_init(&t->items[s][i], ITEM_BYTES_MAX);
            put_pattern(&t->items[s][i], sizes[s][i], (uint8_t)(s * 16 + i));
        }
    }
    t->pad[3][0] = t->pad[3][1] = true;
}

static void make_samples(tgb *t)
{
    *t = (tgb){.producer = "beta.2", .nonce = 2, .kind = ITEM_SAMPLES};
    for (uint32_t s = 0; s < SLICES; s++) {
        for (uint32_t i = 0; i < ITEMS; i++) {
            buf_init(&t->items[s][i], ITEM_BYTES_MAX);
            t->pad[s][i] = s == 2 && i == 1;
            if (t->pad[s][i])
                continue;
            samples_builder b;
            samples_begin(&b, &t->items[s][i]);
            /* The first item of all holds no sample and is no pad. */
            for (uint32_t k = 0; k < s * ITEMS + i; k++)
                put_sample(&b, k);
            must(samples_end(&b) == BW_OK, "samples");
        }
    }
}

/* One frame of `size` < 65,792 equal bytes: the content size in one byte or two, one block. */
static void put_rle(buf *b, uint32_t size, uint8_t value)
{
    static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    buf_put(b, magic, sizeof magic);
    buf_put_u8(b, size < 256 ? 0x20 : 0x60);
    if (size < 256)
        buf_put_u8(b, (uint8_t)size);
    else
        buf_put_u16(b, (uint16_t)(size - 256));
    const uint32_t rle = 1u | 1u << 1 | size << 3; /* the last, of equal bytes */
    buf_put_u16(b, (uint16_t)rle);
    buf_put_u8(b, (uint8_t)(rle >> 16));
    buf_put_u8(b, value);
}

/* What zstd 1.5.4 makes of 116 bytes about a fox, at level 19. */
static const uint8_t fox[] = {
    0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x74, 0x15, 0x02, 0x00, 0x04, 0x03, 0x74, 0x68, 0x65, 0x20,
    0x71, 0x75, 0x69, 0x63, 0x6b, 0x20, 0x62, 0x72, 0x6f, 0x77, 0x6e, 0x20, 0x66, 0x6f, 0x78,
    0x20, 0x6a, 0x75, 0x6d, 0x70, 0x73, 0x20, 0x6f, 0x76, 0x65, 0x72, 0x20, 0x6c, 0x61, 0x7a,
    0x79, 0x20, 0x64, 0x6f, 0x67, 0x3b, 0x20, 0x73, 0x6c, 0x65, 0x65, 0x70, 0x73, 0x3b, 0x05,
    0x00, 0x57, 0x29, 0x14, 0x21, 0x06, 0x4d, 0x1d, 0x06, 0x2a, 0x42, 0x0b, 0x56, 0x39, 0x01};

/* Packed and plain items beside each other, a slice of packed ones only, pads. */
static void make_zstd(tgb *t)
{
    *t = (tgb){.producer = "gamma", .nonce = 3, .kind = ITEM_RAW};
    for (uint32_t s = 0; s < SLICES; s++)
        for (uint32_t i = 0; i < ITEMS; i++)
            buf_init(&t->items[s][i], ITEM_BYTES_MAX);
    put_rle(&t->items[0][0], t->plain[0][0] = 300, 'a');
    put_pattern(&t->items[0][1], 70, 9);
    put_rle(&t->items[1][0], t->plain[1][0] = 255, 0);
    buf_put(&t->items[1][1], fox, sizeof fox);
    t->plain[1][1] = 116;
    put_pattern(&t->items[2][0], 5, 1);
    t->pad[2][1] = t->pad[3][0] = true;
    put_rle(&t->items[3][1], t->plain[3][1] = 1, 'z');
}

static void free_tgb(tgb *t)
{
    for (uint32_t s = 0; s < SLICES; s++)
        for (uint32_t i = 0; i < ITEMS; i++)
            buf_free(&t->items[s][i]);
}

static void layout(const tgb *t, uint32_t slice, frame_head *head, frame_item *items)
{
    *head = (frame_head){.nonce = t->nonce, .slice = slice, .items = ITEMS, .kind = t->kind};
    for (uint32_t i = 0; i < ITEMS; i++) {
        const buf *item = &t->items[slice][i];
        items[i] = (frame_item){.stored_bytes = (uint32_t)item->size,
                                .plain_bytes = t->plain[slice][i] > 0 ? t->plain[slice][i]
                                                                      : (uint32_t)item->size,
                                .codec = t->plain[slice][i] > 0 ? CODEC_ZSTD : CODEC_NONE,
                                .crc = crc32c(0, item->data, item->size),
                                .pad = t->pad[slice][i]};
    }
    must(frame_layout(head, items) == BW_OK, "layout");
}

static void put_frame(const tgb *t, uint32_t slice, buf *out)
{
    frame_head head;
    frame_item items[ITEMS];
    const size_t at = out->size;
    layout(t, slice, &head, items);
    must(frame_encode_head(&head, items, out) == BW_OK, "frame");
    for (uint32_t i = 0; i < ITEMS; i++) {
        buf_put_zero(out, at + items[i].offset - out->size);
        buf_put(out, t->items[slice][i].data, t->items[slice][i].size);
    }
}

static void put_footer(const tgb *t, const uint64_t lengths[SLICES], buf *out)
{
    const view ids[] = {view_text("doc/1"), view_text(""), view_text("doc/2#7")};
    footer_slice slices[SLICES];
    for (uint32_t s = 0; s < SLICES; s++) {
        slices[s] = (footer_slice){.framed_bytes = lengths[s], .samples = ids};
        slices[s].sample_count = s;
        for (uint32_t i = 0; i < ITEMS; i++)
            slices[s].items_set += !t->pad[s][i];
    }
    const footer f = {
        .nonce = t->nonce,
        .dp = GOLDEN_TGB_DP,
        .cp = GOLDEN_TGB_CP,
        .items = ITEMS,
        .kind = t->kind,
        .media_type = view_text("application/octet-stream"),
        .metadata = view_text("{\"policy\":17}"),
        .slice_count = SLICES,
        .slices = slices,
    };
    must(footer_encode(&f, out) == BW_OK, "footer");
}

/* Where everything lies; the footer's size does not depend on where it goes. */
static void places_of(const tgb *t, place places[SLICES], tgb_extent *extent, buf *footer_object)
{
    uint64_t lengths[SLICES];
    for (uint32_t s = 0; s < SLICES; s++) {
        frame_head head;
        frame_item items[ITEMS];
        layout(t, s, &head, items);
        lengths[s] = head.framed_bytes;
    }
    buf_init(footer_object, 1 << 16);
    put_footer(t, lengths, footer_object);
    must(tgb_pack(lengths, SLICES, GOLDEN_TGB_PART_BYTES, footer_object->size, places, extent) ==
             BW_OK,
         "pack");
}

static void put_part(void (*make)(tgb *), uint32_t part, buf *out)
{
    tgb t;
    place places[SLICES];
    tgb_extent extent;
    buf footer_object;
    make(&t);
    places_of(&t, places, &extent, &footer_object);
    for (uint32_t s = 0; s < SLICES; s++) {
        if (places[s].part != part)
            continue;
        buf_put_zero(out, places[s].offset - out->size);
        put_frame(&t, s, out);
    }
    if (part == extent.parts - 1) {
        buf_put_zero(out, extent.footer_offset - out->size);
        buf_put(out, footer_object.data, footer_object.size);
    }
    buf_free(&footer_object);
    free_tgb(&t);
}

/* A part as it was read: the frames that lie in it, and the footer of the last one. */
typedef struct part_reader {
    tgb t;
    place places[SLICES];
    tgb_extent extent;
    buf footer_object;
    uint32_t part;
    view object;
} part_reader;

static void open_part(part_reader *r, void (*make)(tgb *), uint32_t part, view object)
{
    make(&r->t);
    places_of(&r->t, r->places, &r->extent, &r->footer_object);
    r->part = part;
    r->object = object;
}

static void close_part(part_reader *r)
{
    buf_free(&r->footer_object);
    free_tgb(&r->t);
}

static uint8_t unpacked[1024]; /* of the frame that was read last */

static view read_frame(const part_reader *r, uint32_t slice, frame_head *head, frame_item *items)
{
    frame_head expected;
    const view frame = view_of(r->object.data + r->places[slice].offset, r->places[slice].bytes);
    layout(&r->t, slice, &expected, items);
    must(frame_verify(frame, &expected, items, ITEMS, NULL) == BW_OK, "frame");
    must(frame_decode_head(frame, head, items, ITEMS, NULL) == BW_OK, "frame");
    must(frame_unpacked_bytes(items, ITEMS) <= sizeof unpacked, "room");
    must(frame_unpack(frame, items, ITEMS, unpacked, NULL) == BW_OK, "unpacked");
    return frame;
}

static void read_footer(const part_reader *r, footer *f)
{
    const view object =
        view_of(r->object.data + r->extent.footer_offset, r->object.size - r->extent.footer_offset);
    must(footer_decode(object, f, NULL) == BW_OK, "footer");
}

static json_t *dump_slice(const part_reader *r, uint32_t s)
{
    frame_head head;
    frame_item items[ITEMS];
    const view frame = read_frame(r, s, &head, items);
    json_t *slice = json_object(), *list = json_array();
    put_number(slice, "offset", r->places[s].offset);
    put_nonce(slice, "nonce", head.nonce);
    put_number(slice, "slice", head.slice);
    put_number(slice, "framed", head.framed_bytes);
    put_number(slice, "plain", head.plain_bytes);
    put_number(slice, "stored", head.stored_bytes);
    put_number(slice, "kind", head.kind);
    json_object_set_new(slice, "items", list);
    for (uint32_t i = 0; i < head.items; i++) {
        json_t *item = json_object();
        json_array_append_new(list, item);
        json_object_set_new(item, "pad", json_boolean(items[i].pad));
        put_number(item, "offset", items[i].offset);
        put_hex(item, "data", frame.data + items[i].offset, items[i].stored_bytes);
        if (items[i].codec == CODEC_ZSTD)
            put_hex(item, "plain", unpacked + items[i].unpacked_at, items[i].plain_bytes);
    }
    return slice;
}

static int append_sample(void *context, view id)
{
    json_array_append_new(context, json_stringn((const char *)id.data, id.size));
    return 0;
}

static json_t *dump_footer(const part_reader *r)
{
    footer f;
    read_footer(r, &f);
    json_t *root = json_object(), *slices = json_array();
    put_number(root, "offset", r->extent.footer_offset);
    put_nonce(root, "nonce", f.nonce);
    put_number(root, "dp", f.dp);
    put_number(root, "cp", f.cp);
    put_number(root, "items", f.items);
    put_number(root, "kind", f.kind);
    put_text(root, "media_type", f.media_type);
    put_text(root, "metadata", f.metadata);
    json_object_set_new(root, "slices", slices);
    for (uint32_t s = 0; s < f.slice_count; s++) {
        json_t *slice = json_object(), *samples = json_array();
        json_array_append_new(slices, slice);
        put_number(slice, "framed", f.slices[s].framed_bytes);
        put_number(slice, "items_set", f.slices[s].items_set);
        json_object_set_new(slice, "samples", samples);
        must(footer_samples(&f, s, append_sample, samples) == 0, "samples");
    }
    footer_free(&f);
    return root;
}

static json_t *dump_part(void (*make)(tgb *), uint32_t part, view object)
{
    part_reader r;
    open_part(&r, make, part, object);
    object_key key;
    key_part(&key, view_text(r.t.producer), 3, 9, r.t.nonce, part);
    json_t *root = json_object(), *slices = json_array();
    put_text(root, "object", view_text("part"));
    put_text(root, "key", view_text(key.text));
    put_number(root, "part", part);
    put_number(root, "parts", r.extent.parts);
    put_number(root, "part_bytes", GOLDEN_TGB_PART_BYTES);
    json_object_set_new(root, "slices", slices);
    for (uint32_t s = 0; s < SLICES; s++) {
        if (r.places[s].part == part)
            json_array_append_new(slices, dump_slice(&r, s));
    }
    if (part == r.extent.parts - 1)
        json_object_set_new(root, "footer", dump_footer(&r));
    close_part(&r);
    return root;
}

static int collect_sample(void *context, view id)
{
    view **next = context;
    *(*next)++ = id;
    return 0;
}

static void again_footer(const part_reader *r, buf *out)
{
    view ids[16], *next = ids;
    footer f;
    read_footer(r, &f);
    for (uint32_t s = 0; s < f.slice_count; s++) {
        f.slices[s].samples = next;
        must(footer_samples(&f, s, collect_sample, &next) == 0, "samples");
    }
    must(footer_encode(&f, out) == BW_OK, "footer");
    footer_free(&f);
}

static void again_part(void (*make)(tgb *), uint32_t part, view object, buf *out)
{
    part_reader r;
    open_part(&r, make, part, object);
    for (uint32_t s = 0; s < SLICES; s++) {
        if (r.places[s].part != part)
            continue;
        frame_head head;
        frame_item items[ITEMS];
        const view frame = read_frame(&r, s, &head, items);
        buf_put_zero(out, r.places[s].offset - out->size);
        must(frame_encode_head(&head, items, out) == BW_OK, "frame");
        for (uint32_t i = 0; i < ITEMS; i++) {
            buf_put_zero(out, r.places[s].offset + items[i].offset - out->size);
            buf_put(out, frame.data + items[i].offset, items[i].stored_bytes);
        }
    }
    if (part == r.extent.parts - 1) {
        buf_put_zero(out, r.extent.footer_offset - out->size);
        again_footer(&r, out);
    }
    close_part(&r);
}

void build_tgb_raw_0(buf *out)
{
    put_part(make_raw, 0, out);
}

void build_tgb_raw_1(buf *out)
{
    put_part(make_raw, 1, out);
}

void build_tgb_samples_0(buf *out)
{
    put_part(make_samples, 0, out);
}

json_t *dump_tgb_raw_0(view object)
{
    return dump_part(make_raw, 0, object);
}

json_t *dump_tgb_raw_1(view object)
{
    return dump_part(make_raw, 1, object);
}

json_t *dump_tgb_samples_0(view object)
{
    return dump_part(make_samples, 0, object);
}

void again_tgb_raw_0(view object, buf *out)
{
    again_part(make_raw, 0, object, out);
}

void again_tgb_raw_1(view object, buf *out)
{
    again_part(make_raw, 1, object, out);
}

void again_tgb_samples_0(view object, buf *out)
{
    again_part(make_samples, 0, object, out);
}

void build_tgb_zstd_0(buf *out)
{
    put_part(make_zstd, 0, out);
}

json_t *dump_tgb_zstd_0(view object)
{
    return dump_part(make_zstd, 0, object);
}

void again_tgb_zstd_0(view object, buf *out)
{
    again_part(make_zstd, 0, object, out);
}
