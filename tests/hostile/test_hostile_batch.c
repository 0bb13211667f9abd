// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Frames, footers, genesis, pages and samples that say something impossible. */
#include "rows.h"

#include "base/crc32c.h"
#include "codec/packing.h"
#include "payload/samples.h"
#include <string.h>

#define ITEM(i) (FRAME_HEAD_BYTES + FRAME_ITEM_BYTES * (i))
#define ITEMS 3u

typedef struct subject {
    void (*make)(smith *s, buf *o);
    void (*seal)(buf *o); /* NULL: nothing to seal */
    bw_status (*decode)(buf *o, bw_error *error);
} subject;

/* A row sets it when the frame must keep the CRC that its head has. */
static bool keep_crc;
static frame_head made; /* what the frame's reader expects */

static void make_frame(smith *s, buf *o)
{
    (void)s;
    static const uint8_t bytes[40] = {1, 2, 3};
    frame_item items[ITEMS] = {
        {.stored_bytes = 40, .plain_bytes = 40, .crc = crc32c(0, bytes, 40)},
        {.pad = true},
        {.stored_bytes = 10, .plain_bytes = 10, .crc = crc32c(0, bytes, 10)},
    };
    made = (frame_head){.nonce = 7, .items = ITEMS, .kind = ITEM_RAW};
    must(frame_layout(&made, items) == BW_OK, "frame_layout");
    must(frame_encode_head(&made, items, o) == BW_OK, "frame_encode_head");
    for (uint32_t i = 0; i < ITEMS; i++) {
        buf_put_zero(o, (size_t)items[i].offset - o->size);
        buf_put(o, bytes, items[i].stored_bytes);
    }
}

static void seal_frame(buf *o)
{
    if (!keep_crc)
        reseal_frame(o);
}

static bw_status decode_frame(buf *o, bw_error *error)
{
    frame_item items[ITEMS];
    static uint8_t plain[1u << 16];
    const view frame = view_of(o->data, o->size);
    const bw_status status = frame_verify(frame, &made, items, ITEMS, error);
    if (status != BW_OK || frame_unpacked_bytes(items, ITEMS) == 0)
        return status;
    must(frame_unpacked_bytes(items, ITEMS) <= sizeof plain, "room");
    return frame_unpack(frame, items, ITEMS, plain, error);
}

static void make_footer(smith *s, buf *o)
{
    const shape *shape_of = &s->steps[0].shape;
    object_key key;
    smith_part_key(s, 0, shape_of->parts - 1u, &key);
    const buf *part = smith_object_at(s, key.text);
    buf_put(o, part->data + part->size - shape_of->footer_bytes, shape_of->footer_bytes);
}

static bw_status decode_footer(buf *o, bw_error *error)
{
    footer f;
    const bw_status status = footer_decode(view_of(o->data, o->size), &f, error);
    if (status == BW_OK)
        footer_free(&f);
    return status;
}

static void make_genesis(smith *s, buf *o)
{
    const buf *stored = smith_object_at(s, "genesis");
    buf_put(o, stored->data, stored->size);
}

static bw_status decode_genesis(buf *o, bw_error *error)
{
    genesis g;
    return genesis_decode(view_of(o->data, o->size), &g, error);
}

static void make_page(smith *s, buf *o)
{
    object_key key;
    key_page(&key, s->m.page.version, s->m.page.nonce);
    const buf *stored = smith_object_at(s, key.text);
    buf_put(o, stored->data, stored->size);
}

static bw_status decode_page(buf *o, bw_error *error)
{
    page p;
    const bw_status status = page_decode(view_of(o->data, o->size), &p, error);
    if (status == BW_OK)
        page_free(&p);
    return status;
}

static void make_samples(smith *s, buf *o)
{
    (void)s;
    samples_builder b;
    samples_begin(&b, o);
    samples_add(&b);
    samples_add_field(&b, "text", 4, "hello", 5);
    samples_add(&b);
    samples_add_field(&b, "x", 1, "", 0);
    must(samples_end(&b) == BW_OK, "samples_end");
}

static bw_status decode_samples(buf *o, bw_error *error)
{
    samples_reader r;
    return samples_open(&r, o->data, o->size, error);
}

static const subject a_frame = {make_frame, seal_frame, decode_frame};
static const subject a_footer = {make_footer, reseal, decode_footer};
static const subject a_genesis = {make_genesis, reseal, decode_genesis};
static const subject a_page = {make_page, reseal, decode_page};
static const subject an_item = {make_samples, NULL, decode_samples};

typedef struct row {
    const char *name;
    bw_status expected;
    const subject *subject;
    void (*spoil)(buf *o);
} row;

#define ROW(...)                                                                                   \
    static void ROW_NAME(spoil_, __LINE__)(buf * o)                                                \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }
#define FRAME(name, status, ...) ROW(__VA_ARGS__)
#define FOOTER(name, status, ...) ROW(__VA_ARGS__)
#define GENESIS(name, status, ...) ROW(__VA_ARGS__)
#define PAGE(name, status, ...) ROW(__VA_ARGS__)
#define SAMPLES(name, status, ...) ROW(__VA_ARGS__)
#include "batch.def"
#undef FRAME
#undef FOOTER
#undef GENESIS
#undef PAGE
#undef SAMPLES

static const row rows[] = {
#define FRAME(name, status, ...)                                                                   \
    {"frame: " name, BW_##status, &a_frame, ROW_NAME(spoil_, __LINE__)},
#define FOOTER(name, status, ...)                                                                  \
    {"footer: " name, BW_##status, &a_footer, ROW_NAME(spoil_, __LINE__)},
#define GENESIS(name, status, ...)                                                                 \
    {"genesis: " name, BW_##status, &a_genesis, ROW_NAME(spoil_, __LINE__)},
#define PAGE(name, status, ...) {"page: " name, BW_##status, &a_page, ROW_NAME(spoil_, __LINE__)},
#define SAMPLES(name, status, ...)                                                                 \
    {"samples: " name, BW_##status, &an_item, ROW_NAME(spoil_, __LINE__)},
#include "batch.def"
};

typedef struct trial {
    const subject *subject;
    buf bytes;
} trial;

static bw_status attempt(void *context, bw_error *error)
{
    trial *t = context;
    return t->subject->decode(&t->bytes, error);
}

static void test_row(void **state)
{
    const row *r = *state;
    trial t = {.subject = r->subject};
    smith s;
    smith_init(&s, 2);
    buf_init(&t.bytes, (size_t)32 << 20);
    t.subject->make(&s, &t.bytes);
    (void)expect_success(attempt, &t);
    keep_crc = false;
    r->spoil(&t.bytes);
    if (t.subject->seal != NULL)
        t.subject->seal(&t.bytes);
    expect_refusal(attempt, &t, r->expected, 0);
    buf_free(&t.bytes);
    smith_free(&s);
}

int main(void)
{
    return run_rows("hostile_batch", rows, COUNT(rows), sizeof rows[0], test_row);
}
