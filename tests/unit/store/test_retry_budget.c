// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/retry_budget.h"

#include "base/clock.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { PERCENT = 10, OPERATIONS = 100000 };

static void test_is_full_at_first_and_bounded(void **state)
{
    (void)state;
    retry_budget b;
    retry_budget_init(&b, PERCENT, 5);
    for (int i = 0; i < 1000; i++)
        retry_budget_give(&b);
    for (int i = 0; i < RETRY_BUDGET_TOKENS_MAX; i++)
        assert_true(retry_budget_take(&b, 5));
    assert_false(retry_budget_take(&b, 5));
    assert_false(retry_budget_take(&b, 4)); /* a clock that goes back brings nothing */
}

static void test_time_alone_brings_tokens(void **state)
{
    (void)state;
    retry_budget b;
    retry_budget_init(&b, 0, 0);
    while (retry_budget_take(&b, 0))
        continue;
    int taken = 0;
    for (int64_t now_ns = 0; now_ns < 10 * NS_PER_S; now_ns += NS_PER_MS)
        taken += retry_budget_take(&b, now_ns) ? 1 : 0;
    assert_in_range(taken, 98, 100);
    while (retry_budget_take(&b, 10 * NS_PER_S))
        continue;
    const int64_t due_ns = retry_budget_due_ns(&b, 10 * NS_PER_S);
    assert_in_range(due_ns, 10 * NS_PER_S, 10 * NS_PER_S + 100 * NS_PER_MS + 1);
    assert_false(retry_budget_take(&b, due_ns - NS_PER_MS));
    assert_true(retry_budget_take(&b, due_ns));
}

/* The header's promise: a share p of requests failing gets at most 0.1 / p retries an operation. */
static void test_the_sicker_the_fewer(void **state)
{
    (void)state;
    static const struct {
        uint32_t failing; /* per cent */
        double least, most;
    } rows[] = {
        {100, 0.099, 0.102}, {90, 0.108, 0.113}, {50, 0.195, 0.205},
        {30, 0.325, 0.34},   {20, 0.24, 0.26}, /* all that are needed: of five, one; of twenty-five,
                                                  one more; … */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rng r;
        rng_seed(&r, i);
        retry_budget b;
        retry_budget_init(&b, PERCENT, 0);
        uint64_t retries = 0;
        uint64_t waiting = 0;
        for (int n = 0; n < OPERATIONS; n++) {
            retry_budget_operation(&b);
            waiting += rng_below(&r, 100) < rows[i].failing ? 1 : 0;
            while (waiting > 0 && retry_budget_take(&b, 0)) {
                retries++;
                const bool good = rng_below(&r, 100) >= rows[i].failing;
                if (good)
                    retry_budget_give(&b);
                waiting -= good ? 1 : 0;
            }
        }
        const double share = (double)retries / OPERATIONS;
        assert_true(share >= rows[i].least);
        assert_true(share <= rows[i].most);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_full_at_first_and_bounded),
        cmocka_unit_test(test_time_alone_brings_tokens),
        cmocka_unit_test(test_the_sicker_the_fewer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
