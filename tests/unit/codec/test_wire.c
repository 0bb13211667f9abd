// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/wire.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void numbers_read_back(void **state)
{
    (void)state;
    const uint8_t bytes[] = {1,  3,  2, 7, 6, 5,   4, 15, 14,  13, 12,
                             11, 10, 9, 8, 1, 'a', 2, 0,  'b', 'c'};
    wire_reader r;
    wire_open(&r, view_of(bytes, sizeof bytes));
    assert_int_equal(wire_u8(&r), 1);
    assert_int_equal(wire_u16(&r), 0x0203);
    assert_int_equal(wire_u32(&r), 0x04050607);
    assert_true(wire_u64(&r) == 0x08090a0b0c0d0e0f);
    assert_true(view_equal(wire_text8(&r), view_text("a")));
    assert_false(wire_done(&r));
    assert_int_equal(wire_left(&r), 4);
    assert_true(view_equal(wire_text16(&r), view_text("bc")));
    assert_true(wire_done(&r));
    uint8_t stored[8];
    store_u64(stored, 0x0102030405060708);
    assert_true(load_u64(stored) == 0x0102030405060708);
    assert_int_equal(stored[0], 8);
    store_u16(stored, 0xabcd);
    assert_int_equal(load_u16(stored), 0xabcd);
}

static void reading_past_the_end_is_sticky(void **state)
{
    (void)state;
    const uint8_t bytes[] = {5, 0, 0, 0, 1, 2, 3};
    wire_reader r;
    wire_open(&r, view_of(bytes, sizeof bytes));
    const view text = wire_text32(&r);
    assert_true(r.failed);
    assert_int_equal(text.size, 0);
    /* Nothing is read any more, though there were bytes left. */
    assert_int_equal(wire_u8(&r), 0);
    assert_int_equal(wire_u16(&r), 0);
    assert_int_equal(wire_u32(&r), 0);
    assert_true(wire_u64(&r) == 0);
    assert_true(wire_leb(&r) == 0);
    uint8_t out[3] = {9, 9, 9};
    wire_bytes(&r, out, sizeof out);
    assert_memory_equal(out, "\0\0\0", 3);
    wire_zero(&r, 1);
    assert_int_equal(wire_left(&r), 0);
    assert_false(wire_done(&r));
    wire_open(&r, view_of(NULL, 0));
    assert_true(wire_done(&r));
}

static void reserved_bytes_must_be_zero(void **state)
{
    (void)state;
    const uint8_t bytes[] = {0, 0, 0, 1, 0};
    wire_reader r;
    wire_open(&r, view_of(bytes, sizeof bytes));
    wire_zero(&r, 3);
    assert_false(r.failed);
    wire_zero(&r, 2);
    assert_true(r.failed);
}

static void leb_is_minimal(void **state)
{
    (void)state;
    const uint64_t values[] = {0, 1, 127, 128, 16383, 16384, (uint64_t)1 << 32, UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        buf b;
        wire_reader r;
        buf_init(&b, 100);
        wire_put_leb(&b, values[i]);
        assert_int_equal(b.size, wire_leb_bytes(values[i]));
        wire_open(&r, view_of(b.data, b.size));
        assert_true(wire_leb(&r) == values[i]);
        assert_true(wire_done(&r));
        wire_open(&r, view_of(b.data, b.size - 1));
        (void)wire_leb(&r);
        assert_true(r.failed);
        buf_free(&b);
    }
    static const struct {
        const char *bytes;
        size_t size;
    } wrong[] = {
        {"\x80\x00", 2},                                  /* 0 in two bytes */
        {"\xff\x80\x00", 3},                              /* 127 in three */
        {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 10}, /* 2^64 */
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", 11},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        wire_reader r;
        wire_open(&r, view_of(wrong[i].bytes, wrong[i].size));
        (void)wire_leb(&r);
        assert_true(r.failed);
    }
}

static void views_compare_by_bytes(void **state)
{
    (void)state;
    assert_true(view_compare(view_text("a"), view_text("b")) < 0);
    assert_true(view_compare(view_text("b"), view_text("a")) > 0);
    assert_true(view_compare(view_text("a"), view_text("ab")) < 0);
    assert_true(view_compare(view_text("ab"), view_text("a")) > 0);
    assert_true(view_compare(view_text("\xff"), view_text("a")) > 0);
    assert_int_equal(view_compare(view_text("ab"), view_text("ab")), 0);
    assert_int_equal(view_compare(view_of(NULL, 0), view_text("")), 0);
    assert_true(view_equal(view_of(NULL, 0), view_text("")));
    assert_false(view_equal(view_text("a"), view_text("b")));
}

static void texts_too_long_for_their_field_fail(void **state)
{
    (void)state;
    static const uint8_t bytes[70000];
    buf b;
    buf_init(&b, 200000);
    wire_put_text8(&b, view_of(bytes, 255));
    wire_put_text16(&b, view_of(bytes, 65535));
    wire_put_text32(&b, view_of(bytes, 70000));
    assert_int_equal(buf_status(&b), BW_OK);
    assert_int_equal(b.size, 1 + 255 + 2 + 65535 + 4 + 70000);
    wire_put_text8(&b, view_of(bytes, 256));
    assert_int_equal(buf_status(&b), BW_TOO_LARGE);
    buf_reset(&b);
    wire_put_text16(&b, view_of(bytes, 65536));
    assert_int_equal(buf_status(&b), BW_TOO_LARGE);
    buf_reset(&b);
    wire_put_text32(&b, view_of(bytes, (size_t)UINT32_MAX + 1));
    assert_int_equal(buf_status(&b), BW_TOO_LARGE);
    buf_reset(&b);
    b.failed = BW_NOMEM; /* what failed first is what is told */
    wire_put_text8(&b, view_of(bytes, 256));
    assert_int_equal(buf_status(&b), BW_NOMEM);
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_read_back),
        cmocka_unit_test(reading_past_the_end_is_sticky),
        cmocka_unit_test(reserved_bytes_must_be_zero),
        cmocka_unit_test(leb_is_minimal),
        cmocka_unit_test(views_compare_by_bytes),
        cmocka_unit_test(texts_too_long_for_their_field_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
