// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "base/buf.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void numbers_are_little_endian(void **state)
{
    (void)state;
    buf b;
    buf_init(&b, 1000);
    buf_put_u8(&b, 0x01);
    buf_put_u16(&b, 0x0203);
    buf_put_u32(&b, 0x04050607);
    buf_put_u64(&b, 0x08090a0b0c0d0e0f);
    buf_put_zero(&b, 2);
    buf_put_text(&b, "hi");
    buf_put(&b, NULL, 0);
    const uint8_t expected[] = {1, 3, 2, 7, 6, 5, 4, 15, 14, 13, 12, 11, 10, 9, 8, 0, 0, 'h', 'i'};
    assert_int_equal(buf_status(&b), BW_OK);
    assert_int_equal(b.size, sizeof expected);
    assert_memory_equal(b.data, expected, sizeof expected);
    buf_free(&b);
    assert_int_equal(b.max, 1000);
}

static void the_maximum_is_kept_and_failure_sticks(void **state)
{
    (void)state;
    buf b;
    buf_init(&b, 10);
    buf_put_text(&b, "0123456");
    assert_int_equal(buf_reserve(&b, 3), BW_OK);
    buf_put_text(&b, "78901");
    assert_int_equal(buf_status(&b), BW_TOO_LARGE);
    buf_put_u8(&b, 1);
    buf_printf(&b, "x");
    assert_int_equal(b.size, 7);
    assert_int_equal(buf_reserve(&b, 1), BW_TOO_LARGE);
    assert_string_equal(buf_text(&b), "");
    buf_reset(&b);
    assert_int_equal(buf_status(&b), BW_OK);
    buf_put_text(&b, "0123456789");
    assert_int_equal(buf_status(&b), BW_OK);
    assert_true(b.capacity <= 10 + 1);
    /* The NUL is beyond the maximum and does not count. */
    assert_string_equal(buf_text(&b), "0123456789");
    assert_int_equal(b.size, 10);
    buf_put_zero(&b, 1);
    assert_int_equal(buf_status(&b), BW_TOO_LARGE);
    buf_free(&b);
}

static void formatted_text_grows_the_buffer(void **state)
{
    (void)state;
    buf b;
    buf_init(&b, 5000);
    assert_string_equal(buf_text(&b), "");
    for (int i = 0; i < 1000; i++)
        buf_printf(&b, "%03d,", i);
    assert_int_equal(b.size, 4000);
    assert_memory_equal(buf_text(&b) + 3996, "999,", 5);
    buf_printf(&b, "%01001d", 1);
    assert_int_equal(buf_status(&b), BW_TOO_LARGE);
    assert_int_equal(b.size, 4000);
    buf_free(&b);
}

static void memory_can_be_taken(void **state)
{
    (void)state;
    buf b;
    buf_init(&b, 100);
    buf_put_text(&b, "abc");
    size_t size;
    uint8_t *data = buf_take(&b, &size);
    assert_int_equal(size, 3);
    assert_memory_equal(data, "abc", 3);
    assert_int_equal(b.size, 0);
    assert_null(b.data);
    buf_put_u8(&b, 1);
    assert_int_equal(b.size, 1);
    mem_free(data);
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_little_endian),
        cmocka_unit_test(the_maximum_is_kept_and_failure_sticks),
        cmocka_unit_test(formatted_text_grows_the_buffer),
        cmocka_unit_test(memory_can_be_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
