// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The store against answers that are scripted: what it sends, and what it makes of each answer. */
#include "store_gcs/gcs_store.h"

#include "tests/contract/contract_ops.h"
#include "tests/unit/http/script_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TOKEN "planted-token"
#define EMPTY(status) "HTTP/1.1 " status "\r\nContent-Length: 0\r\n\r\n"
#define BODY(status, body) "HTTP/1.1 " status "\r\nConnection: close\r\n\r\n" body
#define REASON(status, reason)                                                                     \
    BODY(status, "{\"error\":{\"errors\":[{\"reason\":\"" reason "\"}]}}")

typedef struct stand {
    script_server *server;
    store *s;
    char endpoint[64];
} stand;

static gcs_options usual(const char *endpoint)
{
    return (gcs_options){.bucket = "bkt",
                         .prefix = "run 7",
                         .endpoint = endpoint,
                         .ca_file = "",
                         .request_timeout_ns = 5 * NS_PER_S};
}

static void start(stand *t, const script_step *steps, size_t count)
{
    t->server = script_start(steps, count);
    (void)snprintf(t->endpoint, sizeof t->endpoint, "http://127.0.0.1:%u", script_port(t->server));
    const gcs_options options = usual(t->endpoint);
    assert_int_equal(gcs_store_open(&options, &t->s, NULL), BW_OK);
}

static void stop(stand *t)
{
    store_close(t->s);
    script_stop(t->server);
}

static char content[] = "0123456789";
static const struct iovec content_piece = {content, 10};

static void make_op(store_op *op, store_op_kind kind)
{
    static char dest[16];
    static const char *const two[] = {"a/b", "c"};
    store_op_init(op, kind, kind == STORE_DELETE ? "" : kind == STORE_LIST ? "a" : "a/b");
    op->pieces = &content_piece;
    op->piece_count = 1;
    op->offset = 5;
    op->length = 10;
    op->dest = dest;
    op->keys = two;
    op->key_count = 1;
    if (kind == STORE_GET)
        buf_init(&op->out, 10);
}

/* One operation on one answer. */
static store_outcome answered(const char *answer, script_end end, store_op *op, char *heard,
                              size_t capacity)
{
    stand t;
    const script_step step = {answer, end, false};
    start(&t, &step, 1);
    const store_outcome outcome = store_run(t.s, op);
    if (heard != NULL)
        (void)snprintf(heard, capacity, "%s", script_heard(t.server, 0));
    stop(&t);
    assert_null(strstr(op->error.message, TOKEN));
    return outcome;
}

static void assert_heard(const char *heard, const char *line)
{
    if (strstr(heard, line) == NULL)
        fail_msg("not heard: %s\nin: %s", line, heard);
}

static void test_what_is_sent(void **state)
{
    (void)state;
    char heard[4096];
    store_op op;
    make_op(&op, STORE_CREATE);
    assert_int_equal(answered(EMPTY("200 x"), SCRIPT_KEEP, &op, heard, sizeof heard),
                     STORE_CREATED);
    assert_heard(heard, "POST /upload/storage/v1/b/bkt/o?uploadType=multipart&fields=name&"
                        "name=run%207%2Fa%2Fb&ifGenerationMatch=0 HTTP/1.1\r\n");
    assert_heard(heard, "\r\nauthorization: Bearer " TOKEN "\r\n");
    char boundary[33], body[512], length[64];
    const char *at = strstr(heard, "\r\ncontent-type: multipart/related; boundary=");
    assert_non_null(at);
    (void)snprintf(boundary, sizeof boundary, "%s", strchr(at, '=') + 1);
    /* The content's CRC-32C, and the content. */
    const int size = snprintf(body, sizeof body,
                              "--%s\r\nContent-Type: application/json\r\n\r\n"
                              "{\"crc32c\":\"KAwGng==\"}\r\n--%s\r\n"
                              "Content-Type: application/octet-stream\r\n\r\n0123456789\r\n"
                              "--%s--\r\n",
                              boundary, boundary, boundary);
    (void)snprintf(length, sizeof length, "\r\nContent-Length: %d\r\n", size);
    assert_heard(heard, length);
    assert_string_equal(strstr(heard, "\r\n\r\n") + 4, body);
    assert_null(strcasestr(heard, "if-none-match")); /* it would be ignored */
    make_op(&op, STORE_PUT);
    assert_int_equal(answered(EMPTY("200 x"), SCRIPT_KEEP, &op, heard, sizeof heard), STORE_OK);
    assert_null(strstr(heard, "ifGenerationMatch"));
    assert_null(strstr(heard, boundary)); /* each has its own */
    make_op(&op, STORE_READ);
    (void)answered(EMPTY("500 x"), SCRIPT_KEEP, &op, heard, sizeof heard);
    assert_heard(heard, "GET /storage/v1/b/bkt/o/run%207%2Fa%2Fb?alt=media HTTP/1.1\r\n");
    assert_heard(heard, "\r\nrange: bytes=5-14\r\n");
    make_op(&op, STORE_DELETE);
    assert_int_equal(answered("HTTP/1.1 204 x\r\n\r\n", SCRIPT_KEEP, &op, heard, sizeof heard),
                     STORE_OK);
    assert_heard(heard, "DELETE /storage/v1/b/bkt/o/run%207%2Fa%2Fb HTTP/1.1\r\n");
    make_op(&op, STORE_LIST);
    memcpy(op.after, "a/b", 4);
    op.list_max = 7;
    (void)answered(EMPTY("500 x"), SCRIPT_KEEP, &op, heard, sizeof heard);
    assert_heard(heard,
                 "GET /storage/v1/b/bkt/o?fields=items(name%2Csize%2Cupdated)%2CnextPageToken&"
                 "maxResults=8&prefix=run%207%2Fa&startOffset=run%207%2Fa%2Fb HTTP/1.1\r\n");
}

static void test_outcomes(void **state)
{
    (void)state;
    static const struct {
        store_op_kind kind;
        const char *answer;
        script_end end;
        store_outcome outcome;
        bw_status code;
    } rows[] = {
        {STORE_CREATE, REASON("412 x", "conditionNotMet"), SCRIPT_CLOSE, STORE_EXISTS, BW_OK},
        {STORE_CREATE, REASON("404 x", "notFound"), SCRIPT_CLOSE, STORE_FATAL, BW_IO},
        {STORE_PUT, REASON("404 x", "notFound"), SCRIPT_CLOSE, STORE_FATAL, BW_IO},
        {STORE_LIST, REASON("404 x", "notFound"), SCRIPT_CLOSE, STORE_FATAL, BW_IO},
        {STORE_CREATE, REASON("409 x", "conflict"), SCRIPT_CLOSE, STORE_UNKNOWN, BW_IO},
        {STORE_CREATE, REASON("429 x", "rateLimitExceeded"), SCRIPT_CLOSE, STORE_UNKNOWN, BW_IO},
        {STORE_CREATE, REASON("403 x", "forbidden"), SCRIPT_CLOSE, STORE_FATAL, BW_DENIED},
        {STORE_CREATE,
         BODY("400 x", "{\"error\":{\"message\":\"Provided CRC32C \\\"A\\\" doesn't match\","
                       "\"errors\":[{\"reason\":\"invalid\"}]}}"),
         SCRIPT_CLOSE, STORE_RETRY, BW_IO},
        {STORE_CREATE, REASON("400 x", "invalid"), SCRIPT_CLOSE, STORE_FATAL, BW_IO},
        {STORE_GET,
         "HTTP/1.1 200 x\r\nx-goog-hash: crc32c=KAwGng==\r\nContent-Length: 10\r\n\r\n0123456789",
         SCRIPT_KEEP, STORE_OK, BW_OK},
        {STORE_GET,
         "HTTP/1.1 200 x\r\nx-goog-hash: crc32c=KAwGnw==\r\nContent-Length: 10\r\n\r\n0123456789",
         SCRIPT_KEEP, STORE_RETRY, BW_CORRUPT},
        {STORE_CREATE, EMPTY("204 x"), SCRIPT_KEEP, STORE_UNKNOWN, BW_IO},
        {STORE_CREATE, REASON("200 x", "backendError"), SCRIPT_CLOSE, STORE_UNKNOWN, BW_IO},
        {STORE_CREATE, "", SCRIPT_RESET, STORE_UNKNOWN, BW_UNKNOWN},
        {STORE_GET, BODY("404 x", "No such object: bkt/run 7/a/b"), SCRIPT_CLOSE, STORE_NOT_FOUND,
         BW_OK},
        {STORE_GET, REASON("404 x", "notFound"), SCRIPT_CLOSE, STORE_NOT_FOUND, BW_OK},
        {STORE_GET, REASON("401 x", "authError"), SCRIPT_CLOSE, STORE_DENIED, BW_DENIED},
        {STORE_HEAD, REASON("404 x", "notFound"), SCRIPT_CLOSE, STORE_NOT_FOUND, BW_OK},
        {STORE_HEAD, BODY("404 x", "<html>"), SCRIPT_CLOSE, STORE_RETRY, BW_IO},
        {STORE_HEAD, BODY("200 x", "{\"size\":\"x\"}"), SCRIPT_CLOSE, STORE_RETRY, BW_IO},
        {STORE_DELETE, REASON("404 x", "notFound"), SCRIPT_CLOSE, STORE_OK, BW_OK},
        {STORE_DELETE, REASON("403 x", "forbidden"), SCRIPT_CLOSE, STORE_DENIED, BW_DENIED},
        {STORE_LIST, BODY("200 x", "[]"), SCRIPT_CLOSE, STORE_RETRY, BW_CORRUPT},
        {STORE_LIST, REASON("503 x", "backendError"), SCRIPT_CLOSE, STORE_RETRY, BW_IO},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        store_op op;
        make_op(&op, rows[i].kind);
        const store_outcome outcome = answered(rows[i].answer, rows[i].end, &op, NULL, 0);
        if (outcome != rows[i].outcome || op.error.code != rows[i].code)
            fail_msg("row %zu: %s, %s", i, store_outcome_name(outcome), op.error.message);
        store_op_clear(&op);
    }
}

#define BATCH(parts)                                                                               \
    "HTTP/1.1 200 x\r\nConnection: close\r\nContent-Type: multipart/mixed; "                       \
    "boundary=b\r\n\r\n" parts "--b--\r\n"
#define PART(answer) "--b\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 " answer "\r\n"

static void test_many_are_deleted_at_once(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        store_outcome outcome;
        bw_status code;
    } rows[] = {
        {BATCH(PART("204 x\r\n") PART("404 x\r\n\r\n{\"error\":{\"errors\":[{\"reason\":"
                                      "\"notFound\"}]}}")),
         STORE_OK, BW_OK},
        {BATCH(PART("204 x\r\n")), STORE_RETRY, BW_CORRUPT}, /* one lacks */
        {BATCH(PART("204 x\r\n") PART("403 x\r\n\r\n{\"error\":{\"errors\":[{\"reason\":"
                                      "\"forbidden\"}]}}")),
         STORE_DENIED, BW_DENIED},
        {BATCH(PART("429 x\r\n") PART("204 x\r\n")), STORE_RETRY, BW_IO},
        {REASON("401 x", "authError"), STORE_DENIED, BW_DENIED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char heard[8192];
        store_op op;
        make_op(&op, STORE_DELETE);
        op.key_count = 2;
        const store_outcome outcome =
            answered(rows[i].answer, SCRIPT_CLOSE, &op, heard, sizeof heard);
        if (outcome != rows[i].outcome || op.error.code != rows[i].code)
            fail_msg("row %zu: %s, %s", i, store_outcome_name(outcome), op.error.message);
        assert_heard(heard, "POST /batch/storage/v1 HTTP/1.1\r\n");
        assert_heard(heard, "\r\nauthorization: Bearer " TOKEN "\r\n");
        assert_heard(heard, "\r\n\r\nDELETE /storage/v1/b/bkt/o/run%207%2Fa%2Fb HTTP/1.1\r\n");
        assert_heard(heard, "\r\n\r\nDELETE /storage/v1/b/bkt/o/run%207%2Fc HTTP/1.1\r\n");
        assert_heard(heard, "\r\nContent-Length: 0\r\n\r\n\r\n--batchweave--\r\n");
    }
}

/* A server that knows no batch gets one by one. */
static void test_one_by_one(void **state)
{
    (void)state;
    static const script_step steps[] = {{BODY("404 x", "Not Found"), SCRIPT_CLOSE, false},
                                        {EMPTY("204 x"), SCRIPT_KEEP, false},
                                        {EMPTY("204 x"), SCRIPT_KEEP, false}};
    stand t;
    store_op op;
    start(&t, steps, 3);
    make_op(&op, STORE_DELETE);
    op.key_count = 2;
    assert_int_equal(store_run(t.s, &op), STORE_OK);
    assert_heard(script_heard(t.server, 2), "DELETE /storage/v1/b/bkt/o/run%207%2Fc HTTP/1.1\r\n");
    stop(&t);
}

static void test_head_is_asked_as_json(void **state)
{
    (void)state;
    char heard[4096];
    store_op op;
    make_op(&op, STORE_HEAD);
    assert_int_equal(
        answered(BODY("200 x", "{\"size\":\"123\",\"updated\":\"2009-10-12T17:50:30Z\"}"),
                 SCRIPT_CLOSE, &op, heard, sizeof heard),
        STORE_OK);
    assert_heard(heard,
                 "GET /storage/v1/b/bkt/o/run%207%2Fa%2Fb?fields=size%2Cupdated HTTP/1.1\r\n");
    assert_int_equal(op.object_bytes, 123);
    assert_int_equal(op.modified_ms, 1255369830000);
}

/* A 404 that does not say why may be a proxy's: the metadata are asked for, which do. */
static void test_a_bare_404_is_asked_again(void **state)
{
    (void)state;
    static const struct {
        const char *second;
        store_outcome outcome;
    } rows[] = {
        {REASON("404 x", "notFound"), STORE_NOT_FOUND},
        {BODY("200 x", "{\"size\":\"15\"}"), STORE_RETRY},
        {BODY("404 x", "Not Found"), STORE_RETRY},
        {EMPTY("503 x"), STORE_RETRY},
    };
    static const store_op_kind kinds[] = {STORE_GET, STORE_READ};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        const script_step steps[] = {{BODY("404 x", "Not Found"), SCRIPT_CLOSE, false},
                                     {rows[i / 2].second, SCRIPT_CLOSE, false}};
        stand t;
        store_op op;
        start(&t, steps, 2);
        make_op(&op, kinds[i % 2]);
        assert_int_equal(store_run(t.s, &op), rows[i / 2].outcome);
        assert_int_equal(script_requests(t.server), 2);
        assert_heard(script_heard(t.server, 1), "?fields=size%2Cupdated HTTP/1.1\r\n");
        assert_null(strstr(script_heard(t.server, 1), "range:"));
        store_op_clear(&op);
        stop(&t);
    }
}

static void test_a_range_behind_the_end(void **state)
{
    (void)state;
    static const script_step steps[] = {{EMPTY("416 x"), SCRIPT_KEEP, false},
                                        {BODY("200 x", "{\"size\":\"3\"}"), SCRIPT_CLOSE, false}};
    stand t;
    store_op op;
    start(&t, steps, 2);
    make_op(&op, STORE_READ);
    assert_int_equal(store_run(t.s, &op), STORE_FATAL);
    assert_int_equal(op.error.code, BW_CORRUPT);
    assert_non_null(strstr(op.error.message, "object has 3 bytes"));
    stop(&t);
}

#define ITEM(name) "{\"name\":\"run 7/" name "\",\"size\":\"1\"}"

static void test_a_page_of_foreign_names_is_passed_over(void **state)
{
    (void)state;
    static const script_step steps[] = {
        {BODY("200 x", "{\"items\":[" ITEM("A") "," ITEM("B c") "],\"nextPageToken\":\"t\"}"),
         SCRIPT_CLOSE, false},
        {BODY("200 x", "{\"items\":[" ITEM("B c") "," ITEM("a") "]}"), SCRIPT_CLOSE, false}};
    stand t;
    store_op op;
    start(&t, steps, 2);
    store_op_init(&op, STORE_LIST, "");
    assert_int_equal(store_run(t.s, &op), STORE_OK);
    assert_true(op.list.count == 1 && !op.list.more);
    assert_string_equal(op.list.entries[0].key, "a");
    assert_heard(script_heard(t.server, 1), "&startOffset=run%207%2FB%20c HTTP/1.1\r\n");
    store_op_clear(&op);
    stop(&t);
}

static void test_what_cannot_be_opened(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"Bucket", ""}, {"b", ""}, {"-bkt", ""}, {"", ""}, {"bkt", "a//b"}};
    store *s = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        gcs_options options = usual("");
        options.bucket = bad[i][0];
        options.prefix = bad[i][1];
        assert_int_equal(gcs_store_open(&options, &s, NULL), BW_INVALID);
    }
    gcs_options options = usual("http://example.org");
    assert_int_equal(gcs_store_open(&options, &s, NULL), BW_INVALID);
    options = usual("");
    assert_int_equal(unsetenv("GOOGLE_OAUTH_ACCESS_TOKEN"), 0);
    assert_int_equal(gcs_store_open(&options, &s, NULL), BW_DENIED);
    options.anonymous = true;
    assert_int_equal(gcs_store_open(&options, &s, NULL), BW_OK);
    store_close(s);
    assert_int_equal(setenv("GOOGLE_OAUTH_ACCESS_TOKEN", TOKEN, 1), 0);
}

static int set_environment(void **state)
{
    (void)state;
    return setenv("GOOGLE_OAUTH_ACCESS_TOKEN", TOKEN, 1) | setenv("NO_GCE_CHECK", "true", 1) |
           setenv("HOME", "/nowhere", 1);
}

/* Who is refused is told what to ask for. */
static void test_a_missing_permission_is_named(void **state)
{
    (void)state;
    static const struct {
        store_op_kind kind;
        const char *permission;
    } rows[] = {
        {STORE_GET, "permission storage.objects.get"},
        {STORE_READ, "permission storage.objects.get"},
        {STORE_PUT, "permission storage.objects.create; to replace"},
        {STORE_CREATE, "permission storage.objects.create"},
        {STORE_LIST, "permission storage.objects.list"},
        {STORE_DELETE, "permission storage.objects.delete"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        store_op op;
        make_op(&op, rows[i].kind);
        (void)answered(REASON("403 x", "forbidden"), SCRIPT_CLOSE, &op, NULL, 0);
        assert_int_equal(op.error.code, BW_DENIED);
        if (strstr(op.error.message, rows[i].permission) == NULL)
            fail_msg("%s: %s", store_op_name(op.kind), op.error.message);
        store_op_clear(&op);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_missing_permission_is_named),
        cmocka_unit_test(test_what_is_sent),
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_many_are_deleted_at_once),
        cmocka_unit_test(test_one_by_one),
        cmocka_unit_test(test_head_is_asked_as_json),
        cmocka_unit_test(test_a_bare_404_is_asked_again),
        cmocka_unit_test(test_a_range_behind_the_end),
        cmocka_unit_test(test_a_page_of_foreign_names_is_passed_over),
        cmocka_unit_test(test_what_cannot_be_opened),
    };
    return cmocka_run_group_tests(tests, set_environment, NULL);
}
