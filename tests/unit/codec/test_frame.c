// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"
#include "codec/frame.h"
#include "codec/genesis.h"
#include "support.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ITEMS 5u

/* A frame with items of all sorts: some bytes, none, a pad, exactly 64. */
static void make_frame(buf *out, frame_head *head, frame_item *items)
{
    static const uint32_t sizes[ITEMS] = {100, 0, 0, 64, 1};
    uint8_t bytes[ITEMS][100];
    *head =
        (frame_head){.nonce = 0x1234567890abcdef, .slice = 7, .items = ITEMS, .kind = ITEM_SAMPLES};
    for (uint32_t i = 0; i < ITEMS; i++) {
        memset(bytes[i], (int)i + 1, sizeof bytes[i]);
        items[i] = (frame_item){.stored_bytes = sizes[i],
                                .plain_bytes = sizes[i],
                                .crc = i == 2 ? 0 : crc32c(0, bytes[i], sizes[i]),
                                .pad = i == 2};
    }
    assert_int_equal(frame_layout(head, items), BW_OK);
    buf_init(out, 10000);
    assert_int_equal(frame_encode_head(head, items, out), BW_OK);
    assert_int_equal(out->size, frame_table_end(ITEMS));
    for (uint32_t i = 0; i < ITEMS; i++) {
        buf_put_zero(out, items[i].offset - out->size);
        buf_put(out, bytes[i], sizes[i]);
    }
    assert_int_equal(out->size, head->framed_bytes);
}

static bw_status verify(const buf *frame, size_t size, const frame_head *expected)
{
    frame_item items[ITEMS];
    bw_error error;
    error_clear(&error);
    const bw_status status =
        frame_verify(view_of(frame->data, size), expected, items, ITEMS, &error);
    assert_true((status == BW_OK) == (error.message[0] == '\0'));
    return status;
}

static void reseal_frame(buf *frame)
{
    const uint32_t count = load_u32(frame->data + 20);
    store_u32(frame->data + 60, crc32c(crc32c(0, frame->data, 60), frame->data + 64,
                                       (size_t)FRAME_ITEM_BYTES * count));
}

static void offsets_follow_the_page(void **state)
{
    (void)state;
    buf frame;
    frame_head head;
    frame_item items[ITEMS];
    make_frame(&frame, &head, items);
    assert_int_equal(items[0].offset, 192); /* 64 + 5·16 = 144, up to 64 */
    assert_int_equal(items[1].offset, 320);
    assert_int_equal(items[2].offset, 320);
    assert_int_equal(items[3].offset, 320);
    assert_int_equal(items[4].offset, 384);
    assert_int_equal(head.framed_bytes, 385);
    assert_int_equal(head.plain_bytes, 165);
    assert_int_equal(head.stored_bytes, 165);
    assert_int_equal(frame_bytes_min(5), 192);
    frame_head read;
    frame_item found[ITEMS];
    assert_int_equal(frame_decode_head(view_of(frame.data, frame.size), &read, found, ITEMS, NULL),
                     BW_OK);
    assert_true(read.nonce == head.nonce && read.slice == 7 && read.items == ITEMS &&
                read.kind == ITEM_SAMPLES && read.framed_bytes == 385);
    for (uint32_t i = 0; i < ITEMS; i++) {
        assert_true(found[i].offset == items[i].offset && found[i].crc == items[i].crc &&
                    found[i].stored_bytes == items[i].stored_bytes && found[i].pad == items[i].pad);
    }
    buf_free(&frame);
}

static void every_byte_is_covered(void **state)
{
    (void)state;
    buf frame;
    frame_head head;
    frame_item items[ITEMS];
    make_frame(&frame, &head, items);
    assert_int_equal(verify(&frame, frame.size, &head), BW_OK);
    for (size_t size = 0; size < frame.size; size++)
        assert_int_equal(verify(&frame, size, &head), BW_CORRUPT);
    for (size_t at = 0; at < frame.size; at++) {
        frame.data[at] ^= 0x10;
        assert_int_equal(verify(&frame, frame.size, &head), BW_CORRUPT);
        frame.data[at] ^= 0x10;
    }
    buf_put_zero(&frame, 1);
    assert_int_equal(verify(&frame, frame.size, &head), BW_CORRUPT);
    buf_free(&frame);
}

static void each_rule_of_the_head_is_checked(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t value;
        bw_status expected;
    } cases[] = {
        {0, 'X', BW_CORRUPT},
        {4, 2, BW_FORMAT},
        {6, 1, BW_FORMAT},
        {20, 0, BW_CORRUPT},
        {23, 0x7f, BW_CORRUPT},
        {24, 0, BW_CORRUPT},
        {32, 0, BW_CORRUPT},
        {40, 0, BW_CORRUPT},
        {48, 3, BW_CORRUPT},
        {49, 1, BW_CORRUPT},
        {59, 1, BW_CORRUPT},
        /* rows: stored is not plain, a pad with a length, CRC or codec, unknown flag and codec */
        {64, 99, BW_CORRUPT},
        {64 + 32, 1, BW_CORRUPT},
        {64 + 36, 1, BW_CORRUPT},
        {64 + 40, 1, BW_CORRUPT},
        {64 + 45, 1, BW_CORRUPT},
        {64 + 12, 2, BW_CORRUPT},
        {64 + 14, 1, BW_CORRUPT},
        {64 + 13, 2, BW_CORRUPT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        buf frame;
        frame_head head;
        frame_item items[ITEMS];
        make_frame(&frame, &head, items);
        frame.data[cases[i].at] = cases[i].value;
        if (cases[i].at != 20 && cases[i].at != 23)
            reseal_frame(&frame);
        assert_int_equal(verify(&frame, frame.size, &head), cases[i].expected);
        buf_free(&frame);
    }
}

static void another_slice_is_refused(void **state)
{
    (void)state;
    buf frame;
    frame_head head;
    frame_item items[ITEMS];
    make_frame(&frame, &head, items);
    frame_head expected = head;
    expected.nonce++;
    assert_int_equal(verify(&frame, frame.size, &expected), BW_CORRUPT);
    expected = head;
    expected.slice++;
    assert_int_equal(verify(&frame, frame.size, &expected), BW_CORRUPT);
    expected = head;
    expected.items--;
    assert_int_equal(verify(&frame, frame.size, &expected), BW_CORRUPT);
    expected = head;
    expected.kind = ITEM_RAW;
    assert_int_equal(verify(&frame, frame.size, &expected), BW_CORRUPT);
    expected = head;
    expected.framed_bytes++;
    assert_int_equal(verify(&frame, frame.size, &expected), BW_CORRUPT);
    /* More items than the caller has room for. */
    frame_item few[ITEMS - 1];
    assert_int_equal(
        frame_decode_head(view_of(frame.data, frame.size), &head, few, ITEMS - 1, NULL),
        BW_CORRUPT);
    buf_free(&frame);
}

static void layouts_have_limits(void **state)
{
    (void)state;
    frame_head head = {.items = 0};
    frame_item items[2] = {{.stored_bytes = UINT32_MAX}, {.stored_bytes = 0}};
    assert_int_equal(frame_layout(&head, items), BW_INVALID);
    head.items = ITEMS_MAX + 1;
    assert_int_equal(frame_layout(&head, items), BW_TOO_LARGE);
    /* 128 bytes of head leave 2^32 − 128 for the items. */
    head.items = 1;
    assert_int_equal(frame_layout(&head, items), BW_TOO_LARGE);
    items[0].stored_bytes = UINT32_MAX - 127;
    assert_int_equal(frame_layout(&head, items), BW_OK);
    assert_true(head.framed_bytes == SLICE_BYTES_MAX);
    buf small;
    buf_init(&small, 50);
    assert_int_equal(frame_encode_head(&head, items, &small), BW_TOO_LARGE);
    buf_free(&small);
}

/* Head and items as the bytes of one object, for the mutation loop. */
static bw_status recode(view bytes, buf *out)
{
    frame_head head;
    frame_item items[64];
    if (bytes.size < FRAME_HEAD_BYTES)
        return BW_CORRUPT;
    buf copy;
    buf_init(&copy, bytes.size);
    buf_put(&copy, bytes.data, bytes.size);
    const uint32_t count = load_u32(copy.data + 20);
    if (count <= (bytes.size - FRAME_HEAD_BYTES) / FRAME_ITEM_BYTES)
        reseal_frame(&copy);
    const bw_status status =
        frame_decode_head(view_of(copy.data, copy.size), &head, items, 64, NULL);
    if (status == BW_OK) {
        assert_int_equal(frame_encode_head(&head, items, out), BW_OK);
        /* The CRC, which was made to fit, and what follows the table are not the subject. */
        memcpy(out->data + 60, bytes.data + 60, 4);
        buf_put(out, bytes.data + out->size, bytes.size - out->size);
    }
    buf_free(&copy);
    return status;
}

static void mutations_are_survived(void **state)
{
    (void)state;
    buf frame;
    frame_head head;
    frame_item items[ITEMS];
    make_frame(&frame, &head, items);
    frame.size = frame_table_end(ITEMS);
    check_raw_mutations(&frame, recode, 3, 10000);
    buf_free(&frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_follow_the_page),
        cmocka_unit_test(every_byte_is_covered),
        cmocka_unit_test(each_rule_of_the_head_is_checked),
        cmocka_unit_test(another_slice_is_refused),
        cmocka_unit_test(layouts_have_limits),
        cmocka_unit_test(mutations_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
