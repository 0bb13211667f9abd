// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/budget.h"
#include "client/executor.h"
#include "client/gate.h"
#include <signal.h>

#define JOBS 500u

typedef struct counted {
    job job;
    atomic_uint *runs;
    gate *done;
    atomic_uint_least64_t ran_ns;
    executor *again; /* submits itself until `left` is 0 */
    uint32_t left;
} counted;

static void run(job *j, uint32_t worker)
{
    counted *c = (counted *)(void *)j;
    assert_true(worker < 3);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_true(sigismember(&mask, SIGINT) == 1);
    atomic_store(&c->ran_ns, (uint64_t)clock_now(clock_system()));
    if (c->again != NULL && c->left > 0) {
        c->left--;
        executor_submit(c->again, j);
        return;
    }
    atomic_fetch_add(c->runs, 1u);
    gate_open(c->done);
}

static void wait_for(atomic_uint *runs, gate *done, uint32_t count)
{
    for (;;) {
        const uint32_t ticket = gate_ticket(done);
        if (atomic_load(runs) >= count)
            return;
        gate_wait(done, ticket, TIME_NEVER);
    }
}

static void test_all_jobs_run(void **state)
{
    (void)state;
    executor *e = NULL;
    atomic_uint runs;
    gate done;
    static counted jobs[JOBS];
    gate_init(&done);
    atomic_init(&runs, 0u);
    assert_int_equal(executor_new(3, &e), BW_OK);
    assert_int_equal(executor_start(e), BW_OK);
    assert_int_equal(executor_start(e), BW_OK);
    for (uint32_t i = 0; i < JOBS; i++) {
        jobs[i] = (counted){.job = {.run = run}, .runs = &runs, .done = &done};
        if (i % 50 == 0) {
            jobs[i].again = e;
            jobs[i].left = 20;
        }
        executor_submit(e, &jobs[i].job);
    }
    wait_for(&runs, &done, JOBS);
    assert_int_equal(atomic_load(&runs), JOBS);
    assert_false(executor_cancel(e, &jobs[0].job));
    executor_free(e);
    executor_free(NULL);
}

static void test_later_and_never(void **state)
{
    (void)state;
    executor *e = NULL;
    atomic_uint runs;
    gate done;
    counted later = {.job = {.run = run}}, never = later, soon = later;
    gate_init(&done);
    atomic_init(&runs, 0u);
    assert_int_equal(executor_new(2, &e), BW_OK);
    assert_int_equal(executor_start(e), BW_OK);
    later.runs = never.runs = soon.runs = &runs;
    later.done = never.done = soon.done = &done;
    const int64_t due = clock_now(clock_system()) + 60 * NS_PER_MS;
    executor_submit_at(e, &later.job, due);
    executor_submit_at(e, &never.job, due + 3600 * NS_PER_S);
    executor_submit(e, &soon.job);
    wait_for(&runs, &done, 2);
    assert_true((int64_t)atomic_load(&later.ran_ns) >= due);
    assert_true((int64_t)atomic_load(&soon.ran_ns) < due);
    assert_true(executor_cancel(e, &never.job));
    assert_false(executor_cancel(e, &never.job));
    executor_submit(e, &never.job); /* a cancelled job may be used again */
    wait_for(&runs, &done, 3);
    executor_free(e);
}

typedef struct meeting {
    job job;
    atomic_uint *there;
    gate *come;
    uint32_t guests;
} meeting;

/* As a request keeps its thread: until all have come. */
static void meet(job *j, uint32_t worker)
{
    meeting *m = (meeting *)(void *)j;
    assert_true(worker < EXECUTOR_THREADS_MAX);
    atomic_fetch_add(m->there, 1u);
    gate_open(m->come);
    wait_for(m->there, m->come, m->guests);
}

static void test_a_thread_for_each_that_waits(void **state)
{
    (void)state;
    executor *e = NULL;
    atomic_uint there;
    gate come;
    static meeting jobs[EXECUTOR_THREADS_MAX + 1];
    gate_init(&come);
    atomic_init(&there, 0u);
    assert_int_equal(executor_new(2, &e), BW_OK);
    executor_widen(e);
    assert_int_equal(executor_start(e), BW_OK);
    for (uint32_t i = 0; i <= EXECUTOR_THREADS_MAX; i++) {
        jobs[i] = (meeting){
            .job = {.run = meet}, .there = &there, .come = &come, .guests = EXECUTOR_THREADS_MAX};
        executor_submit(e, &jobs[i].job);
    }
    wait_for(&there, &come, EXECUTOR_THREADS_MAX + 1); /* the last one when a thread is free */
    executor_free(e);
}

static void test_budget(void **state)
{
    (void)state;
    budget *b = NULL;
    assert_int_equal(budget_new(100, &b), BW_OK);
    assert_true(budget_take(b, 60, false));
    assert_false(budget_take(b, 41, false));
    assert_true(budget_take(b, 40, false));
    assert_false(budget_take(b, UINT64_MAX, false));
    assert_true(budget_take(b, 1000, true)); /* what is waited for goes on */
    assert_false(budget_take(b, 0, false));
    assert_int_equal(budget_used(b), 1100);
    budget_give(b, 1100);
    assert_true(budget_take(budget_ref(b), 100, false));
    budget_give(b, 100);
    budget_unref(b);
    assert_int_equal(budget_used(b), 0);
    budget_unref(b);
    budget_unref(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_jobs_run),
        cmocka_unit_test(test_later_and_never),
        cmocka_unit_test(test_a_thread_for_each_that_waits),
        cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests_name("executor", tests, NULL, NULL);
}
