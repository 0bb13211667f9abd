// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"
#include "store/decorators.h"
#include "timed_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BASE_NS (20 * NS_PER_MS)

typedef struct fixture {
    timed_space space;
    store_meter meter;
    store *store;
    uint64_t lanes;     /* more at once are throttled; 0: none is */
    uint64_t throttled; /* how many were */
    char order[4096];   /* first letters of what was sent */
    uint64_t order_size;
} fixture;

static timed_answer answer(void *context, const store_op *op, uint64_t number)
{
    fixture *f = context;
    (void)number;
    if (!f->space.real && f->order_size + 1 < sizeof f->order)
        f->order[f->order_size++] = op->key[0];
    if (f->lanes > 0 && atomic_load(&f->space.in_flight) > f->lanes) {
        f->throttled++;
        return (timed_answer){.after_ns = BASE_NS,
                              .outcome = op->kind == STORE_CREATE ? STORE_UNKNOWN : STORE_RETRY,
                              .throttled = true};
    }
    return (timed_answer){.after_ns = BASE_NS,
                          .outcome = op->kind == STORE_CREATE ? STORE_CREATED : STORE_OK};
}

static void open_on(fixture *f, uint32_t window_max)
{
    timed_init(&f->space, answer, f);
    assert_int_equal(store_admit_wrap(timed_open(&f->space), &f->space.clock, window_max, &f->meter,
                                      &f->store, NULL),
                     BW_OK);
}

static void submit(store *s, store_op *op, char first)
{
    const char key[] = {first, '\0'};
    store_op_init(op, STORE_HEAD, key);
    store_submit(s, op);
}

static size_t poll_all(store *s, size_t count)
{
    store_op *done[64];
    size_t over = 0;
    while (over < count) {
        const size_t some = store_poll(s, done, 64, TIME_NEVER);
        assert_true(some > 0);
        over += some;
    }
    return over;
}

static void test_no_more_than_the_window_and_in_order(void **state)
{
    (void)state;
    enum { EACH = 20 };
    fixture f = {0};
    open_on(&f, 4);
    store_op ops[EACH];
    for (int i = 0; i < EACH; i++)
        submit(f.store, &ops[i], (char)('a' + i));
    assert_int_equal(f.space.in_flight, 4);
    assert_int_equal(poll_all(f.store, EACH), EACH);
    assert_int_equal(f.space.in_flight_max, 4);
    assert_int_equal(f.space.now_ns, EACH / 4 * BASE_NS); /* and no less */
    assert_string_equal(f.order, "abcdefghijklmnopqrst");
    assert_int_equal(f.meter.waits, EACH - 4);
    store_close(f.store);
}

static void test_handles_take_turns(void **state)
{
    (void)state;
    enum { EACH = 8 };
    fixture f = {0};
    open_on(&f, 1);
    store *other = NULL;
    assert_int_equal(store_clone(f.store, &other, NULL), BW_OK);
    store_op mine[EACH];
    store_op others[EACH];
    for (int i = 0; i < EACH; i++)
        submit(f.store, &mine[i], 'm');
    for (int i = 0; i < EACH; i++)
        submit(other, &others[i], 'o');
    size_t over = 0;
    store_op *done[4];
    for (int i = 0; i < 1000 && over < 2 * EACH; i++) {
        const size_t some = store_poll(f.store, done, 4, 0) + store_poll(other, done, 4, 0);
        over += some;
        f.space.now_ns += some == 0 ? NS_PER_MS : 0;
    }
    assert_int_equal(over, 2 * EACH);
    assert_int_equal(f.space.in_flight_max, 1);
    assert_string_equal(f.order, "mmomomomomomomoo");
    store_close(other);
    store_close(f.store);
}

/* Closed loop: the window finds what the store bears, and few are throttled. */
static void test_finds_the_lanes_of_a_store(void **state)
{
    (void)state;
    enum { EACH = 40, ROUNDS = 500 };
    fixture f = {.lanes = 8};
    open_on(&f, 64);
    store_op ops[EACH];
    store_op *done[64];
    for (int i = 0; i < EACH; i++)
        submit(f.store, &ops[i], 'k');
    uint64_t answered = 0;
    uint64_t good = 0;
    while (answered < (uint64_t)EACH * ROUNDS) {
        const size_t some = store_poll(f.store, done, 64, TIME_NEVER);
        for (size_t i = 0; i < some; i++) {
            good += done[i]->outcome == STORE_OK ? 1 : 0;
            submit(f.store, done[i], 'k');
        }
        answered += some;
    }
    assert_true(f.throttled * 100 <= 5 * answered);
    /* Of what eight lanes can do: the sawtooth between a half and the whole, three quarters. */
    const uint64_t possible = (uint64_t)(f.space.now_ns / BASE_NS) * f.lanes;
    assert_true(good * 100 >= 70 * possible);
    store_close(f.store);
}

/* A create that was throttled is in doubt, passed on as it is, and not sent again. */
static void test_creates_are_never_repeated(void **state)
{
    (void)state;
    enum { EACH = 10 };
    fixture f = {.lanes = 2};
    open_on(&f, 64);
    store_op ops[EACH];
    for (int i = 0; i < EACH; i++) {
        store_op_init(&ops[i], STORE_CREATE, "key");
        store_submit(f.store, &ops[i]);
    }
    assert_int_equal(poll_all(f.store, EACH), EACH);
    assert_int_equal(f.space.sent[STORE_CREATE], EACH);
    int unknown = 0;
    for (int i = 0; i < EACH; i++)
        unknown += ops[i].outcome == STORE_UNKNOWN ? 1 : 0;
    assert_int_equal(unknown, 8);
    store_close(f.store);
}

/* A handle that keeps its request and does not poll stops others for some seconds, not for ever. */
static void test_who_never_polls_stops_nobody(void **state)
{
    (void)state;
    fixture f = {0};
    open_on(&f, 1);
    store *other = NULL;
    assert_int_equal(store_clone(f.store, &other, NULL), BW_OK);
    store_op kept;
    store_op op;
    submit(f.store, &kept, 'k');
    submit(other, &op, 'o');
    store_op *done[1];
    int64_t waited_ns = 0;
    while (store_poll(other, done, 1, 0) == 0) {
        f.space.now_ns += NS_PER_MS;
        waited_ns += NS_PER_MS;
        assert_true(waited_ns < 10 * NS_PER_S);
    }
    assert_in_range(waited_ns, 5 * NS_PER_S, 5 * NS_PER_S + 2 * BASE_NS);
    store_close(other);
    /* Closing gives back what was kept. */
    assert_int_equal(store_clone(f.store, &other, NULL), BW_OK);
    submit(other, &op, 'o');
    assert_int_equal(store_poll(other, done, 1, 0), 0);
    store_close(f.store);
    f.store = other;
    assert_int_equal(poll_all(f.store, 1), 1);
    store_close(f.store);
}

static void test_cancel_and_close(void **state)
{
    (void)state;
    enum { EACH = 6 };
    fixture f = {0};
    open_on(&f, 2);
    store *other = NULL;
    assert_int_equal(store_clone(f.store, &other, NULL), BW_OK);
    store_op ops[EACH];
    store_op op;
    for (int i = 0; i < EACH; i++) {
        store_op_init(&ops[i], STORE_CREATE, "key");
        store_submit(f.store, &ops[i]);
    }
    submit(other, &op, 'o');
    store_cancel(f.store);
    store_op *done[EACH];
    size_t over = 0;
    for (int i = 0; i < 4; i++)
        over += store_poll(f.store, done, EACH, 0);
    assert_int_equal(over, EACH);
    for (int i = 0; i < EACH; i++) /* sent: in doubt; not sent: nothing landed */
        assert_int_equal(ops[i].outcome, i < 2 ? STORE_UNKNOWN : STORE_RETRY);
    assert_int_equal(f.space.sent[STORE_CREATE], 2);
    assert_int_equal(poll_all(other, 1), 1);
    for (int i = 0; i < EACH; i++)
        submit(other, &ops[i], 'x');
    store_close(other); /* with some sent and some waiting */
    submit(f.store, &op, 'y');
    assert_int_equal(f.space.in_flight, 1);
    assert_int_equal(poll_all(f.store, 1), 1);
    store_close(f.store);
}

/* What an answer makes room for is sent before the caller has the answer. */
static void test_room_is_used_at_once(void **state)
{
    (void)state;
    fixture f = {0};
    open_on(&f, 1);
    store_op ops[2];
    store_op *done[1];
    for (int i = 0; i < 2; i++)
        submit(f.store, &ops[i], 'k');
    assert_int_equal(store_poll(f.store, done, 1, TIME_NEVER), 1);
    assert_int_equal(f.space.in_flight, 1);
    assert_int_equal(poll_all(f.store, 1), 1);
    store_close(f.store);
}

/* A turn that came and was not taken is given back. */
static void test_a_turn_that_is_not_taken(void **state)
{
    (void)state;
    for (int closes = 0; closes < 2; closes++) {
        fixture f = {0};
        open_on(&f, 1);
        store *other = NULL;
        assert_int_equal(store_clone(f.store, &other, NULL), BW_OK);
        store_op ops[2];
        store_op *done[1];
        submit(f.store, &ops[0], 'k');
        submit(other, &ops[1], 'o');
        assert_int_equal(poll_all(f.store, 1), 1); /* from here on it is the other's */
        if (closes > 0)
            store_close(other);
        else
            store_cancel(other);
        submit(f.store, &ops[0], 'k');
        assert_int_equal(f.space.in_flight, 1);
        assert_int_equal(poll_all(f.store, 1), 1);
        if (closes == 0) {
            assert_int_equal(store_poll(other, done, 1, 0), 1);
            assert_int_equal(ops[1].outcome, STORE_RETRY);
            store_close(other);
        }
        store_close(f.store);
    }
}

static void test_nothing_in_flight(void **state)
{
    (void)state;
    fixture f = {0};
    open_on(&f, 2);
    store_op *done[1];
    assert_int_equal(store_poll(f.store, done, 1, TIME_NEVER), 0);
    store_close(f.store);
}

/* ---- threads, on the machine's clock ---- */

static timed_answer answer_threads(void *context, const store_op *op, uint64_t number)
{
    (void)context;
    (void)op;
    return (timed_answer){.after_ns = NS_PER_MS / 4,
                          .outcome = number % 97 == 0 ? STORE_RETRY : STORE_OK,
                          .throttled = number % 97 == 0};
}

typedef struct asker {
    store *store;
    int bad;
} asker;

static void *ask_many(void *context)
{
    asker *t = context;
    store_op ops[4];
    store_op *done[4];
    for (int i = 0; i < 150; i++) {
        for (int n = 0; n < 4; n++)
            submit(t->store, &ops[n], 'k');
        for (size_t over = 0; over < 4;)
            over += store_poll(t->store, done, 4, TIME_NEVER);
        for (int n = 0; n < 4; n++)
            t->bad += ops[n].outcome == STORE_OK || ops[n].outcome == STORE_RETRY ? 0 : 1;
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    enum { THREADS = 6 };
    fixture f = {.space = {.real = true}};
    timed_init(&f.space, answer_threads, NULL);
    assert_int_equal(
        store_admit_wrap(timed_open(&f.space), &f.space.clock, 4, &f.meter, &f.store, NULL), BW_OK);
    asker askers[THREADS] = {{0}};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(store_clone(f.store, &askers[i].store, NULL), BW_OK);
        assert_int_equal(thread_start(&threads[i], "ask", ask_many, &askers[i]), BW_OK);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(askers[i].bad, 0);
        store_close(askers[i].store);
    }
    assert_true(f.space.in_flight_max <= 4);
    assert_int_equal(f.space.sent[STORE_HEAD], THREADS * 150 * 4);
    store_close(f.store);
}

static void *wake_soon(void *context)
{
    store_wake(context);
    return NULL;
}

static void test_wake_ends_a_wait(void **state)
{
    (void)state;
    fixture f = {.space = {.real = true}};
    timed_init(&f.space, answer_threads, NULL);
    assert_int_equal(
        store_admit_wrap(timed_open(&f.space), &f.space.clock, 1, NULL, &f.store, NULL), BW_OK);
    store *other = NULL;
    assert_int_equal(store_clone(f.store, &other, NULL), BW_OK);
    store_op kept;
    store_op op;
    submit(f.store, &kept, 'k');
    submit(other, &op, 'o'); /* has nothing in flight, and waits */
    store_op *done[1];
    assert_int_equal(store_poll(other, done, 1, NS_PER_MS), 0);
    pthread_t thread;
    assert_int_equal(thread_start(&thread, "wake", wake_soon, other), BW_OK);
    assert_int_equal(store_poll(other, done, 1, TIME_NEVER), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    store_close(other);
    store_close(f.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_more_than_the_window_and_in_order),
        cmocka_unit_test(test_handles_take_turns),
        cmocka_unit_test(test_finds_the_lanes_of_a_store),
        cmocka_unit_test(test_creates_are_never_repeated),
        cmocka_unit_test(test_who_never_polls_stops_nobody),
        cmocka_unit_test(test_cancel_and_close),
        cmocka_unit_test(test_room_is_used_at_once),
        cmocka_unit_test(test_a_turn_that_is_not_taken),
        cmocka_unit_test(test_nothing_in_flight),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_wake_ends_a_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
