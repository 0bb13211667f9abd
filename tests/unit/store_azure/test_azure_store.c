// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The store against answers that are scripted: what it sends, and what it makes of each answer. */
#include "store_azure/azure_store.h"

#include "tests/contract/contract_ops.h"
#include "tests/unit/http/script_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEY "cGxhbnRlZC1rZXk=" /* planted-key */
#define CODE(status, code)                                                                         \
    "HTTP/1.1 " status "\r\nx-ms-error-code: " code "\r\nContent-Length: 0\r\n\r\n"
#define EMPTY(status) "HTTP/1.1 " status "\r\nContent-Length: 0\r\n\r\n"

typedef struct stand {
    script_server *server;
    store *s;
    char endpoint[64];
} stand;

static azure_options usual(const char *endpoint)
{
    return (azure_options){.account = "acct",
                           .container = "box",
                           .prefix = "run",
                           .endpoint = endpoint,
                           .ca_file = "",
                           .request_timeout_ns = 5 * NS_PER_S};
}

static void start(stand *t, const script_step *steps, size_t count)
{
    t->server = script_start(steps, count);
    (void)snprintf(t->endpoint, sizeof t->endpoint, "http://127.0.0.1:%u", script_port(t->server));
    const azure_options options = usual(t->endpoint);
    assert_int_equal(azure_store_open(&options, &t->s, NULL), BW_OK);
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
    assert_null(strstr(op->error.message, KEY));
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
    assert_int_equal(answered(EMPTY("201 x"), SCRIPT_KEEP, &op, heard, sizeof heard),
                     STORE_CREATED);
    assert_heard(heard, "PUT /box/run/a/b HTTP/1.1\r\n");
    assert_heard(heard, "\r\nif-none-match: *\r\n");
    assert_heard(heard, "\r\nx-ms-blob-type: BlockBlob\r\n");
    assert_heard(heard, "\r\ncontent-md5: eB5eJF1ptWaXm4bijSPyxw==\r\n");
    assert_heard(heard, "\r\nauthorization: SharedKey acct:");
    make_op(&op, STORE_PUT);
    assert_int_equal(answered(EMPTY("201 x"), SCRIPT_KEEP, &op, heard, sizeof heard), STORE_OK);
    assert_null(strstr(heard, "if-none-match"));
    make_op(&op, STORE_READ);
    (void)answered(EMPTY("500 x"), SCRIPT_KEEP, &op, heard, sizeof heard);
    assert_heard(heard, "\r\nrange: bytes=5-14\r\n");
    make_op(&op, STORE_DELETE);
    assert_int_equal(answered(EMPTY("202 x"), SCRIPT_KEEP, &op, heard, sizeof heard), STORE_OK);
    assert_heard(heard, "DELETE /box/run/a/b HTTP/1.1\r\n");
}

/* A server that does not know the checksum is not sent it again; what it refused was not applied.
 */
static void test_large_writes_have_a_crc64(void **state)
{
    (void)state;
    static char bytes[(64 << 10) + 1];
    const struct iovec pieces[] = {{bytes, 1000}, {bytes + 1000, sizeof bytes - 1000}};
    static const script_step steps[] = {{CODE("400 x", "Crc64Mismatch"), SCRIPT_KEEP, false},
                                        {CODE("500 x", "FeatureNotSupported"), SCRIPT_KEEP, false},
                                        {EMPTY("201 x"), SCRIPT_KEEP, false},
                                        {CODE("500 x", "FeatureNotSupported"), SCRIPT_KEEP, false}};
    static const store_outcome outcomes[] = {STORE_RETRY, STORE_RETRY, STORE_CREATED,
                                             STORE_UNSUPPORTED};
    stand t;
    store_op op;
    start(&t, steps, 4);
    make_op(&op, STORE_CREATE);
    op.pieces = pieces;
    op.piece_count = 2;
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(store_run(t.s, &op), outcomes[i]);
        const char *heard = script_heard(t.server, i);
        assert_null(strstr(heard, "content-md5"));
        if (i < 2)
            assert_heard(heard, "\r\nx-ms-content-crc64: Ie4lBXixpj4=\r\n");
        else
            assert_null(strstr(heard, "crc64"));
    }
    stop(&t);
}

#define BATCH(parts)                                                                               \
    "HTTP/1.1 202 x\r\nConnection: close\r\nContent-Type: multipart/mixed; "                       \
    "boundary=b\r\n\r\n" parts "--b--\r\n"
#define PART(answer) "--b\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 " answer "\r\n"

static const char *const three[] = {"a/b", "c", "d"};

/* Each blob is asked for by a request of its own within the one, and signed. */
static void test_many_are_deleted_at_once(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        store_outcome outcome;
        bw_status code;
    } rows[] = {
        {BATCH(PART("202 x\r\n") PART("404 x\r\nx-ms-error-code: BlobNotFound\r\n")
                   PART("202 x\r\n")),
         STORE_OK, BW_OK},
        {BATCH(PART("202 x\r\n") PART("202 x\r\n")), STORE_RETRY, BW_CORRUPT}, /* one lacks */
        {BATCH(PART("202 x\r\n") PART("202 x\r\n") PART("202 x\r\n") PART("202 x\r\n")),
         STORE_RETRY, BW_CORRUPT},
        {BATCH(PART("202 x\r\n") PART("403 x\r\nx-ms-error-code: AuthorizationFailure\r\n")
                   PART("202 x\r\n")),
         STORE_DENIED, BW_DENIED},
        {BATCH(PART("503 x\r\nx-ms-error-code: ServerBusy\r\n") PART("202 x\r\n")
                   PART("202 x\r\n")),
         STORE_RETRY, BW_IO},
        {BATCH(PART("404 x\r\nx-ms-error-code: ContainerNotFound\r\n")), STORE_FATAL, BW_IO},
        {"HTTP/1.1 202 x\r\nConnection: close\r\n\r\n--b\r\n\r\nHTTP/1.1 202 x\r\n", STORE_RETRY,
         BW_CORRUPT},
        {EMPTY("202 x"), STORE_RETRY, BW_CORRUPT},
        {CODE("403 x", "AuthorizationFailure"), STORE_DENIED, BW_DENIED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char heard[8192];
        store_op op;
        make_op(&op, STORE_DELETE);
        op.keys = three;
        op.key_count = 3;
        const store_outcome outcome =
            answered(rows[i].answer, SCRIPT_CLOSE, &op, heard, sizeof heard);
        if (outcome != rows[i].outcome || op.error.code != rows[i].code)
            fail_msg("row %zu: %s, %s", i, store_outcome_name(outcome), op.error.message);
        assert_heard(heard, "POST /box?comp=batch&restype=container HTTP/1.1\r\n");
        assert_heard(heard, "\r\ncontent-type: multipart/mixed; boundary=batchweave\r\n");
        assert_heard(heard, "Content-ID: 1\r\n\r\nDELETE /box/run/c HTTP/1.1\r\nx-ms-date: ");
        assert_heard(heard, "GMT\r\nAuthorization: SharedKey acct:");
        assert_heard(heard, "\r\nContent-Length: 0\r\n\r\n--batchweave--\r\n");
    }
}

/* 256 at most in one; servers that know no batch get one by one from then on. */
static void test_batches_and_none(void **state)
{
    (void)state;
    enum { COUNT = 258 };
    static char names[COUNT][8], answer[256 * 64];
    static const char *keys[COUNT];
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(names[i], sizeof names[i], "k%d", i);
        keys[i] = names[i];
    }
    size_t size =
        (size_t)snprintf(answer, sizeof answer, "HTTP/1.1 202 x\r\nConnection: close\r\n\r\n");
    for (int i = 0; i < 256; i++)
        size += (size_t)snprintf(answer + size, sizeof answer - size, "--b\n\nHTTP/1.1 202 x\n\n");
    (void)snprintf(answer + size, sizeof answer - size, "--b--");
    const script_step steps[] = {{answer, SCRIPT_CLOSE, false},
                                 {EMPTY("501 x"), SCRIPT_KEEP, false},
                                 {EMPTY("202 x"), SCRIPT_KEEP, false},
                                 {EMPTY("202 x"), SCRIPT_KEEP, false}};
    stand t;
    store_op op;
    start(&t, steps, 4);
    make_op(&op, STORE_DELETE);
    op.keys = keys;
    op.key_count = COUNT;
    assert_int_equal(store_run(t.s, &op), STORE_OK);
    assert_heard(script_heard(t.server, 1), "DELETE /box/run/k257 HTTP/1.1");
    assert_heard(script_heard(t.server, 2), "DELETE /box/run/k256 HTTP/1.1");
    assert_heard(script_heard(t.server, 3), "DELETE /box/run/k257 HTTP/1.1");
    stop(&t);
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
        {STORE_CREATE, CODE("409 x", "BlobAlreadyExists"), SCRIPT_KEEP, STORE_EXISTS, BW_OK},
        {STORE_CREATE,
         "HTTP/1.1 409 x\r\nContent-Length: 50\r\n\r\n<Error><Code>BlobAlreadyExists"
         "</Code></Error>    ",
         SCRIPT_KEEP, STORE_EXISTS, BW_OK},
        {STORE_CREATE, EMPTY("409 x"), SCRIPT_KEEP, STORE_UNKNOWN, BW_IO},
        {STORE_CREATE, EMPTY("412 x"), SCRIPT_KEEP, STORE_UNKNOWN, BW_IO},
        {STORE_CREATE, EMPTY("200 x"), SCRIPT_KEEP, STORE_UNKNOWN, BW_IO},
        {STORE_CREATE, CODE("403 x", "AuthenticationFailed"), SCRIPT_KEEP, STORE_FATAL, BW_DENIED},
        {STORE_CREATE, CODE("503 x", "ServerBusy"), SCRIPT_KEEP, STORE_UNKNOWN, BW_IO},
        {STORE_CREATE, "", SCRIPT_RESET, STORE_UNKNOWN, BW_UNKNOWN},
        {STORE_GET, CODE("404 x", "BlobNotFound"), SCRIPT_KEEP, STORE_NOT_FOUND, BW_OK},
        {STORE_GET, CODE("404 x", "ContainerNotFound"), SCRIPT_KEEP, STORE_FATAL, BW_IO},
        {STORE_GET, EMPTY("404 x"), SCRIPT_KEEP, STORE_RETRY, BW_IO},
        {STORE_HEAD, CODE("404 x", "BlobNotFound"), SCRIPT_KEEP, STORE_NOT_FOUND, BW_OK},
        {STORE_HEAD, CODE("404 x", "ContainerNotFound"), SCRIPT_KEEP, STORE_FATAL, BW_IO},
        {STORE_DELETE, CODE("404 x", "BlobNotFound"), SCRIPT_KEEP, STORE_OK, BW_OK},
        {STORE_DELETE, CODE("403 x", "AuthorizationFailure"), SCRIPT_KEEP, STORE_DENIED, BW_DENIED},
        {STORE_READ, CODE("416 x", "InvalidRange"), SCRIPT_CLOSE, STORE_RETRY, BW_IO},
        {STORE_LIST, "HTTP/1.1 200 x\r\nContent-Length: 7\r\n\r\n<html/>", SCRIPT_KEEP, STORE_RETRY,
         BW_CORRUPT},
        {STORE_LIST, EMPTY("200 x"), SCRIPT_KEEP, STORE_RETRY, BW_CORRUPT},
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

/* Azurite answers a range that begins at the end with nothing, and calls it a success. */
static void test_a_range_of_nothing(void **state)
{
    (void)state;
    for (int longer = 0; longer < 2; longer++) {
        const script_step steps[] = {
            {"HTTP/1.1 206 x\r\nContent-Range: bytes 5-4/5\r\nContent-Length: 0\r\n\r\n",
             SCRIPT_KEEP, false},
            {longer ? "HTTP/1.1 200 x\r\nContent-Length: 15\r\n\r\n"
                    : "HTTP/1.1 200 x\r\nContent-Length: 5\r\n\r\n",
             SCRIPT_KEEP, false}};
        stand t;
        store_op op;
        start(&t, steps, 2);
        make_op(&op, STORE_READ);
        assert_int_equal(store_run(t.s, &op), STORE_FATAL);
        assert_int_equal(op.error.code, longer ? BW_STORE_UNSAFE : BW_CORRUPT);
        assert_heard(script_heard(t.server, 1), "HEAD /box/run/a/b ");
        stop(&t);
    }
}

#define BLOB(name)                                                                                 \
    "<Blob><Name>" name "</Name><Properties><Content-Length>7</Content-Length><Last-Modified>"     \
    "Sun, 06 Nov 1994 08:49:37 GMT</Last-Modified></Properties></Blob>"
#define PAGE(blobs, next)                                                                          \
    "HTTP/1.1 200 x\r\nConnection: close\r\n\r\n\xef\xbb\xbf<?xml version=\"1.0\"?>"               \
    "<EnumerationResults><Blobs>" blobs "</Blobs><NextMarker>" next "</NextMarker>"                \
    "</EnumerationResults>"

/* Azure lists after a marker of its own only: a listing that goes on where the last page ended
 * takes the marker, any other begins at the front. */
static void test_pages(void **state)
{
    (void)state;
    static const script_step steps[] = {
        {PAGE(BLOB("run/a1") BLOB("run/a2"), "m 1"), SCRIPT_CLOSE, false},
        {PAGE(BLOB("run/a3"), ""), SCRIPT_CLOSE, false},
        {PAGE(BLOB("run/a1"), "m2"), SCRIPT_CLOSE, false},
        {PAGE(BLOB("run/a1x") BLOB("run/a3") BLOB("run/a4"), "m3"), SCRIPT_CLOSE, false}};
    stand t;
    store_op op;
    start(&t, steps, 4);
    make_op(&op, STORE_LIST);
    op.list_max = 2;
    assert_int_equal(store_run(t.s, &op), STORE_OK);
    assert_true(op.list.count == 2 && op.list.more);
    assert_string_equal(op.list.entries[1].key, "a2");
    assert_int_equal(op.list.entries[1].bytes, 7);
    assert_int_equal(op.list.entries[1].modified_ms, 784111777000);
    assert_heard(script_heard(t.server, 0), "GET /box?comp=list&maxresults=2&prefix=run%2Fa&"
                                            "restype=container HTTP/1.1\r\n");
    memcpy(op.after, "a2", 3);
    assert_int_equal(store_run(t.s, &op), STORE_OK);
    assert_true(op.list.count == 1 && !op.list.more);
    assert_heard(script_heard(t.server, 1), "&marker=m%201&maxresults=2&");
    memcpy(op.after, "a1z", 4); /* nobody knows where that is */
    op.list_max = 1;
    assert_int_equal(store_run(t.s, &op), STORE_OK);
    assert_true(op.list.count == 1 && op.list.more);
    assert_string_equal(op.list.entries[0].key, "a3");
    assert_null(strstr(script_heard(t.server, 2), "marker="));
    assert_heard(script_heard(t.server, 3), "&marker=m2&");
    store_op_clear(&op);
    stop(&t);
}

static void test_a_shared_access_signature(void **state)
{
    (void)state;
    static const script_step steps[] = {{EMPTY("201 x"), SCRIPT_KEEP, false},
                                        {EMPTY("500 x"), SCRIPT_KEEP, false},
                                        {EMPTY("500 x"), SCRIPT_KEEP, false}};
    stand t;
    store_op op;
    assert_int_equal(unsetenv("AZURE_STORAGE_KEY"), 0);
    assert_int_equal(setenv("AZURE_STORAGE_SAS_TOKEN", "?sv=1&sig=planted%3D", 1), 0);
    start(&t, steps, 3);
    make_op(&op, STORE_PUT);
    assert_int_equal(store_run(t.s, &op), STORE_OK);
    assert_heard(script_heard(t.server, 0), "PUT /box/run/a/b?sv=1&sig=planted%3D HTTP/1.1\r\n");
    assert_null(strstr(script_heard(t.server, 0), "authorization"));
    make_op(&op, STORE_LIST);
    assert_int_equal(store_run(t.s, &op), STORE_RETRY);
    assert_heard(script_heard(t.server, 1), "&restype=container&sv=1&sig=planted%3D HTTP/1.1\r\n");
    make_op(&op, STORE_DELETE);
    op.keys = three;
    op.key_count = 3;
    assert_int_equal(store_run(t.s, &op), STORE_RETRY);
    assert_heard(script_heard(t.server, 2), "&restype=container&sv=1&sig=planted%3D HTTP/1.1\r\n");
    assert_heard(script_heard(t.server, 2),
                 "\r\nDELETE /box/run/d?sv=1&sig=planted%3D HTTP/1.1\r\n");
    assert_null(strcasestr(script_heard(t.server, 2), "authorization"));
    assert_null(strstr(op.error.message, "planted"));
    stop(&t);
    assert_int_equal(unsetenv("AZURE_STORAGE_SAS_TOKEN"), 0);
    assert_int_equal(setenv("AZURE_STORAGE_KEY", KEY, 1), 0);
}

/* A clock that is wrong is corrected by what the store says, for the next request; and then it is
 * the key. */
static void test_skew(void **state)
{
    (void)state;
#define REFUSED(code)                                                                              \
    "HTTP/1.1 403 x\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nx-ms-error-code: " code              \
    "\r\nContent-Length: 0\r\n\r\n"
    static const script_step steps[] = {{REFUSED("AuthenticationFailed"), SCRIPT_KEEP, false},
                                        {REFUSED("AuthenticationFailed"), SCRIPT_KEEP, false},
                                        {EMPTY("201 x"), SCRIPT_KEEP, false}};
    stand t;
    store_op op;
    start(&t, steps, 3);
    make_op(&op, STORE_CREATE);
    assert_int_equal(store_run(t.s, &op), STORE_RETRY);
    assert_int_equal(store_run(t.s, &op), STORE_FATAL);
    assert_int_equal(op.error.code, BW_DENIED);
    assert_int_equal(store_run(t.s, &op), STORE_CREATED);
    assert_heard(script_heard(t.server, 1), "\r\nx-ms-date: Sun, 06 Nov 1994 08:49:");
    assert_heard(script_heard(t.server, 2), "\r\nx-ms-date: Sun, 06 Nov 1994 08:49:");
    stop(&t);
}

static void test_keys(void **state)
{
    (void)state;
    static const struct {
        const char *key, *connection;
        bw_status status;
    } rows[] = {
        {KEY, "", BW_OK},
        {"no base64", "", BW_INVALID},
        {"", "AccountName=acct;AccountKey=" KEY ";EndpointSuffix=core.windows.net", BW_OK},
        {"", "AccountName=other;AccountKey=" KEY, BW_INVALID},
        {"", "SharedAccessSignature=sv=1&sig=x", BW_OK},
        {"", "AccountName=acct", BW_INVALID},
        {"", "", BW_DENIED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bw_error *error = bw_error_new();
        store *s = NULL;
        const azure_options options = usual("http://127.0.0.1:1");
        assert_int_equal(setenv("AZURE_STORAGE_KEY", rows[i].key, 1), 0);
        assert_int_equal(setenv("AZURE_STORAGE_CONNECTION_STRING", rows[i].connection, 1), 0);
        if (azure_store_open(&options, &s, error) != rows[i].status)
            fail_msg("row %zu: %s", i, bw_error_message(error));
        assert_null(strstr(bw_error_message(error), KEY));
        store_close(s);
        bw_error_free(error);
    }
    assert_int_equal(unsetenv("AZURE_STORAGE_CONNECTION_STRING"), 0);
    assert_int_equal(setenv("AZURE_STORAGE_KEY", KEY, 1), 0);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const bad[][3] = {
        {"ac", "box", ""},  {"Acct", "box", ""},     {"a-b-c", "box", ""},
        {"acct", "bo", ""}, {"acct", "Box", ""},     {"acct", "-box", ""},
        {"acct", "", ""},   {"acct", "box", "a//b"}, {"acct", "box", ".."}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        azure_options options = usual("");
        store *s = NULL;
        options.account = bad[i][0];
        options.container = bad[i][1];
        options.prefix = bad[i][2];
        assert_int_equal(azure_store_open(&options, &s, NULL), BW_INVALID);
    }
    azure_options options = usual("http://example.org");
    store *s = NULL;
    assert_int_equal(azure_store_open(&options, &s, NULL), BW_INVALID);
}

static int set_environment(void **state)
{
    (void)state;
    return unsetenv("AZURE_STORAGE_SAS_TOKEN") | unsetenv("AZURE_STORAGE_CONNECTION_STRING") |
           setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://127.0.0.1:1", 1) |
           setenv("AZURE_STORAGE_KEY", KEY, 1);
}

/* Who is refused is told what to ask for. */
static void test_a_missing_permission_is_named(void **state)
{
    (void)state;
    static const struct {
        store_op_kind kind;
        const char *permission;
    } rows[] = {
        {STORE_GET, "permission read (r"},      {STORE_READ, "permission read (r"},
        {STORE_HEAD, "permission read (r"},     {STORE_PUT, "permission write (w"},
        {STORE_CREATE, "permission write (w"},  {STORE_LIST, "permission list (l"},
        {STORE_DELETE, "permission delete (d"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        store_op op;
        make_op(&op, rows[i].kind);
        (void)answered(CODE("403 x", "AuthorizationPermissionMismatch"), SCRIPT_CLOSE, &op, NULL,
                       0);
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
        cmocka_unit_test(test_large_writes_have_a_crc64),
        cmocka_unit_test(test_many_are_deleted_at_once),
        cmocka_unit_test(test_batches_and_none),
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_a_range_of_nothing),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_a_shared_access_signature),
        cmocka_unit_test(test_skew),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, set_environment, NULL);
}
