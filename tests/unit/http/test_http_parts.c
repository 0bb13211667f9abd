// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/http_parts.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* As Azure, Google and Azurite write them: with and without a body, an empty line or a length. */
static void test_answers(void **state)
{
    (void)state;
    static const char text[] =
        "\r\n--batch_1 \r\nContent-Type: application/http\r\nContent-ID: 0\r\n\r\n"
        "HTTP/1.1 202 Accepted\r\nx-ms-version: 1\r\n\r\n"
        "--batch_1\r\nContent-Type: application/http\r\n\r\n"
        "HTTP/1.1 404 no such blob\r\nx-ms-error-code: "
        "BlobNotFound\r\n\r\n<Error/>\r\n--batch_12\r\n"
        "--batch_1\r\n\r\nHTTP/1.1 204 No Content\r\n"
        "--batch_1--\r\nHTTP/1.1 500 not this\r\n--batch_1\r\n";
    http_parts p;
    http_part part;
    http_parts_start(&p, text, sizeof text - 1);
    assert_true(http_parts_next(&p, &part));
    assert_int_equal(part.head.status, 202);
    assert_int_equal(part.body_bytes, 0);
    assert_true(http_parts_next(&p, &part));
    assert_int_equal(part.head.status, 404);
    assert_string_equal(part.head.error_code, "BlobNotFound");
    assert_int_equal(part.body_bytes, strlen("<Error/>\r\n--batch_12\r\n"));
    assert_memory_equal(part.body, "<Error/>", 8);
    assert_true(http_parts_next(&p, &part));
    assert_int_equal(part.head.status, 204);
    assert_true(p.whole);
    assert_false(http_parts_next(&p, &part));
}

static void test_what_is_none(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int parts;
    } rows[] = {
        {"", 0},
        {"\r\n\r\n", 0},
        {"--", 0},
        {"{\"error\":{}}", 0},
        {"--a", 0},
        {"--a\r\n\r\nHTTP/1.1 202 x\r\n\r\n", 0}, /* cut */
        {"--a\r\n\r\nHTTP/1.1 202 x\r\n\r\n--a\r\n\r\nHTTP/1.1 202", 1},
        {"--a\r\n\r\nno answer\r\n--a\r\n", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        http_parts p;
        http_part part;
        int parts = 0;
        http_parts_start(&p, rows[i].text, strlen(rows[i].text));
        for (; http_parts_next(&p, &part); parts++)
            assert_true(part.head.status == 0 || part.head.status == 202);
        assert_int_equal(parts, rows[i].parts);
        assert_false(p.whole);
    }
    /* A delimiter, or a head, larger than any. */
    static char large[HTTP_HEAD_BYTES_MAX + 100];
    http_parts p;
    http_part part;
    memset(large, '-', sizeof large);
    http_parts_start(&p, large, sizeof large);
    assert_false(http_parts_next(&p, &part) || p.whole);
    memset(large, 'x', sizeof large);
    memcpy(large, "--a\n\n", 5);
    memcpy(large + sizeof large - 7, "\n--a--\n", 7);
    http_parts_start(&p, large, sizeof large);
    assert_false(http_parts_next(&p, &part) || p.whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_what_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
