// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/hist.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void an_empty_one_answers_zero(void **state)
{
    (void)state;
    static hist h;
    hist_reset(&h);
    assert_int_equal(hist_quantile(&h, 500), 0);
    hist_add(&h, -7);
    assert_int_equal(hist_quantile(&h, 1000), 0);
    assert_int_equal(h.count, 1);
}

static void one_value_is_found_within_the_error(void **state)
{
    (void)state;
    static hist h;
    rng r;
    rng_seed(&r, 5);
    for (int i = 0; i < 20000; i++) {
        const int64_t value = (int64_t)(rng_u64(&r) >> (29 + rng_below(&r, 35)));
        hist_reset(&h);
        hist_add(&h, value);
        hist_add(&h, INT64_MAX);
        const int64_t found = hist_quantile(&h, 500);
        assert_true(found >= value);
        assert_true(found - value <= value / 32);
        assert_int_equal(hist_quantile(&h, 1000), INT64_MAX);
    }
}

static void quantiles_are_ordered(void **state)
{
    (void)state;
    static hist h;
    hist_reset(&h);
    for (int64_t i = 1; i <= 1000; i++)
        hist_add(&h, i * 1000);
    assert_in_range(hist_quantile(&h, 0), 1000, 1032);
    assert_in_range(hist_quantile(&h, 500), 500000, 516000);
    assert_in_range(hist_quantile(&h, 990), 990000, 1000000);
    assert_int_equal(hist_quantile(&h, 1000), 1000000);
    assert_int_equal(hist_quantile(&h, 2000), 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_one_answers_zero),
        cmocka_unit_test(one_value_is_found_within_the_error),
        cmocka_unit_test(quantiles_are_ordered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
