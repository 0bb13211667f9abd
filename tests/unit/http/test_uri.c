// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/uri.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_encode(void **state)
{
    (void)state;
    buf out;
    buf_init(&out, 4096);
    static const char odd[] = "a/b c+d%e~f-g_h.i$&=?#\xc3\xa9";
    uri_encode(&out, odd, sizeof odd - 1, true);
    assert_string_equal(buf_text(&out), "a/b%20c%2Bd%25e~f-g_h.i%24%26%3D%3F%23%C3%A9");
    buf_reset(&out);
    uri_encode(&out, "a/b", 3, false);
    assert_string_equal(buf_text(&out), "a%2Fb");
    buf_free(&out);
}

/* By the bytes of what is sent: an encoded byte (%) comes before every other, the end first. */
static void test_query_is_in_byte_order_of_its_encoded_form(void **state)
{
    (void)state;
    static const uri_parameter parameters[] = {
        {"prefix", "a/b"}, {"list-type", "2"}, {"a-b", ""}, {"a", "z"},    {"a/", "1"},
        {"prefix", "a b"}, {"B", "1"},         {"ab", "2"}, {"a", "\xff"},
    };
    buf out;
    buf_init(&out, 4096);
    uri_query(&out, parameters, sizeof parameters / sizeof parameters[0]);
    assert_string_equal(buf_text(&out), "B=1&a=%FF&a=z&a%2F=1&a-b=&ab=2&list-type=2&prefix=a%20b&"
                                        "prefix=a%2Fb");
    buf_free(&out);
}

static void test_query_of_too_many_is_refused(void **state)
{
    (void)state;
    uri_parameter parameters[URI_PARAMETERS_MAX + 1];
    for (size_t i = 0; i <= URI_PARAMETERS_MAX; i++)
        parameters[i] = (uri_parameter){"n", "v"};
    buf out;
    buf_init(&out, 4096);
    uri_query(&out, parameters, URI_PARAMETERS_MAX);
    assert_int_equal(buf_status(&out), BW_OK);
    assert_int_equal(out.size, URI_PARAMETERS_MAX * 4 - 1);
    buf_reset(&out);
    uri_query(&out, parameters, URI_PARAMETERS_MAX + 1);
    assert_int_equal(buf_status(&out), BW_TOO_LARGE);
    buf_free(&out);
}

static void assert_decoded(const char *text, bool blanks, const char *expected)
{
    char bytes[64];
    const size_t size = strlen(text);
    memcpy(bytes, text, size + 1);
    const size_t left = uri_decode(bytes, blanks);
    if (expected == NULL) {
        assert_int_equal(left, SIZE_MAX);
        return;
    }
    assert_int_equal(left, strlen(expected));
    assert_memory_equal(bytes, expected, left);
}

static void test_decode(void **state)
{
    (void)state;
    assert_decoded("a%2Fb%c3%A9+c", true, "a/b\xc3\xa9 c");
    assert_decoded("a+b", false, "a+b");
    assert_decoded("", true, "");
    assert_decoded("%2", true, NULL);
    assert_decoded("%", true, NULL);
    assert_decoded("a%g0", true, NULL);
    assert_decoded("a%0g", true, NULL);
}

static void test_origins(void **state)
{
    (void)state;
    static const struct {
        const char *text, *host;
        bool tls, loopback;
        uint16_t port;
    } good[] = {
        {"https://S3.Example.ORG", "s3.example.org", true, false, 0},
        {"https://example.org:443/", "example.org", true, false, 0},
        {"http://example.org:443", "example.org", false, false, 443},
        {"http://localhost:9000", "localhost", false, true, 9000},
        {"HTTP://127.0.0.1", "127.0.0.1", false, true, 0},
        {"http://127.1.2.3:80", "127.1.2.3", false, true, 0},
        {"https://[::1]:9000", "[::1]", true, true, 9000},
        {"https://[2001:DB8::1]", "[2001:db8::1]", true, false, 0},
        {"http://127.0.0.1.example.org", "127.0.0.1.example.org", false, false, 0},
        {"http://localhost.example.org", "localhost.example.org", false, false, 0},
    };
    static const char *const bad[] = {
        "",
        "example.org",
        "ftp://example.org",
        "https://",
        "https://:9000",
        "https://a/b",
        "https://a?x=1",
        "https://a#b",
        "https://u@a",
        "https://u:p@a",
        "https://a:",
        "https://a:0",
        "https://a:65536",
        "https://a:12x",
        "https://a b",
        "https://[::1",
        "https://[]",
        "https://a\n",
        "https://a:1:2",
        "https://a:999999",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        uri_origin o;
        assert_int_equal(uri_parse_origin(good[i].text, &o, NULL), BW_OK);
        assert_string_equal(o.host, good[i].host);
        assert_int_equal(o.tls, good[i].tls);
        assert_int_equal(o.loopback, good[i].loopback);
        assert_int_equal(o.port, good[i].port);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uri_origin o;
        if (uri_parse_origin(bad[i], &o, NULL) != BW_INVALID)
            fail_msg("%s is taken", bad[i]);
    }
}

static void test_a_password_is_not_repeated(void **state)
{
    (void)state;
    uri_origin o;
    bw_error *error = bw_error_new();
    assert_int_equal(uri_parse_origin("https://user:planted@host", &o, error), BW_INVALID);
    assert_null(strstr(bw_error_message(error), "planted"));
    assert_int_equal(uri_parse_origin("https://host/folder", &o, error), BW_INVALID);
    assert_non_null(strstr(bw_error_message(error), "host/folder"));
    bw_error_free(error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encode),
        cmocka_unit_test(test_query_is_in_byte_order_of_its_encoded_form),
        cmocka_unit_test(test_query_of_too_many_is_refused),
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_a_password_is_not_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
