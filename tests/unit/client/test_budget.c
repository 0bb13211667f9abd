// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/thread.h"
#include "client/budget.h"
#include <stdatomic.h>

#define ROUNDS 20000
#define ROOM 10u

static void test_fits_or_not(void **state)
{
    (void)state;
    budget *b = NULL;
    assert_int_equal(budget_new(100, &b), BW_OK);
    assert_true(budget_take(b, 60, false));
    assert_false(budget_take(b, 41, false));
    assert_false(budget_take(b, UINT64_MAX, false)); /* no overflow into a fit */
    assert_int_equal(budget_used(b), 60);            /* a refusal takes nothing */
    assert_true(budget_take(b, 40, false));
    assert_false(budget_take(b, 1, false));
    assert_true(budget_take(b, 0, false));
    budget_give(b, 100);
    assert_int_equal(budget_used(b), 0);
    budget_unref(b);
}

static void test_forced(void **state)
{
    (void)state;
    budget *b = NULL;
    assert_int_equal(budget_new(0, &b), BW_OK);
    assert_false(budget_take(b, 1, false));
    assert_true(budget_take(b, 500, true));
    assert_false(budget_take(b, 0, false)); /* beyond its end nothing fits */
    budget_give(b, 500);
    assert_true(budget_take(b, 0, false));
    budget_unref(b);
}

static void test_outlives_its_first_owner(void **state)
{
    (void)state;
    budget *b = NULL;
    assert_int_equal(budget_new(10, &b), BW_OK);
    assert_ptr_equal(budget_ref(b), b);
    assert_true(budget_take(b, 10, false));
    budget_unref(b);
    budget_give(b, 10); /* of an item that is still held */
    assert_int_equal(budget_used(b), 0);
    budget_unref(b);
    budget_unref(NULL);
}

/* Four threads that want 4 of 10 bytes each: never may three of them hold theirs. */
typedef struct crowd {
    budget *budget;
    atomic_int holders, most;
    atomic_int taken;
} crowd;

static void *take_and_give(void *context)
{
    crowd *c = context;
    for (int i = 0; i < ROUNDS; i++) {
        if (!budget_take(c->budget, 4, false))
            continue;
        const int holders = atomic_fetch_add(&c->holders, 1) + 1;
        int most = atomic_load(&c->most);
        while (holders > most && !atomic_compare_exchange_weak(&c->most, &most, holders))
            continue;
        atomic_fetch_add(&c->taken, 1);
        atomic_fetch_sub(&c->holders, 1);
        budget_give(c->budget, 4);
    }
    return NULL;
}

static void test_many_threads(void **state)
{
    (void)state;
    crowd c = {.budget = NULL};
    pthread_t threads[4];
    assert_int_equal(budget_new(ROOM, &c.budget), BW_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(thread_start(&threads[i], "crowd", take_and_give, &c), BW_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(atomic_load(&c.taken) > 0);
    assert_in_range(atomic_load(&c.most), 1, ROOM / 4);
    assert_int_equal(budget_used(c.budget), 0);
    budget_unref(c.budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fits_or_not),
        cmocka_unit_test(test_forced),
        cmocka_unit_test(test_outlives_its_first_owner),
        cmocka_unit_test(test_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
