// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Computed from the published reference code of xoshiro256** and splitmix64. A change breaks every
 * recorded seed. */
static void a_seed_gives_these_numbers_for_ever(void **state)
{
    (void)state;
    rng r = {{1, 2, 3, 4}};
    assert_true(rng_u64(&r) == 11520u);
    assert_true(rng_u64(&r) == 0u);
    assert_true(rng_u64(&r) == 1509978240u);
    assert_true(rng_u64(&r) == 1215971899390074240u);
    rng_seed(&r, 1234567);
    assert_true(r.state[0] == 6457827717110365317u);
    assert_true(r.state[1] == 3203168211198807973u);
    assert_true(r.state[2] == 9817491932198370423u);
}

static void bounds_are_kept_and_filled(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 7);
    int seen[6] = {0};
    for (int i = 0; i < 6000; i++) {
        const uint64_t value = rng_below(&r, 6);
        assert_in_range(value, 0, 5);
        seen[value]++;
    }
    for (int i = 0; i < 6; i++)
        assert_in_range(seen[i], 850, 1150);
    assert_int_equal(rng_below(&r, 1), 0);
    assert_int_equal(rng_below(&r, 0), 0);
    int high = 0;
    for (int i = 0; i < 100; i++)
        high += rng_below(&r, UINT64_MAX) > UINT64_MAX / 2;
    assert_in_range(high, 25, 75);
}

static void streams_are_independent(void **state)
{
    (void)state;
    rng a, b, one, two;
    rng_seed(&a, 1);
    rng_seed(&b, 1);
    rng_split(&a, 10, &one);
    rng_split(&b, 11, &two);
    assert_true(rng_u64(&one) != rng_u64(&two));
    assert_true(rng_u64(&a) == rng_u64(&b));
    rng_seed(&a, 1);
    rng_split(&a, 11, &one);
    rng_u64(&one);
    assert_true(rng_u64(&one) == rng_u64(&two));
}

static void bytes_fill_any_length(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 3);
    uint8_t bytes[21] = {0};
    rng_bytes(&r, bytes, 20);
    assert_int_equal(bytes[20], 0);
    int zeros = 0;
    for (int i = 0; i < 20; i++)
        zeros += bytes[i] == 0;
    assert_true(zeros < 5);
    rng again;
    rng_seed(&again, 3);
    const uint64_t first = rng_u64(&again);
    for (int i = 0; i < 8; i++)
        assert_int_equal(bytes[i], (uint8_t)(first >> (8 * i)));
}

static void the_system_seeds_differ(void **state)
{
    (void)state;
    rng a, b;
    assert_int_equal(rng_seed_system(&a), 0);
    assert_int_equal(rng_seed_system(&b), 0);
    assert_memory_not_equal(&a, &b, sizeof a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_gives_these_numbers_for_ever),
        cmocka_unit_test(bounds_are_kept_and_filled),
        cmocka_unit_test(streams_are_independent),
        cmocka_unit_test(bytes_fill_any_length),
        cmocka_unit_test(the_system_seeds_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
