// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What the times of a store mean for a job, beside what was measured (docs/design/cadence.md). */
#include "store/doctor_bucket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static uint64_t figure(const doctor_finding *f, const char *name)
{
    for (uint32_t i = 0; i < f->figure_count; i++) {
        if (strcmp(f->figures[i].name, name) == 0)
            return f->figures[i].value;
    }
    fail_msg("no figure %s", name);
    return 0;
}

static const bucket_pace pace = {.create_ns = 60 * NS_PER_MS, .get_ns = 30 * NS_PER_MS};

/* 6.32 commits a second and a lag of 2.62 s were measured at 32 producers, 11.1 and .06 s of one; a
 * reader sees it 30 ms later. */
static void test_beside_what_was_measured(void **state)
{
    (void)state;
    doctor_job job = {.ranks = 1, .producers = 32, .step_ms = 1000};
    doctor_finding f = {.check = "estimate"};
    doctor_cost(&job, &pace, &f);
    assert_int_equal(f.verdict, DOCTOR_OK);
    assert_in_range(figure(&f, "commits_per_s_max"), 6100, 6500);
    assert_in_range(figure(&f, "lag_s"), 2400, 2800);
    job.producers = 1;
    f = (doctor_finding){.check = "estimate"};
    doctor_cost(&job, &pace, &f);
    assert_int_equal(figure(&f, "commits_per_s_max"), 11111);
    assert_int_equal(figure(&f, "lag_s"), 90);
}

static void test_requests_and_what_they_cost(void **state)
{
    (void)state;
    const doctor_job job = {.ranks = 10,
                            .producers = 2,
                            .step_ms = 500,
                            .price_put = 500,
                            .price_get = 40,
                            .price_delete = 7};
    doctor_finding f = {.check = "estimate"};
    doctor_cost(&job, &pace, &f);
    /* Two steps and two commits a second: a part and a create each. */
    assert_int_equal(figure(&f, "puts_per_s"), 4000);
    /* A slice of each rank and step, a look a second, and two reads a commit. */
    assert_int_equal(figure(&f, "gets_per_s"), 10 * 2000 + 10 * 1100 + 2 * 2000);
    /* (4 × 500 + 35 × 40 + 2 × 7) × 3,600 / 10^6 cents: .1229 dollars. */
    assert_int_equal(figure(&f, "usd_per_hour"), 1229);
}

/* The chain cannot be faster than it is. */
static void test_steps_that_come_too_fast(void **state)
{
    (void)state;
    const doctor_job job = {.ranks = 1, .producers = 1, .step_ms = 10};
    doctor_finding f = {.check = "estimate"};
    doctor_cost(&job, &pace, &f);
    assert_int_equal(figure(&f, "puts_per_s"), 100000 + 11111);
}

static void test_without_times(void **state)
{
    (void)state;
    const doctor_job job = {.ranks = 1, .producers = 1, .step_ms = 10};
    const bucket_pace none = {0};
    doctor_finding f = {.check = "estimate"};
    doctor_cost(&job, &none, &f);
    assert_int_equal(f.verdict, DOCTOR_WARNING);
    assert_int_equal(f.figure_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beside_what_was_measured),
        cmocka_unit_test(test_requests_and_what_they_cost),
        cmocka_unit_test(test_steps_that_come_too_fast),
        cmocka_unit_test(test_without_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
