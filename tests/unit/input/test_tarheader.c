// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/tarheader.h"

#include "scratch.h"
#include "tarmaker.h"

static uint8_t block[TAR_BLOCK_BYTES];

static void make(const char *name, char type, unsigned long long size)
{
    buf out;
    buf_init(&out, 1024);
    tar_header_put(&out, name, type, size);
    memcpy(block, out.data, sizeof block);
    buf_free(&out);
}

static void test_fields(void **state)
{
    (void)state;
    tar_header h;
    make("a/b.txt", '0', 077777777777);
    assert_null(tar_read_header(block, &h));
    assert_string_equal(h.name, "a/b.txt");
    assert_int_equal(h.type, '0');
    assert_int_equal(h.size, 077777777777);
    /* A name and a prefix that fill their fields, without NUL. */
    char longest[101];
    memset(longest, 'n', 100);
    longest[100] = '\0';
    make(longest, '0', 0);
    memset(block + 345, 'p', 155);
    tar_seal(block);
    assert_null(tar_read_header(block, &h));
    assert_int_equal(strlen(h.name), 256);
    assert_true(h.name[154] == 'p' && h.name[155] == '/' && h.name[156] == 'n');
    /* GNU has times where POSIX has the prefix; old archives have no magic at all. */
    memcpy(block + 257, "ustar  ", 8);
    tar_seal(block);
    assert_null(tar_read_header(block, &h));
    assert_string_equal(h.name, longest);
    memset(block + 257, 0, 8);
    tar_seal(block);
    assert_null(tar_read_header(block, &h));
    assert_string_equal(h.name, longest);
}

static void expect_size(const char *field, size_t size, uint64_t value, bool valid)
{
    tar_header h;
    make("a", '0', 0);
    memset(block + 124, 0, 12);
    memcpy(block + 124, field, size);
    tar_seal(block);
    const char *wrong = tar_read_header(block, &h);
    assert_int_equal(wrong == NULL, valid);
    if (valid)
        assert_int_equal(h.size, value);
}

static void test_sizes(void **state)
{
    (void)state;
    expect_size("00000000012 ", 12, 10, true);
    expect_size("          7 ", 12, 7, true);
    expect_size("777777777777", 12, 0777777777777, true);
    expect_size("12\0"
                "4",
                4, 0, false);
    expect_size("8", 1, 0, false);
    expect_size("", 0, 0, false);
    expect_size("            ", 12, 0, false);
    expect_size("-1", 2, 0, false);
    expect_size("\x80\0\0\0\0\0\0\1\0\0\0\5", 12, (1ull << 32) + 5, true);
    expect_size("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12, INT64_MAX, true);
    expect_size("\x80\0\0\1\0\0\0\0\0\0\0\0", 12, 0, false);
    expect_size("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12, 0, false);
    expect_size("\x81\0\0\0\0\0\0\0\0\0\0\0", 12, 0, false);
}

static void test_checksums(void **state)
{
    (void)state;
    tar_header h;
    make("a\xff", '0', 1);
    assert_null(tar_read_header(block, &h));
    for (size_t i = 0; i < TAR_BLOCK_BYTES; i++) {
        block[i] ^= 1;
        const bool digit_end = i >= 148 + 6 && i < 156; /* what ends the sum */
        if (!digit_end)
            assert_non_null(tar_read_header(block, &h));
        block[i] ^= 1;
    }
    /* Summed as signed bytes. */
    snprintf((char *)block + 148, 8, "%06o", (unsigned)strtoul((char *)block + 148, NULL, 8) - 256);
    assert_null(tar_read_header(block, &h));
    memset(block + 148, 0, 8);
    assert_non_null(tar_read_header(block, &h));
    assert_false(tar_is_end(block));
    memset(block, 0, sizeof block);
    assert_true(tar_is_end(block));
    block[511] = 1;
    assert_false(tar_is_end(block));
}

static const char *read_pax(const char *text, size_t size, tar_pax *out)
{
    static uint8_t copy[256];
    memcpy(copy, text, size);
    return tar_read_pax(copy, size, out);
}

static void test_pax(void **state)
{
    (void)state;
    tar_pax x;
    static const char fine[] = "11 path=ab\n18 size=123456789\n13 mtime=1.5\n5 k=\n";
    assert_null(read_pax(fine, strlen(fine), &x));
    assert_true(x.path_bytes == 2 && memcmp(x.path, "ab", 2) == 0);
    assert_true(x.has_size && x.size == 123456789);
    assert_null(read_pax("", 0, &x));
    assert_true(x.path == NULL && !x.has_size);
    static const char *const wrong[] = {
        "10 path=ab\n",
        "12 path=ab\n",
        "path=ab\n",
        "x path=ab\n",
        "11 path=abc",
        "0 path=ab\n",
        "2 \n",
        "9 size=x\n",
        "8 size=\n",
        "7 novalue\n",
        "29 size=99999999999999999999\n",
        "99999999999999999999 a=b\n",
        "21 GNU.sparse.size=1\n",
        "11 path=ab\n1",
        " 9 path=\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (read_pax(wrong[i], strlen(wrong[i]), &x) == NULL)
            fail_msg("accepted: %s", wrong[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_checksums),
        cmocka_unit_test(test_pax),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
