// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/tarmember.h"

#include "base/error.h"
#include "input/filelist.h"
#include "scratch.h"
#include "tarmaker.h"

#include <fcntl.h>

static documents docs;
static filereader from;
static char seen[4096];
static bw_error error;

/** Writes the archive and reads it: `name:size@first header ` of each member. */
static bw_status read_members(const buf *archive, bool with_data)
{
    scratch_file("a.tar", archive->size > 0 ? (const void *)archive->data : "", archive->size);
    const char *const path = scratch_path("a.tar");
    assert_int_equal(filelist_expand(&path, 1, &docs, NULL), BW_OK);
    from = (filereader){.options = {.files = &docs}};
    assert_int_equal(filereader_open(&from, NULL), BW_OK);
    tar_member m = {.at = 0};
    seen[0] = '\0';
    error_clear(&error);
    bw_status status;
    while ((status = tar_member_next(&from, &m, &error)) == BW_OK) {
        buf data;
        buf_init(&data, SIZE_MAX);
        if (with_data)
            status = tar_member_read(&from, &m, &data, &error);
        const size_t used = strlen(seen);
        snprintf(seen + used, sizeof seen - used, "%.20s:%c%ju@%ju ", m.name, m.type,
                 (uintmax_t)m.size, (uintmax_t)m.at);
        if (status == BW_OK && with_data)
            assert_int_equal(data.size, m.size);
        buf_free(&data);
        if (status != BW_OK)
            break;
    }
    filereader_go(&from, 0, 0);
    documents_free(&docs);
    return status;
}

static void expect(buf *archive, bw_status code, const char *members, const char *needle)
{
    for (int with_data = 0; with_data < 2; with_data++) {
        assert_int_equal(read_members(archive, with_data != 0), code);
        assert_string_equal(seen, members);
        if (code != BW_END && strstr(error.message, needle) == NULL)
            fail_msg("%s", error.message);
    }
    buf_free(archive);
}

static buf empty(void)
{
    buf b;
    buf_init(&b, SIZE_MAX);
    return b;
}

static void test_plain(void **state)
{
    (void)state;
    buf a = empty();
    tar_file(&a, "one", "hello");
    tar_file(&a, "empty", "");
    tar_put(&a, "dir/", '5', NULL, 0);
    tar_put(&a, "old/", '\0', NULL, 0);
    tar_put(&a, "link", '2', NULL, 0);
    tar_file(&a, "last", "x");
    tar_end(&a);
    expect(&a, BW_END,
           "one:05@0 empty:00@1024 dir/:50@1536 old/:50@2048 link:20@2560 last:01@3072 ", "");
    a = empty();
    tar_end(&a);
    expect(&a, BW_END, "", "");
    /* One zero block is an end; so are many. */
    a = empty();
    tar_file(&a, "one", "hello");
    buf_put_zero(&a, 512);
    expect(&a, BW_END, "one:05@0 ", "");
    a = empty();
    tar_file(&a, "one", "hello");
    buf_put_zero(&a, 10240);
    expect(&a, BW_END, "one:05@0 ", "");
}

/** Names and sizes in headers of their own; the place is that of the first of them. */
static void test_extended_headers(void **state)
{
    (void)state;
    buf a = empty();
    tar_put(&a, "global", 'g', "13 mtime=1.5\n", 13);
    tar_put(&a, "pax", 'x', "15 path=my/pax\n10 size=5\n", 25);
    tar_header_put(&a, "cut", '0', 0);
    buf_put(&a, "hello", 5);
    tar_pad(&a, 5);
    char name[300];
    memset(name, 'g', sizeof name);
    tar_put(&a, "././@LongLink", 'L', name, 299);
    tar_put(&a, "././@LongLink", 'K', "target", 7);
    tar_file(&a, "cut", "world!");
    tar_end(&a);
    expect(&a, BW_END, "my/pax:05@1024 gggggggggggggggggggg:06@3072 ", "");
}

static void test_truncated(void **state)
{
    (void)state;
    buf a = empty();
    expect(&a, BW_INPUT_BAD, "", "byte 0: the archive ends without its end-of-archive block");
    a = empty();
    tar_file(&a, "one", "hello");
    expect(&a, BW_INPUT_BAD, "one:05@0 ", "byte 1024: the archive ends without");
    a = empty();
    tar_file(&a, "one", "hello");
    tar_header_put(&a, "two", '0', 5);
    a.size -= 100;
    expect(&a, BW_INPUT_BAD, "one:05@0 ", "byte 1436: the archive ends within a header");
    a = empty();
    tar_header_put(&a, "one", '0', 1000000);
    buf_put_zero(&a, 300000);
    expect(&a, BW_INPUT_BAD, "one:01000000@0 ", "byte 300512: the archive ends within the data");
    a = empty();
    tar_header_put(&a, "pax", 'x', 1000);
    expect(&a, BW_INPUT_BAD, "", "within a header");
    /* Within what fills the last block. */
    a = empty();
    tar_header_put(&a, "one", '0', 5);
    buf_put(&a, "hello", 5);
    expect(&a, BW_INPUT_BAD, "one:05@0 ", "byte 517: the archive ends within the data");
}

static void test_damage(void **state)
{
    (void)state;
    buf a = empty();
    tar_file(&a, "one", "hello");
    buf_put_text(&a, "garbage");
    buf_put_zero(&a, 1024);
    expect(&a, BW_INPUT_BAD, "one:05@0 ", "byte 1024: not a tar header");
    a = empty();
    tar_file(&a, "one", "hello");
    tar_end(&a);
    tar_file(&a, "two", "hello");
    tar_end(&a);
    expect(&a, BW_INPUT_BAD, "one:05@0 ", "byte 2048: something stands behind the end");
    a = empty();
    tar_put(&a, "pax", 'x', "9 path=\n", 8);
    expect(&a, BW_INPUT_BAD, "", "byte 0: a pax header");
    a = empty();
    tar_put(&a, "pax", 'x', "9 path=a\n", 9);
    tar_end(&a);
    expect(&a, BW_INPUT_BAD, "", "byte 1024: the archive ends behind half a header");
    a = empty();
    tar_put(&a, "global", 'g', "9 path=a\n", 9);
    expect(&a, BW_INPUT_BAD, "", "a global pax header with a path");
    a = empty();
    tar_header_put(&a, "pax", 'x', 1 << 21);
    expect(&a, BW_INPUT_BAD, "", "too long");
    a = empty();
    tar_put(&a, "pax", 'x', "8 path=\n", 8);
    tar_file(&a, "one", "");
    expect(&a, BW_INPUT_BAD, "", "without a name");
    a = empty();
    tar_put(&a, "pax", 'x', "28 size=9223372036854775500\n", 28);
    tar_file(&a, "one", "");
    expect(&a, BW_INPUT_BAD, "", "a size that no file has");
}

/** A member of more than 4 GiB, as GNU writes its size, and one behind it. */
static void test_a_large_member(void **state)
{
    (void)state;
    const uint64_t size = ((uint64_t)5 << 30) + 3;
    buf a = empty(), b = empty();
    tar_header_put(&a, "big", '0', 0);
    memcpy(a.data + 124, "\x80\0\0\0\0\0\0\1\x40\0\0\3", 12);
    tar_seal(a.data);
    tar_file(&b, "small", "x");
    tar_end(&b);
    const int fd = open(scratch_path("big.tar"), O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, a.data, 512, 0), 512);
    assert_int_equal(pwrite(fd, b.data, b.size, (off_t)(512 + size + 509)), b.size);
    close(fd);
    buf_free(&a);
    buf_free(&b);
    const char *const path = scratch_path("big.tar");
    assert_int_equal(filelist_expand(&path, 1, &docs, NULL), BW_OK);
    from = (filereader){.options = {.files = &docs}};
    tar_member m = {.at = 0};
    assert_int_equal(filereader_open(&from, NULL), BW_OK);
    assert_int_equal(tar_member_next(&from, &m, NULL), BW_OK);
    assert_int_equal(m.size, size);
    assert_int_equal(tar_member_next(&from, &m, NULL), BW_OK);
    assert_string_equal(m.name, "small");
    assert_int_equal(m.at, size + 1021);
    assert_int_equal(tar_member_next(&from, &m, NULL), BW_END);
    filereader_go(&from, 0, 0);
    documents_free(&docs);
    assert_int_equal(unlink(scratch_path("big.tar")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),          cmocka_unit_test(test_extended_headers),
        cmocka_unit_test(test_truncated),      cmocka_unit_test(test_damage),
        cmocka_unit_test(test_a_large_member),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
