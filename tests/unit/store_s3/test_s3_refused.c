// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Who is refused is told what to ask for. */
#include "store_s3/s3_store.h"

#include "tests/unit/http/script_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const script_step refusal = {
    "HTTP/1.1 403 x\r\nContent-Length: 40\r\n\r\n<Error><Code>AccessDenied</Code></Error>",
    SCRIPT_CLOSE, false};

/* One operation, refused. */
static void refuse(store_op *op)
{
    char endpoint[64];
    store *s = NULL;
    script_server *server = script_start(&refusal, 1);
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u", script_port(server));
    const s3_options options = {.bucket = "bkt",
                                .prefix = "run",
                                .endpoint = endpoint,
                                .region = "",
                                .profile = "",
                                .ca_file = "",
                                .anonymous = true,
                                .request_timeout_ns = 5 * NS_PER_S};
    assert_int_equal(s3_store_open(&options, &s, NULL), BW_OK);
    (void)store_run(s, op);
    store_close(s);
    script_stop(server);
}

static void test_a_missing_permission_is_named(void **state)
{
    (void)state;
    static const struct {
        store_op_kind kind;
        const char *permission;
    } rows[] = {
        {STORE_GET, "permission s3:GetObject"},       {STORE_READ, "permission s3:GetObject"},
        {STORE_HEAD, "permission s3:GetObject"},      {STORE_PUT, "permission s3:PutObject"},
        {STORE_CREATE, "permission s3:PutObject"},    {STORE_LIST, "permission s3:ListBucket"},
        {STORE_DELETE, "permission s3:DeleteObject"},
    };
    static const char *const one[] = {"a"};
    static char byte = 'x';
    const struct iovec piece = {&byte, 1};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        store_op op;
        store_op_init(&op, rows[i].kind, rows[i].kind == STORE_DELETE ? "" : "a");
        buf_init(&op.out, 10);
        op.pieces = &piece;
        op.piece_count = 1;
        op.dest = &byte;
        op.length = 1;
        op.keys = one;
        op.key_count = 1;
        refuse(&op);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
