// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/xml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct heard {
    char text[4096];
    size_t size;
    bw_status answer;
} heard;

static bw_status hear(void *context, const char *path, const char *text)
{
    heard *h = context;
    const int size = snprintf(h->text + h->size, sizeof h->text - h->size, "%s=%s;", path, text);
    assert_true(size > 0);
    h->size += (size_t)size;
    return h->answer;
}

/* Fed in pieces of `step` bytes. */
static bw_status feed(const char *document, size_t step, size_t bytes_max, heard *h)
{
    xml *x = NULL;
    assert_int_equal(xml_new(bytes_max, hear, h, &x), BW_OK);
    bw_status status = BW_OK;
    const size_t size = strlen(document);
    for (size_t at = 0; at < size && status == BW_OK; at += step)
        status = xml_feed(x, document + at, size - at < step ? size - at : step);
    if (status == BW_OK)
        status = xml_end(x);
    if (status != BW_OK)
        assert_int_equal(xml_feed(x, "<a/>", 4), status); /* it stays so */
    xml_free(x);
    return status;
}

static void test_each_element_with_its_own_text(void **state)
{
    (void)state;
    static const char document[] = "<?xml version=\"1.0\"?><L xmlns=\"x\"> a<C><K>x&amp;y&#x41;</K>"
                                   "<S/></C>b<C><K>two</K></C></L>\n";
    for (size_t step = 1; step < sizeof document; step++) {
        heard h = {.answer = BW_OK};
        assert_int_equal(feed(document, step, 4096, &h), BW_OK);
        assert_string_equal(h.text, "L/C/K=x&yA;L/C/S=;L/C=;L/C/K=two;L/C=;L= ab;");
    }
}

static void test_what_is_refused(void **state)
{
    (void)state;
    static const char *const documents[] = {
        "",
        "<a>",
        "<a></b>",
        "<a/><b/>",
        "nothing of the kind",
        "<!DOCTYPE a><a/>",
        "<!DOCTYPE a [<!ENTITY e \"eeee\">]><a>&e;</a>",
        "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>",
        "<a>&undeclared;</a>",
        "<1><2><3/></2></1>",
        "<a><b><c><d><e><f><g><h><i/></h></g></f></e></d></c></b></a>",
    };
    for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++) {
        heard h = {.answer = BW_OK};
        if (feed(documents[i], 7, 4096, &h) != BW_CORRUPT)
            fail_msg("%s is taken", documents[i]);
    }
}

static void test_limits(void **state)
{
    (void)state;
    heard h = {.answer = BW_OK};
    assert_int_equal(feed("<a>0123456789</a>", 5, 16, &h), BW_CORRUPT);
    assert_int_equal(feed("<a>0123456789</a>", 5, 17, &h), BW_OK);
    char *document = calloc(1, XML_TEXT_MAX + 16);
    memcpy(document, "<a>", 3);
    memset(document + 3, 'x', XML_TEXT_MAX + 1);
    memcpy(document + 3 + XML_TEXT_MAX + 1, "</a>", 5);
    assert_int_equal(feed(document, 1000, 1u << 20, &h), BW_CORRUPT);
    free(document);
    /* Empty elements beyond a limit: their end comes all the same, and is not told. */
    static char long_name[XML_PATH_MAX + 16];
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[0] = '<';
    memcpy(long_name + sizeof long_name - 3, "/>", 3);
    h.size = 0;
    h.text[0] = '\0';
    assert_int_equal(feed(long_name, 1000, 4096, &h), BW_CORRUPT);
    assert_string_equal(h.text, "");
    assert_int_equal(
        feed("<a><b><c><d><e><f><g><h><i/></h></g></f></e></d></c></b></a>", 1000, 4096, &h),
        BW_CORRUPT);
    assert_string_equal(h.text, "");
    char deep[512] = "";
    char name[200];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    (void)snprintf(deep, sizeof deep, "<%s/>", name);
    h.size = 0;
    assert_int_equal(feed(deep, 100, 4096, &h), BW_OK);
    (void)snprintf(deep, sizeof deep, "<%s><%.60s/></%s>", name, name, name);
    assert_int_equal(feed(deep, 100, 4096, &h), BW_CORRUPT);
}

static void test_an_element_can_end_it(void **state)
{
    (void)state;
    heard h = {.answer = BW_NOMEM};
    assert_int_equal(feed("<a><b/><c/></a>", 4, 4096, &h), BW_NOMEM);
    assert_string_equal(h.text, "a/b=;");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_element_with_its_own_text),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_an_element_can_end_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
