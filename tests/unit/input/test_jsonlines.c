// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/jsonlines.h"

#include "input/filelist.h"
#include "readall.h"

#include <fcntl.h>

static documents docs;
static readout got;

static void read_lines(const char *pattern, uint32_t shard, uint32_t shards, uint32_t max)
{
    const char *const path = scratch_path(pattern);
    reader *r;
    assert_int_equal(filelist_expand(&path, 1, &docs, NULL), BW_OK);
    const reader_options options = {
        .files = &docs, .shard = shard, .shards = shards, .record_bytes_max = max};
    assert_int_equal(jsonlines_open(&options, &r, NULL), BW_OK);
    read_all(r, false, &got);
    assert_int_equal(got.status, BW_END);
    r->close(r);
    documents_free(&docs);
}

/** The text of a record without the name of the scratch directory. */
static const char *short_text(size_t i)
{
    const char *at = strstr(got.texts[i], "{json=");
    return at != NULL ? at + 6 : strrchr(got.texts[i], '/') + 1;
}

static void expect(const char *const *wanted, size_t count)
{
    assert_int_equal(got.count, count);
    for (size_t i = 0; i < count; i++)
        if (strncmp(short_text(i), wanted[i], strlen(wanted[i])) != 0)
            fail_msg("record %zu: %s, not %s", i, short_text(i), wanted[i]);
    readout_free(&got);
}

static void test_ends_of_lines(void **state)
{
    (void)state;
    static const char text[] = "\xef\xbb\xbf{\"a\":1}\n[2]\r\n\n  \t\r\n\"x\"\n 3 \r\r\nnull";
    scratch_file("l", text, sizeof text - 1);
    read_lines("l", 0, 1, 100);
    static const char *const wanted[] = {
        "{\"a\":1},doc=", "[2],doc=", "\"x\",doc=", " 3 <0d>,doc=", "null,doc="};
    assert_non_null(strstr(got.texts[0], "at=<03><00><00>"));
    assert_non_null(strstr(got.texts[1], "/l@11{"));
    expect(wanted, 5);
    /* Without a mark and with an end; a mark in the middle is none. */
    scratch_file("l",
                 "1\n\xef\xbb\xbf"
                 "2\n",
                 7);
    read_lines("l", 0, 1, 100);
    static const char *const bad[] = {"1,", "l at byte 2: not JSON"};
    expect(bad, 2);
    scratch_file("l", "\xef\xbb\xbf", 3);
    read_lines("l", 0, 1, 100);
    expect(NULL, 0);
    scratch_file("l", "", 0);
    read_lines("l", 0, 1, 100);
    expect(NULL, 0);
}

static void test_bad_lines_have_a_place(void **state)
{
    (void)state;
    static const char text[] =
        "{\"a\":}\n{\"b\":\"\0\"}\n\"\xff\"\n1 2\n[\n\"\\ud800\"\n7\n{\"cut\":";
    scratch_file("b", text, sizeof text - 1);
    read_lines("b", 0, 1, 100);
    static const char *const wanted[] = {
        "b at byte 5: not JSON (the line begins at byte 0)",
        "b at byte 13: a NUL byte",
        "b at byte 18: not UTF-8",
        "b at byte 23: something stands behind the value",
        "b at byte 26: the text ends too early",
        "b at byte 28: not an escape",
        "7,",
        "b at byte 45: the text ends too early (the line begins at byte 38)",
    };
    assert_int_equal(got.bad, 7);
    expect(wanted, 8);
}

static void test_long_lines(void **state)
{
    (void)state;
    scratch_file("m", "12345\r\n123456\n1234567890123\n1\r\n", 31);
    read_lines("m", 0, 1, 5);
    static const char *const wanted[] = {"12345,", "m at byte 7: a line of 7 bytes, at most 5",
                                         "m at byte 14: a line of 14 bytes", "1,"};
    expect(wanted, 4);
    /* Whose first bytes alone are blank. */
    scratch_file("m", "                    x\n2\n", 24);
    read_lines("m", 0, 1, 5);
    static const char *const blank[] = {"m at byte 0: a line of 22 bytes", "2,"};
    expect(blank, 2);
}

/** Each line is of one shard, whatever the files it lies in. */
static void test_shards(void **state)
{
    (void)state;
    scratch_file("s0", "0\n1\n\n3\n4", 8);
    scratch_file("s1", "", 0);
    scratch_file("s2", "5\n6\n", 4);
    for (uint32_t shards = 1; shards <= 9; shards++) {
        char seen[16] = "";
        for (uint32_t shard = 0; shard < shards; shard++) {
            read_lines("s{0,1,2}", shard, shards, 100);
            for (size_t i = 0; i < got.count; i++) {
                const char digit = short_text(i)[0];
                assert_int_equal((uint32_t)(digit - '0') % shards, shard);
                seen[strlen(seen)] = digit;
            }
            readout_free(&got);
        }
        assert_int_equal(strlen(seen), 6);
        for (const char *c = "013456"; *c != '\0'; c++)
            assert_non_null(strchr(seen, *c));
    }
}

/** Beyond 4 GiB, in a file that is mostly a hole, which is passed over by seeking. */
static void test_a_large_file(void **state)
{
    (void)state;
    const off_t hole = (off_t)5 << 30;
    const int fd = open(scratch_path("big"), O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "\n2\nx\n", 5, hole), 5);
    close(fd);
    const char *const path = scratch_path("big");
    reader *r;
    assert_int_equal(filelist_expand(&path, 1, &docs, NULL), BW_OK);
    const reader_options options = {.files = &docs, .shards = 1, .record_bytes_max = 1000};
    assert_int_equal(jsonlines_open(&options, &r, NULL), BW_OK);
    const record_place to = {.at = (uint64_t)hole - 2000, .index = 7};
    assert_int_equal(r->seek(r, to, NULL), BW_OK);
    read_all(r, false, &got);
    assert_int_equal(got.status, BW_END);
    assert_int_equal(got.behind[1].at, hole + 3);
    assert_int_equal(got.behind[1].index, 9);
    r->close(r);
    documents_free(&docs);
    static const char *const wanted[] = {
        "big at byte 5368707120: a line of 2001 bytes, at most 1000", "2,",
        "big at byte 5368709123: not JSON"};
    assert_non_null(strstr(got.texts[1], "@5368709121{"));
    expect(wanted, 3);
    assert_int_equal(unlink(scratch_path("big")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_of_lines), cmocka_unit_test(test_bad_lines_have_a_place),
        cmocka_unit_test(test_long_lines),    cmocka_unit_test(test_shards),
        cmocka_unit_test(test_a_large_file),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
