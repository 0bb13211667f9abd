// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "protocol/ask.h"

#define SLOTS 4u
#define REST_MIN 10
#define REST_MAX 80

typedef struct fixture {
    ask_table table;
    ask slots[SLOTS];
    rng random;
} fixture;

static void open_table(fixture *f)
{
    *f = (fixture){.slots = {{.state = ASK_FREE}}};
    rng_seed(&f->random, 1);
    ask_open(&f->table, f->slots, SLOTS, REST_MIN, REST_MAX, &f->random);
}

static ask *sent(fixture *f, uint64_t number)
{
    ask_add(&f->table, 1, STORE_GET, number);
    ask *a = ask_take(&f->table);
    assert_non_null(a);
    assert_int_equal(a->number, number);
    return a;
}

static void test_from_ready_to_done(void **state)
{
    (void)state;
    fixture f;
    open_table(&f);
    assert_false(ask_any(&f.table));
    assert_null(ask_take(&f.table));
    ask *first = ask_add(&f.table, 1, STORE_GET, 11);
    ask *second = ask_add(&f.table, 2, STORE_PUT, 22);
    assert_int_not_equal(first->id, second->id);
    assert_null(ask_find(&f.table, first->id)); /* not sent yet */
    assert_ptr_equal(ask_take(&f.table), first);
    assert_ptr_equal(ask_take(&f.table), second);
    assert_null(ask_take(&f.table)); /* each is sent once */
    assert_ptr_equal(ask_find(&f.table, second->id), second);
    assert_true(second->role == 2 && second->kind == STORE_PUT && second->number == 22);
    assert_null(ask_find(&f.table, second->id + 1));
    ask_done(&f.table, first);
    assert_true(ask_any(&f.table));
    ask_done(&f.table, second);
    assert_false(ask_any(&f.table));
}

/* A late reply of an earlier request must not be taken for that of the slot's new one. */
static void test_slots_come_back_with_new_ids(void **state)
{
    (void)state;
    fixture f;
    open_table(&f);
    ask *all[SLOTS];
    for (uint32_t i = 0; i < SLOTS; i++)
        all[i] = sent(&f, i);
    const uint32_t old = all[1]->id;
    ask_done(&f.table, all[1]);
    ask *again = sent(&f, 9);
    assert_ptr_equal(again, all[1]);
    assert_int_not_equal(again->id, old);
    assert_null(ask_find(&f.table, old));
    assert_ptr_equal(ask_find(&f.table, again->id), again);
    assert_int_equal(ask_due(&f.table), TIME_NEVER);
}

static void test_rests_until_due(void **state)
{
    (void)state;
    fixture f;
    open_table(&f);
    ask *a = sent(&f, 1), *b = sent(&f, 2);
    ask_rest(&f.table, a, 1000);
    ask_rest(&f.table, b, 5000);
    assert_int_equal(a->attempts, 1);
    assert_in_range(a->due_ns, 1001, 1000 + REST_MIN);
    assert_int_equal(ask_due(&f.table), a->due_ns);
    ask_tick(&f.table, a->due_ns - 1);
    assert_null(ask_take(&f.table));
    ask_tick(&f.table, a->due_ns);
    assert_int_equal(ask_due(&f.table), b->due_ns);
    assert_ptr_equal(ask_take(&f.table), a);
    assert_null(ask_take(&f.table)); /* b rests on */
    assert_int_equal(a->attempts, 1);
    assert_int_equal(a->number, 1);
    ask_rest(&f.table, a, 6000);
    assert_int_equal(a->attempts, 2);
}

/* Full jitter: from 1 to the most, which doubles up to its cap; all of it is used. */
static void test_jitter(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        int64_t most;
    } cases[] = {{1, REST_MIN},     {2, 2 * REST_MIN}, {3, 4 * REST_MIN},
                 {4, 8 * REST_MIN}, {5, REST_MAX},     {UINT32_MAX, REST_MAX}};
    rng r;
    rng_seed(&r, 2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t least = INT64_MAX, most = 0;
        for (int k = 0; k < 5000; k++) {
            const int64_t rest = ask_jitter(&r, cases[i].n, REST_MIN, REST_MAX);
            least = rest < least ? rest : least;
            most = rest > most ? rest : most;
        }
        assert_int_equal(least, 1);
        assert_int_equal(most, cases[i].most);
    }
    assert_int_equal(ask_jitter(&r, 1, 0, 0), 1); /* never 0: a machine that spins */
    assert_in_range(ask_jitter(&r, 9, 70, 30), 1, 30);
}

static void test_attempts_lengthen_the_rest(void **state)
{
    (void)state;
    fixture f;
    int64_t longest = 0;
    open_table(&f);
    ask *a = sent(&f, 1);
    for (int i = 0; i < 100; i++) {
        ask_rest(&f.table, a, 0);
        assert_in_range(a->due_ns, 1, REST_MAX);
        longest = a->due_ns > longest ? a->due_ns : longest;
        ask_tick(&f.table, a->due_ns);
        assert_ptr_equal(ask_take(&f.table), a);
    }
    assert_int_equal(a->attempts, 100);
    assert_true(longest > 4 * REST_MIN);
}

/* What is in flight when all is given up is still waited for, and its reply is nobody's. */
static void test_given_up(void **state)
{
    (void)state;
    fixture f;
    open_table(&f);
    ask *in_flight = sent(&f, 1), *resting = sent(&f, 2);
    const uint32_t id = in_flight->id;
    ask_rest(&f.table, resting, 0);
    ask_add(&f.table, 1, STORE_GET, 3);
    ask_give_up(&f.table);
    assert_true(ask_any(&f.table));
    assert_int_equal(in_flight->role, ASK_DEAD);
    ask_tick(&f.table, 1000);
    assert_null(ask_take(&f.table));
    assert_int_equal(ask_due(&f.table), TIME_NEVER);
    assert_null(ask_find(&f.table, id));
    assert_false(ask_any(&f.table)); /* the reply has come */
    assert_null(ask_find(&f.table, id));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_ready_to_done),
        cmocka_unit_test(test_slots_come_back_with_new_ids),
        cmocka_unit_test(test_rests_until_due),
        cmocka_unit_test(test_jitter),
        cmocka_unit_test(test_attempts_lengthen_the_rest),
        cmocka_unit_test(test_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
