// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/filereader.h"

#include "base/error.h"
#include "input/filelist.h"
#include "scratch.h"

#include <fcntl.h>

static documents list_of(const char *name)
{
    documents docs;
    const char *const path = scratch_path(name);
    assert_int_equal(filelist_expand(&path, 1, &docs, NULL), BW_OK);
    return docs;
}

static void test_places(void **state)
{
    (void)state;
    scratch_file("f1", "0123456789", 10);
    scratch_file("f2", "abcde", 5);
    documents docs = list_of("f{1,2}");
    filereader f = {.options = {.files = &docs}};
    char got[16] = "";
    size_t n;
    assert_int_equal(filereader_open(&f, NULL), BW_OK);
    assert_int_equal(bytestream_read(&f.bytes, got, 4, &n, NULL), BW_OK);
    assert_int_equal(filereader_at(&f), 4);
    filereader_go(&f, 1, 2);
    assert_int_equal(filereader_at(&f), 2);
    assert_int_equal(filereader_open(&f, NULL), BW_OK);
    assert_int_equal(bytestream_read(&f.bytes, got, 8, &n, NULL), BW_OK);
    assert_int_equal(n, 3);
    assert_string_equal(got, "cde3");
    assert_false(filereader_broken(&f));
    assert_int_equal(filereader_at(&f), 5);
    assert_int_equal(filereader_bytes(&f), 9);
    filereader_go(&f, 1, 6);
    bw_error error;
    assert_int_equal(filereader_open(&f, &error), BW_INPUT_CHANGED);
    assert_non_null(strstr(error.message, "f2 at byte 5: it ends before"));
    documents_free(&docs);
}

static void expect_failure(documents *docs, bw_status code, const char *needle)
{
    filereader f = {.options = {.files = docs}};
    bw_error error;
    error_clear(&error);
    assert_int_equal(filereader_open(&f, &error), code);
    if (strstr(error.message, needle) == NULL)
        fail_msg("%s", error.message);
    assert_false(f.is_open);
    assert_true(filereader_broken(&f));
    documents_free(docs);
}

static void test_other_files_are_noticed(void **state)
{
    (void)state;
    scratch_file("g", "0123456789", 10);
    documents docs = list_of("g");
    scratch_file("g", "0123456789x", 11);
    expect_failure(&docs, BW_INPUT_CHANGED, "changed since this run listed it");
    docs = list_of("g");
    assert_int_equal(unlink(scratch_path("g")), 0);
    expect_failure(&docs, BW_INPUT_CHANGED, "cannot be opened: No such file");
}

static void test_compressed_files_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *program;
    } rows[] = {
        {"\x1f\x8b\x08", 3, "zcat"},
        {"\x28\xb5\x2f\xfd", 4, "zstdcat"},
        {"\xfd"
         "7zXZ\0",
         6, "xzcat"},
        {"BZh91AY&SY", 10, "bzcat"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        scratch_file("z", rows[i].bytes, rows[i].size);
        documents docs = list_of("z");
        expect_failure(&docs, BW_INPUT_BAD, rows[i].program);
    }
    /* The beginning of a name in an archive. */
    scratch_file("z", "BZh9.jpg", 8);
    documents docs = list_of("z");
    filereader f = {.options = {.files = &docs}};
    assert_int_equal(filereader_open(&f, NULL), BW_OK);
    filereader_go(&f, 0, 0);
    documents_free(&docs);
}

/** What the system cannot read is told apart from what is bad. */
static void test_a_failing_read_breaks(void **state)
{
    (void)state;
    scratch_file("w", "0123456789", 10);
    documents docs = list_of("w");
    filereader f = {.options = {.files = &docs}};
    char got[4];
    size_t n;
    assert_int_equal(filereader_open(&f, NULL), BW_OK);
    const int other = open(scratch_path("w"), O_WRONLY);
    assert_true(other >= 0 && dup2(other, f.bytes.fd) >= 0);
    f.bytes.at = f.bytes.fill = 0;
    assert_int_equal(bytestream_read(&f.bytes, got, 4, &n, NULL), BW_INPUT_BAD);
    assert_true(filereader_broken(&f));
    filereader_go(&f, 0, 0);
    assert_true(filereader_broken(&f));
    close(other);
    documents_free(&docs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_other_files_are_noticed),
        cmocka_unit_test(test_a_failing_read_breaks),
        cmocka_unit_test(test_compressed_files_are_named),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
