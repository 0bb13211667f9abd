// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/hedging.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define BASE_NS (20 * NS_PER_MS)

static void test_classes(void **state)
{
    (void)state;
    store_op op;
    for (int kind = 0; kind < STORE_OP_KINDS; kind++) {
        store_op_init(&op, (store_op_kind)kind, "k");
        op.length = 1;
        const bool asked_twice = kind == STORE_GET || kind == STORE_READ;
        assert_int_equal(hedging_class(&op) != HEDGING_NEVER, asked_twice);
    }
    store_op_init(&op, STORE_READ, "k");
    static const uint64_t lengths[] = {64u << 10, 1u << 20, 8u << 20};
    for (uint32_t i = 0; i < 3; i++) {
        op.length = lengths[i];
        assert_int_equal(hedging_class(&op), i + 1);
        op.length++;
        assert_int_equal(hedging_class(&op), i < 2 ? i + 2 : HEDGING_NEVER);
    }
}

/* One read after the other; the second requests. */
static uint32_t run(hedging *h, rng *r, int reads, int slow_per_mille, int64_t base_ns)
{
    uint32_t hedges = 0;
    for (int i = 0; i < reads; i++) {
        const bool slow = rng_below(r, 1000) < (uint64_t)slow_per_mille;
        /* ± 10 % */
        int64_t took_ns = base_ns * 9 / 10 + (int64_t)rng_below(r, (uint64_t)base_ns / 5);
        took_ns = slow ? took_ns * 10 : took_ns;
        const int64_t patience_ns = hedging_began(h, 1);
        const bool late = took_ns > patience_ns;
        hedges += late && hedging_is_due(h) ? 1 : 0;
        hedging_ended(h, 1, took_ns, late);
    }
    return hedges;
}

static void test_nothing_is_known_at_first(void **state)
{
    (void)state;
    hedging h;
    hedging_init(&h);
    for (int i = 0; i < 64; i++) {
        assert_true(hedging_began(&h, 1) == TIME_NEVER);
        hedging_ended(&h, 1, BASE_NS, false);
    }
    assert_true(hedging_began(&h, 1) != TIME_NEVER);
    assert_true(hedging_began(&h, 2) == TIME_NEVER); /* of larger ones nothing is known yet */
    assert_true(hedging_began(&h, 0) == hedging_began(&h, 1)); /* a few are as quick as those */
    for (int i = 0; i < 64; i++)
        hedging_ended(&h, 0, 2 * BASE_NS, false);
    assert_true(hedging_began(&h, 0) > hedging_began(&h, 1));
}

static void test_patience_is_of_the_quantile(void **state)
{
    (void)state;
    hedging h;
    hedging_init(&h);
    /* Of a hundred, 90 take 20 ms and 10 take 50: the quantile is theirs. */
    for (int i = 0; i < 400; i++)
        hedging_ended(&h, 1, i % 10 == 0 ? 50 * NS_PER_MS : BASE_NS, false);
    assert_in_range(hedging_began(&h, 1), 50 * NS_PER_MS, 57 * NS_PER_MS);
    /* Of a hundred, 3 are slow: they are what is hedged. */
    hedging_init(&h);
    for (int i = 0; i < 400; i++)
        hedging_ended(&h, 1, i % 33 == 0 ? 50 * NS_PER_MS : BASE_NS, false);
    assert_in_range(hedging_began(&h, 1), 30 * NS_PER_MS, 34 * NS_PER_MS);
}

static void test_all_slow_ones_of_a_few_are_hedged(void **state)
{
    (void)state;
    hedging h;
    rng r;
    hedging_init(&h);
    rng_seed(&r, 7);
    (void)run(&h, &r, 500, 10, BASE_NS);
    const uint32_t hedges = run(&h, &r, 100000, 10, BASE_NS);
    assert_in_range(hedges, 900, 1100);
}

static void test_budget(void **state)
{
    (void)state;
    /* 4 %: still below the quantile, and beyond the budget. */
    hedging h;
    rng r;
    hedging_init(&h);
    rng_seed(&r, 8);
    uint32_t hedges = 0;
    for (int i = 1; i <= 1000; i++) {
        hedges += run(&h, &r, 100, 40, BASE_NS);
        assert_true(hedges <= (uint32_t)i * 3); /* at any time, from the first read on */
    }
    assert_true(hedges > 2500);
}

static void test_none_where_all_are_alike(void **state)
{
    (void)state;
    hedging h;
    rng r;
    hedging_init(&h);
    rng_seed(&r, 9);
    assert_int_equal(run(&h, &r, 100000, 0, BASE_NS), 0);
}

/* A store that gets ten times as slow of a sudden: all reads are late, for as long as it takes to
 * learn it. */
static void test_next_to_none_when_all_get_slow(void **state)
{
    (void)state;
    hedging h;
    rng r;
    hedging_init(&h);
    rng_seed(&r, 10);
    (void)run(&h, &r, 10000, 0, BASE_NS);
    assert_true(h.tokens > 7.9);
    assert_in_range(run(&h, &r, 10000, 0, 10 * BASE_NS), 0, 8);
    /* And quick again: the slow ones of it are hedged again. */
    (void)run(&h, &r, 1000, 0, BASE_NS);
    assert_in_range(run(&h, &r, 10000, 10, BASE_NS), 70, 130);
}

static void test_none_when_throttled(void **state)
{
    (void)state;
    hedging h;
    rng r;
    hedging_init(&h);
    rng_seed(&r, 11);
    (void)run(&h, &r, 1000, 0, BASE_NS);
    hedging_throttled(&h);
    assert_false(hedging_is_due(&h));
    (void)run(&h, &r, 34, 0, BASE_NS);
    assert_true(hedging_is_due(&h));
}

static void test_any_duration(void **state)
{
    (void)state;
    hedging h;
    for (int shift = 0; shift < 63; shift++) {
        hedging_init(&h);
        const int64_t took_ns = (int64_t)1 << shift;
        for (int i = 0; i < 100; i++)
            hedging_ended(&h, 0, took_ns, false);
        hedging_ended(&h, 0, -1, false);
        hedging_ended(&h, 0, INT64_MAX, false);
        const int64_t patience_ns = hedging_began(&h, 0);
        assert_true(patience_ns > 0);
        if (shift > 14 && shift < 36)
            assert_in_range(patience_ns, took_ns, took_ns / 8 * 14);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_nothing_is_known_at_first),
        cmocka_unit_test(test_patience_is_of_the_quantile),
        cmocka_unit_test(test_all_slow_ones_of_a_few_are_hedged),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_none_where_all_are_alike),
        cmocka_unit_test(test_next_to_none_when_all_get_slow),
        cmocka_unit_test(test_none_when_throttled),
        cmocka_unit_test(test_any_duration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
