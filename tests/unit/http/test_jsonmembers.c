// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/jsonmembers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct log_of_members {
    char text[1024];
    const char *refused; /* a path at which to end */
    bw_status with;
} log_of_members;

static bw_status note(void *context, const char *path, const char *text, size_t size)
{
    log_of_members *l = context;
    assert_int_equal(strlen(text), size);
    const size_t at = strlen(l->text);
    (void)snprintf(l->text + at, sizeof l->text - at, "%s=%.40s\n", path, text);
    return l->refused != NULL && strcmp(path, l->refused) == 0 ? l->with : BW_OK;
}

static bw_status read_text(const char *json, log_of_members *l, const char **bad)
{
    *l = (log_of_members){.text = ""};
    return jsonmembers_each(json, strlen(json), note, l, bad);
}

static void test_members(void **state)
{
    (void)state;
    log_of_members l;
    const char *bad = NULL;
    assert_int_equal(
        read_text(
            " { \"a\" : \"x\\n\\u00fc\", \"n\": -1.5e3 ,\"t\":true,\"z\":null,\"l\":[1,{\"a\":2}],"
            "\"o\":{\"p\":{\"q\":{\"r\":{\"s\":1},\"u\":2}},\"e\":{}},\"a/b\":1,\"\":\"e\"} ",
            &l, &bad),
        BW_OK);
    assert_null(bad);
    assert_string_equal(l.text, "a=x\n\u00fc\nn=-1.5e3\nt=true\no/p/q/u=2\n=e\n");
    assert_int_equal(read_text("{}", &l, &bad), BW_OK);
    assert_string_equal(l.text, "");
}

static void test_what_is_none(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "[]",
        "\"a\"",
        "{",
        "{\"a\":1",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\":1}x",
        "{\"a\" 1}",
        "{a:1}",
        "{\"a\":\"\\u0000\"}",
        "{\"a\":\"\xff\"}",
        "{\"a\":tru}",
        "{\"a\":{\"b\":1}",
        "{\"a\":\"b",
    };
    log_of_members l;
    const char *bad = NULL;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (read_text(texts[i], &l, &bad) != BW_CORRUPT || bad == NULL)
            fail_msg("%s", texts[i]);
    }
}

static void test_limits(void **state)
{
    (void)state;
    char *json = calloc(1, JSONMEMBERS_TEXT_MAX + 64);
    log_of_members l;
    const char *bad = NULL;
    const size_t sizes[] = {JSONMEMBERS_TEXT_MAX - 1, JSONMEMBERS_TEXT_MAX};
    for (size_t i = 0; i < 2; i++) {
        for (int number = 0; number < 2; number++) {
            const char *quote = number == 1 ? "" : "\"";
            memset(json, 0, JSONMEMBERS_TEXT_MAX + 64);
            const int at = snprintf(json, 16, "{\"a\":%s", quote);
            memset(json + at, '1', sizes[i]);
            (void)snprintf(json + at + sizes[i], 16, "%s}", quote);
            assert_int_equal(read_text(json, &l, &bad), i == 0 ? BW_OK : BW_CORRUPT);
        }
    }
    /* Names that no path has room for are passed over, with what they name. */
    const size_t names[] = {JSONMEMBERS_PATH_MAX - 2, JSONMEMBERS_PATH_MAX - 1};
    for (size_t i = 0; i < 2; i++) {
        memset(json, 0, JSONMEMBERS_TEXT_MAX + 64);
        json[0] = '{';
        json[1] = '"';
        memset(json + 2, 'n', names[i]);
        (void)snprintf(json + 2 + names[i], 64, "\":{\"a\":1},\"b\":2}");
        assert_int_equal(read_text(json, &l, &bad), BW_OK);
        assert_non_null(strstr(l.text, "b=2\n"));
        assert_null(strstr(l.text, "a=1"));
    }
    free(json);
}

static void test_who_reads_may_end_it(void **state)
{
    (void)state;
    static const char json[] = "{\"a\":1,\"b\":{\"c\":2},\"d\":3}";
    static const bw_status ends[] = {BW_NOMEM, BW_CORRUPT, BW_TOO_LARGE};
    for (size_t i = 0; i < 3; i++) {
        log_of_members l = {.refused = "b/c", .with = ends[i]};
        const char *bad = NULL;
        assert_int_equal(jsonmembers_each(json, sizeof json - 1, note, &l, &bad), ends[i]);
        assert_string_equal(l.text, "a=1\nb/c=2\n");
        assert_non_null(bad);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_what_is_none),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_who_reads_may_end_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
