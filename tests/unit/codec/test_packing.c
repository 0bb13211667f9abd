// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Items as zstd frames: what is packed comes back, and no frame takes more memory than its bytes
 * allow, or passes for something that it is not. */
#include "base/alloc.h"
#include "base/crc32c.h"
#include "codec/packing.h"
#include "support.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Text-like: it packs to about a third. */
static void fill(uint8_t *bytes, size_t size)
{
    uint32_t x = 1;
    for (size_t i = 0; i < size; i++) {
        x = x * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)("etaoinshrdlu cmf"[x >> 28]);
    }
}

static bw_status pack(packer *p, const view *pieces, uint32_t count, uint32_t bytes,
                      uint8_t **packed, uint32_t *packed_bytes)
{
    BW_TRY(packer_begin(p, bytes));
    for (uint32_t i = 0; i < count; i++)
        packer_add(p, pieces[i]);
    return packer_end(p, packed, packed_bytes);
}

static bw_status unpack(view stored, uint32_t plain_bytes, uint8_t *out, bw_error *error)
{
    const frame_item item = {
        .stored_bytes = (uint32_t)stored.size, .plain_bytes = plain_bytes, .codec = CODEC_ZSTD};
    return frame_unpack(stored, &item, 1, out, error);
}

static void what_is_packed_comes_back(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {100, 4096, 300001};
    static const uint32_t levels[] = {1, 3, 19};
    for (size_t l = 0; l < 3; l++) {
        packer *p = NULL;
        assert_int_equal(packer_new(levels[l], &p), BW_OK);
        for (size_t k = 0; k < 3; k++) {
            const uint32_t size = sizes[k];
            uint8_t *plain = mem_alloc(size), *back = mem_zalloc(size), *packed = NULL;
            uint32_t packed_bytes = 0;
            bw_error error;
            fill(plain, size);
            /* In pieces, an empty one first, one in the middle and one at the end. */
            view pieces[5] = {
                {plain, 0}, {plain, 33}, {plain, 0}, {plain + 33, size - 33}, {plain, 0}};
            assert_int_equal(pack(p, pieces, 5, size, &packed, &packed_bytes), BW_OK);
            assert_non_null(packed);
            assert_true(packed_bytes < size);
            assert_int_equal(unpack(view_of(packed, packed_bytes), size, back, &error), BW_OK);
            assert_memory_equal(back, plain, size);
            mem_free(packed);
            mem_free(plain);
            mem_free(back);
        }
        packer_free(p);
    }
}

static void what_does_not_pay_stays_plain(void **state)
{
    (void)state;
    packer *p = NULL;
    uint8_t noise[3000], *packed;
    uint32_t packed_bytes, x = 7;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)((x = x * 1664525u + 1013904223u) >> 24);
    assert_int_equal(packer_new(3, &p), BW_OK);
    for (uint32_t size = 0; size <= sizeof noise; size += 500) {
        const view pieces[2] = {{noise, size / 2}, {noise + size / 2, size - size / 2}};
        assert_int_equal(pack(p, pieces, 2, size, &packed, &packed_bytes), BW_OK);
        assert_null(packed);
        assert_int_equal(pack(p, pieces, size > 0, size / 2, &packed, &packed_bytes), BW_OK);
        assert_null(packed);
    }
    /* More than readers take for so few bytes. */
    const size_t zeros = 32u << 20;
    uint8_t *plenty = mem_zalloc(zeros);
    const view piece = {plenty, zeros};
    assert_int_equal(pack(p, &piece, 1, (uint32_t)zeros, &packed, &packed_bytes), BW_OK);
    assert_null(packed);
    const view few = {plenty, 900};
    assert_int_equal(pack(p, &few, 1, 900, &packed, &packed_bytes), BW_OK);
    assert_non_null(packed); /* and the packer is none the worse for it */
    mem_free(packed);
    mem_free(plenty);
    packer_free(p);
    assert_int_equal(packer_new(0, &p), BW_INVALID);
    assert_int_equal(packer_new(PACKING_LEVEL_MAX + 1, &p), BW_INVALID);
}

/* What readers refuse by its length is not even tried; a byte is none to pack. */
static void lengths_that_are_not_packed(void **state)
{
    (void)state;
    packer *p = NULL;
    uint8_t *packed;
    uint32_t packed_bytes;
    static const uint8_t one[1] = {7};
    static const uint32_t lengths[] = {1, PACKED_PLAIN_MAX + 1};
    assert_int_equal(packer_new(3, &p), BW_OK);
    for (size_t k = 0; k < 2; k++) {
        const view piece = {one, 1};
        assert_int_equal(pack(p, &piece, 1, lengths[k], &packed, &packed_bytes), BW_OK);
        assert_null(packed);
    }
    packer_free(p);
}

/* More or fewer bytes than were announced are a fault of the caller, and told at the end. */
static void bytes_that_were_not_announced(void **state)
{
    (void)state;
    packer *p = NULL;
    uint8_t bytes[4000], *packed;
    uint32_t packed_bytes;
    fill(bytes, sizeof bytes);
    const view pieces[3] = {{bytes, 2000}, {bytes, 2000}, {bytes, 4000}};
    assert_int_equal(packer_new(3, &p), BW_OK);
    assert_int_equal(pack(p, pieces, 1, 3000, &packed, &packed_bytes), BW_BUG);
    assert_null(packed);
    assert_int_equal(pack(p, pieces, 3, 3000, &packed, &packed_bytes), BW_BUG);
    assert_null(packed);
    assert_int_equal(pack(p, pieces, 2, 4000, &packed, &packed_bytes), BW_OK);
    assert_non_null(packed);
    mem_free(packed);
    packer_free(p);
}

/* The first of two packed items is damaged: the second is not looked at. */
static void the_first_damage_ends_it(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0x28, 0xb5, 0x2f, 0xfd, 0x60, 0x2c, 0, 0x63, 0x09, 0, 'a',
                                    0x28, 0xb5, 0x2f, 0xfd, 0x60, 0x2c, 0, 0x63, 0x09, 0, 'a'};
    frame_item items[2] = {{.stored_bytes = 11, .plain_bytes = 299, .codec = CODEC_ZSTD},
                           {.offset = 11,
                            .stored_bytes = 11,
                            .plain_bytes = 300,
                            .unpacked_at = 320,
                            .codec = CODEC_ZSTD}};
    uint8_t out[640];
    bw_error error;
    memset(out, 0, sizeof out);
    assert_int_equal(frame_unpack(view_of(bytes, sizeof bytes), items, 2, out, &error), BW_CORRUPT);
    assert_int_equal(out[320], 0);
    items[0].plain_bytes = 300;
    assert_int_equal(frame_unpack(view_of(bytes, sizeof bytes), items, 2, out, &error), BW_OK);
    assert_int_equal(out[320], 'a');
}

static void lengths_are_bounded(void **state)
{
    (void)state;
    assert_true(packed_lengths_fit(1, 1));
    assert_true(packed_lengths_fit(1, 1024));
    assert_false(packed_lengths_fit(1, 1025));
    assert_true(packed_lengths_fit(2, 1025));
    assert_false(packed_lengths_fit(0, 1));
    assert_false(packed_lengths_fit(1, 0));
    assert_true(packed_lengths_fit(1u << 20, 1u << 30));
    assert_false(packed_lengths_fit(1u << 20, (1u << 30) + 1));
    assert_false(packed_lengths_fit(UINT32_MAX, UINT32_MAX));
}

/* 300 bytes 'a', by hand: magic, descriptor with a content size of two bytes, that size, one block.
 */
static const uint8_t good[] = {0x28, 0xb5, 0x2f, 0xfd, 0x60, 0x2c, 0x00, 0x63, 0x09, 0x00, 'a'};

typedef struct frame_case {
    const char *name;
    uint32_t plain;
    uint8_t bytes[32];
    size_t size;
} frame_case;

static const frame_case wrong[] = {
    {"another length, less", 299, {0x28, 0xb5, 0x2f, 0xfd, 0x60, 0x2c, 0, 0x63, 0x09, 0, 'a'}, 11},
    {"another length, more", 301, {0x28, 0xb5, 0x2f, 0xfd, 0x60, 0x2c, 0, 0x63, 0x09, 0, 'a'}, 11},
    {"the content is shorter than it says",
     300,
     {0x28, 0xb5, 0x2f, 0xfd, 0x60, 0x2c, 0, 0x5b, 0x09, 0, 'a'},
     11},
    {"the content is longer than it says",
     300,
     {0x28, 0xb5, 0x2f, 0xfd, 0x60, 0x2c, 0, 0x6b, 0x09, 0, 'a'},
     11},
    {"a byte behind it", 300, {0x28, 0xb5, 0x2f, 0xfd, 0x60, 0x2c, 0, 0x63, 0x09, 0, 'a', 0}, 12},
    {"a frame behind it",
     300,
     {0x28, 0xb5, 0x2f, 0xfd, 0x60, 0x2c, 0, 0x63, 0x09, 0, 'a',
      0x28, 0xb5, 0x2f, 0xfd, 0x60, 0x2c, 0, 0x63, 0x09, 0, 'a'},
     22},
    {"cut", 300, {0x28, 0xb5, 0x2f, 0xfd, 0x60, 0x2c, 0, 0x63, 0x09, 0}, 10},
    {"no magic", 300, {0x27, 0xb5, 0x2f, 0xfd, 0x60, 0x2c, 0, 0x63, 0x09, 0, 'a'}, 11},
    {"a skippable frame", 4, {0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 's', 'k', 'i', 'p'}, 12},
    {"a dictionary", 300, {0x28, 0xb5, 0x2f, 0xfd, 0x61, 0x05, 0x2c, 0, 0x63, 0x09, 0, 'a'}, 12},
    {"no content size", 300, {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50, 0x63, 0x09, 0, 'a'}, 10},
    {"a window of 9 MiB",
     300,
     {0x28, 0xb5, 0x2f, 0xfd, 0x40, 0x69, 0x2c, 0, 0x63, 0x09, 0, 'a'},
     12},
    {"a window of 3.75 TiB",
     300,
     {0x28, 0xb5, 0x2f, 0xfd, 0x40, 0xff, 0x2c, 0, 0x63, 0x09, 0, 'a'},
     12},
    {"not the last block", 300, {0x28, 0xb5, 0x2f, 0xfd, 0x60, 0x2c, 0, 0x62, 0x09, 0, 'a'}, 11},
    {"a reserved block", 300, {0x28, 0xb5, 0x2f, 0xfd, 0x60, 0x2c, 0, 0x67, 0x09, 0, 'a'}, 11},
    {"a few bytes", 300, {0x28, 0xb5, 0x2f, 0xfd, 0x60}, 5},
    {"nothing", 300, {0}, 0},
};

static void only_one_plain_frame_is_read(void **state)
{
    (void)state;
    uint8_t out[301];
    bw_error error;
    assert_int_equal(unpack(view_of(good, sizeof good), 300, out, &error), BW_OK);
    assert_true(out[0] == 'a' && out[299] == 'a');
    /* A window of just 8 MiB. */
    const uint8_t widest[] = {0x28, 0xb5, 0x2f, 0xfd, 0x40, 0x68, 0x2c, 0, 0x63, 0x09, 0, 'a'};
    assert_int_equal(unpack(view_of(widest, sizeof widest), 300, out, &error), BW_OK);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        const frame_case *t = &wrong[k];
        out[t->plain < 300 ? t->plain : 300] = 0x5a;
        error_clear(&error);
        if (unpack(view_of(t->bytes, t->size), t->plain, out, &error) != BW_CORRUPT)
            fail_msg("%s was read", t->name);
        assert_int_equal(error.code, BW_CORRUPT);
        assert_int_equal(out[t->plain < 300 ? t->plain : 300], 0x5a);
    }
    /* One segment has its content for a window. */
    const uint8_t one_segment[] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0, 1, 0, 0x80, 0, 0x63, 0x09, 0, 'a'};
    assert_int_equal(unpack(view_of(one_segment, sizeof one_segment), (8u << 20) + 1, out, &error),
                     BW_CORRUPT);
}

static void flipped_bits_do_no_harm(void **state)
{
    (void)state;
    packer *p = NULL;
    uint8_t plain[600], *out = mem_alloc(sizeof plain), *packed = NULL;
    uint32_t packed_bytes = 0;
    fill(plain, sizeof plain);
    const view piece = {plain, sizeof plain};
    assert_int_equal(packer_new(3, &p), BW_OK);
    assert_int_equal(pack(p, &piece, 1, sizeof plain, &packed, &packed_bytes), BW_OK);
    assert_non_null(packed);
    for (size_t bit = 0; bit < (size_t)packed_bytes * 8; bit++) {
        packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
        const bw_status status = unpack(view_of(packed, packed_bytes), sizeof plain, out, NULL);
        assert_true(status == BW_OK || status == BW_CORRUPT);
        packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    mem_free(packed);
    mem_free(out);
    packer_free(p);
}

/* The whole frame of a slice: a packed item, a plain one and a pad. */
static void rows_of_packed_items(void **state)
{
    (void)state;
    frame_item rows[3] = {
        {.stored_bytes = sizeof good, .plain_bytes = 300, .codec = CODEC_ZSTD},
        {.stored_bytes = 5, .plain_bytes = 5},
        {.stored_bytes = sizeof good, .plain_bytes = 300, .codec = CODEC_ZSTD},
    };
    frame_head head = {.nonce = 9, .items = 3}, expected;
    for (size_t i = 0; i < 3; i++)
        rows[i].crc = i == 1 ? crc32c(0, "plain", 5) : crc32c(0, good, sizeof good);
    assert_int_equal(frame_layout(&head, rows), BW_OK);
    assert_int_equal(head.plain_bytes, 605);
    assert_int_equal(head.stored_bytes, 2 * sizeof good + 5);
    assert_int_equal(rows[2].unpacked_at, 320);
    assert_int_equal(frame_unpacked_bytes(rows, 3), 620);
    assert_int_equal(frame_unpacked_bytes(rows + 1, 1), 0);
    buf frame;
    buf_init(&frame, 4096);
    assert_int_equal(frame_encode_head(&head, rows, &frame), BW_OK);
    for (size_t i = 0; i < 3; i++) {
        buf_put_zero(&frame, (size_t)rows[i].offset - frame.size);
        buf_put(&frame, i == 1 ? (const void *)"plain" : good, rows[i].stored_bytes);
    }
    expected = head;
    uint8_t out[620];
    assert_int_equal(frame_verify(view_of(frame.data, frame.size), &expected, rows, 3, NULL),
                     BW_OK);
    assert_int_equal(frame_unpack(view_of(frame.data, frame.size), rows, 3, out, NULL), BW_OK);
    assert_true(out[0] == 'a' && out[299] == 'a' && out[320] == 'a' && out[619] == 'a');
    /* A row that claims more than its bytes allow is refused before anything is taken for it. */
    store_u32(frame.data + FRAME_HEAD_BYTES + 4, sizeof good * PACKED_RATIO_MAX + 1);
    const uint32_t crc = crc32c(crc32c(0, frame.data, 60), frame.data + 64, 48);
    store_u32(frame.data + 60, crc);
    bw_error error;
    assert_int_equal(frame_decode_head(view_of(frame.data, frame.size), &head, rows, 3, &error),
                     BW_CORRUPT);
    assert_non_null(strstr(error.message, "unpacked"));
    buf_free(&frame);
    /* Four times a gigabyte is a slice, five times is none. */
    frame_item large[5];
    for (size_t i = 0; i < 5; i++)
        large[i] = (frame_item){
            .stored_bytes = 1u << 20, .plain_bytes = PACKED_PLAIN_MAX, .codec = CODEC_ZSTD};
    head = (frame_head){.items = 4};
    assert_int_equal(frame_layout(&head, large), BW_OK);
    head = (frame_head){.items = 5};
    assert_int_equal(frame_layout(&head, large), BW_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_comes_back),
        cmocka_unit_test(what_does_not_pay_stays_plain),
        cmocka_unit_test(lengths_that_are_not_packed),
        cmocka_unit_test(bytes_that_were_not_announced),
        cmocka_unit_test(the_first_damage_ends_it),
        cmocka_unit_test(lengths_are_bounded),
        cmocka_unit_test(only_one_plain_frame_is_read),
        cmocka_unit_test(flipped_bits_do_no_harm),
        cmocka_unit_test(rows_of_packed_items),
    };
    return cmocka_run_group_tests_name("packing", tests, NULL, NULL);
}
