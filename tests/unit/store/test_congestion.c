// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/congestion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MAX 64u
#define BASE_NS (20 * NS_PER_MS)

typedef struct model {
    congestion c;
    int64_t now_ns;
    store_op op;
} model;

static void start(model *m)
{
    congestion_init(&m->c, MAX);
    m->now_ns = 100 * NS_PER_S;
    store_op_init(&m->op, STORE_READ, "k");
    m->op.length = 100000;
}

/** `in_flight` requests at once, all answered after `took_ns`. `wanted`: others waited. */
static void burst(model *m, uint32_t in_flight, int64_t took_ns, bool wanted)
{
    const int64_t sent_ns = m->now_ns;
    for (uint32_t i = 1; i <= in_flight; i++)
        congestion_sent(&m->c, i);
    if (wanted)
        congestion_waits(&m->c);
    m->now_ns += took_ns;
    m->op.outcome = STORE_OK;
    m->op.throttled = false;
    for (uint32_t i = 0; i < in_flight; i++)
        congestion_answered(&m->c, &m->op, sent_ns, m->now_ns, in_flight - i);
}

static void throttle(model *m, int64_t sent_ns, uint32_t in_flight)
{
    m->op.outcome = STORE_RETRY;
    m->op.throttled = true;
    congestion_answered(&m->c, &m->op, sent_ns, m->now_ns, in_flight);
}

static void test_starts_at_its_maximum_and_stays(void **state)
{
    (void)state;
    model m;
    start(&m);
    for (int i = 0; i < 1000; i++)
        burst(&m, MAX, BASE_NS, true);
    assert_int_equal(congestion_window(&m.c), MAX);
}

static void test_throttling_halves_once_for_each_round_trip(void **state)
{
    (void)state;
    model m;
    start(&m);
    const int64_t sent_ns = m.now_ns;
    m.now_ns += BASE_NS;
    for (uint32_t i = 0; i < 40; i++)
        throttle(&m, sent_ns, 40 - i);             /* all of one moment */
    assert_int_equal(congestion_window(&m.c), 20); /* half of what was in flight */
    const int64_t again_ns = m.now_ns + 1;
    m.now_ns += BASE_NS;
    throttle(&m, again_ns, 20);
    assert_int_equal(congestion_window(&m.c), 10);
    for (int i = 0; i < 100; i++) {
        m.now_ns += BASE_NS;
        throttle(&m, m.now_ns - 1, 5);
    }
    assert_int_equal(congestion_window(&m.c), 1);
}

static void test_grows_by_one_a_round_when_it_is_wanted(void **state)
{
    (void)state;
    model m;
    start(&m);
    m.now_ns += 1;
    throttle(&m, m.now_ns, 40);
    assert_int_equal(congestion_window(&m.c), 20);
    for (int i = 0; i < 50; i++)
        burst(&m, 20, BASE_NS, false);
    assert_int_equal(congestion_window(&m.c), 20); /* nobody waited */
    for (uint32_t i = 1; i <= 10; i++) {
        burst(&m, congestion_window(&m.c), BASE_NS, true);
        assert_int_equal(congestion_window(&m.c), 20 + i);
    }
    for (int i = 0; i < 1000; i++)
        burst(&m, congestion_window(&m.c), BASE_NS, true);
    assert_int_equal(congestion_window(&m.c), MAX);
}

/* A store that serves `lanes` at once: more only stand in its queue. */
static void test_finds_what_a_store_bears(void **state)
{
    (void)state;
    enum { LANES = 8 };
    model m;
    start(&m);
    for (int i = 0; i < 20; i++)
        burst(&m, 4, BASE_NS, false); /* quiet at first */
    uint32_t least = MAX;
    for (int i = 0; i < 300; i++) {
        const uint32_t window = congestion_window(&m.c);
        burst(&m, window, window <= LANES ? BASE_NS : BASE_NS * window / LANES, true);
        if (i >= 50 && window < least)
            least = window;
    }
    assert_true(least >= LANES); /* never starved */
    assert_in_range(congestion_window(&m.c), LANES, 3 * LANES);
}

/* All answers take three times as long, whatever is in flight: fewer requests would only be slower.
 */
static void test_a_slow_store_is_no_crowded_one(void **state)
{
    (void)state;
    model m;
    start(&m);
    for (int i = 0; i < 20; i++)
        burst(&m, MAX, BASE_NS, true);
    uint32_t least = MAX;
    for (int i = 0; i < 100; i++) {
        burst(&m, congestion_window(&m.c), 3 * BASE_NS, true);
        if (congestion_window(&m.c) < least)
            least = congestion_window(&m.c);
    }
    assert_true(least < MAX);                       /* it was tried, */
    assert_int_equal(congestion_window(&m.c), MAX); /* and taken back */
}

static void test_a_lucky_answer_is_no_measure(void **state)
{
    (void)state;
    model m;
    start(&m);
    for (int i = 0; i < 1000; i++) {
        burst(&m, 1, BASE_NS / 20, false); /* one in 32 from some cache */
        burst(&m, 31, BASE_NS, true);
    }
    assert_int_equal(congestion_window(&m.c), MAX);
}

static void test_sizes_and_kinds_are_compared_with_themselves(void **state)
{
    (void)state;
    model m;
    start(&m);
    for (int i = 0; i < 300; i++) {
        m.op.length = i % 2 == 0 ? 1000 : 32u << 20;
        burst(&m, 32, i % 2 == 0 ? BASE_NS : 50 * BASE_NS, true);
    }
    assert_int_equal(congestion_window(&m.c), MAX);
}

/* A refused connection is quick and says nothing of the store's load. */
static void test_failures_are_no_measure(void **state)
{
    (void)state;
    model m;
    start(&m);
    m.op.outcome = STORE_RETRY;
    for (int i = 0; i < 100; i++)
        congestion_answered(&m.c, &m.op, m.now_ns - 1000, m.now_ns, 10);
    for (int i = 0; i < 100; i++)
        burst(&m, 32, BASE_NS, true);
    assert_int_equal(congestion_window(&m.c), MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_starts_at_its_maximum_and_stays),
        cmocka_unit_test(test_throttling_halves_once_for_each_round_trip),
        cmocka_unit_test(test_grows_by_one_a_round_when_it_is_wanted),
        cmocka_unit_test(test_finds_what_a_store_bears),
        cmocka_unit_test(test_a_slow_store_is_no_crowded_one),
        cmocka_unit_test(test_a_lucky_answer_is_no_measure),
        cmocka_unit_test(test_sizes_and_kinds_are_compared_with_themselves),
        cmocka_unit_test(test_failures_are_no_measure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
