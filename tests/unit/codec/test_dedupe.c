// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"
#include "codec/dedupe.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool equal_numbers(const void *context, uint32_t a, uint32_t b)
{
    const uint64_t *numbers = context;
    return numbers[a] == numbers[b];
}

static void first_ones_are_found(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    static uint64_t numbers[COUNT];
    rng r;
    rng_seed(&r, 9);
    for (uint32_t i = 0; i < COUNT; i++)
        numbers[i] = rng_below(&r, 1000);
    /* A good hash, and one that puts all in the same place: slower, not wrong. */
    for (int bad = 0; bad < 2; bad++) {
        dedupe d;
        assert_int_equal(dedupe_init(&d, COUNT), BW_OK);
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t first = 0;
            while (numbers[first] != numbers[i])
                first++;
            const uint32_t hash =
                bad ? UINT32_MAX : dedupe_hash(0, (const uint8_t *)&numbers[i], sizeof numbers[i]);
            assert_int_equal(dedupe_add(&d, hash, i, equal_numbers, numbers), first);
        }
        dedupe_free(&d);
    }
}

static void hashes_spread_and_depend_on_everything(void **state)
{
    (void)state;
    uint8_t bytes[56] = {0};
    const uint32_t base = dedupe_hash(0, bytes, sizeof bytes);
    assert_int_not_equal(dedupe_hash(0, bytes, 55), base);
    assert_int_not_equal(dedupe_hash(1, bytes, 56), base);
    for (size_t i = 0; i < sizeof bytes * 8; i++) {
        bytes[i / 8] = (uint8_t)(1u << i % 8);
        assert_int_not_equal(dedupe_hash(0, bytes, sizeof bytes), base);
        bytes[i / 8] = 0;
    }
    /* Small numbers fill the buckets of a table evenly enough. */
    int buckets[64] = {0};
    for (uint64_t i = 0; i < 6400; i++)
        buckets[dedupe_hash(0, (const uint8_t *)&i, sizeof i) % 64]++;
    for (int i = 0; i < 64; i++)
        assert_in_range(buckets[i], 50, 160);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_ones_are_found),
        cmocka_unit_test(hashes_spread_and_depend_on_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
