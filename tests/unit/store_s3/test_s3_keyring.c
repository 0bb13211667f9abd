// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Keys that end: fetched anew in time, by one, while requests go on. */
#include "s3_stand.h"

#include "http/sigv4.h"
#include "store/decorators.h"
#include "store_net/net_keyring.h"
#include "store_s3/s3_store.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* Patience with a machine that is busy. */
#define PATIENCE_NS (60 * NS_PER_S)

static script_step step(const char *answer)
{
    return (script_step){answer, SCRIPT_CLOSE, false};
}

static void nap(void)
{
    const struct timespec wait = {.tv_nsec = 10000000};
    (void)nanosleep(&wait, NULL);
}

static void set_container(chain_stand *t)
{
    char url[128];
    (void)snprintf(url, sizeof url, "%s/keys", t->url);
    stand_set(t, "AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
}

static net_keyring *open_ring(chain_stand *t)
{
    net_keyring *r = NULL;
    assert_int_equal(net_keyring_open(&stand_chain(t, "")->net, &r, t->error), BW_OK);
    return r;
}

static uint64_t number_of(net_keyring *r)
{
    net_keyset *set = net_keyring_take(r);
    const uint64_t number = set->number;
    net_keyset_give(set);
    return number;
}

static void wait_for_number(net_keyring *r, uint64_t number)
{
    const int64_t deadline_ns = clock_deadline(clock_system(), PATIENCE_NS);
    while (number_of(r) < number) {
        assert_true(clock_now(clock_system()) < deadline_ns);
        nap();
    }
}

/* ---- the ring alone ---- */

static void test_new_keys_come_before_the_old_ones_end(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_answer(stand_json("Token", 1, 4))),
                                 step(stand_answer(stand_json("Token", 2, 3600)))};
    chain_stand t;
    stand_start(&t, steps, 2);
    set_container(&t);
    net_keyring *r = open_ring(&t);
    net_keyset *old = net_keyring_take(r);
    assert_int_equal(old->number, 1);
    assert_int_equal(script_requests(t.server), 1);
    wait_for_number(r, 2);
    net_keyset *set = net_keyring_take(r);
    assert_string_equal(set->keys.key_id, "ASIA2");
    assert_string_equal(old->keys.key_id, "ASIA1"); /* whoever has them keeps them */
    net_keyset_give(old);
    net_keyset_give(set);
    nap();
    assert_int_equal(number_of(r), 2);
    assert_int_equal(script_requests(t.server), 2); /* an hour is left */
    net_keyring_free(r);
    stand_stop(&t);
}

/* The second fetch fails, the third hands out the old keys, the fourth new ones. */
static void test_a_fetch_that_fails_is_repeated(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_answer(stand_json("Token", 1, 4))),
                                 step(ANSWER("403 x", PLANTED)),
                                 step(stand_answer(stand_json("Token", 1, 3600))),
                                 step(stand_answer(stand_json("Token", 2, 3600)))};
    chain_stand t;
    stand_start(&t, steps, 4);
    set_container(&t);
    net_keyring *r = open_ring(&t);
    wait_for_number(r, 2);
    assert_int_equal(script_requests(t.server), 4);
    net_keyring_free(r);
    stand_stop(&t);
}

typedef struct taker {
    net_keyring *ring;
    pthread_t thread;
} taker;

static void *take_all(void *context)
{
    taker *w = context;
    wait_for_number(w->ring, 2);
    return NULL;
}

static void test_one_fetches_for_all(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_answer(stand_json("Token", 1, 3))),
                                 step(stand_answer(stand_json("Token", 2, 3600))),
                                 step(stand_answer(stand_json("Token", 3, 3600)))};
    chain_stand t;
    taker takers[4];
    stand_start(&t, steps, 3);
    set_container(&t);
    net_keyring *r = open_ring(&t);
    for (size_t i = 0; i < 4; i++) {
        takers[i].ring = r;
        assert_int_equal(pthread_create(&takers[i].thread, NULL, take_all, &takers[i]), 0);
    }
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(takers[i].thread, NULL), 0);
    assert_int_equal(script_requests(t.server), 2);
    net_keyring_free(r);
    stand_stop(&t);
}

/* Whoever closes does not wait for a service that does not answer. */
static void test_a_fetch_ends_with_the_ring(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_answer(stand_json("Token", 1, 2))),
                                 {"", SCRIPT_HANG, false},
                                 {"", SCRIPT_HANG, false},
                                 {"", SCRIPT_HANG, false}};
    chain_stand t;
    stand_start(&t, steps, 4);
    set_container(&t);
    net_keyring *r = open_ring(&t);
    const int64_t deadline_ns = clock_deadline(clock_system(), PATIENCE_NS);
    while (script_requests(t.server) < 2) {
        assert_true(clock_now(clock_system()) < deadline_ns);
        assert_int_equal(number_of(r), 1);
        nap();
    }
    /* Three tries of 5 s are what it would take. */
    const int64_t start_ns = clock_now(clock_system());
    net_keyring_free(r);
    assert_true(clock_now(clock_system()) - start_ns < 12 * NS_PER_S);
    stand_stop(&t);
}

/* The source that gave keys is asked again, and no other. */
static void test_nobody_becomes_somebody_else(void **state)
{
    (void)state;
    const script_step steps[] = {step(stand_answer(stand_json("Token", 1, 3600)))};
    char why[512];
    chain_stand t;
    stand_start(&t, steps, 1);
    (void)stand_file(&t, ".aws/credentials",
                     "[default]\naws_access_key_id=OLD\naws_secret_access_key=" PLANTED "\n");
    set_container(&t);
    net_keyring *r = open_ring(&t);
    net_keyset *set = net_keyring_take(r);
    (void)stand_file(&t, ".aws/credentials", "");
    assert_true(net_keyring_expired(r, set, why, sizeof why));
    const int64_t deadline_ns = clock_deadline(clock_system(), PATIENCE_NS);
    while (net_keyring_expired(r, set, why, sizeof why)) {
        assert_true(clock_now(clock_system()) < deadline_ns);
        nap();
    }
    assert_non_null(strstr(why, "no keys any more"));
    assert_int_equal(script_requests(t.server), 0);
    /* Somebody writes the file anew. */
    (void)stand_file(&t, ".aws/credentials",
                     "[default]\naws_access_key_id=NEW\naws_secret_access_key=" PLANTED "\n");
    while (!net_keyring_expired(r, set, why, sizeof why)) {
        assert_true(clock_now(clock_system()) < deadline_ns);
        nap();
    }
    net_keyset_give(set);
    set = net_keyring_take(r);
    assert_string_equal(set->keys.key_id, "NEW");
    net_keyset_give(set);
    net_keyring_free(r);
    stand_stop(&t);
}

/* ---- with a store ---- */

#define EXPIRED                                                                                    \
    "HTTP/1.1 400 x\r\nConnection: close\r\n\r\n<Error><Code>ExpiredToken</Code></Error>"
#define EMPTY(status) "HTTP/1.1 " status "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

static store *open_store(const chain_stand *t, const char *endpoint)
{
    store *s = NULL;
    const s3_options options = {.bucket = "bkt",
                                .prefix = "",
                                .endpoint = endpoint,
                                .region = "eu-test-1",
                                .profile = "",
                                .ca_file = "",
                                .request_timeout_ns = 5 * NS_PER_S};
    stand_publish(t, true);
    assert_int_equal(s3_store_open(&options, &s, t->error), BW_OK);
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

/* The request is signed with that secret: all of it, and nothing that was derived from another. */
static void check_signature(const chain_stand *there, unsigned request, const char *key_id,
                            const char *key, const char *token)
{
    const char *heard = script_heard(there->server, request);
    const char *date = strstr(heard, "x-amz-date: ");
    char time_text[SIGV4_TIME_BYTES];
    secret s = {NULL, 0};
    sigv4_key derived = {.scope = ""};
    buf authorization;
    assert_non_null(date);
    (void)snprintf(time_text, sizeof time_text, "%.16s", date + 12);
    static const char sha256[] = "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882";
    const sigv4_header headers[] = {
        {"host", there->url + strlen("http://")}, {"x-amz-checksum-crc32c", "KAwGng=="},
        {"x-amz-content-sha256", sha256},         {"x-amz-date", time_text},
        {"x-amz-security-token", token},
    };
    const sigv4_request r = {.method = "PUT",
                             .path = "/bkt/a",
                             .query = "",
                             .headers = headers,
                             .header_count = sizeof headers / sizeof headers[0],
                             .payload = sha256,
                             .time = time_text,
                             .region = "eu-test-1",
                             .service = "s3"};
    buf_init(&authorization, 4096);
    assert_int_equal(secret_set(&s, key, strlen(key)), BW_OK);
    assert_int_equal(sigv4_sign(&r, key_id, &s, &derived, &authorization), BW_OK);
    stand_heard(there, request, buf_text(&authorization));
    buf_free(&authorization);
    secret_clear(&s);
}

/* Expired in the middle of an upload: the part is sent again, whole, with new keys. */
static void test_expiry_in_the_middle_of_an_upload(void **state)
{
    (void)state;
    const script_step keys[] = {step(stand_answer(stand_json("Token", 1, 3600))),
                                step(stand_answer(stand_json("Token", 2, 3600)))};
    script_step answers[32];
    for (size_t i = 0; i < 32; i++)
        answers[i] = step(i == 0 ? EMPTY("200 OK") : i == 1 ? EXPIRED : EMPTY("200 OK"));
    store_retry_options options = {.clock = clock_system(),
                                   .backoff_min_ns = 500 * NS_PER_MS,
                                   .backoff_max_ns = 500 * NS_PER_MS,
                                   .limit_ns = PATIENCE_NS,
                                   .attempts_max = 1000};
    chain_stand t;
    chain_stand there;
    store_op op;
    stand_start(&t, keys, 2);
    stand_start(&there, answers, 32);
    set_container(&t);
    store *s = open_store(&t, there.url);
    assert_int_equal(store_retry_wrap(s, &options, &s, NULL), BW_OK);
    make_op(&op, STORE_PUT);
    assert_int_equal(store_run(s, &op), STORE_OK);
    assert_int_equal(store_run(s, &op), STORE_OK);
    const unsigned last = script_requests(there.server) - 1;
    assert_true(last >= 2);
    stand_heard(&there, 1, "Credential=ASIA1/");
    stand_heard(&there, 1, "x-amz-security-token: " PLANTED "-token1\r\n");
    stand_heard(&there, last, "\r\n\r\n0123456789");
    assert_int_equal(store_run(s, &op), STORE_OK); /* by now they are there */
    stand_heard(&there, script_requests(there.server) - 1, "Credential=ASIA2/");
    stand_heard(&there, script_requests(there.server) - 1,
                "x-amz-security-token: " PLANTED "-token2\r\n");
    check_signature(&there, 1, "ASIA1", PLANTED "+key1", PLANTED "-token1");
    check_signature(&there, script_requests(there.server) - 1, "ASIA2", PLANTED "+key2",
                    PLANTED "-token2");
    assert_int_equal(script_requests(t.server), 2);
    store_close(s);
    stand_stop(&there);
    stand_stop(&t);
}

/* A create is sent once; refused for expired keys it has not happened, and the protocol asks
 * again. */
static void test_expiry_and_a_create(void **state)
{
    (void)state;
    const script_step keys[] = {step(stand_answer(stand_json("Token", 1, 3600))),
                                {"", SCRIPT_HANG, false}};
    const script_step answers[] = {step(EXPIRED), step(EMPTY("200 OK")), step(EMPTY("200 OK"))};
    chain_stand t;
    chain_stand there;
    store_op op;
    stand_start(&t, keys, 2);
    stand_start(&there, answers, 3);
    set_container(&t);
    store *s = open_store(&t, there.url);
    make_op(&op, STORE_CREATE);
    assert_int_equal(store_run(s, &op), STORE_RETRY);
    assert_int_equal(op.error.code, BW_DENIED);
    assert_non_null(strstr(op.error.message, "the keys (the endpoint of the container) have "
                                             "expired, and new ones are fetched"));
    assert_null(strstr(op.error.message, PLANTED));
    assert_int_equal(script_requests(there.server), 1);
    assert_int_equal(store_run(s, &op), STORE_CREATED);
    store_close(s); /* with a fetch under way */
    stand_stop(&there);
    stand_stop(&t);
}

/* Told when the keys have ended, with why no new ones came. */
static void test_why_no_new_keys_came(void **state)
{
    (void)state;
    const script_step keys[] = {step(stand_answer(stand_json("Token", 1, 3600))),
                                step(ANSWER("403 x", PLANTED)), step(ANSWER("403 x", PLANTED)),
                                step(ANSWER("403 x", PLANTED)), step(ANSWER("403 x", PLANTED))};
    script_step answers[64];
    for (size_t i = 0; i < 64; i++)
        answers[i] = step(EXPIRED);
    chain_stand t;
    chain_stand there;
    store_op op;
    stand_start(&t, keys, 5);
    stand_start(&there, answers, 64);
    set_container(&t);
    store *s = open_store(&t, there.url);
    make_op(&op, STORE_PUT);
    for (int i = 0; i < 60; i++) {
        assert_int_equal(store_run(s, &op), STORE_RETRY);
        assert_null(strstr(op.error.message, PLANTED));
        if (strstr(op.error.message, "did not come") != NULL)
            break;
        for (int j = 0; j < 20; j++)
            nap();
    }
    if (strstr(op.error.message, "new ones did not come: keys of the container") == NULL)
        fail_msg("%s", op.error.message);
    store_close(s);
    stand_stop(&there);
    stand_stop(&t);
}

static void wait_s(int64_t seconds)
{
    const int64_t deadline_ns = clock_deadline(clock_system(), seconds * NS_PER_S);
    while (clock_now(clock_system()) < deadline_ns)
        nap();
}

/* The answer to a HEAD has no code: that the keys have ended is known anyway, or they may have, as
 * long as they are not new. */
static void check_head(const char *first, int64_t seconds)
{
    const script_step keys[] = {step(first), {"", SCRIPT_HANG, false}};
    const script_step answers[] = {step(EMPTY("400 x")), step(EMPTY("400 x"))};
    chain_stand t;
    chain_stand there;
    store_op op;
    stand_start(&t, keys, 2);
    stand_start(&there, answers, 2);
    set_container(&t);
    store *s = open_store(&t, there.url);
    make_op(&op, STORE_HEAD);
    assert_int_equal(store_run(s, &op), STORE_FATAL);
    assert_int_equal(op.error.code, BW_IO);
    wait_s(seconds);
    assert_int_equal(store_run(s, &op), STORE_RETRY);
    store_close(s);
    stand_stop(&there);
    stand_stop(&t);
}

static void test_expiry_and_an_answer_without_a_code(void **state)
{
    (void)state;
    check_head(stand_answer(stand_json("Token", 1, 2)), 3);
    check_head(stand_answer(stand_json("Token", 1, 3600)), 6);
}

/* Nothing else can be had of the environment: it is a refusal, and says where the keys are from. */
static void test_keys_of_the_environment_do_not_change(void **state)
{
    (void)state;
    const script_step answers[] = {step(EXPIRED), step(EXPIRED)};
    chain_stand t;
    store_op op;
    stand_start(&t, answers, 2);
    stand_set(&t, "AWS_ACCESS_KEY_ID", "ENV");
    stand_set(&t, "AWS_SECRET_ACCESS_KEY", PLANTED);
    store *s = open_store(&t, t.url);
    make_op(&op, STORE_PUT);
    assert_int_equal(store_run(s, &op), STORE_DENIED);
    assert_non_null(strstr(op.error.message, "the keys are from the environment"));
    make_op(&op, STORE_CREATE);
    assert_int_equal(store_run(s, &op), STORE_FATAL);
    assert_int_equal(op.error.code, BW_DENIED);
    store_close(s);
    stand_stop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_keys_come_before_the_old_ones_end),
        cmocka_unit_test(test_a_fetch_that_fails_is_repeated),
        cmocka_unit_test(test_one_fetches_for_all),
        cmocka_unit_test(test_a_fetch_ends_with_the_ring),
        cmocka_unit_test(test_nobody_becomes_somebody_else),
        cmocka_unit_test(test_expiry_in_the_middle_of_an_upload),
        cmocka_unit_test(test_expiry_and_a_create),
        cmocka_unit_test(test_why_no_new_keys_came),
        cmocka_unit_test(test_expiry_and_an_answer_without_a_code),
        cmocka_unit_test(test_keys_of_the_environment_do_not_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
