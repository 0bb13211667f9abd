// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Keys that end: fetched anew in time, by one, while requests go on. */
#include "s3_stand.h"

#include "http/sigv4.h"
#include "store_net/net_keyring.h"
#include "store_s3/s3_store.h"
#include "tests/unit/store_net/renewal.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* Patience with a machine that is busy; of a clock that goes ten times as fast. */
#define PATIENCE_NS (600 * NS_PER_S)

static void nap(void)
{
    const struct timespec wait = {.tv_nsec = 10000000};
    (void)nanosleep(&wait, NULL);
    renewal_pass(90 * NS_PER_MS);
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
    const script_step steps[] = {renewal_step(stand_answer(stand_json("Token", 1, 4))),
                                 renewal_step(stand_answer(stand_json("Token", 2, 3600)))};
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
    const script_step steps[] = {renewal_step(stand_answer(stand_json("Token", 1, 4))),
                                 renewal_step(ANSWER("403 x", PLANTED)),
                                 renewal_step(stand_answer(stand_json("Token", 1, 3600))),
                                 renewal_step(stand_answer(stand_json("Token", 2, 3600)))};
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
    const script_step steps[] = {renewal_step(stand_answer(stand_json("Token", 1, 3))),
                                 renewal_step(stand_answer(stand_json("Token", 2, 3600))),
                                 renewal_step(stand_answer(stand_json("Token", 3, 3600)))};
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
    const script_step steps[] = {renewal_step(stand_answer(stand_json("Token", 1, 2))),
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
    const script_step steps[] = {renewal_step(stand_answer(stand_json("Token", 1, 3600)))};
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

#define EXPIRED ANSWER("400 x", "<Error><Code>ExpiredToken</Code></Error>")
static bw_status open_store(const char *endpoint, store **out, bw_error *error)
{
    const s3_options options = {.bucket = "bkt",
                                .prefix = "",
                                .endpoint = endpoint,
                                .region = "eu-test-1",
                                .profile = "",
                                .ca_file = "",
                                .request_timeout_ns = 5 * NS_PER_S};
    return s3_store_open(&options, out, error);
}

static void set_environment(chain_stand *t)
{
    stand_set(t, "AWS_ACCESS_KEY_ID", "ENV");
    stand_set(t, "AWS_SECRET_ACCESS_KEY", PLANTED);
}

static const char *keys(unsigned number, int64_t seconds)
{
    return stand_answer(stand_json("Token", number, seconds));
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

static void heard(const chain_stand *there, unsigned request, unsigned number)
{
    char id[16], key[24], token[24], line[64];
    (void)snprintf(id, sizeof id, "ASIA%u", number);
    (void)snprintf(key, sizeof key, PLANTED "+key%u", number);
    (void)snprintf(token, sizeof token, PLANTED "-token%u", number);
    (void)snprintf(line, sizeof line, "Credential=ASIA%u/", number);
    stand_heard(there, request, line);
    (void)snprintf(line, sizeof line, "x-amz-security-token: %s\r\n", token);
    stand_heard(there, request, line);
    check_signature(there, request, id, key, token);
}

static const renewal s3 = {
    .open = open_store,
    .sources = {{set_container, "the endpoint of the container"},
                {set_container, "the endpoint of the container"},
                {set_container, "the endpoint of the container"}},
    .fixed = {set_environment, "the environment"},
    .keys = keys,
    .heard = heard,
    .fine = EMPTY("200 OK"),
    .expired = EXPIRED,
    .denied = EXPIRED,
    .refused = {ANSWER("403 x", "<Error><Code>AccessDenied</Code></Error>"),
                ANSWER("403 x", "<Error><Code>SignatureDoesNotMatch</Code></Error>")},
    .no_keys = ANSWER("403 x", PLANTED),
    .why = "new ones did not come: keys of the container",
};

/* The answer to a HEAD has no code: that the keys have ended is known anyway, or they may have, as
 * long as they are not new. */
static void check_head(int64_t life_s, int64_t seconds)
{
    const script_step answers[] = {renewal_step(EMPTY("400 x")), renewal_step(EMPTY("400 x"))};
    const script_step first[] = {renewal_step(keys(1, life_s)), {"", SCRIPT_HANG, false}};
    chain_stand t;
    chain_stand there;
    store_op op;
    stand_start(&t, first, 2);
    stand_start(&there, answers, 2);
    set_container(&t);
    store *s = renewal_open(&s3, &t, there.url);
    renewal_op(&op, STORE_HEAD);
    assert_int_equal(store_run(s, &op), STORE_FATAL);
    assert_int_equal(op.error.code, BW_IO);
    renewal_pass(seconds * NS_PER_S);
    assert_int_equal(store_run(s, &op), STORE_RETRY);
    store_close(s);
    stand_stop(&there);
    stand_stop(&t);
}

static void test_expiry_and_an_answer_without_a_code(void **state)
{
    (void)state;
    check_head(40, 45);
    check_head(3600, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_keys_come_before_the_old_ones_end),
        cmocka_unit_test(test_a_fetch_that_fails_is_repeated),
        cmocka_unit_test(test_one_fetches_for_all),
        cmocka_unit_test(test_a_fetch_ends_with_the_ring),
        cmocka_unit_test(test_nobody_becomes_somebody_else),
        cmocka_unit_test(test_expiry_and_an_answer_without_a_code),
    };
    return cmocka_run_group_tests_name("keyring", tests, NULL, NULL) + renewal_test(&s3);
}
