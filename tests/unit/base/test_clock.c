// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int64_t fixed_time(void *context)
{
    return *(const int64_t *)context;
}

static void the_system_clock_goes_forward(void **state)
{
    (void)state;
    const clock_source *clock = clock_system();
    const int64_t before = clock_now(clock);
    assert_true(before > 0);
    assert_true(clock_now(clock) >= before);
    /* After 2020 and before 2100. */
    assert_in_range(clock_wall_ms(clock), 1577836800000, 4102444800000);
}

static void deadlines_saturate(void **state)
{
    (void)state;
    int64_t now = 1000;
    const clock_source clock = {fixed_time, fixed_time, &now};
    assert_int_equal(clock_deadline(&clock, 0), 1000);
    assert_int_equal(clock_deadline(&clock, 5), 1005);
    assert_int_equal(clock_deadline(&clock, -1), TIME_NEVER);
    assert_int_equal(clock_deadline(&clock, TIME_NEVER), TIME_NEVER);
    assert_int_equal(clock_deadline(&clock, TIME_NEVER - 999), TIME_NEVER);
    assert_int_equal(clock_deadline(&clock, TIME_NEVER - 1001), TIME_NEVER - 1);
    now = -1000;
    assert_int_equal(clock_deadline(&clock, TIME_NEVER - 1), TIME_NEVER - 1001);
    assert_int_equal(clock_wall_ms(&clock), -1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_system_clock_goes_forward),
        cmocka_unit_test(deadlines_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
