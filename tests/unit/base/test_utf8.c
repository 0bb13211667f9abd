// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/** Every code point is written, read back with its own length, and nothing shorter is taken. */
static void every_code_point(void **state)
{
    (void)state;
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        if (code >= 0xd800 && code <= 0xdfff)
            continue;
        uint8_t bytes[4];
        const size_t size = utf8_encode(code, bytes);
        assert_int_equal(size, code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);
        assert_int_equal(utf8_length(bytes, size), size);
        assert_int_equal(utf8_length(bytes, size - 1), 0);
        uint32_t back = size == 1 ? bytes[0] : bytes[0] & (0x7fu >> size);
        for (size_t i = 1; i < size; i++)
            back = back << 6 | (bytes[i] & 0x3f);
        assert_int_equal(back, code);
    }
}

/** The number of valid sequences of each length is that of the code points: none is overlong. */
static void nothing_else_is_valid(void **state)
{
    (void)state;
    size_t counts[5] = {0};
    for (uint32_t value = 0; value <= 0xffffff; value++) {
        const uint8_t bytes[4] = {(uint8_t)(value >> 16), (uint8_t)(value >> 8), (uint8_t)value,
                                  0x80};
        const size_t length = utf8_length(bytes, 4);
        assert_true(length <= 4);
        counts[length]++;
    }
    assert_int_equal(counts[1], 128 * 65536);
    assert_int_equal(counts[2], (0x800 - 0x80) * 256);
    assert_int_equal(counts[3], 0x10000 - 0x800 - 0x800);
    assert_int_equal(counts[4], 0x100000 / 64);
}

static void texts(void **state)
{
    (void)state;
    assert_true(utf8_is_valid("", 0));
    assert_true(utf8_is_valid("a\0b", 3));
    assert_true(utf8_is_valid("a\xc3\xa4", 3));
    assert_false(utf8_is_valid("a\xc3", 2));
    assert_false(utf8_is_valid("\xff", 1));
    assert_false(utf8_is_valid("\xed\xa0\x80", 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point),
        cmocka_unit_test(nothing_else_is_valid),
        cmocka_unit_test(texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
