// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The cadence turn on the virtual clock: what it promises against dac, in every case. */
#include "pacing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static pacing_report report;

static void run(const char *policy, uint32_t producers, const char *scene, int64_t minutes)
{
    bw_error error;
    pacing_plan plan = pacing_plan_usual(policy, producers);
    plan.scene = pacing_case_named(scene);
    plan.span_ns = minutes * 60 * NS_PER_S;
    assert_non_null(plan.scene);
    if (pacing_run(&plan, &report, &error) != BW_OK)
        fail_msg("%s: %s", policy, error.message);
}

static double success(void)
{
    return (double)(report.attempts - report.conflicts) / (double)report.attempts;
}

static double lag_s(uint32_t per_mille)
{
    return (double)hist_quantile(&report.lag_us, per_mille) / 1e6;
}

/* At most 5 % conflicts, and a fifteenth of dac's lag. */
static void every_case(void **state)
{
    (void)state;
    static const char *const cases[] = {"base", "uneven", "heavy", "kills",
                                        "mass", "pauses", "pins",  "mixed"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run("dac", 32, cases[i], 60);
        const double dac_s = lag_s(500);
        run("turn", 32, cases[i], 10);
        if (success() < 0.95 || lag_s(500) > dac_s / 15)
            fail_msg("%s: %.1f %% succeed, lag %.2f s, of dac %.2f s", cases[i], 100 * success(),
                     lag_s(500), dac_s);
    }
}

/* The same with 128, where each third commit has to fold. What dac takes is from
 * docs/design/cadence.md: hours of it are needed to tell. */
static void with_many_producers(void **state)
{
    (void)state;
    static const struct {
        const char *scene;
        double dac_s;
    } rows[] = {{"kills", 172}, {"mass", 176}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        run("turn", 128, rows[i].scene, 10);
        if (success() < 0.95 || lag_s(500) > rows[i].dac_s / 15)
            fail_msg("%s: %.1f %% succeed, lag %.2f s", rows[i].scene, 100 * success(), lag_s(500));
    }
}

/* The promise of a small job: its batches are seen within two times of a commit (a GET, a create, a
 * marker: 120 ms). */
static void a_small_job_sees_its_batches_at_once(void **state)
{
    (void)state;
    for (uint32_t producers = 1; producers <= 2; producers++) {
        run("turn", producers, "base", 10);
        assert_true(success() > 0.99);
        assert_true(lag_s(500) < 2 * 0.120);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case),
        cmocka_unit_test(with_many_producers),
        cmocka_unit_test(a_small_job_sees_its_batches_at_once),
    };
    return cmocka_run_group_tests_name("turns", tests, NULL, NULL);
}
