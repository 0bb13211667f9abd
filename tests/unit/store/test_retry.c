// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"
#include "store/decorators.h"
#include "store/mem.h"
#include "store/retry_budget.h"
#include "tests/contract/contract_ops.h"
#include "timed_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A clock that stands still until told. */
static int64_t now_ns;

static int64_t read_clock(void *context)
{
    (void)context;
    return now_ns;
}

static const clock_source standing = {.monotonic_ns = read_clock, .wall_ms = read_clock};

typedef struct fixture {
    mem_space *space;
    store_meter meter;
    store *store;
} fixture;

/** retry over meter over faults over mem. */
static void open_with(fixture *f, const char *faults, const store_retry_options *options)
{
    store *s = NULL;
    store *faulty = NULL;
    store *metered = NULL;
    assert_int_equal(mem_space_new(&f->space), BW_OK);
    assert_int_equal(store_mem_open(f->space, &s, NULL), BW_OK);
    assert_int_equal(store_fault_wrap(s, faults, &faulty, NULL), BW_OK);
    assert_int_equal(store_meter_wrap(faulty, &f->meter, &metered, NULL), BW_OK);
    assert_int_equal(store_retry_wrap(metered, options, &f->store, NULL), BW_OK);
}

static void close_all(fixture *f)
{
    store_close(f->store);
    mem_space_free(f->space);
}

static uint64_t sent(const fixture *f, store_op_kind kind)
{
    return atomic_load(&f->meter.ops[kind]);
}

static const store_retry_options quick = {.backoff_min_ns = 1000,
                                          .backoff_max_ns = 100000,
                                          .limit_ns = 60 * NS_PER_S,
                                          .attempts_max = 6,
                                          .seed = 1};

static store_retry_options quick_on(const clock_source *clock)
{
    store_retry_options options = quick;
    options.clock = clock;
    return options;
}

static void test_repeats_until_it_works(void **state)
{
    (void)state;
    const store_retry_options options = quick_on(clock_system());
    fixture f = {0};
    open_with(&f, "retry-before:put::1;retry-after:put::2;short-read:get::1", &options);
    assert_int_equal(do_put(f.store, "k", "content"), STORE_OK);
    assert_int_equal(sent(&f, STORE_PUT), 3);
    assert_content(f.store, "k", "content");
    assert_int_equal(sent(&f, STORE_GET), 2);
    close_all(&f);
}

static void test_never_repeats_a_create(void **state)
{
    (void)state;
    const store_retry_options options = quick_on(clock_system());
    fixture f = {0};
    open_with(&f, "retry-before:create:a:0;unknown-before:create:b:0;no-space:create:c:0",
              &options);
    assert_int_equal(do_create(f.store, "a", "x"), STORE_RETRY);
    assert_int_equal(do_create(f.store, "b", "x"), STORE_UNKNOWN);
    assert_int_equal(do_create(f.store, "c", "x"), STORE_RETRY);
    assert_int_equal(sent(&f, STORE_CREATE), 3);
    assert_int_equal(mem_space_count(f.space, ""), 0);
    close_all(&f);
}

static void test_definite_answers_are_not_repeated(void **state)
{
    (void)state;
    const store_retry_options options = quick_on(clock_system());
    fixture f = {0};
    open_with(&f, "denied:get:a:0;fatal:get:b:0;not-found:get:c:0", &options);
    assert_int_equal(do_get(f.store, "a", NULL, 10), STORE_DENIED);
    assert_int_equal(do_get(f.store, "b", NULL, 10), STORE_FATAL);
    assert_int_equal(do_get(f.store, "c", NULL, 10), STORE_NOT_FOUND);
    assert_int_equal(sent(&f, STORE_GET), 3);
    close_all(&f);
}

/* Whoever ends to wait is told why, while it is tried again, and not after. */
static void test_tells_what_fails(void **state)
{
    (void)state;
    fixture f;
    bw_error why = {0};
    store_op op;
    store_op *done[1];
    store_retry_options options = quick;
    options.clock = clock_system();
    options.backoff_min_ns = options.backoff_max_ns = NS_PER_S;
    options.limit_ns = 10 * NS_PER_S;
    options.attempts_max = 10;
    open_with(&f, "retry-before:head::1", &options);
    assert_false(store_failing(f.store, &why));
    store_op_init(&op, STORE_HEAD, "k");
    store_submit(f.store, &op);
    assert_false(store_failing(f.store, &why));
    assert_int_equal(store_poll(f.store, done, 1, NS_PER_MS), 0);
    assert_true(store_failing(f.store, &why));
    assert_true(why.message[0] != '\0');
    assert_int_equal(store_poll(f.store, done, 1, 5 * NS_PER_S), 1);
    assert_int_equal(op.outcome, STORE_NOT_FOUND);
    assert_false(store_failing(f.store, &why));
    close_all(&f);
}

static void test_gives_up_after_its_attempts(void **state)
{
    (void)state;
    const store_retry_options options = quick_on(clock_system());
    fixture f = {0};
    open_with(&f, "no-space:put::0", &options);
    static char byte[] = "x";
    const struct iovec piece = {.iov_base = byte, .iov_len = 1};
    store_op op;
    store_op_init(&op, STORE_PUT, "k");
    op.pieces = &piece;
    op.piece_count = 1;
    assert_int_equal(store_run(f.store, &op), STORE_RETRY);
    assert_int_equal(sent(&f, STORE_PUT), 6);
    assert_int_equal(store_op_status(&op), BW_NO_SPACE);
    assert_int_equal(bw_error_attempts(&op.error), 6);
    assert_non_null(strstr(op.error.message, "6 attempts failed"));
    assert_non_null(strstr(op.error.message, "no space"));
    assert_string_equal(op.error.key, "k");
    close_all(&f);
}

/** Polls without waiting while the clock walks on in steps; the time when it was answered. */
static int64_t walk_until_done(fixture *f, store_op *op, int64_t step_ns)
{
    store_op *done = NULL;
    for (int i = 0; i < 100000; i++) {
        if (store_poll(f->store, &done, 1, 0) == 1) {
            assert_ptr_equal(done, op);
            return now_ns;
        }
        now_ns += step_ns;
    }
    fail_msg("never answered");
    return 0;
}

static void test_gives_up_at_its_time_limit(void **state)
{
    (void)state;
    store_retry_options options = quick_on(&standing);
    options.limit_ns = 5 * NS_PER_S;
    options.backoff_min_ns = 100 * NS_PER_MS;
    options.backoff_max_ns = NS_PER_S;
    options.attempts_max = 1000000;
    fixture f = {0};
    open_with(&f, "retry-before:head::0", &options);
    now_ns = 77 * NS_PER_S;
    store_op op;
    store_op_init(&op, STORE_HEAD, "k");
    store_submit(f.store, &op);
    const int64_t took = walk_until_done(&f, &op, NS_PER_MS) - 77 * NS_PER_S;
    assert_int_equal(op.outcome, STORE_RETRY);
    assert_true(took > 3 * NS_PER_S &&
                took <= 5 * NS_PER_S); /* the next pause would have passed it */
    assert_true(sent(&f, STORE_HEAD) >= 6);
    assert_int_equal(bw_error_attempts(&op.error), sent(&f, STORE_HEAD));
    close_all(&f);
}

/* Between nothing and min · 2^k, never above max: over many tries the sum says which. */
static void test_pauses_grow_with_full_jitter(void **state)
{
    (void)state;
    store_retry_options options = quick_on(&standing);
    options.limit_ns = TIME_NEVER;
    options.backoff_min_ns = 10 * NS_PER_MS;
    options.backoff_max_ns = 1000 * NS_PER_MS;
    options.attempts_max = 9; /* ceilings 10 20 40 80 160 320 640 1000: 2,270 in all */
    int64_t sum = 0;
    enum { RUNS = 40 };
    for (uint64_t i = 0; i < RUNS; i++) {
        options.seed = i;
        fixture f = {0};
        open_with(&f, "retry-before:head::0", &options);
        now_ns = 0;
        store_op op;
        store_op_init(&op, STORE_HEAD, "k");
        store_submit(f.store, &op);
        const int64_t took = walk_until_done(&f, &op, NS_PER_MS);
        assert_true(took <= 2280 * NS_PER_MS);
        assert_int_equal(sent(&f, STORE_HEAD), 9);
        sum += took;
        close_all(&f);
    }
    assert_in_range(sum / RUNS, 900 * NS_PER_MS, 1400 * NS_PER_MS); /* half of 2,270 */
}

static void test_others_go_on_while_one_waits(void **state)
{
    (void)state;
    const store_retry_options options = quick_on(&standing);
    fixture f = {0};
    open_with(&f, "retry-before:head:slow:1", &options);
    assert_int_equal(mem_space_set(f.space, "slow", "", 0), BW_OK);
    now_ns = 0;
    store_op slow;
    store_op_init(&slow, STORE_HEAD, "slow");
    store_submit(f.store, &slow);
    store_op *done = NULL;
    (void)store_poll(f.store, &done, 1, 0); /* the first try came back */
    store_op other;
    store_op_init(&other, STORE_HEAD, "other");
    store_submit(f.store, &other);
    while (store_poll(f.store, &done, 1, 0) == 0)
        continue; /* without the clock moving */
    assert_ptr_equal(done, &other);
    (void)walk_until_done(&f, &slow, 1000);
    assert_int_equal(slow.outcome, STORE_OK);
    close_all(&f);
}

/* Regression: a request in its pause did not come back to who closed, whose memory for it was lost.
 */
static void test_cancel_brings_back_what_waits(void **state)
{
    (void)state;
    const store_retry_options options = quick_on(&standing);
    fixture f = {0};
    open_with(&f, "retry-before:head:slow:0", &options);
    now_ns = 0;
    store_op slow[2];
    store_op *done[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        store_op_init(&slow[i], STORE_HEAD, "slow");
        store_submit(f.store, &slow[i]);
    }
    (void)store_poll(f.store, done, 2, 0);
    assert_int_equal(store_poll(f.store, done, 2, 0), 0);
    store_cancel(f.store);
    size_t count = 0;
    while (count < 2)
        count += store_poll(f.store, done + count, 2 - count, 0);
    assert_int_equal(slow[0].outcome, STORE_RETRY);
    assert_int_equal(slow[1].outcome, STORE_RETRY);
    assert_int_equal(sent(&f, STORE_HEAD), 2);
    close_all(&f);
}

static void *wake_soon(void *context)
{
    store_wake(context);
    return NULL;
}

static void test_wake_ends_a_wait(void **state)
{
    (void)state;
    store_retry_options options = quick_on(clock_system());
    options.backoff_min_ns = options.backoff_max_ns = INT64_MAX / 4; /* years */
    options.limit_ns = TIME_NEVER;
    fixture f = {0};
    open_with(&f, "retry-before:head::0", &options);
    store_op op;
    store_op_init(&op, STORE_HEAD, "k");
    store_submit(f.store, &op);
    store_op *done = NULL;
    assert_int_equal(store_poll(f.store, &done, 1, NS_PER_MS), 0); /* times out */
    pthread_t thread;
    assert_int_equal(thread_start(&thread, "wake", wake_soon, f.store), BW_OK);
    assert_int_equal(store_poll(f.store, &done, 1, TIME_NEVER), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    close_all(&f); /* with one still waiting */
}

static void test_clones_do_not_pause_alike(void **state)
{
    (void)state;
    store_retry_options options = quick_on(&standing);
    options.backoff_min_ns = options.backoff_max_ns = NS_PER_S;
    options.limit_ns = TIME_NEVER;
    options.attempts_max = 2;
    fixture f = {0};
    open_with(&f, "retry-before:head::0", &options);
    int64_t took[3];
    store *const original = f.store;
    for (int i = 0; i < 3; i++) {
        if (i > 0)
            assert_int_equal(store_clone(original, &f.store, NULL), BW_OK);
        now_ns = 0;
        store_op op;
        store_op_init(&op, STORE_HEAD, "k");
        store_submit(f.store, &op);
        took[i] = walk_until_done(&f, &op, 20000);
        if (i > 0)
            store_close(f.store);
    }
    assert_true(took[0] != took[1] && took[1] != took[2] && took[0] != took[2]);
    f.store = original;
    close_all(&f);
}

/* ---- Retry-After and the budget, in virtual time ---- */

typedef struct scripted {
    timed_space space;
    store_retry_purse *purse;
    store *store;
    timed_answer bad;
    uint64_t good_from; /* requests from this one on are answered well */
} scripted;

static timed_answer answer_scripted(void *context, const store_op *op, uint64_t number)
{
    const scripted *s = context;
    (void)op;
    return number >= s->good_from ? (timed_answer){.outcome = STORE_OK} : s->bad;
}

static void open_scripted(scripted *s, uint32_t percent, int64_t limit_ns)
{
    timed_init(&s->space, answer_scripted, s);
    assert_int_equal(store_retry_purse_new(&s->space.clock, percent, &s->purse), BW_OK);
    store_retry_options options = quick_on(&s->space.clock);
    options.limit_ns = limit_ns;
    options.attempts_max = 1000000;
    options.purse = s->purse;
    assert_int_equal(store_retry_wrap(timed_open(&s->space), &options, &s->store, NULL), BW_OK);
}

static void close_scripted(scripted *s)
{
    store_close(s->store);
    store_retry_purse_free(s->purse);
}

/** Polls while the clock walks; how many are over by then. */
static size_t walk_to(scripted *s, int64_t until_ns, int64_t step_ns)
{
    size_t over = 0;
    store_op *done[64];
    while (s->space.now_ns < until_ns) {
        for (size_t n = 1; n > 0; over += n)
            n = store_poll(s->store, done, 64, 0);
        s->space.now_ns += step_ns;
    }
    return over;
}

static void test_honours_retry_after(void **state)
{
    (void)state;
    scripted s = {
        .good_from = 2,
        .bad = {.outcome = STORE_RETRY, .throttled = true, .retry_after_ns = 3 * NS_PER_S}};
    open_scripted(&s, 10, 60 * NS_PER_S);
    store_op op;
    store_op_init(&op, STORE_HEAD, "k");
    store_submit(s.store, &op);
    assert_int_equal(walk_to(&s, 3 * NS_PER_S, NS_PER_MS), 0);
    assert_int_equal(s.space.sent[STORE_HEAD], 1);
    assert_int_equal(walk_to(&s, 3 * NS_PER_S + 2 * NS_PER_MS, NS_PER_MS), 1);
    assert_int_equal(op.outcome, STORE_OK);
    assert_false(op.throttled); /* of the answer that counts */
    close_scripted(&s);
}

/* It is over at once when the store asks for more time than there is. */
static void test_retry_after_beyond_the_limit(void **state)
{
    (void)state;
    scripted s = {.good_from = UINT64_MAX,
                  .bad = {.outcome = STORE_RETRY, .retry_after_ns = 61 * NS_PER_S}};
    open_scripted(&s, 10, 60 * NS_PER_S);
    store_op op;
    store_op_init(&op, STORE_HEAD, "k");
    store_submit(s.store, &op);
    assert_int_equal(walk_to(&s, NS_PER_MS, NS_PER_MS), 1);
    assert_int_equal(op.outcome, STORE_RETRY);
    assert_true(op.throttled == false && op.retry_after_ns == 61 * NS_PER_S);
    close_scripted(&s);
}

/* One after the other, each with a second: a store that is down gets the burst, ten a second, and a
 * tenth of the operations. */
static void test_a_store_that_is_down_is_not_hammered(void **state)
{
    (void)state;
    enum { ROUNDS = 40, EACH = 50 };
    scripted s = {.good_from = UINT64_MAX, .bad = {.outcome = STORE_RETRY}};
    open_scripted(&s, 10, NS_PER_S);
    store_op ops[EACH];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < EACH; i++) {
            store_op_init(&ops[i], STORE_HEAD, "k");
            store_submit(s.store, &ops[i]);
        }
        const int64_t start_ns = s.space.now_ns;
        assert_int_equal(walk_to(&s, start_ns + 2 * NS_PER_S, NS_PER_MS), EACH);
        for (int i = 0; i < EACH; i++)
            assert_int_equal(ops[i].outcome, STORE_RETRY);
    }
    const uint64_t retries = s.space.sent[STORE_HEAD] - (uint64_t)ROUNDS * EACH;
    const uint64_t most =
        RETRY_BUDGET_TOKENS_MAX + ROUNDS * 2 * RETRY_BUDGET_TOKENS_A_SECOND + ROUNDS * EACH / 10;
    assert_in_range(retries, most / 2, most);
    assert_non_null(strstr(ops[0].error.message, "too often"));
    close_scripted(&s);
}

/* When it is up again, all that waited for a token comes through. */
static void test_a_store_that_is_up_again(void **state)
{
    (void)state;
    enum { EACH = 60 };
    scripted s = {.good_from = UINT64_MAX, .bad = {.outcome = STORE_RETRY}};
    open_scripted(&s, 10, 60 * NS_PER_S);
    store_op ops[EACH];
    for (int i = 0; i < EACH; i++) {
        store_op_init(&ops[i], STORE_HEAD, "k");
        store_submit(s.store, &ops[i]);
    }
    assert_int_equal(walk_to(&s, 10 * NS_PER_S, NS_PER_MS), 0);
    assert_in_range(s.space.sent[STORE_HEAD], 150, EACH + RETRY_BUDGET_TOKENS_MAX + 100 + 6);
    s.good_from = 0;
    assert_int_equal(walk_to(&s, 11 * NS_PER_S, NS_PER_MS), EACH);
    for (int i = 0; i < EACH; i++)
        assert_int_equal(ops[i].outcome, STORE_OK);
    close_scripted(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeats_until_it_works),
        cmocka_unit_test(test_never_repeats_a_create),
        cmocka_unit_test(test_definite_answers_are_not_repeated),
        cmocka_unit_test(test_tells_what_fails),
        cmocka_unit_test(test_gives_up_after_its_attempts),
        cmocka_unit_test(test_gives_up_at_its_time_limit),
        cmocka_unit_test(test_pauses_grow_with_full_jitter),
        cmocka_unit_test(test_others_go_on_while_one_waits),
        cmocka_unit_test(test_cancel_brings_back_what_waits),
        cmocka_unit_test(test_wake_ends_a_wait),
        cmocka_unit_test(test_clones_do_not_pause_alike),
        cmocka_unit_test(test_honours_retry_after),
        cmocka_unit_test(test_retry_after_beyond_the_limit),
        cmocka_unit_test(test_a_store_that_is_down_is_not_hammered),
        cmocka_unit_test(test_a_store_that_is_up_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
