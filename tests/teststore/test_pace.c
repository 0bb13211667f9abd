// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* How slow the test store is, without a clock: what latencies are drawn, what bytes cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "faults.h"
#include <stdlib.h>

#define DRAWS 100000

static int64_t draws[DRAWS];

static faults *tuned(const char *settings)
{
    buf why;
    buf_init(&why, 1000);
    faults *f = faults_new(1);
    json_t *wanted = json_loads(settings, 0, NULL);
    assert_non_null(wanted);
    assert_true(faults_configure(f, wanted, &why));
    json_decref(wanted);
    buf_free(&why);
    return f;
}

static int by_value(const void *a, const void *b)
{
    const int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
    return (one > other) - (one < other);
}

static void draw_sorted(faults *f, verb v)
{
    rng random;
    rng_seed(&random, 3);
    for (size_t i = 0; i < DRAWS; i++) {
        const latency l = faults_latency(f, v, &random);
        draws[i] = l.before_ns + l.after_ns;
    }
    qsort(draws, DRAWS, sizeof draws[0], by_value);
}

/** Within one percent of so many milliseconds. */
static void assert_about(int64_t ns, double ms)
{
    assert_in_range(ns, (int64_t)(ms * 0.99e6), (int64_t)(ms * 1.01e6));
}

static void latency_is_log_normal_about_its_median(void **state)
{
    (void)state;
    faults *f = tuned("{\"latency\":{\"get\":{\"p50_ms\":20,\"sigma\":0.15}}}");
    draw_sorted(f, VERB_GET);
    /* 20 ms · exp(0.15 z), z of the normal distribution's tables */
    assert_about(draws[DRAWS / 100], 20 * 0.7054);
    assert_about(draws[DRAWS / 2], 20);
    assert_about(draws[DRAWS / 10 * 9], 20 * 1.2120);
    assert_about(draws[DRAWS / 100 * 99], 20 * 1.4175);
    draw_sorted(f, VERB_PUT); /* of which nothing was said */
    assert_int_equal(draws[DRAWS - 1], 0);
    faults_free(f);
}

static void some_requests_are_many_times_slower(void **state)
{
    (void)state;
    faults *f =
        tuned("{\"latency\":{\"any\":{\"p50_ms\":20,\"slow_percent\":1,\"slow_times\":10}}}");
    draw_sorted(f, VERB_LIST);
    size_t slow = 0;
    for (size_t i = 0; i < DRAWS; i++) {
        assert_true(draws[i] == 20 * NS_PER_MS || draws[i] == 200 * NS_PER_MS);
        slow += draws[i] == 200 * NS_PER_MS;
    }
    assert_in_range(slow, DRAWS / 100 - 130, DRAWS / 100 + 130); /* four deviations */
    faults_free(f);
}

static void latency_is_split_where_the_request_is_applied(void **state)
{
    (void)state;
    rng random;
    rng_seed(&random, 4);
    faults *f =
        tuned("{\"latency\":{\"put\":{\"p50_ms\":100,\"apply_at\":0.25},\"get\":{\"p50_ms\":8}}}");
    latency l = faults_latency(f, VERB_PUT, &random);
    assert_int_equal(l.before_ns, 25 * NS_PER_MS);
    assert_int_equal(l.after_ns, 75 * NS_PER_MS);
    l = faults_latency(f, VERB_GET, &random);
    assert_int_equal(l.before_ns, 4 * NS_PER_MS);
    assert_int_equal(l.after_ns, 4 * NS_PER_MS);
    faults_free(f);
}

static void bytes_cost_time_on_each_connection_and_in_all(void **state)
{
    (void)state;
    faults *f = tuned("{\"bandwidth\":{\"connection\":1000000,\"total\":3000000}}");
    pace own[8] = {{0}};
    int64_t now = 1000 * NS_PER_S;
    assert_true(faults_paced(f));
    /* One alone: its own limit. */
    for (int i = 1; i <= 10; i++)
        assert_int_equal(faults_pay(f, &own[0], 10000, true, now), now + i * 10 * NS_PER_MS);
    /* Eight at once: three megabytes a second are the limit, but for a moment's credit. */
    int64_t last = 0;
    now += NS_PER_S;
    for (int turn = 0; turn < 100; turn++)
        for (size_t c = 0; c < 8; c++) {
            const int64_t until = faults_pay(f, &own[c], 10000, true, now);
            last = until > last ? until : last;
        }
    const int64_t whole = 8000000ll * NS_PER_S / 3000000;
    assert_in_range(last - now, whole - 6 * NS_PER_MS, whole);
    faults_free(f);
}

/* A line that stood still for long has so much to give at once, and no more. */
static void what_went_unused_is_kept_for_a_while(void **state)
{
    (void)state;
    static const struct {
        const char *settings;
        int64_t kept_ms;
    } cases[] = {
        {"{\"bandwidth\":{\"total\":1000000}}", 5},
        {"{\"bandwidth\":{\"total\":1000000,\"burst_ms\":0}}", 0},
        {"{\"bandwidth\":{\"total\":1000000,\"burst_ms\":200}}", 200},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        faults *f = tuned(cases[i].settings);
        pace own = {0};
        const int64_t now = 1000 * NS_PER_S;
        /* Half a second's worth. */
        assert_int_equal(faults_pay(f, &own, 500000, true, now),
                         now + (500 - cases[i].kept_ms) * NS_PER_MS);
        /* It is paid for: from here on there is nothing to give. */
        assert_int_equal(faults_pay(f, &own, 100000, true, now + 10 * NS_PER_MS),
                         now + (600 - cases[i].kept_ms) * NS_PER_MS);
        faults_free(f);
    }
}

/* A line of which each direction has its own: what is sent takes nothing from what is received. */
static void a_limit_of_what_is_received(void **state)
{
    (void)state;
    faults *f = tuned("{\"bandwidth\":{\"received\":1000000,\"burst_ms\":0}}");
    pace own = {0};
    const int64_t now = 1000 * NS_PER_S;
    assert_true(faults_paced(f));
    assert_int_equal(faults_pay(f, &own, 500000, false, now), now);
    assert_int_equal(faults_pay(f, &own, 500000, true, now), now + 500 * NS_PER_MS);
    assert_int_equal(faults_pay(f, &own, 500000, false, now), now);
    assert_int_equal(faults_pay(f, &own, 500000, true, now), now + NS_PER_S);
    faults_free(f);
}

static void without_settings_nothing_waits(void **state)
{
    (void)state;
    rng random;
    pace own = {0};
    rng_seed(&random, 5);
    faults *f = tuned("{}");
    assert_false(faults_paced(f));
    assert_false(faults_armed(f));
    assert_int_equal(faults_latency(f, VERB_GET, &random).before_ns, 0);
    assert_int_equal(faults_pay(f, &own, 1000000, true, 7), 7);
    faults_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latency_is_log_normal_about_its_median),
        cmocka_unit_test(some_requests_are_many_times_slower),
        cmocka_unit_test(latency_is_split_where_the_request_is_applied),
        cmocka_unit_test(bytes_cost_time_on_each_connection_and_in_all),
        cmocka_unit_test(what_went_unused_is_kept_for_a_while),
        cmocka_unit_test(a_limit_of_what_is_received),
        cmocka_unit_test(without_settings_nothing_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
