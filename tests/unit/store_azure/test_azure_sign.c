// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What is signed, laid out as Microsoft's "Authorize with Shared Key" shows it; that the signatures
 * are right is shown by a server that checks them (tools/stores). */
#include "store_azure/azure_sign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_what_is_signed(void **state)
{
    (void)state;
    static const uri_parameter parameters[] = {
        {"comp", "list"}, {"prefix", "a b/c"}, {"restype", "container"}};
    static const http_header headers[] = {{"range", "bytes=0-9"},
                                          {"x-ms-date", "Fri, 26 Jun 2015 23:39:12 GMT"},
                                          {"x-ms-version", "2015-02-21"}};
    const azure_signing s = {.method = "GET",
                             .account = "myaccount",
                             .path = "/mycontainer/a%20b",
                             .parameters = parameters,
                             .parameter_count = 3,
                             .headers = headers,
                             .header_count = 3};
    buf out;
    buf_init(&out, 4096);
    azure_sign_text(&s, &out);
    assert_string_equal(buf_text(&out), "GET\n\n\n\n\n\n\n\n\n\n\nbytes=0-9\n"
                                        "x-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\n"
                                        "x-ms-version:2015-02-21\n"
                                        "/myaccount/mycontainer/a%20b\ncomp:list\nprefix:a b/c\n"
                                        "restype:container");
    buf_free(&out);
}

static void test_a_write(void **state)
{
    (void)state;
    static const http_header headers[] = {{"content-md5", "MD5=="},
                                          {"content-type", "text/plain"},
                                          {"if-none-match", "*"},
                                          {"x-ms-blob-type", "BlockBlob"}};
    azure_signing s = {.method = "PUT",
                       .account = "a",
                       .path = "/a/c/k",
                       .headers = headers,
                       .header_count = 4,
                       .body_bytes = 11};
    buf out;
    buf_init(&out, 4096);
    azure_sign_text(&s, &out);
    assert_string_equal(buf_text(&out), "PUT\n\n\n11\nMD5==\ntext/plain\n\n\n\n*\n\n\n"
                                        "x-ms-blob-type:BlockBlob\n/a/a/c/k");
    buf_reset(&out);
    s.body_bytes = 0; /* which is empty, not 0 */
    azure_sign_text(&s, &out);
    assert_memory_equal(buf_text(&out), "PUT\n\n\n\nMD5==\n", 13);
    buf_reset(&out);
    /* By another implementation: Python's hmac. */
    s.body_bytes = 11;
    assert_int_equal(azure_sign(&s, "planted-key", 11, &out), BW_OK);
    assert_string_equal(buf_text(&out), "SharedKey a:VILW8WmykjJmIhCgK6fpJzxfhLogJX1S0tN1MovatbQ=");
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_signed),
        cmocka_unit_test(test_a_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
