// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/documents.h"

#include "base/error.h"
#include "scratch.h"

static bw_status list(documents *docs, bw_error *error, size_t count, ...)
{
    const char *inputs[4];
    va_list arguments;
    va_start(arguments, count);
    for (size_t i = 0; i < count; i++)
        inputs[i] = va_arg(arguments, const char *);
    va_end(arguments);
    return documents_list(inputs, count, docs, error);
}

static void assert_refused(bw_status expected, const char *needle, const char *path)
{
    documents docs;
    bw_error *error = bw_error_new();
    assert_int_equal(list(&docs, error, 1, path), expected);
    assert_non_null(strstr(bw_error_message(error), needle));
    documents_free(&docs);
    bw_error_free(error);
}

static void test_names_are_relative_and_sorted(void **state)
{
    (void)state;
    scratch_folder("a");
    scratch_folder("a/sub");
    scratch_file("a/z.txt", "zz", 2);
    scratch_file("a/B", "", 0);
    scratch_file("a/sub/\xc3\xa9", "abc", 3);
    documents docs;
    assert_int_equal(list(&docs, NULL, 1, scratch_path("a")), BW_OK);
    assert_int_equal(docs.count, 3);
    assert_string_equal(docs.list[0].name, "B");
    assert_string_equal(docs.list[1].name, "sub/\xc3\xa9");
    assert_string_equal(docs.list[2].name, "z.txt");
    assert_int_equal(docs.list[0].size, 0);
    assert_int_equal(docs.list[1].size, 3);
    documents_free(&docs);
    assert_int_equal(list(&docs, NULL, 1, scratch_path("a/")), BW_OK);
    assert_string_equal(docs.list[0].name, "B");
    documents_free(&docs);
    assert_int_equal(list(&docs, NULL, 1, scratch_path("a/z.txt")), BW_OK);
    assert_string_equal(docs.list[0].name, "z.txt");
    documents_free(&docs);
}

static void test_several_inputs_keep_their_prefix(void **state)
{
    (void)state;
    scratch_folder("p");
    scratch_folder("q");
    scratch_file("p/same", "1", 1);
    scratch_file("q/same", "22", 2);
    documents docs;
    assert_int_equal(list(&docs, NULL, 2, scratch_path("q"), scratch_path("p")), BW_OK);
    assert_int_equal(docs.count, 2);
    assert_string_equal(docs.list[0].name, scratch_path("p/same"));
    assert_int_equal(docs.list[1].size, 2);
    documents_free(&docs);
    bw_error *error = bw_error_new();
    assert_int_equal(list(&docs, error, 2, scratch_path("q"), scratch_path("q/same")), BW_INVALID);
    assert_non_null(strstr(bw_error_message(error), "twice"));
    documents_free(&docs);
    bw_error_free(error);
}

static void test_links_are_followed_loops_refused(void **state)
{
    (void)state;
    scratch_folder("l");
    scratch_file("target", "12345", 5);
    assert_int_equal(symlink("../target", scratch_path("l/link")), 0);
    documents docs;
    assert_int_equal(list(&docs, NULL, 1, scratch_path("l")), BW_OK);
    assert_int_equal(docs.count, 1);
    assert_int_equal(docs.list[0].size, 5);
    documents_free(&docs);
    assert_int_equal(symlink("../l", scratch_path("l/loop")), 0);
    assert_refused(BW_INPUT_BAD, "contain itself", scratch_path("l"));
}

static void test_what_cannot_be_read_is_named(void **state)
{
    (void)state;
    assert_refused(BW_INPUT_BAD, "absent", scratch_path("absent"));
    scratch_folder("odd");
    assert_refused(BW_INPUT_BAD, "no file", scratch_path("odd"));
    assert_int_equal(symlink("nowhere", scratch_path("odd/dangling")), 0);
    assert_refused(BW_INPUT_BAD, "odd/dangling: a link to nothing (nowhere)", scratch_path("odd"));
    assert_int_equal(unlink(scratch_path("odd/dangling")), 0);
    assert_int_equal(mkfifo(scratch_path("odd/fifo"), 0600), 0);
    assert_refused(BW_INPUT_BAD, "neither", scratch_path("odd"));
    scratch_folder("names");
    static const char *const not_utf8[] = {
        "\xff", "\xc0\x80", "\xed\xa0\x80", "\xc3", "\xf4\x90\x80\x80", "\xe0\x80\x80", "a\x80"};
    for (size_t i = 0; i < sizeof not_utf8 / sizeof not_utf8[0]; i++) {
        char name[32];
        snprintf(name, sizeof name, "names/%s", not_utf8[i]);
        scratch_file(name, "x", 1);
        assert_refused(BW_INPUT_BAD, "UTF-8", scratch_path("names"));
        assert_int_equal(unlink(scratch_path(name)), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_relative_and_sorted),
        cmocka_unit_test(test_several_inputs_keep_their_prefix),
        cmocka_unit_test(test_links_are_followed_loops_refused),
        cmocka_unit_test(test_what_cannot_be_read_is_named),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
