// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_s3/s3_xml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_errors(void **state)
{
    (void)state;
    net_error e;
    static const char whole[] =
        "<?xml version=\"1.0\"?><Error><Code>InvalidRange</Code><Message>not\n"
        "satisfiable \xc3\xa9</Message><ActualObjectSize>10</ActualObjectSize>"
        "<Region>eu-west-1</Region></Error>";
    s3_error_parse(whole, sizeof whole - 1, &e);
    assert_string_equal(e.code, "InvalidRange");
    assert_string_equal(e.message, "not satisfiable   ");
    assert_string_equal(e.region, "eu-west-1");
    assert_true(e.has_size && e.size == 10);
    s3_error_parse(whole, 60, &e); /* cut */
    assert_string_equal(e.code, "InvalidRange");
    assert_string_equal(e.message, "");
    static const char *const none[] = {"", "<html><Code>x</Code></html>", "no XML",
                                       "<!DOCTYPE Error><Error><Code>x</Code></Error>"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        s3_error_parse(none[i], strlen(none[i]), &e);
        assert_string_equal(e.code, "");
    }
}

typedef struct outcome {
    bw_status fed, finished;
    store_list list;
    s3_page page;
} outcome;

static void read_page(const char *document, const char *prefix, bool any, outcome *o)
{
    xml *x = NULL;
    memset(o, 0, sizeof *o);
    o->page.list = &o->list;
    assert_int_equal(s3_page_new(&o->page, &x), BW_OK);
    o->fed = xml_feed(x, document, strlen(document));
    if (o->fed == BW_OK)
        o->fed = xml_end(x);
    xml_free(x);
    s3_page_clear(&o->page);
    o->finished = s3_page_finish(&o->page, prefix, any);
}

#define ENTRY(key, size)                                                                           \
    "<Contents><Key>" key "</Key><LastModified>2009-10-12T17:50:30.000Z</LastModified><Size>" size \
    "</Size></Contents>"

static void test_a_page(void **state)
{
    (void)state;
    outcome o;
    read_page("<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>"
              "<Prefix>run/a</Prefix><IsTruncated>true</IsTruncated>" ENTRY("run/a", "1")
                  ENTRY("run/a/B", "22") ENTRY("run/a/c", "333")
                      ENTRY("run/", "4") "</ListBucketResult>",
              "run/", false, &o);
    assert_int_equal(o.fed, BW_OK);
    assert_int_equal(o.finished, BW_OK);
    assert_true(o.page.whole && o.page.truncated);
    assert_int_equal(o.list.count, 2);
    assert_string_equal(o.list.entries[0].key, "a");
    assert_int_equal(o.list.entries[0].bytes, 1);
    assert_int_equal(o.list.entries[0].modified_ms, 1255369830000);
    assert_string_equal(o.list.entries[1].key, "a/c");
    assert_int_equal(o.list.entries[1].bytes, 333);
    assert_string_equal(o.page.last, "");
    store_list_free(&o.list);
}

/* Some say behind the names that these are encoded. */
static void test_encoded_names(void **state)
{
    (void)state;
    outcome o;
    read_page("<ListBucketResult>" ENTRY("r%2Bu+n%2Fa%20b%01", "1")
                  ENTRY("r%2Bu+n/c", "2") "<EncodingType>url</EncodingType></ListBucketResult>",
              "r+u n/", true, &o);
    assert_int_equal(o.fed, BW_OK);
    assert_int_equal(o.finished, BW_OK);
    assert_false(o.page.truncated);
    assert_int_equal(o.list.count, 2);
    assert_string_equal(o.list.entries[0].key, "a b\x01");
    assert_string_equal(o.list.entries[1].key, "c");
    assert_string_equal(o.page.last, "c");
    store_list_free(&o.list);
    read_page("<ListBucketResult>" ENTRY("a+b%20", "1") "</ListBucketResult>", "", true, &o);
    assert_string_equal(o.list.entries[0].key, "a+b%20"); /* not encoded */
    store_list_free(&o.list);
}

static void test_pages_that_are_none(void **state)
{
    (void)state;
    static const struct {
        const char *document;
        bool fed;
    } rows[] = {
        {"<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>", false},
        {"<ListBucketResult><Contents><Key>run/a</Key><Size>-1</Size></Contents></"
         "ListBucketResult>",
         false},
        {"<ListBucketResult><Contents><Key>run/a</Key>", false},
        {"<ListBucketResult>" ENTRY("other/a", "1") "</ListBucketResult>", true},
        {"<ListBucketResult>" ENTRY("ru", "1") "</ListBucketResult>", true},
        {"<ListBucketResult><EncodingType>url</EncodingType>" ENTRY("run/%",
                                                                    "1") "</ListBucketResult>",
         true},
        {"<ListBucketResult><EncodingType>url</EncodingType>" ENTRY("run/a%00b",
                                                                    "1") "</ListBucketResult>",
         true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        outcome o;
        read_page(rows[i].document, "run/", true, &o);
        if ((o.fed == BW_OK) != rows[i].fed || (rows[i].fed && o.finished != BW_CORRUPT))
            fail_msg("%s is taken", rows[i].document);
        assert_int_equal(o.list.count, 0);
        store_list_free(&o.list);
    }
    outcome o;
    read_page("<Error><Code>SlowDown</Code></Error>", "run/", true, &o);
    assert_string_equal(o.page.error.code, "SlowDown");
    assert_false(o.page.whole);
    read_page("<Other/>", "run/", true, &o);
    assert_int_equal(o.fed, BW_OK);
    assert_false(o.page.whole);
}

static void test_batch_delete(void **state)
{
    (void)state;
    static const struct {
        const char *document, *code;
        uint32_t failed;
        bool whole;
    } rows[] = {
        {"<DeleteResult/>", "", 0, true},
        {"<DeleteResult><Deleted><Key>a</Key></Deleted></DeleteResult>", "", 0, true},
        {"<DeleteResult><Error><Key>a</Key><Code>NoSuchKey</Code></Error></DeleteResult>", "", 0,
         true},
        {"<DeleteResult><Error><Code>AccessDenied</Code><Message>m</Message></Error>"
         "<Error><Code>InternalError</Code></Error></DeleteResult>",
         "AccessDenied", 2, true},
        {"<Error><Code>InternalError</Code></Error>", "InternalError", 0, false},
        {"<html/>", "", 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        s3_deleted d;
        xml *x = NULL;
        assert_int_equal(s3_deleted_new(&d, &x), BW_OK);
        assert_int_equal(xml_feed(x, rows[i].document, strlen(rows[i].document)), BW_OK);
        assert_int_equal(xml_end(x), BW_OK);
        xml_free(x);
        assert_string_equal(d.error.code, rows[i].code);
        assert_int_equal(d.failed, rows[i].failed);
        assert_int_equal(d.whole, rows[i].whole);
    }
    static const char *const keys[] = {"a", "b/c"};
    buf out;
    buf_init(&out, 4096);
    s3_delete_body(&out, "r&<u>/", keys, 2);
    assert_string_equal(buf_text(&out),
                        "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true"
                        "</Quiet><Object><Key>r&amp;&lt;u&gt;/a</Key></Object>"
                        "<Object><Key>r&amp;&lt;u&gt;/b/c</Key></Object></Delete>");
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),        cmocka_unit_test(test_a_page),
        cmocka_unit_test(test_encoded_names), cmocka_unit_test(test_pages_that_are_none),
        cmocka_unit_test(test_batch_delete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
