// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "base/thread.h"

#include <signal.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct shared {
    lock lock;
    condition changed;
    int turn;
    int blocked_signals;
    char name[16];
} shared;

static void *take_turns(void *context)
{
    shared *s = context;
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    lock_acquire(&s->lock);
    s->blocked_signals = sigismember(&mask, SIGINT) + sigismember(&mask, SIGTERM);
    for (int i = 0; i < 100; i++) {
        while (s->turn % 2 == 0)
            condition_wait(&s->changed, &s->lock);
        s->turn++;
        condition_broadcast(&s->changed);
    }
    pthread_getname_np(pthread_self(), s->name, sizeof s->name);
    lock_release(&s->lock);
    return s;
}

static void threads_hand_over_under_a_lock(void **state)
{
    (void)state;
    shared s = {.turn = 0};
    assert_int_equal(lock_init(&s.lock), BW_OK);
    assert_int_equal(condition_init(&s.changed), BW_OK);
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    pthread_t thread;
    lock_acquire(&s.lock);
    assert_int_equal(thread_start(&thread, "bw-test", take_turns, &s), BW_OK);
    for (int i = 0; i < 100; i++) {
        while (s.turn % 2 == 1)
            assert_true(condition_wait_until(&s.changed, &s.lock, TIME_NEVER));
        s.turn++;
        condition_signal(&s.changed);
    }
    lock_release(&s.lock);
    void *result;
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &s);
    assert_int_equal(s.turn, 200);
    assert_int_equal(s.blocked_signals, 2);
    assert_string_equal(s.name, "bw-test");
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_int_equal(sigismember(&before, SIGINT), sigismember(&after, SIGINT));
    condition_destroy(&s.changed);
    lock_destroy(&s.lock);
}

static void waits_end_at_their_deadline(void **state)
{
    (void)state;
    lock l;
    condition c;
    assert_int_equal(lock_init(&l), BW_OK);
    assert_int_equal(condition_init(&c), BW_OK);
    lock_acquire(&l);
    assert_false(condition_wait_until(&c, &l, -5));
    const int64_t deadline = clock_deadline(clock_system(), 20 * NS_PER_MS);
    while (condition_wait_until(&c, &l, deadline))
        continue;
    assert_true(clock_now(clock_system()) >= deadline);
    lock_release(&l);
    condition_destroy(&c);
    lock_destroy(&l);
}

static void *try_it(void *context)
{
    return lock_try(context) ? context : NULL;
}

static void *tried_elsewhere(lock *l)
{
    pthread_t thread;
    void *got = NULL;
    assert_int_equal(thread_start(&thread, "tries", try_it, l), BW_OK);
    assert_int_equal(pthread_join(thread, &got), 0);
    return got;
}

static void a_lock_may_be_tried(void **state)
{
    (void)state;
    lock l;
    assert_int_equal(lock_init(&l), BW_OK);
    assert_true(lock_try(&l));
    assert_null(tried_elsewhere(&l));
    lock_release(&l);
    lock_acquire(&l);
    assert_null(tried_elsewhere(&l));
    lock_release(&l);
    assert_true(lock_try(&l));
    lock_release(&l);
    lock_destroy(&l);
}

static void *stands_back(void *context)
{
    thread_stand_back();
    *(int *)context = sched_getscheduler(0);
    return NULL;
}

static void a_thread_may_stand_back(void **state)
{
    (void)state;
    pthread_t thread;
    int there = -1;
    const int here = sched_getscheduler(0);
    assert_int_equal(thread_start(&thread, "back", stands_back, &there), BW_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(there, SCHED_BATCH);
    assert_int_equal(sched_getscheduler(0), here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_hand_over_under_a_lock),
        cmocka_unit_test(waits_end_at_their_deadline),
        cmocka_unit_test(a_lock_may_be_tried),
        cmocka_unit_test(a_thread_may_stand_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
