// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "renewal.h"

#include "store/decorators.h"
#include "store_net/net_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* Patience with a machine that is busy. */
#define PATIENCE_NS (60 * NS_PER_S)
#define TRIES 3000
/* Keys that came so late are not refused for their end. */
#define FRESH_NS (6 * NS_PER_S)
#define ANSWERS 64u

/* ---- time ---- */

const clock_source *__real_clock_system(void);
const clock_source *__wrap_clock_system(void);

static atomic_int_least64_t passed_ns;

static int64_t monotonic_ns(void *context)
{
    (void)context;
    return clock_now(__real_clock_system()) + atomic_load(&passed_ns);
}

static int64_t wall_ms(void *context)
{
    (void)context;
    return clock_wall_ms(__real_clock_system()) + atomic_load(&passed_ns) / NS_PER_MS;
}

const clock_source *__wrap_clock_system(void)
{
    static const clock_source source = {monotonic_ns, wall_ms, NULL};
    return &source;
}

void renewal_pass(int64_t ns)
{
    atomic_fetch_add(&passed_ns, ns);
}

/* ---- what the tests have in common ---- */

static const renewal *of;

/* A store, where its keys are from, and where its requests go. */
typedef struct scene {
    chain_stand keys, there;
    store *store;
    store_op op;
} scene;

script_step renewal_step(const char *answer)
{
    return (script_step){answer, SCRIPT_CLOSE, false};
}

store *renewal_open(const renewal *r, const chain_stand *t, const char *endpoint)
{
    store *s = NULL;
    stand_publish(t, true);
    assert_int_equal(r->open(endpoint, &s, t->error), BW_OK);
    stand_publish(t, false);
    return s;
}

void renewal_op(store_op *op, store_op_kind kind)
{
    static char content[] = "0123456789";
    static const struct iovec piece = {content, sizeof content - 1};
    store_op_init(op, kind, "a");
    op->pieces = &piece;
    op->piece_count = 1;
}

/* The store answers so to its first two requests, and then `rest`. */
static void begin(scene *s, const renewal_source *source, const script_step *keys, size_t key_count,
                  const char *first, const char *second, const char *rest)
{
    script_step answers[ANSWERS];
    for (size_t i = 0; i < ANSWERS; i++)
        answers[i] = renewal_step(i == 0 ? first : i == 1 ? second : rest);
    *s = (scene){.store = NULL};
    stand_start(&s->keys, keys, key_count);
    stand_start(&s->there, answers, ANSWERS);
    source->set(&s->keys);
    s->store = renewal_open(of, &s->keys, s->there.url);
}

static void end(scene *s)
{
    store_close(s->store);
    stand_stop(&s->there);
    stand_stop(&s->keys);
}

static void write_one(scene *s, store_op_kind kind, store_outcome outcome)
{
    renewal_op(&s->op, kind);
    assert_int_equal(store_run(s->store, &s->op), outcome);
    assert_null(strstr(s->op.error.message, PLANTED));
}

static unsigned last_request(const scene *s)
{
    return script_requests(s->there.server) - 1;
}

static void has_text(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" without \"%s\"", text, part);
}

static void nap(void)
{
    const struct timespec wait = {.tv_nsec = 20000000};
    (void)nanosleep(&wait, NULL);
}

/* ---- the tests ---- */

/* Fetched by a thread of its own, halfway of a short life, without a request that fails. */
static void test_new_keys_come_before_the_old_ones_end(void **state)
{
    (void)state;
    const script_step keys[] = {renewal_step(of->keys(1, 40)), renewal_step(of->keys(2, 3600))};
    char source[256];
    scene s;
    begin(&s, &of->sources[0], keys, 2, of->fine, of->fine, of->fine);
    net_store_source(s.store, source, sizeof source);
    assert_memory_equal(source, of->sources[0].name, strlen(of->sources[0].name));
    write_one(&s, STORE_PUT, STORE_OK);
    renewal_pass(25 * NS_PER_S);
    write_one(&s, STORE_PUT, STORE_OK); /* begins to fetch */
    for (int i = 0; script_requests(s.keys.server) < 2 && i < TRIES; i++)
        nap();
    for (int i = 0; i < 40; i++) { /* by one of these it is there */
        nap();
        write_one(&s, STORE_PUT, STORE_OK);
    }
    of->heard(&s.there, 0, 1);
    of->heard(&s.there, last_request(&s), 2);
    assert_int_equal(script_requests(s.keys.server), 2);
    end(&s);
}

/* Refused in the middle of an upload: the part is sent again, whole, with new keys. */
static void test_expiry_in_the_middle_of_an_upload(void **state)
{
    (void)state;
    const script_step keys[] = {renewal_step(of->keys(1, 3600)), renewal_step(of->keys(2, 3600))};
    const store_retry_options options = {.clock = clock_system(),
                                         .backoff_min_ns = 500 * NS_PER_MS,
                                         .backoff_max_ns = 500 * NS_PER_MS,
                                         .limit_ns = PATIENCE_NS,
                                         .attempts_max = 1000};
    scene s;
    begin(&s, &of->sources[1], keys, 2, of->fine, of->expired, of->fine);
    assert_int_equal(store_retry_wrap(s.store, &options, &s.store, NULL), BW_OK);
    write_one(&s, STORE_PUT, STORE_OK);
    renewal_pass(FRESH_NS);
    write_one(&s, STORE_PUT, STORE_OK);
    assert_true(last_request(&s) >= 2);
    of->heard(&s.there, 1, 1);
    stand_heard(&s.there, 1, "\r\n\r\n0123456789");
    stand_heard(&s.there, last_request(&s), "\r\n\r\n0123456789");
    write_one(&s, STORE_PUT, STORE_OK); /* by now they are there */
    of->heard(&s.there, last_request(&s), 2);
    assert_int_equal(script_requests(s.keys.server), 2);
    end(&s);
}

/* A create is sent once; refused for keys that have ended it has not happened, and the protocol
 * asks again. */
static void test_expiry_and_a_create(void **state)
{
    (void)state;
    const script_step keys[] = {renewal_step(of->keys(1, 40)), {"", SCRIPT_HANG, false}};
    scene s;
    begin(&s, &of->sources[2], keys, 2, of->denied, of->fine, of->fine);
    renewal_pass(45 * NS_PER_S);
    write_one(&s, STORE_CREATE, STORE_RETRY);
    assert_int_equal(s.op.error.code, BW_DENIED);
    has_text(s.op.error.message, "the keys (");
    has_text(s.op.error.message, of->sources[2].name);
    has_text(s.op.error.message, ") have expired, and new ones are fetched");
    assert_int_equal(script_requests(s.there.server), 1);
    assert_int_equal(store_run(s.store, &s.op), STORE_CREATED);
    end(&s); /* with a fetch under way */
}

/* Told when the keys have ended, without what was sent. */
static void test_why_no_new_keys_came(void **state)
{
    (void)state;
    script_step keys[16];
    scene s;
    for (size_t i = 0; i < 16; i++)
        keys[i] = renewal_step(i == 0 ? of->keys(1, 40) : of->no_keys);
    begin(&s, &of->sources[2], keys, 16, of->expired, of->expired, of->expired);
    renewal_pass(45 * NS_PER_S);
    for (size_t i = 0; i + 1 < ANSWERS && strstr(s.op.error.message, "did not come") == NULL; i++) {
        for (int j = 0; j < 10; j++)
            nap();
        write_one(&s, STORE_PUT, STORE_RETRY);
    }
    has_text(s.op.error.message, of->why);
    end(&s);
}

/* It is somebody else's reason: no other keys would help. The source is named. */
static void test_refusals_that_are_no_expiry(void **state)
{
    (void)state;
    const script_step keys[] = {renewal_step(of->keys(1, 3600))};
    scene s;
    begin(&s, &of->sources[1], keys, 1, of->refused[0], of->refused[1], of->refused[1]);
    for (int i = 0; i < 2; i++) {
        write_one(&s, STORE_PUT, STORE_DENIED);
        has_text(s.op.error.message, "; the keys are from ");
        has_text(s.op.error.message, of->sources[1].name);
    }
    assert_int_equal(script_requests(s.keys.server), 1);
    end(&s);
}

/* Nothing else can be had of the environment: it is a refusal, and says where the keys are from. */
static void test_keys_of_the_environment_do_not_change(void **state)
{
    (void)state;
    scene s;
    begin(&s, &of->fixed, NULL, 0, of->expired, of->expired, of->expired);
    renewal_pass(FRESH_NS);
    write_one(&s, STORE_PUT, STORE_DENIED);
    has_text(s.op.error.message, "the keys are from ");
    has_text(s.op.error.message, of->fixed.name);
    write_one(&s, STORE_CREATE, STORE_FATAL);
    assert_int_equal(s.op.error.code, BW_DENIED);
    end(&s);
}

int renewal_test(const renewal *r)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_keys_come_before_the_old_ones_end),
        cmocka_unit_test(test_expiry_in_the_middle_of_an_upload),
        cmocka_unit_test(test_expiry_and_a_create),
        cmocka_unit_test(test_why_no_new_keys_came),
        cmocka_unit_test(test_refusals_that_are_no_expiry),
        cmocka_unit_test(test_keys_of_the_environment_do_not_change),
    };
    of = r;
    return cmocka_run_group_tests_name("renewal", tests, NULL, NULL);
}
