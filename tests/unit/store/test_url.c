// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/contract_ops.h"
#include "tests/contract/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <cmocka.h>

static void assert_refused(const char *url, bw_status status, const char *says)
{
    bw_error *error = bw_error_new();
    store *s = NULL;
    assert_int_equal(store_open_url(url, false, false, &s, error), status);
    assert_null(s);
    assert_int_equal(bw_error_code(error), status);
    if (strstr(bw_error_message(error), says) == NULL)
        fail_msg("'%s' does not say '%s'", bw_error_message(error), says);
    bw_error_free(error);
}

/** Opens for writing, puts "k", and finds it beneath `expected`. */
static void assert_opens(const char *url, const char *expected)
{
    bw_error *error = bw_error_new();
    store *s = NULL;
    if (store_open_url(url, true, false, &s, error) != BW_OK)
        fail_msg("%s: %s", url, bw_error_message(error));
    assert_int_equal(do_put(s, "k", url), STORE_OK);
    store_close(s);
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/k", expected);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(unlink(path), 0);
    bw_error_free(error);
}

static void test_the_ways_to_name_a_directory(void **state)
{
    (void)state;
    char *root = scratch_make();
    char url[4096];
    char expected[4096];
    static const struct {
        const char *before, *after, *name;
    } ways[] = {
        {"", "/run7", "/run7"},
        {"", "/run7/", "/run7"},
        {"file://", "/run7", "/run7"},
        {"FILE://", "/run7", "/run7"},
        {"file://localhost", "/run7", "/run7"},
        {"file:", "/run7", "/run7"},
        {"file://", "/a%20b%2fc%C3%a9", "/a b/c\xc3\xa9"},
        {"", "/100%", "/100%"}, /* a plain path is taken as it is */
        {"", "/x:y", "/x:y"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        (void)snprintf(url, sizeof url, "%s%s%s", ways[i].before, root, ways[i].after);
        (void)snprintf(expected, sizeof expected, "%s%s", root, ways[i].name);
        assert_opens(url, expected);
    }
    assert_int_equal(chdir(root), 0);
    assert_opens("relative/deep", "relative/deep");
    assert_opens("a:b", "a:b");
    assert_int_equal(chdir("/"), 0);
    scratch_remove(root);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    assert_refused("", BW_INVALID, "empty");
    assert_refused("s3://bucket/run7", BW_UNSUPPORTED, "'s3'");
    assert_refused("mem://name", BW_UNSUPPORTED, "'mem'");
    assert_refused("gs:/bucket", BW_UNSUPPORTED, "'gs'");
    assert_refused("file://host/path", BW_INVALID, "no other host");
    assert_refused("file://", BW_INVALID, "no other host");
    assert_refused("file:relative", BW_INVALID, "file:///");
    assert_refused("file:///a?x=1", BW_INVALID, "%3f");
    assert_refused("file:///a#b", BW_INVALID, "%23");
    assert_refused("file:///a%2", BW_INVALID, "hex");
    assert_refused("file:///a%zz", BW_INVALID, "hex");
    assert_refused("file:///a%00b", BW_INVALID, "hex");
    assert_refused("file:///nowhere/at/all", BW_NO_NAMESPACE, "/nowhere/at/all");
    char *long_url = malloc(9000);
    memset(long_url, 'a', 8999);
    memcpy(long_url, "file:///", 8);
    long_url[8999] = '\0';
    assert_refused(long_url, BW_INVALID, "too long");
    assert_refused(long_url + 7, BW_INVALID, "too long");
    free(long_url);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_ways_to_name_a_directory),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
