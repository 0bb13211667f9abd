// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Cadences on the virtual clock: ten minutes of each, and what the paper says of them. */
#include "pacing.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static pacing_report report;

static void run(const char *policy, uint32_t producers, const char *scene)
{
    bw_error error;
    pacing_plan plan = pacing_plan_usual(policy, producers);
    plan.scene = pacing_case_named(scene);
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

/* Everything that eight producers make is published, whatever the policy: what is not yet, waits
 * for a gap to end. */
static void each_policy_publishes_all(void **state)
{
    (void)state;
    static const char *const policies[] = {"naive", "fixed:10",      "fixed:100",
                                           "incr",  "aimd:interval", "aimd:rate",
                                           "dac",   "dac:map",       "turn"};
    const double made = 8 / 0.237;
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        run(policies[i], 8, "base");
        const double published = (double)report.batches / report.seconds;
        if (published < 0.93 * made || published > 1.07 * made)
            fail_msg("%s: %.1f batches a second of %.1f", policies[i], published, made);
        assert_true(report.commits > 0 && report.commits <= report.attempts - report.conflicts);
        assert_int_equal(report.lag_us.count, report.batches);
        assert_true(lag_s(500) > 0.06); /* not before its own create */
    }
}

static void one_alone_has_no_conflict(void **state)
{
    (void)state;
    run("naive", 1, "base");
    assert_int_equal(report.conflicts, 0);
    assert_true(lag_s(500) < 0.2);
}

/* The paper's ablation: its loop makes no batches while it commits, so that attempts cost
 * throughput. */
static void the_order_of_the_ablation(void **state)
{
    (void)state;
    static const char *const policies[] = {"naive", "fixed:10", "fixed:100", "incr", "dac"};
    double last = 0, last_success = 0;
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        run(policies[i], 8, "paper");
        const double published = (double)report.batches / report.seconds;
        /* 10 ms are no gap worth the name where a create takes 60. */
        const double slack = i == 1 ? 0.99 : 1.02;
        if (published < slack * last || success() < 0.95 * last_success)
            fail_msg("%s: %.2f batches/s after %.2f, success %.3f after %.3f", policies[i],
                     published, last, success(), last_success);
        last = published;
        last_success = success();
    }
}

/* Conflicts stay at the budget; what that costs is the lag. */
static void dac_keeps_its_budget(void **state)
{
    (void)state;
    run("naive", 32, "base");
    assert_true(success() < 0.2);
    const double naive_s = lag_s(500);
    run("dac", 32, "base");
    assert_true(success() > 0.92);
    assert_true(lag_s(500) > 5 * naive_s);
    run("dac:20", 32, "base");
    assert_true(success() > 0.75);
    assert_true(success() < 0.92);
}

static void what_a_case_names_happens(void **state)
{
    (void)state;
    run("dac", 32, "mixed");
    assert_true(report.kills > 4);
    assert_true(report.pauses > 32);
    assert_true(report.guest_commits > 20);
    assert_true(report.guest_us.count == report.guest_commits);
    run("dac", 32, "mass");
    assert_int_equal(report.kills, 8);
    run("dac", 8, "base");
    const uint64_t even = report.run.max > 0 ? (uint64_t)report.run.max : 1;
    run("dac", 8, "uneven");
    assert_true((uint64_t)report.run.max > even);
    run("naive", 1, "base");
    const double light = lag_s(990);
    run("naive", 1, "heavy");
    assert_true(lag_s(990) > 1.5 * light);
}

/* The same plan, the same report; another seed, another one. */
static void a_plan_is_deterministic(void **state)
{
    (void)state;
    static pacing_report first;
    run("dac", 8, "mixed");
    first = report;
    run("dac", 8, "mixed");
    assert_memory_equal(&first, &report, sizeof report);
    pacing_plan plan = pacing_plan_usual("dac", 8);
    plan.scene = pacing_case_named("mixed");
    plan.seed = 2;
    assert_int_equal(pacing_run(&plan, &report, NULL), BW_OK);
    assert_memory_not_equal(&first, &report, sizeof report);
}

/* That processes share what one of them decoded changes nothing but the time. */
static void sharing_changes_nothing(void **state)
{
    (void)state;
    static pacing_report shared;
    bw_error error;
    pacing_plan plan = pacing_plan_usual("turn", 8);
    plan.scene = pacing_case_named("mixed");
    assert_int_equal(pacing_run(&plan, &shared, &error), BW_OK);
    plan.unshared = true;
    assert_int_equal(pacing_run(&plan, &report, &error), BW_OK);
    assert_int_equal(shared.trace, report.trace);
    assert_memory_equal(&shared, &report, sizeof report);
}

static void bad_plans(void **state)
{
    (void)state;
    bw_error error;
    pacing_plan plan = pacing_plan_usual("sometimes", 8);
    assert_int_equal(pacing_run(&plan, &report, &error), BW_INVALID);
    plan = pacing_plan_usual("dac", PACING_PRODUCERS_MAX + 1);
    assert_int_equal(pacing_run(&plan, &report, &error), BW_INVALID);
    assert_null(pacing_case_named("nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_policy_publishes_all), cmocka_unit_test(one_alone_has_no_conflict),
        cmocka_unit_test(the_order_of_the_ablation), cmocka_unit_test(dac_keeps_its_budget),
        cmocka_unit_test(what_a_case_names_happens), cmocka_unit_test(a_plan_is_deterministic),
        cmocka_unit_test(sharing_changes_nothing),   cmocka_unit_test(bad_plans),
    };
    return cmocka_run_group_tests_name("pacing", tests, NULL, NULL);
}
