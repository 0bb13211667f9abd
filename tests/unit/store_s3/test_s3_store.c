// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The store against answers that are scripted: what it sends, and what it makes of each answer. */
#include "store_s3/s3_store.h"

#include "store/decorators.h"
#include "tests/contract/contract_ops.h"
#include "tests/unit/http/script_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECRET "planted-secret-key-0123456789"
#define TOKEN "planted-session-token"
#define EMPTY(status) "HTTP/1.1 " status "\r\nContent-Length: 0\r\n\r\n"
#define ERROR(code) "<Error><Code>" code "</Code></Error>"
#define XML(status, length, body)                                                                  \
    "HTTP/1.1 " status "\r\nContent-Type: application/xml\r\nContent-Length: " length              \
    "\r\n\r\n" body

typedef struct stand {
    script_server *server;
    store *s;
    char endpoint[64];
} stand;

static s3_options usual(const char *endpoint)
{
    return (s3_options){.bucket = "bkt",
                        .prefix = "run",
                        .endpoint = endpoint,
                        .region = "eu-test-1",
                        .profile = "",
                        .ca_file = "",
                        .request_timeout_ns = 5 * NS_PER_S};
}

static void start(stand *t, const script_step *steps, size_t count)
{
    t->server = script_start(steps, count);
    (void)snprintf(t->endpoint, sizeof t->endpoint, "http://127.0.0.1:%u", script_port(t->server));
    const s3_options options = usual(t->endpoint);
    assert_int_equal(s3_store_open(&options, &t->s, NULL), BW_OK);
}

static void stop(stand *t)
{
    store_close(t->s);
    script_stop(t->server);
}

/* One operation on one answer; the request is kept in `heard`. */
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
    assert_null(strstr(op->error.message, SECRET));
    assert_null(strstr(op->error.message, TOKEN));
    return outcome;
}

static char content[] = "0123456789";
static const struct iovec content_piece = {content, 10};

static void make_op(store_op *op, store_op_kind kind)
{
    static char dest[16];
    static const char *const one[] = {"a/b"};
    store_op_init(op, kind, kind == STORE_DELETE ? "" : kind == STORE_LIST ? "a" : "a/b");
    op->pieces = &content_piece;
    op->piece_count = 1;
    op->offset = 5;
    op->length = 10;
    op->dest = dest;
    op->keys = one;
    op->key_count = 1;
    if (kind == STORE_GET)
        buf_init(&op->out, 10);
}

static void assert_heard(const char *heard, const char *line)
{
    if (strstr(heard, line) == NULL)
        fail_msg("not heard: %s\nin: %s", line, heard);
}

static void test_what_a_create_sends(void **state)
{
    (void)state;
    char heard[4096];
    store_op op;
    make_op(&op, STORE_CREATE);
    assert_int_equal(answered(EMPTY("200 OK"), SCRIPT_KEEP, &op, heard, sizeof heard),
                     STORE_CREATED);
    assert_heard(heard, "PUT /bkt/run/a/b HTTP/1.1\r\n");
    assert_heard(heard, "\r\nif-none-match: *\r\n");
    assert_heard(heard, "\r\nContent-Length: 10\r\n");
    assert_heard(heard, "\r\nx-amz-security-token: " TOKEN "\r\n");
    /* CRC-32C and SHA-256 of 0123456789. */
    assert_heard(heard, "\r\nx-amz-checksum-crc32c: KAwGng==\r\n");
    assert_heard(heard,
                 "\r\nx-amz-content-sha256: 84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96"
                 "bedb9f882f7882\r\n");
    assert_heard(heard, "/eu-test-1/s3/aws4_request,SignedHeaders=host;if-none-match;"
                        "x-amz-checksum-crc32c;x-amz-content-sha256;x-amz-date;"
                        "x-amz-security-token,Signature=");
    assert_heard(heard, "\r\n\r\n0123456789");
    assert_null(strstr(heard, SECRET));
    assert_null(strstr(heard, "Expect"));
}

static void test_what_others_send(void **state)
{
    (void)state;
    char heard[4096];
    store_op op;
    make_op(&op, STORE_PUT);
    assert_int_equal(answered(EMPTY("200 OK"), SCRIPT_KEEP, &op, heard, sizeof heard), STORE_OK);
    assert_null(strstr(heard, "if-none-match"));
    make_op(&op, STORE_LIST);
    memcpy(op.after, "a/b+c", 6);
    op.list_max = 7;
    op.list_any = true;
    (void)answered(EMPTY("500 x"), SCRIPT_KEEP, &op, heard, sizeof heard);
    assert_heard(heard, "GET /bkt?encoding-type=url&list-type=2&max-keys=7&prefix=run%2Fa&"
                        "start-after=run%2Fa%2Fb%2Bc HTTP/1.1\r\n");
    make_op(&op, STORE_READ);
    (void)answered(EMPTY("500 x"), SCRIPT_KEEP, &op, heard, sizeof heard);
    assert_heard(heard, "GET /bkt/run/a/b HTTP/1.1\r\n");
    assert_heard(heard, "\r\nrange: bytes=5-14\r\n");
    make_op(&op, STORE_DELETE);
    static const char *const two[] = {"x", "y/z"};
    op.keys = two;
    op.key_count = 2;
    (void)answered(EMPTY("500 x"), SCRIPT_KEEP, &op, heard, sizeof heard);
    assert_heard(heard, "POST /bkt?delete= HTTP/1.1\r\n");
    assert_heard(heard, "\r\ncontent-md5: ");
    assert_heard(heard, "<Key>run/x</Key></Object><Object><Key>run/y/z</Key>");
}

/* The answers that matter to a create. CUT: the connection ends behind what came. */
static void test_outcomes_of_a_create(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        script_end end;
        store_outcome outcome;
        bw_status code;
    } rows[] = {
        {EMPTY("200 OK"), SCRIPT_KEEP, STORE_CREATED, BW_OK},
        {XML("412 x", "46", ERROR("PreconditionFailed")), SCRIPT_CLOSE, STORE_EXISTS, BW_OK},
        {"HTTP/1.1 412 x\r\nContent-Length: 500\r\n\r\n<Error>", SCRIPT_RESET, STORE_EXISTS, BW_OK},
        {XML("409 x", "54", ERROR("ConditionalRequestConflict")), SCRIPT_CLOSE, STORE_RETRY, BW_IO},
        {XML("409 x", "45", ERROR("BucketAlreadyExis")), SCRIPT_CLOSE, STORE_UNKNOWN, BW_IO},
        {XML("403 x", "40", ERROR("AccessDenied")), SCRIPT_CLOSE, STORE_FATAL, BW_DENIED},
        {XML("501 x", "42", ERROR("NotImplemented")), SCRIPT_CLOSE, STORE_UNSUPPORTED,
         BW_UNSUPPORTED},
        {XML("503 x", "36", ERROR("SlowDown")), SCRIPT_CLOSE, STORE_UNKNOWN, BW_IO},
        {EMPTY("500 x"), SCRIPT_KEEP, STORE_UNKNOWN, BW_IO},
        {EMPTY("404 x"), SCRIPT_KEEP, STORE_UNKNOWN, BW_IO},
        {EMPTY("204 x"), SCRIPT_KEEP, STORE_UNKNOWN, BW_IO},
        {EMPTY("307 x"), SCRIPT_KEEP, STORE_FATAL, BW_INVALID},
        {XML("400 x", "37", ERROR("BadDigest")), SCRIPT_CLOSE, STORE_RETRY, BW_IO},
        {XML("200 x", "41", ERROR("InternalError")), SCRIPT_CLOSE, STORE_UNKNOWN, BW_IO},
        {"", SCRIPT_CLOSE, STORE_UNKNOWN, BW_UNKNOWN},
        {"", SCRIPT_RESET, STORE_UNKNOWN, BW_UNKNOWN},
        {"HTTP/1.1 2", SCRIPT_CLOSE, STORE_UNKNOWN, BW_UNKNOWN},
        {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n<", SCRIPT_RESET, STORE_UNKNOWN, BW_UNKNOWN},
        {"HTTP/1.1 503 x\r\nContent-Length: 9\r\n\r\n<", SCRIPT_RESET, STORE_UNKNOWN, BW_IO},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        store_op op;
        make_op(&op, STORE_CREATE);
        const store_outcome outcome = answered(rows[i].answer, rows[i].end, &op, NULL, 0);
        if (outcome != rows[i].outcome || op.error.code != rows[i].code)
            fail_msg("row %zu: %s, %s", i, store_outcome_name(outcome), op.error.message);
        if (rows[i].code != BW_OK)
            assert_string_equal(op.error.key, "a/b");
    }
}

static void test_a_create_is_sent_once(void **state)
{
    (void)state;
    static const script_step steps[] = {{EMPTY("404 x"), SCRIPT_KEEP, false},
                                        {"", SCRIPT_CLOSE, false},
                                        {EMPTY("200 OK"), SCRIPT_KEEP, false}};
    stand t;
    store_op op;
    start(&t, steps, 3);
    make_op(&op, STORE_HEAD);
    assert_int_equal(store_run(t.s, &op), STORE_NOT_FOUND);
    make_op(&op, STORE_CREATE);
    assert_int_equal(store_run(t.s, &op), STORE_UNKNOWN); /* on a connection that was kept */
    assert_int_equal(script_requests(t.server), 2);
    stop(&t);
}

static void test_nobody_there(void **state)
{
    (void)state;
    store_op op;
    stand t;
    start(&t, NULL, 0);
    script_stop(t.server);
    make_op(&op, STORE_CREATE);
    assert_int_equal(store_run(t.s, &op), STORE_RETRY); /* nothing was sent */
    assert_int_equal(op.error.code, BW_IO);
    make_op(&op, STORE_GET);
    assert_int_equal(store_run(t.s, &op), STORE_RETRY);
    store_op_clear(&op);
    store_close(t.s);
}

#define RANGED(range, length, body)                                                                \
    "HTTP/1.1 206 x\r\nContent-Range: bytes " range "\r\nContent-Length: " length "\r\n\r\n" body

/* 10 bytes at 5 are asked for. */
static void test_a_range_is_believed_when_it_is_the_one(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        script_end end;
        store_outcome outcome;
        bw_status code;
    } rows[] = {
        {RANGED("5-14/20", "10", "0123456789"), SCRIPT_KEEP, STORE_OK, BW_OK},
        {RANGED("5-14/*", "10", "0123456789"), SCRIPT_KEEP, STORE_OK, BW_OK},
        {RANGED("5-11/12", "7", "0123456"), SCRIPT_KEEP, STORE_FATAL, BW_CORRUPT},
        {RANGED("6-15/20", "10", "0123456789"), SCRIPT_KEEP, STORE_FATAL, BW_STORE_UNSAFE},
        {RANGED("4-14/20", "10", "0123456789"), SCRIPT_KEEP, STORE_FATAL, BW_STORE_UNSAFE},
        {RANGED("5-13/20", "9", "012345678"), SCRIPT_KEEP, STORE_FATAL, BW_STORE_UNSAFE},
        {RANGED("5-14/20", "9", "012345678"), SCRIPT_KEEP, STORE_FATAL, BW_STORE_UNSAFE},
        {RANGED("5-15/20", "11", "0123456789a"), SCRIPT_KEEP, STORE_FATAL, BW_STORE_UNSAFE},
        {RANGED("5-14/20", "10", "01234"), SCRIPT_CLOSE, STORE_RETRY, BW_IO},
        {"HTTP/1.1 206 x\r\nContent-Length: 10\r\n\r\n0123456789", SCRIPT_KEEP, STORE_FATAL,
         BW_STORE_UNSAFE},
        {"HTTP/1.1 200 x\r\nContent-Length: 10\r\n\r\n0123456789", SCRIPT_KEEP, STORE_FATAL,
         BW_STORE_UNSAFE},
        {"HTTP/1.1 416 x\r\nContent-Range: bytes */3\r\nContent-Length: 0\r\n\r\n", SCRIPT_KEEP,
         STORE_FATAL, BW_CORRUPT},
        {XML("416 x", "78",
             "<Error><Code>InvalidRange</Code><ActualObjectSize>3"
             "</ActualObjectSize></Error>"),
         SCRIPT_KEEP, STORE_FATAL, BW_CORRUPT},
        {XML("404 x", "37", ERROR("NoSuchKey")), SCRIPT_CLOSE, STORE_NOT_FOUND, BW_OK},
        {EMPTY("404 x"), SCRIPT_KEEP, STORE_RETRY, BW_IO},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        store_op op;
        make_op(&op, STORE_READ);
        const store_outcome outcome = answered(rows[i].answer, rows[i].end, &op, NULL, 0);
        if (outcome != rows[i].outcome || op.error.code != rows[i].code)
            fail_msg("row %zu: %s, %s", i, store_outcome_name(outcome), op.error.message);
    }
    store_op op;
    make_op(&op, STORE_READ);
    op.offset = 0; /* the whole is what was asked for */
    assert_int_equal(answered(rows[10].answer, SCRIPT_KEEP, &op, NULL, 0), STORE_OK);
    assert_int_equal(op.object_bytes, 10);
}

/* Behind the end, and the server does not say how long the object is: it is asked. */
static void test_a_range_behind_the_end(void **state)
{
    (void)state;
    static const script_step steps[] = {
        {EMPTY("416 x"), SCRIPT_KEEP, false},
        {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", SCRIPT_KEEP, false}};
    stand t;
    store_op op;
    start(&t, steps, 2);
    make_op(&op, STORE_READ);
    assert_int_equal(store_run(t.s, &op), STORE_FATAL);
    assert_int_equal(op.error.code, BW_CORRUPT);
    assert_non_null(strstr(op.error.message, "object has 3 bytes"));
    assert_heard(script_heard(t.server, 1), "HEAD /bkt/run/a/b ");
    assert_null(strstr(script_heard(t.server, 1), "range:"));
    stop(&t);
}

/* At most 10 bytes are expected. */
static void test_outcomes_of_a_get(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        script_end end;
        store_outcome outcome;
        bw_status code;
    } rows[] = {
        {"HTTP/1.1 200 x\r\nContent-Length: 10\r\n\r\n0123456789", SCRIPT_KEEP, STORE_OK, BW_OK},
        {"HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n012\r\n0\r\n\r\n", SCRIPT_KEEP,
         STORE_OK, BW_OK},
        {"HTTP/1.1 200 x\r\nTransfer-Encoding: "
         "chunked\r\n\r\n3\r\n012\r\n8\r\n01234567\r\n0\r\n\r\n",
         SCRIPT_KEEP, STORE_FATAL, BW_TOO_LARGE},
        {"HTTP/1.1 200 x\r\nContent-Length: 11\r\n\r\n0123456789a", SCRIPT_KEEP, STORE_FATAL,
         BW_TOO_LARGE},
        {"HTTP/1.1 200 x\r\n\r\n01234", SCRIPT_CLOSE, STORE_RETRY, BW_IO}, /* where does it end? */
        {"HTTP/1.1 200 x\r\nContent-Length: 10\r\n\r\n01234", SCRIPT_CLOSE, STORE_RETRY, BW_IO},
        {"HTTP/1.1 206 x\r\nContent-Length: 3\r\n\r\n012", SCRIPT_KEEP, STORE_RETRY, BW_IO},
        {XML("404 x", "37", ERROR("NoSuchKey")), SCRIPT_CLOSE, STORE_NOT_FOUND, BW_OK},
        {XML("404 x", "40", ERROR("NoSuchBucket")), SCRIPT_CLOSE, STORE_FATAL, BW_IO},
        {"HTTP/1.1 404 x\r\nContent-Length: 13\r\n\r\n<html></html>", SCRIPT_KEEP, STORE_RETRY,
         BW_IO}, /* a proxy's */
        {XML("403 x", "40", ERROR("AccessDenied")), SCRIPT_CLOSE, STORE_DENIED, BW_DENIED},
        {EMPTY("503 x"), SCRIPT_KEEP, STORE_RETRY, BW_IO},
        {"", SCRIPT_CLOSE, STORE_RETRY, BW_IO},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        store_op op;
        make_op(&op, STORE_GET);
        const store_outcome outcome = answered(rows[i].answer, rows[i].end, &op, NULL, 0);
        if (outcome != rows[i].outcome || op.error.code != rows[i].code)
            fail_msg("row %zu: %s, %s", i, store_outcome_name(outcome), op.error.message);
        store_op_clear(&op);
    }
}

#define PAGE(more, names)                                                                          \
    "<ListBucketResult><IsTruncated>" more "</IsTruncated>" names "</ListBucketResult>"
#define NAME(name) "<Contents><Key>" name "</Key><Size>1</Size></Contents>"

static void test_a_page_of_foreign_names_is_passed_over(void **state)
{
    (void)state;
    static const script_step steps[] = {
        {"HTTP/1.1 200 x\r\nConnection: close\r\n\r\n" PAGE("true", NAME("run/A") NAME("run/B c")),
         SCRIPT_CLOSE, false},
        {"HTTP/1.1 200 x\r\nConnection: close\r\n\r\n" PAGE("false", NAME("run/a")), SCRIPT_CLOSE,
         false}};
    stand t;
    store_op op;
    start(&t, steps, 2);
    store_op_init(&op, STORE_LIST, "");
    assert_int_equal(store_run(t.s, &op), STORE_OK);
    assert_int_equal(op.list.count, 1);
    assert_string_equal(op.list.entries[0].key, "a");
    assert_false(op.list.more);
    assert_heard(script_heard(t.server, 1), "start-after=run%2FB%20c ");
    store_op_clear(&op);
    stop(&t);
}

static void test_lists_that_are_none(void **state)
{
    (void)state;
    static const char *const answers[] = {"HTTP/1.1 200 x\r\n\r\n<ListBucketResult>",
                                          "HTTP/1.1 200 x\r\n\r\n<html/>",
                                          "HTTP/1.1 200 x\r\n\r\n",
                                          "HTTP/1.1 200 x\r\n\r\n<!DOCTYPE a><ListBucketResult/>",
                                          "HTTP/1.1 200 x\r\n\r\n" PAGE("false", NAME("elsewhere")),
                                          "HTTP/1.1 200 x\r\n\r\n" ERROR("InternalError"),
                                          EMPTY("503 x")};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        store_op op;
        make_op(&op, STORE_LIST);
        if (answered(answers[i], SCRIPT_CLOSE, &op, NULL, 0) != STORE_RETRY)
            fail_msg("row %zu: %s", i, op.error.message);
        store_op_clear(&op);
    }
}

static void test_deletes(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        store_outcome outcome;
    } rows[] = {
        {"HTTP/1.1 200 x\r\n\r\n<DeleteResult/>", STORE_OK},
        {"HTTP/1.1 200 "
         "x\r\n\r\n<DeleteResult><Error><Code>AccessDenied</Code></Error></DeleteResult>",
         STORE_DENIED},
        {"HTTP/1.1 200 x\r\n\r\n<DeleteResult><Error><Code>SlowDown</Code></Error></DeleteResult>",
         STORE_RETRY},
        {"HTTP/1.1 200 x\r\n\r\n" ERROR("InternalError"), STORE_RETRY},
        {"HTTP/1.1 200 x\r\n\r\n<html/>", STORE_RETRY},
        {"HTTP/1.1 200 x\r\n\r\n", STORE_RETRY},
    };
    static const char *const two[] = {"x", "y/z"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        store_op op;
        make_op(&op, STORE_DELETE);
        op.keys = two;
        op.key_count = 2;
        if (answered(rows[i].answer, SCRIPT_CLOSE, &op, NULL, 0) != rows[i].outcome)
            fail_msg("row %zu: %s", i, op.error.message);
    }
}

/* Stores that know no batch delete: one by one from then on. */
static void test_deletes_one_by_one(void **state)
{
    (void)state;
    static const script_step steps[] = {
        {EMPTY("501 x"), SCRIPT_KEEP, false},
        {"HTTP/1.1 204 x\r\n\r\n", SCRIPT_KEEP, false},
        {XML("404 x", "37", ERROR("NoSuchKey")), SCRIPT_CLOSE, false},
        {EMPTY("200 x"), SCRIPT_KEEP, false},
        {XML("403 x", "40", ERROR("AccessDenied")), SCRIPT_CLOSE, false}};
    static const char *const two[] = {"x", "y/z"};
    stand t;
    store_op op;
    start(&t, steps, 5);
    for (int i = 0; i < 2; i++) {
        make_op(&op, STORE_DELETE);
        op.keys = two;
        op.key_count = 2;
        assert_int_equal(store_run(t.s, &op), i == 0 ? STORE_OK : STORE_DENIED);
    }
    assert_heard(script_heard(t.server, 1), "DELETE /bkt/run/x ");
    assert_heard(script_heard(t.server, 2), "DELETE /bkt/run/y/z ");
    assert_heard(script_heard(t.server, 3), "DELETE /bkt/run/x ");
    assert_int_equal(script_requests(t.server), 5);
    stop(&t);
}

/* A clock that is wrong is corrected by what the store says, for the next request. */
static void test_skew(void **state)
{
    (void)state;
    static const script_step steps[] = {
        {"HTTP/1.1 403 x\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: close\r\n\r\n" ERROR(
             "RequestTimeTooSkewed"),
         SCRIPT_CLOSE, false},
        {EMPTY("200 OK"), SCRIPT_KEEP, false}};
    stand t;
    store_op op;
    start(&t, steps, 2);
    make_op(&op, STORE_CREATE);
    assert_int_equal(store_run(t.s, &op), STORE_RETRY);
    assert_int_equal(store_run(t.s, &op), STORE_CREATED);
    assert_heard(script_heard(t.server, 1), "\r\nx-amz-date: 19941106T0849");
    stop(&t);
}

static void test_anonymous_and_unsigned(void **state)
{
    (void)state;
    static const script_step steps[] = {{EMPTY("200 OK"), SCRIPT_KEEP, false},
                                        {EMPTY("200 OK"), SCRIPT_KEEP, false}};
    stand t;
    start(&t, steps, 2);
    store_op op;
    s3_options options = usual(t.endpoint);
    options.sign_body = S3_SIGN_NEVER;
    options.prefix = "";
    store *s = NULL;
    assert_int_equal(s3_store_open(&options, &s, NULL), BW_OK);
    make_op(&op, STORE_PUT);
    assert_int_equal(store_run(s, &op), STORE_OK);
    assert_heard(script_heard(t.server, 0), "PUT /bkt/a/b HTTP/1.1\r\n");
    assert_heard(script_heard(t.server, 0), "\r\nx-amz-content-sha256: UNSIGNED-PAYLOAD\r\n");
    store_close(s);
    options.anonymous = true;
    assert_int_equal(s3_store_open(&options, &s, NULL), BW_OK);
    assert_int_equal(store_run(s, &op), STORE_OK);
    assert_null(strcasestr(script_heard(t.server, 1), "authorization"));
    assert_null(strstr(script_heard(t.server, 1), "x-amz-date"));
    assert_null(strstr(script_heard(t.server, 1), TOKEN));
    store_close(s);
    stop(&t);
}

static void test_close_with_requests_in_flight(void **state)
{
    (void)state;
    script_step steps[6];
    for (size_t i = 0; i < 6; i++)
        steps[i] = (script_step){"", SCRIPT_HANG, false};
    stand t;
    store_op ops[3];
    store_op *done[3];
    start(&t, steps, 6);
    static const store_op_kind kinds[] = {STORE_CREATE, STORE_GET, STORE_LIST};
    for (size_t i = 0; i < 3; i++) {
        make_op(&ops[i], kinds[i]);
        store_submit(t.s, &ops[i]);
    }
    assert_int_equal(store_poll(t.s, done, 3, 50 * NS_PER_MS), 0);
    store_cancel(t.s);
    for (size_t seen = 0; seen < 3;)
        seen += store_poll(t.s, done, 3, TIME_NEVER);
    assert_int_equal(ops[0].outcome, STORE_UNKNOWN);
    assert_int_equal(ops[1].outcome, STORE_RETRY);
    assert_int_equal(ops[2].outcome, STORE_RETRY);
    for (size_t i = 0; i < 3; i++)
        store_submit(t.s, &ops[i]);
    assert_int_equal(store_poll(t.s, done, 3, 0), 0);
    stop(&t); /* with them in flight */
    for (size_t i = 0; i < 3; i++)
        store_op_clear(&ops[i]);
}

static void test_what_a_throttled_answer_says(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        bool throttled;
        int64_t after_s;
    } rows[] = {
        {XML("503 Slow Down\r\nRetry-After: 7", "45", ERROR("SlowDown") "          "), true, 7},
        {EMPTY("503 Service Unavailable"), true, 0},
        {EMPTY("429 Too Many Requests\r\nRetry-After: 2"), true, 2},
        {EMPTY("429 Too Many Requests\r\nRetry-After: soon"), true, 0},
        {EMPTY("500 Internal Server Error"), false, 0},
        {EMPTY("404 Not Found"), false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int kind = STORE_GET; kind <= STORE_CREATE; kind++) {
            if (kind == STORE_MAP)
                continue;
            store_op op;
            make_op(&op, (store_op_kind)kind);
            const store_outcome outcome = answered(rows[i].answer, SCRIPT_KEEP, &op, NULL, 0);
            assert_int_equal(outcome, kind == STORE_CREATE ? STORE_UNKNOWN : STORE_RETRY);
            assert_int_equal(op.throttled, rows[i].throttled);
            assert_int_equal(op.retry_after_ns, rows[i].after_s * NS_PER_S);
            store_op_clear(&op);
        }
    }
}

/* One that hangs in the middle of its body is taken back: nothing of it comes or is written, and
 * the handle works on. */
static void test_take_back(void **state)
{
    (void)state;
    static const script_step steps[] = {
        {"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 5-14/20\r\nContent-Length: "
         "10\r\n\r\n01234",
         SCRIPT_HANG, false},
        {"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 5-14/20\r\nContent-Length: "
         "10\r\n\r\n0123456789",
         SCRIPT_KEEP, false},
    };
    char dest[2][16] = {{0}};
    stand t;
    store_op ops[2];
    store_op *done[2];
    start(&t, steps, 2);
    assert_true((t.s->features & STORE_TAKES_BACK) != 0);
    for (int i = 0; i < 2; i++) {
        make_op(&ops[i], STORE_READ);
        ops[i].dest = dest[i];
    }
    store_submit(t.s, &ops[0]);
    for (int i = 0; i < 100 && dest[0][4] == '\0'; i++)
        assert_int_equal(store_poll(t.s, done, 2, 10 * NS_PER_MS), 0);
    assert_string_equal(dest[0], "01234");
    store_take_back(t.s, &ops[0]);
    assert_int_equal(store_poll(t.s, done, 2, TIME_NEVER), 0); /* nothing is in flight */
    memset(dest[0], 0, sizeof dest[0]);
    assert_int_equal(store_run(t.s, &ops[1]), STORE_OK);
    assert_string_equal(dest[1], "0123456789");
    assert_string_equal(dest[0], "");
    assert_int_equal(script_connections(t.server), 2);
    /* One that is over and was not polled, and one that never got out. */
    make_op(&ops[0], STORE_MAP);
    store_submit(t.s, &ops[0]);
    store_take_back(t.s, &ops[0]);
    make_op(&ops[0], STORE_READ);
    store_submit(t.s, &ops[0]);
    store_take_back(t.s, &ops[0]);
    assert_int_equal(store_poll(t.s, done, 2, 0), 0);
    stop(&t);
}

/* Through the decorators too: who closes waits for nobody. */
static void test_cancel_reaches_through_decorators(void **state)
{
    (void)state;
    static const script_step steps[] = {{"", SCRIPT_HANG, false}};
    static const store_retry_options retries = {.limit_ns = 60 * NS_PER_S, .attempts_max = 100};
    static store_meter meter;
    stand t;
    store_op op;
    store_op *done[1];
    start(&t, steps, 1);
    store_retry_options options = retries;
    options.clock = clock_system();
    assert_int_equal(store_meter_wrap(t.s, &meter, &t.s, NULL), BW_OK);
    assert_int_equal(store_fault_wrap(t.s, "", &t.s, NULL), BW_OK);
    assert_int_equal(store_retry_wrap(t.s, &options, &t.s, NULL), BW_OK);
    make_op(&op, STORE_GET);
    store_submit(t.s, &op);
    assert_int_equal(store_poll(t.s, done, 1, 50 * NS_PER_MS), 0);
    store_cancel(t.s);
    assert_int_equal(store_poll(t.s, done, 1, NS_PER_S), 1);
    assert_int_equal(op.outcome, STORE_RETRY);
    store_op_clear(&op);
    stop(&t);
}

static void test_what_cannot_be_opened(void **state)
{
    (void)state;
    static const struct {
        const char *bucket, *prefix, *endpoint;
        bw_status status;
        const char *says;
    } rows[] = {
        {"arn:aws:s3:eu-west-1:1:accesspoint/x", "", "", BW_UNSUPPORTED, "alias"},
        {"name--euw1-az1--x-s3", "", "", BW_UNSUPPORTED, "directory buckets"},
        {"Bucket", "", "", BW_INVALID, "name of a bucket"},
        {"bu", "", "", BW_INVALID, "name of a bucket"},
        {"", "", "", BW_INVALID, "name of a bucket"},
        {"a..b", "", "", BW_INVALID, "name of a bucket"},
        {"a_b_c", "", "", BW_INVALID, "name of a bucket"},
        {"bkt", "a//b", "", BW_INVALID, "prefix"},
        {"bkt", "/a", "", BW_INVALID, "prefix"},
        {"bkt", "a/../b", "", BW_INVALID, "prefix"},
        {"bkt", "a/.", "", BW_INVALID, "prefix"},
        {"bkt", "a\nb", "", BW_INVALID, "prefix"},
        {"bkt", "", "http://example.org", BW_INVALID, "plain_http"},
        {"bkt", "", "https://example.org/path", BW_INVALID, "endpoint"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bw_error *error = bw_error_new();
        store *s = NULL;
        s3_options options = usual(rows[i].endpoint);
        options.bucket = rows[i].bucket;
        options.prefix = rows[i].prefix;
        assert_int_equal(s3_store_open(&options, &s, error), rows[i].status);
        if (strstr(bw_error_message(error), rows[i].says) == NULL)
            fail_msg("'%s' does not say '%s'", bw_error_message(error), rows[i].says);
        bw_error_free(error);
    }
    bw_error *error = bw_error_new();
    store *s = NULL;
    s3_options options = usual("http://127.0.0.1:1");
    options.region = "eu/west";
    assert_int_equal(s3_store_open(&options, &s, error), BW_INVALID);
    bw_error_free(error);
}

static int set_environment(void **state)
{
    (void)state;
    static const char *const off[] = {"AWS_PROFILE", "AWS_ENDPOINT_URL",   "AWS_ENDPOINT_URL_S3",
                                      "AWS_REGION",  "AWS_DEFAULT_REGION", "AWS_CA_BUNDLE",
                                      "HOME"};
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++)
        (void)unsetenv(off[i]);
    return setenv("AWS_ACCESS_KEY_ID", "AKIDTEST", 1) | setenv("AWS_SECRET_ACCESS_KEY", SECRET, 1) |
           setenv("AWS_SESSION_TOKEN", TOKEN, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_create_sends),
        cmocka_unit_test(test_what_others_send),
        cmocka_unit_test(test_outcomes_of_a_create),
        cmocka_unit_test(test_a_create_is_sent_once),
        cmocka_unit_test(test_nobody_there),
        cmocka_unit_test(test_a_range_is_believed_when_it_is_the_one),
        cmocka_unit_test(test_a_range_behind_the_end),
        cmocka_unit_test(test_outcomes_of_a_get),
        cmocka_unit_test(test_a_page_of_foreign_names_is_passed_over),
        cmocka_unit_test(test_lists_that_are_none),
        cmocka_unit_test(test_deletes),
        cmocka_unit_test(test_deletes_one_by_one),
        cmocka_unit_test(test_skew),
        cmocka_unit_test(test_anonymous_and_unsigned),
        cmocka_unit_test(test_close_with_requests_in_flight),
        cmocka_unit_test(test_what_a_throttled_answer_says),
        cmocka_unit_test(test_take_back),
        cmocka_unit_test(test_cancel_reaches_through_decorators),
        cmocka_unit_test(test_what_cannot_be_opened),
    };
    return cmocka_run_group_tests(tests, set_environment, NULL);
}
