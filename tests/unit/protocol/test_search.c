// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "protocol/ask.h"
#include "protocol/search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Runs a search over a row that is present in [first, end_present). Returns its rounds. */
static uint32_t run(search *s, uint64_t end_present)
{
    uint32_t rounds = 0;
    while (!search_done(s)) {
        uint64_t probes[SEARCH_PROBES_MAX];
        const uint32_t count = s->probe_count;
        for (uint32_t i = 0; i < count; i++)
            probes[i] = s->probes[i];
        for (uint32_t i = 0; i < count; i++) {
            const bool last = search_answer(s, probes[i], probes[i] < end_present);
            assert_int_equal(last, i + 1 == count);
        }
        assert_true(++rounds < 20);
    }
    return rounds;
}

static void the_last_one_is_found(void **state)
{
    (void)state;
    const uint64_t ends[] = {0,  1,  2,  3,   5,    31,      32,         33,
                             64, 65, 99, 100, 1000, 1234567, 1ull << 40, UINT64_MAX / 2};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        search s;
        search_start(&s, 0, false, UINT64_MAX, 64);
        const uint32_t rounds = run(&s, ends[i]);
        assert_int_equal(s.found, ends[i] > 0);
        if (ends[i] > 0)
            assert_int_equal(s.low, ends[i] - 1);
        assert_true(rounds <= 19);
    }
}

/* What a short row costs, and how many rounds a long one. */
static void questions_are_few(void **state)
{
    (void)state;
    const struct {
        uint64_t end_present;
        uint32_t first_probes, rounds;
    } rows[] = {{0, 13, 1}, {1, 13, 1}, {2, 13, 1}, {3, 13, 2}, {1000, 13, 3}, {3000, 13, 5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        search s;
        search_start(&s, 0, false, UINT64_MAX, SEARCH_POWERS_MAX);
        assert_int_equal(s.probe_count, rows[i].first_probes);
        assert_int_equal(run(&s, rows[i].end_present), rows[i].rounds);
    }
}

/* Where the powers end below the row's, what is beyond is narrowed all the same. */
static void a_last_power_says_nothing_beyond(void **state)
{
    (void)state;
    for (uint32_t powers = 1; powers <= 25; powers++) {
        search s;
        search_start(&s, 0, false, (uint64_t)1 << 26, powers);
        (void)run(&s, 50000000);
        assert_int_equal(s.low, 49999999);
    }
}

static void it_starts_where_it_is_told(void **state)
{
    (void)state;
    search s;
    search_start(&s, 100, false, UINT64_MAX, 40);
    (void)run(&s, 100);
    assert_false(s.found);
    search_start(&s, 100, false, UINT64_MAX, 40);
    (void)run(&s, 1500);
    assert_int_equal(s.low, 1499);
    /* Known to be present, and no further than asked for. */
    search_start(&s, 100, true, 100 + 1025, 11);
    assert_int_equal(run(&s, 100000), 1);
    assert_int_equal(s.low, 100 + 1024);
    search_start(&s, 7, true, 8, 11);
    assert_true(search_done(&s));
    assert_int_equal(s.low, 7);
}

/* Answers of a row that changed meanwhile: never out of bounds, and the highest seen counts. */
static void a_moving_row_does_no_harm(void **state)
{
    (void)state;
    search s;
    search_start(&s, 0, false, 1000, 64);
    while (!search_done(&s)) {
        const uint32_t count = s.probe_count;
        uint64_t probes[SEARCH_PROBES_MAX];
        for (uint32_t i = 0; i < count; i++)
            probes[i] = s.probes[i];
        for (uint32_t i = count; i > 0; i--)
            (void)search_answer(&s, probes[i - 1], probes[i - 1] == 64);
    }
    assert_true(s.found);
    assert_int_equal(s.low, 64);
    assert_int_equal(s.high, 65);
}

static void asks_rest_and_die(void **state)
{
    (void)state;
    rng r;
    ask slots[3] = {{0}};
    ask_table t;
    rng_seed(&r, 1);
    ask_open(&t, slots, 3, 10, 80, &r);
    assert_false(ask_any(&t));
    ask *a = ask_add(&t, 1, STORE_GET, 7);
    (void)ask_add(&t, 2, STORE_PUT, 8);
    assert_null(ask_find(&t, a->id)); /* not sent */
    assert_ptr_equal(ask_take(&t), a);
    assert_ptr_equal(ask_find(&t, a->id), a);
    assert_int_equal(ask_due(&t), TIME_NEVER);
    for (uint32_t i = 0; i < 10; i++) {
        ask_rest(&t, a, 1000);
        assert_in_range(a->due_ns, 1001, 1080);
        assert_int_equal(ask_due(&t), a->due_ns);
        ask_tick(&t, a->due_ns - 1);
        assert_int_equal(a->state, ASK_RESTING);
        ask_tick(&t, a->due_ns);
        assert_ptr_equal(ask_take(&t), a);
    }
    assert_int_equal(a->attempts, 10);
    /* Given up in flight: the table is busy until the reply, and nobody gets it. */
    const uint32_t id = a->id;
    ask_give_up(&t);
    assert_true(ask_any(&t));
    assert_null(ask_take(&t));
    assert_null(ask_find(&t, id));
    assert_false(ask_any(&t));
    assert_int_equal(ask_jitter(&r, UINT32_MAX, 0, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_one_is_found),
        cmocka_unit_test(questions_are_few),
        cmocka_unit_test(a_last_power_says_nothing_beyond),
        cmocka_unit_test(it_starts_where_it_is_told),
        cmocka_unit_test(a_moving_row_does_no_harm),
        cmocka_unit_test(asks_rest_and_die),
    };
    return cmocka_run_group_tests_name("search", tests, NULL, NULL);
}
