// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What goes with a request besides the key: checksums, the condition, what a bucket's owner wants.
 */
#include "store_s3/s3_store.h"

#include "store/driver.h"
#include "tests/unit/http/script_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EMPTY(status) "HTTP/1.1 " status "\r\nContent-Length: 0\r\n\r\n"

/* One operation on one answer; the request is kept in `heard`. `more`: what is set besides the
 * place; NULL: nothing. */
static store_outcome answered_with(const s3_options *more, const char *answer, store_op *op,
                                   char *heard, size_t capacity)
{
    const script_step step = {answer, SCRIPT_KEEP, false};
    script_server *server = script_start(&step, 1);
    char endpoint[64];
    store *s = NULL;
    s3_options options = more != NULL ? *more : (s3_options){.bucket = "bkt"};
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u", script_port(server));
    options.prefix = "run";
    options.endpoint = endpoint;
    options.region = "eu-test-1";
    options.profile = options.ca_file = "";
    options.request_timeout_ns = 5 * NS_PER_S;
    assert_int_equal(s3_store_open(&options, &s, NULL), BW_OK);
    const store_outcome outcome = store_run(s, op);
    (void)snprintf(heard, capacity, "%s", script_heard(server, 0));
    store_close(s);
    script_stop(server);
    return outcome;
}

static store_outcome answered(const char *answer, store_op *op, char *heard, size_t capacity)
{
    return answered_with(NULL, answer, op, heard, capacity);
}

static char content[] = "0123456789";
static const struct iovec content_piece = {content, 10};

static void make_op(store_op *op, store_op_kind kind)
{
    static char dest[16];
    static const char *const two[] = {"a/b", "c"};
    store_op_init(op, kind, kind == STORE_DELETE || kind == STORE_LIST ? "" : "a/b");
    op->pieces = &content_piece;
    op->piece_count = 1;
    op->length = 10;
    op->dest = dest;
    op->keys = two;
    op->key_count = 2;
    if (kind == STORE_GET)
        buf_init(&op->out, 10);
}

static void assert_heard(const char *heard, const char *line)
{
    if (strstr(heard, line) == NULL)
        fail_msg("not heard: %s\nin: %s", line, heard);
}

/* However large it is, and from the caller's own where there is one: 0xffffffff is none of these
 * bytes. */
static void test_every_write_has_a_checksum(void **state)
{
    (void)state;
    static char bytes[1 << 20];
    const struct iovec pieces[] = {{bytes, 1000}, {bytes + 1000, sizeof bytes - 1000}};
    char heard[4096];
    store_op op;
    make_op(&op, STORE_CREATE);
    op.pieces = pieces;
    op.piece_count = 2;
    assert_int_equal(answered(EMPTY("200 OK"), &op, heard, sizeof heard), STORE_CREATED);
    assert_heard(heard, "\r\nx-amz-checksum-crc32c: FCmMEg==\r\n");
    make_op(&op, STORE_PUT);
    op.has_crc = true;
    op.crc = 0xffffffff;
    assert_int_equal(answered(EMPTY("200 OK"), &op, heard, sizeof heard), STORE_OK);
    assert_heard(heard, "\r\nx-amz-checksum-crc32c: /////w==\r\n");
}

#define SUMMED(lines) "HTTP/1.1 200 x\r\n" lines "Content-Length: 10\r\n\r\n0123456789"

/* What is read whole is held against what the store says it has. */
static void test_a_whole_object_is_verified(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        store_outcome outcome;
    } rows[] = {
        {SUMMED("x-amz-checksum-crc32c: KAwGng==\r\n"), STORE_OK},
        {SUMMED("x-amz-checksum-crc32c: KAwGnw==\r\n"), STORE_RETRY},
        {SUMMED("x-amz-checksum-crc32c: KAwGnw==-2\r\n"), STORE_OK}, /* of parts */
        {SUMMED("Content-MD5: eB5eJF1ptWaXm4bijSPyxw==\r\n"), STORE_OK},
        {SUMMED("Content-MD5: eB5eJF1ptWaXm4bijSPyxg==\r\n"), STORE_RETRY},
        {SUMMED(""), STORE_OK},
        {"HTTP/1.1 200 x\r\nx-amz-checksum-crc32c: AAAAAQ==\r\nContent-Length: 0\r\n\r\n",
         STORE_RETRY},
        {"HTTP/1.1 200 x\r\nx-amz-checksum-crc32c: AAAAAA==\r\nContent-Length: 0\r\n\r\n",
         STORE_OK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char heard[4096];
        store_op op;
        make_op(&op, STORE_GET);
        const store_outcome outcome = answered(rows[i].answer, &op, heard, sizeof heard);
        if (outcome != rows[i].outcome ||
            op.error.code != (outcome == STORE_OK ? BW_OK : BW_CORRUPT))
            fail_msg("row %zu: %s, %s", i, store_outcome_name(outcome), op.error.message);
        assert_heard(heard, "\r\nx-amz-checksum-mode: ENABLED\r\n");
        store_op_clear(&op);
    }
}

/* In each request what the account is asked for, in those that write what the object gets; all of
 * it signed. */
static void test_properties(void **state)
{
    (void)state;
    static const struct {
        store_op_kind kind;
        bool writes;
    } rows[] = {{STORE_PUT, true},    {STORE_CREATE, true}, {STORE_GET, false},
                {STORE_READ, false},  {STORE_HEAD, false},  {STORE_LIST, false},
                {STORE_DELETE, false}};
    static const char *const always[] = {"x-amz-expected-bucket-owner: 123456789012",
                                         "x-amz-request-payer: requester"};
    static const char *const written[] = {
        "x-amz-server-side-encryption: aws:kms",
        "x-amz-server-side-encryption-aws-kms-key-id: arn:aws:kms:eu:1:key/a-b",
        "x-amz-storage-class: STANDARD_IA"};
    const s3_options more = {.bucket = "bkt",
                             .kms_key = "arn:aws:kms:eu:1:key/a-b",
                             .storage_class = "STANDARD_IA",
                             .bucket_owner = "123456789012",
                             .requester_pays = true};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char heard[8192], line[160];
        store_op op;
        make_op(&op, rows[i].kind);
        (void)answered_with(&more, EMPTY("500 x"), &op, heard, sizeof heard);
        for (size_t k = 0; k < 2; k++) {
            (void)snprintf(line, sizeof line, "\r\n%s\r\n", always[k]);
            assert_heard(heard, line);
        }
        for (size_t k = 0; k < 3; k++) {
            (void)snprintf(line, sizeof line, "\r\n%s\r\n", written[k]);
            if (rows[i].writes)
                assert_heard(heard, line);
            else
                assert_null(strstr(heard, line));
        }
        if (rows[i].kind == STORE_PUT)
            assert_heard(heard, "SignedHeaders=host;x-amz-checksum-crc32c;x-amz-content-sha256;"
                                "x-amz-date;x-amz-expected-bucket-owner;x-amz-request-payer;"
                                "x-amz-server-side-encryption;"
                                "x-amz-server-side-encryption-aws-kms-key-id;x-amz-storage-class,");
        store_op_clear(&op);
    }
}

/* Stores that spell the condition differently, and answer differently. */
static void test_conditions(void **state)
{
    (void)state;
    static const struct {
        s3_condition condition;
        const char *line, *code;
    } rows[] = {{S3_CONDITION_AUTO, "\r\nif-none-match: *\r\n", "PreconditionFailed"},
                {S3_CONDITION_S3, "\r\nif-none-match: *\r\n", "PreconditionFailed"},
                {S3_CONDITION_OSS, "\r\nx-oss-forbid-overwrite: true\r\n", "FileAlreadyExists"},
                {S3_CONDITION_IBM, "\r\nx-ibm-forbid-overwrite: true\r\n", "ObjectAlreadyExists"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const s3_options more = {.bucket = "bkt", .condition = rows[i].condition};
        char heard[8192], answer[256];
        store_op op;
        make_op(&op, STORE_CREATE);
        (void)snprintf(answer, sizeof answer,
                       "HTTP/1.1 409 x\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n"
                       "<Error><Code>%s</Code></Error>",
                       strlen(rows[i].code) + strlen("<Error><Code></Code></Error>"), rows[i].code);
        assert_int_equal(answered_with(&more, answer, &op, heard, sizeof heard), STORE_EXISTS);
        assert_heard(heard, rows[i].line);
        assert_true((strstr(heard, "if-none-match") != NULL) == (i < 2));
        make_op(&op, STORE_PUT);
        (void)answered_with(&more, EMPTY("200 x"), &op, heard, sizeof heard);
        assert_null(strstr(heard, rows[i].line));
    }
}

static void test_what_is_refused(void **state)
{
    (void)state;
    static const struct {
        s3_options options;
        bw_status status;
        const char *says;
    } rows[] = {
        {{.storage_class = "GLACIER"}, BW_UNSUPPORTED, "restored"},
        {{.storage_class = "DEEP_ARCHIVE"}, BW_UNSUPPORTED, "restored"},
        {{.storage_class = "Standard"}, BW_INVALID, "STANDARD_IA"},
        {{.bucket_owner = "12345678901"}, BW_INVALID, "twelve digits"},
        {{.bucket_owner = "12345678901a"}, BW_INVALID, "twelve digits"},
        {{.kms_key = "a b"}, BW_INVALID, "kms_key"},
        {{.kms_key = "a\r\nb: c"}, BW_INVALID, "kms_key"},
        {{.endpoint = "https://cos.ap-x.myqcloud.com"}, BW_UNSUPPORTED, "x-cos-forbid-overwrite"},
        {{.endpoint = "https://cos.ap-x.tencentcos.cn"}, BW_UNSUPPORTED, "x-cos-forbid-overwrite"},
        {{.endpoint = "https://oss-cn-x.aliyuncs.com"}, BW_OK, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bw_error *error = bw_error_new();
        store *s = NULL;
        s3_options options = rows[i].options;
        options.bucket = "bkt";
        options.prefix = options.region = options.profile = options.ca_file = "";
        if (options.endpoint == NULL)
            options.endpoint = "";
        assert_int_equal(s3_store_open(&options, &s, error), rows[i].status);
        if (rows[i].status != BW_OK && strstr(bw_error_message(error), rows[i].says) == NULL)
            fail_msg("'%s' does not say '%s'", bw_error_message(error), rows[i].says);
        store_close(s);
        bw_error_free(error);
    }
}

static int set_environment(void **state)
{
    (void)state;
    return setenv("AWS_ACCESS_KEY_ID", "id", 1) | setenv("AWS_SECRET_ACCESS_KEY", "planted", 1) |
           setenv("HOME", "/nowhere", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_write_has_a_checksum),
        cmocka_unit_test(test_a_whole_object_is_verified),
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, set_environment, NULL);
}
