// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The two known ways in which turns collapse for good, each a mutant that this must notice: members
 * that sleep for the mean of what turns took are late now and then, which makes turns longer, and
 * longer; joins that take the turn make everybody before them wait once more. */
#include "pacing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static pacing_report report;

static void turns(uint32_t producers, const char *scene, int64_t minutes, double lag_s_max)
{
    bw_error error;
    pacing_plan plan = pacing_plan_usual("turn", producers);
    plan.scene = pacing_case_named(scene);
    plan.span_ns = minutes * 60 * NS_PER_S;
    if (pacing_run(&plan, &report, &error) != BW_OK)
        fail_msg("%s", error.message);
    const double lag_s = (double)hist_quantile(&report.lag_us, 500) / 1e6;
    const double success = (double)(report.attempts - report.conflicts) / (double)report.attempts;
    if (success < 0.95 || lag_s > lag_s_max)
        fail_msg("%.1f %% succeed, lag %.2f s", 100 * success, lag_s);
}

static void nobody_oversleeps(void **state)
{
    (void)state;
    turns(32, "base", 5, 4.0);
}

static void who_joins_takes_no_turn(void **state)
{
    (void)state;
    turns(128, "mass", 5, 15.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_oversleeps),
        cmocka_unit_test(who_joins_takes_no_turn),
    };
    return cmocka_run_group_tests_name("collapse", tests, NULL, NULL);
}
