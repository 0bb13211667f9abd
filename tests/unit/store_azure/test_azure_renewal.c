// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Tokens that end, under a store: what is sent with them, fetched anew in time, in the middle of an
 * upload, or not. */
#include "azure_stand.h"

#include "store/decorators.h"
#include "store_azure/azure_store.h"
#include "store_net/net_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define PATIENCE_NS (60 * NS_PER_S)
/* A token that came so late is not refused for its end. */
#define FRESH_S 6
#define EMPTY(status) "HTTP/1.1 " status "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
#define EXPIRED EMPTY("401 x\r\nx-ms-error-code: InvalidAuthenticationInfo")
#define DENIED EMPTY("403 x\r\nx-ms-error-code: AuthenticationFailed")

static script_step step(const char *answer)
{
    return (script_step){answer, SCRIPT_CLOSE, false};
}

static void wait_ms(long ms)
{
    const struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&wait, NULL);
}

static store *open_store(const chain_stand *t, const char *endpoint)
{
    store *s = NULL;
    const azure_options options = {.account = "acct",
                                   .container = "box",
                                   .prefix = "",
                                   .endpoint = endpoint,
                                   .ca_file = "",
                                   .request_timeout_ns = 5 * NS_PER_S};
    stand_publish(t, true);
    assert_int_equal(azure_store_open(&options, &s, t->error), BW_OK);
    stand_publish(t, false);
    return s;
}

static char content[] = "0123456789";
static const struct iovec content_piece = {content, 10};

static void make_op(store_op *op, store_op_kind kind)
{
    store_op_init(op, kind, "a");
    op->pieces = &content_piece;
    op->piece_count = 1;
}

static void heard_token(const chain_stand *there, unsigned request, unsigned number)
{
    char line[64];
    (void)snprintf(line, sizeof line, "\r\nauthorization: Bearer " PLANTED ".token%u\r\n", number);
    stand_heard(there, request, line);
}

/* Fetched by a thread of its own, halfway of a short life, without a request that fails. */
static void test_a_new_token_comes_before_the_old_one_ends(void **state)
{
    (void)state;
    const script_step tokens[] = {step(stand_token(1, 4)), step(stand_token(2, 3600))};
    script_step answers[64];
    for (size_t i = 0; i < 64; i++)
        answers[i] = step(EMPTY("201 x"));
    char source[256];
    chain_stand t;
    chain_stand there;
    store_op op;
    stand_start(&t, tokens, 2);
    stand_start(&there, answers, 64);
    stand_workload(&t);
    store *s = open_store(&t, there.url);
    net_store_source(s, source, sizeof source);
    assert_string_equal(source, "the workload identity of client client-1");
    unsigned last = 0;
    for (int i = 0; i < 60; i++) {
        make_op(&op, STORE_PUT);
        assert_int_equal(store_run(s, &op), STORE_OK);
        last = script_requests(there.server) - 1;
        if (strstr(script_heard(there.server, last), PLANTED ".token2") != NULL)
            break;
        wait_ms(200);
    }
    heard_token(&there, 0, 1);
    stand_heard(&there, 0, "PUT /box/a HTTP/1.1\r\n");
    stand_heard(&there, 0, "\r\nx-ms-date: ");
    stand_heard(&there, 0, "\r\nx-ms-version: 20");
    heard_token(&there, last, 2);
    assert_int_equal(script_requests(t.server), 2);
    store_close(s);
    stand_stop(&there);
    stand_stop(&t);
}

/* Refused in the middle of an upload: the part is sent again, whole, with a new token. */
static void test_expiry_in_the_middle_of_an_upload(void **state)
{
    (void)state;
    const script_step tokens[] = {step(stand_token(1, 3600)), step(stand_token(2, 3600))};
    script_step answers[32];
    for (size_t i = 0; i < 32; i++)
        answers[i] = step(i == 1 ? EXPIRED : EMPTY("201 x"));
    store_retry_options options = {.clock = clock_system(),
                                   .backoff_min_ns = 500 * NS_PER_MS,
                                   .backoff_max_ns = 500 * NS_PER_MS,
                                   .limit_ns = PATIENCE_NS,
                                   .attempts_max = 1000};
    chain_stand t;
    chain_stand there;
    store_op op;
    stand_start(&t, tokens, 2);
    stand_start(&there, answers, 32);
    stand_machine(&t);
    store *s = open_store(&t, there.url);
    assert_int_equal(store_retry_wrap(s, &options, &s, NULL), BW_OK);
    make_op(&op, STORE_PUT);
    assert_int_equal(store_run(s, &op), STORE_OK);
    wait_ms(FRESH_S * 1000);
    make_op(&op, STORE_PUT);
    assert_int_equal(store_run(s, &op), STORE_OK);
    const unsigned last = script_requests(there.server) - 1;
    assert_true(last >= 2);
    heard_token(&there, 1, 1);
    stand_heard(&there, 1, "\r\n\r\n0123456789");
    stand_heard(&there, last, "\r\n\r\n0123456789");
    make_op(&op, STORE_PUT);
    assert_int_equal(store_run(s, &op), STORE_OK); /* by now it is there */
    heard_token(&there, script_requests(there.server) - 1, 2);
    assert_int_equal(script_requests(t.server), 2);
    store_close(s);
    stand_stop(&there);
    stand_stop(&t);
}

/* A create is sent once; refused for a token that has ended it has not happened, and the protocol
 * asks again. */
static void test_expiry_and_a_create(void **state)
{
    (void)state;
    const script_step tokens[] = {step(stand_token(1, 2)), {"", SCRIPT_HANG, false}};
    const script_step answers[] = {step(DENIED), step(EMPTY("201 x"))};
    chain_stand t;
    chain_stand there;
    store_op op;
    stand_start(&t, tokens, 2);
    stand_start(&there, answers, 2);
    stand_service(&t);
    store *s = open_store(&t, there.url);
    wait_ms(3000);
    make_op(&op, STORE_CREATE);
    assert_int_equal(store_run(s, &op), STORE_RETRY);
    assert_int_equal(op.error.code, BW_DENIED);
    assert_non_null(strstr(op.error.message, "the keys (the managed identity of App Service) have "
                                             "expired, and new ones are fetched"));
    assert_null(strstr(op.error.message, PLANTED));
    assert_int_equal(script_requests(there.server), 1);
    assert_int_equal(store_run(s, &op), STORE_CREATED);
    store_close(s); /* with a fetch under way */
    stand_stop(&there);
    stand_stop(&t);
}

/* It is somebody else's reason: no other token would help. The source is named. */
static void test_refusals_that_are_no_expiry(void **state)
{
    (void)state;
    const script_step tokens[] = {step(stand_token(1, 3600))};
    const script_step answers[] = {step(EXPIRED), step(DENIED)};
    chain_stand t;
    chain_stand there;
    store_op op;
    stand_start(&t, tokens, 1);
    stand_start(&there, answers, 2);
    stand_machine(&t);
    store *s = open_store(&t, there.url);
    for (int i = 0; i < 2; i++) {
        make_op(&op, STORE_PUT);
        assert_int_equal(store_run(s, &op), STORE_DENIED);
        assert_non_null(
            strstr(op.error.message, "; the keys are from the managed identity of the machine"));
    }
    assert_int_equal(script_requests(t.server), 1);
    store_close(s);
    stand_stop(&there);
    stand_stop(&t);
}

/* The account's key cannot change, whatever is said of it. */
static void test_a_key_of_the_environment_does_not_change(void **state)
{
    (void)state;
    const script_step answers[] = {step(EXPIRED)};
    chain_stand t;
    store_op op;
    stand_start(&t, answers, 1);
    stand_set(&t, "AZURE_STORAGE_KEY", "UExBTlRFRC1rZXk=");
    store *s = open_store(&t, t.url);
    wait_ms(FRESH_S * 1000);
    make_op(&op, STORE_PUT);
    assert_int_equal(store_run(s, &op), STORE_DENIED);
    assert_non_null(strstr(op.error.message, "the keys are from AZURE_STORAGE_KEY"));
    store_close(s);
    stand_stop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_token_comes_before_the_old_one_ends),
        cmocka_unit_test(test_expiry_in_the_middle_of_an_upload),
        cmocka_unit_test(test_expiry_and_a_create),
        cmocka_unit_test(test_refusals_that_are_no_expiry),
        cmocka_unit_test(test_a_key_of_the_environment_does_not_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
