// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "protocol/cadence.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void names(void **state)
{
    (void)state;
    cadence c;
    bw_error error;
    assert_int_equal(cadence_parse("naive", &c, &error), BW_OK);
    assert_int_equal(c.policy, CADENCE_NAIVE);
    assert_int_equal(cadence_parse("fixed:250", &c, &error), BW_OK);
    assert_int_equal(c.policy, CADENCE_FIXED);
    assert_int_equal(c.gap_ns, 250 * NS_PER_MS);
    const char *bad[] = {"",    "fixed",    "fixed:",          "fixed:0", "fixed:-1",
                         "dac", "fixed:1x", "fixed:999999999", "naive ",  "Fixed:5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(cadence_parse(bad[i], &c, &error), BW_INVALID);
        assert_non_null(strstr(error.message, "naive, or fixed:N"));
    }
}

static void gaps(void **state)
{
    (void)state;
    cadence c;
    rng r;
    rng_seed(&r, 1);
    assert_int_equal(cadence_parse("naive", &c, NULL), BW_OK);
    cadence_attempted(&c, &(cadence_attempt){.now_ns = 500, .conflict = true}, &r);
    assert_int_equal(cadence_due(&c, 100), 500);
    assert_int_equal(cadence_due(&c, 600), 600);
    assert_int_equal(cadence_parse("fixed:1", &c, NULL), BW_OK);
    assert_int_equal(cadence_due(&c, 100), 100);
    cadence_attempted(&c, &(cadence_attempt){.now_ns = 1000}, &r);
    assert_int_equal(cadence_due(&c, 100), 1000 + NS_PER_MS);
    assert_int_equal(cadence_due(&c, 5 * NS_PER_MS), 5 * NS_PER_MS);
    /* After a conflict anywhere in the gap: two with equal gaps must come apart. */
    int64_t first = -1;
    bool apart = false;
    for (int i = 0; i < 8; i++) {
        cadence_attempted(&c, &(cadence_attempt){.now_ns = 1000, .conflict = true}, &r);
        const int64_t due = cadence_due(&c, 0);
        assert_in_range(due, 1000, 1000 + NS_PER_MS);
        apart |= first >= 0 && due != first;
        first = due;
    }
    assert_true(apart);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(gaps),
    };
    return cmocka_run_group_tests_name("cadence", tests, NULL, NULL);
}
