// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/filelist.h"

#include "base/error.h"
#include "scratch.h"

/** Expands within the scratch directory, and compares the base names. */
static void expect(const char *pattern, const char *wanted)
{
    documents docs;
    bw_error error;
    char path[256], got[1024] = "";
    snprintf(path, sizeof path, "%s/%s", scratch, pattern);
    const char *const patterns[] = {path};
    error_clear(&error);
    if (filelist_expand(patterns, 1, &docs, &error) != BW_OK)
        fail_msg("%s: %s", pattern, error.message);
    for (size_t i = 0; i < docs.count; i++) {
        const size_t used = strlen(got);
        snprintf(got + used, sizeof got - used, "%s%s", i > 0 ? " " : "",
                 docs.list[i].path + strlen(scratch) + 1);
        assert_string_equal(docs.list[i].name, docs.list[i].path);
    }
    assert_string_equal(got, wanted);
    documents_free(&docs);
}

static void refuse(const char *pattern, bw_status code, const char *needle)
{
    documents docs;
    bw_error error;
    char path[4600];
    snprintf(path, sizeof path, "%s/%s", scratch, pattern);
    const char *const patterns[] = {path};
    error_clear(&error);
    assert_int_equal(filelist_expand(patterns, 1, &docs, &error), code);
    if (strstr(error.message, needle) == NULL)
        fail_msg("%s: %s", pattern, error.message);
    documents_free(&docs);
}

static void test_patterns(void **state)
{
    (void)state;
    static const char *const names[] = {"d-008", "d-009", "d-010", "d-8", "d-9",   "a1x",
                                        "a1y",   "b1x",   "b1y",   "{q}", "plain", "d-"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        scratch_file(names[i], "0123456789abcdef", i);
    expect("plain", "plain");
    expect("d-{008..010}", "d-008 d-009 d-010");
    expect("d-{010..8}", "d-010 d-009 d-008");
    expect("d-{8..9}", "d-8 d-9");
    expect("d-{9..8}", "d-9 d-8");
    expect("{b,a}{1..1}{x,y}", "b1x b1y a1x a1y");
    expect("d-{8,}", "d-8 d-");
    expect("{q}", "{q}");
    documents docs;
    const char *const patterns[] = {scratch_path("d-9"), scratch_path("d-{8,009}")};
    assert_int_equal(filelist_expand(patterns, 2, &docs, NULL), BW_OK);
    assert_int_equal(docs.count, 3);
    assert_int_equal(docs.list[2].size, 1);
    documents_free(&docs);
}

static void test_what_is_no_pattern_is_refused(void **state)
{
    (void)state;
    scratch_folder("folder");
    refuse("x{1..", BW_INVALID, "not closed");
    refuse("x{1..2", BW_INVALID, "not closed");
    refuse("x1..2}", BW_INVALID, "not opened");
    refuse("x{a{b,c}}", BW_INVALID, "within another");
    refuse("x{a}", BW_INVALID, "between braces");
    refuse("x{}", BW_INVALID, "between braces");
    refuse("x{a..c}", BW_INVALID, "two plain numbers");
    refuse("x{1..}", BW_INVALID, "two plain numbers");
    refuse("x{-1..2}", BW_INVALID, "two plain numbers");
    refuse("x{0..99999999999999999999}", BW_INVALID, "two plain numbers");
    refuse("x{0..999999999}", BW_TOO_LARGE, "more than");
    refuse("d-{007..9}", BW_INPUT_BAD, "d-007: cannot be read");
    refuse("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", BW_INVALID, "too many braces");
    refuse("plain{,}", BW_INVALID, "given twice");
    refuse("folder", BW_INPUT_BAD, "a directory");
    refuse("gone", BW_INPUT_BAD, "cannot be read");
    scratch_file("odd\xff", "", 0);
    refuse("odd\xff", BW_INPUT_BAD, "not UTF-8");
    char large[4200];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    memcpy(large, "{a,b}", 5);
    refuse(large, BW_INVALID, "too long");
}

static void test_standard_input(void **state)
{
    (void)state;
    documents docs;
    const char *const alone[] = {"-"}, *const both[] = {scratch_path("plain"), "-"};
    assert_int_equal(filelist_expand(alone, 1, &docs, NULL), BW_OK);
    assert_string_equal(docs.list[0].name, "standard input");
    documents_free(&docs);
    assert_int_equal(filelist_expand(both, 2, &docs, NULL), BW_INVALID);
    documents_free(&docs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_what_is_no_pattern_is_refused),
        cmocka_unit_test(test_standard_input),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
