// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_gcs/gcs_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void assert_code(const char *text, const char *code, const char *message)
{
    net_error e;
    gcs_error_parse(text, strlen(text), &e);
    assert_string_equal(e.code, code);
    assert_string_equal(e.message, message);
}

static void test_errors(void **state)
{
    (void)state;
    assert_code("{\"error\":{\"code\":412,\"message\":\"Pre\ncondition\",\"errors\":[{\"domain\":"
                "\"global\",\"reason\":\"conditionNotMet\"}]}}",
                "", "");
    assert_code(
        "{\"error\":{\"code\":412,\"message\":\"not\\nmet \\u00e9\",\"errors\":[{\"domain\":"
        "\"global\",\"reason\":\"conditionNotMet\"}]}}",
        "conditionNotMet", "not met   ");
    assert_code("No such object: bkt/key", "notFound", "");
    assert_code("Not Found", "", "");
    assert_code("", "", "");
    assert_code("[]", "", "");
    assert_code("{\"error\":\"x\"}", "", "");
    assert_code("{\"error\":{\"errors\":[]}}", "", "");
    assert_code("{\"error\":{\"errors\":[{\"reason\":7}]}}", "", "");
}

static bw_status parse(const char *text, size_t max, const char *after, bool any, store_list *list,
                       gcs_page *page)
{
    memset(list, 0, sizeof *list);
    *page = (gcs_page){.prefix = "run/", .after = after, .any = any, .max = max, .list = list};
    return gcs_page_parse(page, text, strlen(text));
}

#define ITEM(name, size)                                                                           \
    "{\"name\":\"" name "\",\"size\":\"" size "\",\"updated\":\"2009-10-12T17:50:30.123456Z\"}"

static void test_a_page(void **state)
{
    (void)state;
    static const char text[] = "{\"items\":[" ITEM("run/a", "1") "," ITEM("run/a/B", "22") "," ITEM(
        "run/b", "333") "," ITEM("run/c", "4") "],\"nextPageToken\":\"t\"}";
    store_list list;
    gcs_page page;
    assert_int_equal(parse(text, SIZE_MAX, "a", false, &list, &page), BW_OK);
    assert_int_equal(list.count, 2); /* what comes first may be the key itself */
    assert_string_equal(list.entries[0].key, "b");
    assert_int_equal(list.entries[0].bytes, 333);
    assert_int_equal(list.entries[0].modified_ms, 1255369830000);
    assert_true(page.follows);
    assert_string_equal(page.last, "c");
    store_list_free(&list);
    assert_int_equal(parse(text, SIZE_MAX, "", true, &list, &page), BW_OK);
    assert_int_equal(list.count, 4);
    store_list_free(&list);
    static const char last[] = "{\"items\":[" ITEM("run/a", "1") "," ITEM("run/b", "2") "]}";
    assert_int_equal(parse(last, 2, "", false, &list, &page), BW_OK);
    assert_true(list.count == 2 && !page.follows);
    store_list_free(&list);
    assert_int_equal(parse(last, 1, "", false, &list, &page), BW_OK);
    assert_true(list.count == 1 && page.follows);
    store_list_free(&list);
    assert_int_equal(parse("{}", 1, "", false, &list, &page), BW_OK);
    assert_true(list.count == 0 && !page.follows);
}

static void test_pages_that_are_none(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "[]",
        "{\"items\":{}}",
        "{\"items\":[7]}",
        "{\"items\":[{\"name\":\"run/a\"}]}",
        "{\"items\":[" ITEM("elsewhere", "1") "]}",
        "{\"items\":[" ITEM("run/a", "-1") "]}",
        "{\"items\":[" ITEM("run/a", "") "]}",
        "{\"items\":[],\"items\":[]}",
        "{\"items\":[",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        store_list list;
        gcs_page page;
        if (parse(texts[i], 10, "", true, &list, &page) != BW_CORRUPT)
            fail_msg("%s is taken", texts[i]);
        store_list_free(&list);
    }
}

/* ---- what a bucket is set to ---- */

typedef struct setting {
    const char *text;
    bw_status status;
    store_known rules, versions;
    uint32_t count;
    store_rule_does does;
    const char *prefix;
    bool old_end;
    uint64_t kept_s;
} setting;

#define RULE(action, condition)                                                                    \
    "{\"lifecycle\":{\"rule\":[{\"action\":{" action "},\"condition\":{" condition "}}]}}"

static void test_settings_of_a_bucket(void **state)
{
    (void)state;
    static const setting rows[] = {
        {"{}", BW_OK, STORE_OFF, STORE_OFF, 0, STORE_RULE_DELETES, "", false, 0},
        {"{\"versioning\":{\"enabled\":true},\"softDeletePolicy\":{\"retentionDurationSeconds\":"
         "\"604800\"}}",
         BW_OK, STORE_OFF, STORE_ON, 0, STORE_RULE_DELETES, "", false, 604800},
        {"{\"versioning\":{\"enabled\":false}}", BW_OK, STORE_OFF, STORE_OFF, 0, STORE_RULE_DELETES,
         "", false, 0},
        {RULE("\"type\":\"Delete\"", "\"age\":30"), BW_OK, STORE_ON, STORE_OFF, 1,
         STORE_RULE_DELETES, "", false, 0},
        {RULE("\"type\":\"Delete\"", "\"age\":30,\"matchesPrefix\":[\"run/\",\"x\"]"), BW_OK,
         STORE_ON, STORE_OFF, 2, STORE_RULE_DELETES, "run/", false, 0},
        {RULE("\"type\":\"SetStorageClass\",\"storageClass\":\"COLDLINE\"", "\"age\":30"), BW_OK,
         STORE_ON, STORE_OFF, 1, STORE_RULE_MOVES, "", false, 0},
        {RULE("\"type\":\"Delete\"", "\"isLive\":false"), BW_OK, STORE_OFF, STORE_OFF, 0,
         STORE_RULE_DELETES, "", true, 0},
        {RULE("\"type\":\"Delete\"", "\"numNewerVersions\":2"), BW_OK, STORE_OFF, STORE_OFF, 0,
         STORE_RULE_DELETES, "", true, 0},
        {RULE("\"type\":\"Delete\"", "\"daysSinceNoncurrentTime\":2"), BW_OK, STORE_OFF, STORE_OFF,
         0, STORE_RULE_DELETES, "", true, 0},
        {RULE("\"type\":\"AbortIncompleteMultipartUpload\"", "\"age\":3"), BW_OK, STORE_OFF,
         STORE_OFF, 0, STORE_RULE_DELETES, "", false, 0},
        {"", BW_CORRUPT, STORE_UNREADABLE, STORE_UNREADABLE, 0, STORE_RULE_DELETES, "", false, 0},
        {"[]", BW_CORRUPT, STORE_UNREADABLE, STORE_UNREADABLE, 0, STORE_RULE_DELETES, "", false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const setting *row = &rows[i];
        store_bucket b = {.rules = STORE_UNREADABLE};
        assert_int_equal(gcs_bucket_parse(&b, row->text, strlen(row->text)), row->status);
        if (b.rules != row->rules || b.versions != row->versions || b.rule_count != row->count ||
            b.old_end != row->old_end || b.kept_s != row->kept_s)
            fail_msg("%s: rules %d, versions %d, %u, old %d", row->text, b.rules, b.versions,
                     b.rule_count, b.old_end);
        if (row->count > 0) {
            assert_int_equal(b.list[0].does, row->does);
            assert_string_equal(b.list[0].prefix, row->prefix);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_a_page),
        cmocka_unit_test(test_pages_that_are_none),
        cmocka_unit_test(test_settings_of_a_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
