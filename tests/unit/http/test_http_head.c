// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/http_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static bool feed(http_head *head, const char *lines)
{
    bool good = true;
    while (*lines != '\0') {
        const size_t text = strcspn(lines, "\n");
        const size_t size = text + (lines[text] == '\n');
        good = http_head_line(head, lines, size) && good;
        lines += size;
    }
    return good;
}

static http_head parsed(const char *lines)
{
    http_head head;
    http_head_init(&head);
    assert_true(feed(&head, lines));
    return head;
}

static void test_what_drivers_use(void **state)
{
    (void)state;
    const http_head h = parsed("HTTP/1.1 206 Partial Content\r\n"
                               "Content-Length: 10\r\n"
                               "content-range:  bytes 5-14/100 \r\n"
                               "DATE: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                               "Last-Modified: Mon, 07 Nov 1994 08:49:37 GMT\r\n"
                               "Retry-After: 3\r\n"
                               "x-amz-request-id: A1\x01 B2\r\n"
                               "x-ms-error-code: BlobAlreadyExists\r\n"
                               "x-amz-bucket-region: eu-west-1\r\n"
                               "Transfer-Encoding: chunked\r\n"
                               "Odd\r\n"
                               "\r\n");
    assert_int_equal(h.status, 206);
    assert_true(h.has_length && h.length == 10);
    assert_true(h.has_range && h.range_first == 5 && h.range_last == 14);
    assert_true(h.has_total && h.range_total == 100);
    assert_int_equal(h.date_ms, 784111777000);
    assert_int_equal(h.modified_ms, 784198177000);
    assert_int_equal(h.retry_after_s, 3);
    assert_string_equal(h.request_id, "A1B2");
    assert_string_equal(h.error_code, "BlobAlreadyExists");
    assert_string_equal(h.region, "eu-west-1");
    assert_true(h.chunked);
}

static void test_whose_metadata_service_it_is(void **state)
{
    (void)state;
    assert_true(parsed("HTTP/1.1 200 x\r\nMetadata-Flavor: Google\r\n").is_google);
    assert_false(parsed("HTTP/1.1 200 x\r\nMetadata-Flavor: Googles\r\n").is_google);
    assert_false(parsed("HTTP/1.1 200 x\r\nMetadata-Flavor:\r\n").is_google);
    assert_false(parsed("HTTP/1.1 200 x\r\n").is_google);
}

static void test_ranges(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool has_range, has_total;
    } rows[] = {
        {"bytes 0-9/10", true, true},   {"bytes 0-9/*", true, false},
        {"bytes */10", false, true},    {"bytes 0-10/10", false, false},
        {"bytes 9-0/10", false, false}, {"bytes 0-9", false, false},
        {"0-9/10", false, false},       {"bytes 0-9/10 x", false, false},
        {"bytes -9/10", false, false},  {"bytes 0-99999999999999999999/10", false, false},
        {"bytes */*", false, false},    {"", false, false},
        {"items 0-9/10", false, false}, {"bytes 100000-99999/100000", false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        http_head h;
        http_head_init(&h);
        char line[128] = "Content-Range: ";
        memcpy(line + strlen(line), rows[i].value, strlen(rows[i].value) + 1);
        assert_true(http_head_line(&h, line, strlen(line)));
        if (h.has_range != rows[i].has_range || h.has_total != rows[i].has_total)
            fail_msg("%s: %d %d", line, h.has_range, h.has_total);
    }
}

static void test_what_is_malformed_counts_as_absent(void **state)
{
    (void)state;
    const http_head h = parsed("HTTP/1.1 200 OK\r\n"
                               "Content-Length: -1\r\n"
                               "Content-Length : 5\r\n"
                               "Date: yesterday\r\n"
                               "Last-Modified: Mon, 07 Nov 1994 08:49:37 PST\r\n"
                               "Retry-After: Mon, 07 Nov 1994 08:49:37 GMT\r\n"
                               "Transfer-Encoding: gzip, chunked\r\n");
    assert_false(h.has_length);
    assert_int_equal(h.date_ms, 0);
    assert_int_equal(h.modified_ms, 0);
    assert_int_equal(h.retry_after_s, -1);
    assert_false(h.chunked);
    static const char *const statuses[] = {"HTTP/1.1", "HTTP/1.1 abc", "HTTP/x 200", "HTTP/1.1 99",
                                           "HTTP/1.1 600"};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        assert_int_equal(parsed(statuses[i]).status, 0);
    assert_int_equal(parsed("HTTP/2 204\r\n").status, 204);
    assert_true(parsed("HTTP/2 200\r\n").framed);
    assert_false(parsed("HTTP/1.1 200 OK\r\n").framed || parsed("HTTP/1.2 200 OK\r\n").framed);
}

/* CRC-32C 0x280c069e and MD5 of 0123456789. */
static void test_checksums(void **state)
{
    (void)state;
    static const uint8_t md5[] = {0x78, 0x1e, 0x5e, 0x24, 0x5d, 0x69, 0xb5, 0x66,
                                  0x97, 0x9b, 0x86, 0xe2, 0x8d, 0x23, 0xf2, 0xc7};
    http_head h = parsed("HTTP/1.1 200 OK\r\nx-amz-checksum-crc32c: KAwGng==\r\n"
                         "Content-MD5: eB5eJF1ptWaXm4bijSPyxw==\r\n");
    assert_true(h.has_crc32c && h.crc32c == 0x280c069e);
    assert_true(h.has_md5 && memcmp(h.md5, md5, sizeof md5) == 0);
    static const char *const hashes[] = {"X-Goog-Hash: crc32c=KAwGng==\r\n",
                                         "X-Goog-Hash: crc32c=KAwGng==,md5=x\r\n",
                                         "X-Goog-Hash: md5=x,crc32c=KAwGng==\r\n",
                                         "x-goog-hash: crc32c=KAwGng==\r\nx-goog-hash: md5=x\r\n"};
    for (size_t i = 0; i < sizeof hashes / sizeof hashes[0]; i++) {
        h = parsed(hashes[i]);
        assert_true(h.has_crc32c && h.crc32c == 0x280c069e);
    }
    /* Of parts; of another length; no base64; nothing. */
    static const char *const none[] = {"x-amz-checksum-crc32c: KAwGng==-2\r\n",
                                       "x-amz-checksum-crc32c: KAwGngAA\r\n",
                                       "x-amz-checksum-crc32c: KAw*ng==\r\n",
                                       "x-amz-checksum-crc32c:\r\n",
                                       "x-goog-hash: md5=KAwGng==\r\n",
                                       "Content-MD5: KAwGng==\r\n",
                                       "Content-MD5: eB5eJF1ptWaXm4bijSPyxwAA\r\n"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        h = parsed(none[i]);
        assert_false(h.has_crc32c || h.has_md5);
    }
}

static void test_an_interim_answer_is_forgotten(void **state)
{
    (void)state;
    const http_head h = parsed("HTTP/1.1 100 Continue\r\nContent-Length: 7\r\n\r\n"
                               "HTTP/1.1 412 Precondition Failed\r\n\r\n");
    assert_int_equal(h.status, 412);
    assert_false(h.has_length);
}

static void test_a_head_without_end_is_refused(void **state)
{
    (void)state;
    http_head h;
    http_head_init(&h);
    char line[1024];
    memset(line, 'a', sizeof line);
    for (size_t i = 0; i < HTTP_HEAD_BYTES_MAX / sizeof line; i++)
        assert_true(http_head_line(&h, line, sizeof line));
    assert_false(http_head_line(&h, line, sizeof line));
    assert_false(http_head_line(&h, "HTTP/1.1 200 OK", 15));
    assert_false(http_head_line(&h, line, 1));
    /* Beginning anew does not help: interim answers without end. */
    http_head_init(&h);
    size_t lines = 0;
    while (lines < HTTP_HEAD_BYTES_MAX && http_head_line(&h, "HTTP/1.1 100 Continue\r\n", 23))
        lines++;
    assert_int_equal(lines, HTTP_HEAD_BYTES_MAX / 23);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_drivers_use),
        cmocka_unit_test(test_whose_metadata_service_it_is),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_what_is_malformed_counts_as_absent),
        cmocka_unit_test(test_checksums),
        cmocka_unit_test(test_an_interim_answer_is_forgotten),
        cmocka_unit_test(test_a_head_without_end_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
