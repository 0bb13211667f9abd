// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "protocol/cadence.h"

#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static cadence parsed(const char *text)
{
    cadence c;
    assert_int_equal(cadence_parse(text, &c, NULL), BW_OK);
    return c;
}

static void names(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        cadence_policy policy;
        int64_t gap_ms;
        double conflict_budget;
        bool counts_map;
    } good[] = {
        {"naive", CADENCE_NAIVE, 0, 0, false},
        {"turn", CADENCE_TURN, 0, 0, false},
        {"fixed:250", CADENCE_FIXED, 250, 0, false},
        {"fixed:9999999", CADENCE_FIXED, 9999999, 0, false},
        {"incr", CADENCE_INCR, 10, 0, false},
        {"aimd:interval", CADENCE_AIMD_INTERVAL, 10, 0, false},
        {"aimd:rate", CADENCE_AIMD_RATE, 10, 0, false},
        {"dac", CADENCE_DAC, 0, 0.0512932944, false},
        {"dac:map", CADENCE_DAC, 0, 0.0512932944, true},
        {"dac:20", CADENCE_DAC, 0, 0.2231435513, false},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const cadence c = parsed(good[i].text);
        assert_int_equal(c.policy, good[i].policy);
        assert_int_equal(c.gap_ns, good[i].gap_ms * NS_PER_MS);
        assert_true(fabs(c.conflict_budget - good[i].conflict_budget) < 1e-9);
        assert_int_equal(c.counts_map, good[i].counts_map);
        assert_ptr_equal(strstr(good[i].text, cadence_name(&c)), good[i].text);
    }
    const char *bad[] = {"",       "fixed",   "fixed:",          "fixed:0", "fixed:-1", "fixed:1x",
                         "naive ", "Fixed:5", "fixed:999999999", "aimd",    "aimd:",    "incr:1",
                         "dac:",   "dac:0",   "dac:100",         "dac:5%",  "dac:Map",  "turns"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cadence c;
        bw_error error;
        assert_int_equal(cadence_parse(bad[i], &c, &error), BW_INVALID);
        assert_non_null(strstr(error.message, "naive, fixed:N"));
        assert_int_equal(c.policy, CADENCE_NAIVE);
    }
}

static void gaps(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 1);
    cadence c = parsed("naive");
    cadence_attempted(&c, &(cadence_attempt){.now_ns = 500, .conflict = true}, &r);
    assert_int_equal(cadence_due(&c, 100), 500);
    assert_int_equal(cadence_due(&c, 600), 600);
    c = parsed("fixed:1");
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

/* A row: the policy, how its attempts ended (+ a commit, - a conflict), the gap then. */
static void heuristics(void **state)
{
    (void)state;
    static const struct {
        const char *policy, *ends;
        double gap_ms;
    } rows[] = {
        {"fixed:100", "+-+--", 100},
        {"incr", "", 10},
        {"incr", "+++", 10},
        {"incr", "-", 11},
        {"incr", "-+-+--", 14},
        {"aimd:interval", "+", 20},
        {"aimd:interval", "++++", 50},
        {"aimd:interval", "++++-", 25},
        {"aimd:interval", "+-", 10},
        {"aimd:interval", "------", 1}, /* never below a millisecond */
        {"aimd:rate", "-", 20},
        {"aimd:rate", "---------", 5120},
        {"aimd:rate", "---------+", 3386.2434},            /* one attempt more in ten seconds */
        {"aimd:rate", "------------------------", 600000}, /* nor above ten minutes */
        {"aimd:rate", "++", 9.98003992},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rng r;
        rng_seed(&r, i);
        cadence c = parsed(rows[i].policy);
        int64_t now_ns = NS_PER_S;
        for (const char *end = rows[i].ends; *end != '\0'; end++) {
            cadence_attempted(&c, &(cadence_attempt){.now_ns = now_ns, .conflict = *end == '-'},
                              &r);
            const int64_t wait_ns = cadence_due(&c, 0) - now_ns;
            if (*end == '+')
                assert_int_equal(wait_ns, c.gap_ns);
            else
                assert_in_range(wait_ns, 0, c.gap_ns);
            now_ns += wait_ns;
        }
        if (fabs((double)c.gap_ns / NS_PER_MS - rows[i].gap_ms) > 1e-3)
            fail_msg("%s %s: %f ms, not %f", rows[i].policy, rows[i].ends,
                     (double)c.gap_ns / NS_PER_MS, rows[i].gap_ms);
    }
}

/* Algorithm 1, against figures worked out by hand: T before jitter, in ms, after `samples` attempts
 * whose window took `fragile_ms` each. */
static void dac_gaps(void **state)
{
    (void)state;
    static const struct {
        const char *policy;
        uint32_t active, mapped, samples;
        double fragile_ms, gap_ms;
    } rows[] = {
        {"dac", 1, 1, 1, 100, 180},               /* τ = 20: only duty, 9 τ */
        {"dac", 1, 1, 2, 100, 324},               /* τ = 36 */
        {"dac", 0, 0, 1, 100, 180},               /* nobody is known yet */
        {"dac", 2, 2, 1, 100, 369.915},           /* τ/.0513 − τ */
        {"dac", 32, 64, 1, 100, 12067.3538},      /* 31 τ/.0513 − τ */
        {"dac:map", 32, 64, 1, 100, 24544.61444}, /* 63 */
        {"dac:20", 2, 2, 1, 100, 180},            /* duty binds */
        {"dac:20", 32, 32, 1, 100, 2758.4862},
        {"dac", 32, 32, 0, 100, 0},           /* no create yet: no window, no gap */
        {"dac", 5000, 5000, 9, 1000, 600000}, /* capped */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rng r;
        rng_seed(&r, i);
        cadence c = parsed(rows[i].policy);
        for (uint32_t k = 0; k < rows[i].samples; k++) {
            const cadence_attempt a = {.now_ns = NS_PER_S,
                                       .fragile_ns = (int64_t)(rows[i].fragile_ms * NS_PER_MS),
                                       .conflict = k % 2 == 0, /* regardless of the outcome */
                                       .active = rows[i].active,
                                       .mapped = rows[i].mapped};
            cadence_attempted(&c, &a, &r);
        }
        if (fabs((double)c.gap_ns / NS_PER_MS - rows[i].gap_ms) > 1e-2)
            fail_msg("%s of %u: %f ms, not %f", rows[i].policy, rows[i].active,
                     (double)c.gap_ns / NS_PER_MS, rows[i].gap_ms);
    }
}

/* The wait is T(1 + ρU), and U is uniform. */
static void dac_jitter(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 7);
    cadence c = parsed("dac");
    double least = 9, most = 0, sum = 0;
    const int draws = 2000;
    for (int i = 0; i < draws; i++) {
        const cadence_attempt a = {
            .now_ns = i, .fragile_ns = 100 * NS_PER_MS, .active = 32, .mapped = 32};
        cadence_attempted(&c, &a, &r);
        const double times = (double)(cadence_due(&c, 0) - i) / (double)c.gap_ns;
        least = fmin(least, times);
        most = fmax(most, times);
        sum += times;
    }
    assert_true(least >= 1.0 && least < 1.01);
    assert_true(most <= 1.5 && most > 1.49);
    assert_true(fabs(sum / draws - 1.25) < 0.01);
}

/* An attempt without a create (a store that was away, a limit) says nothing about the window; a
 * window that has grown is followed. */
static void dac_window(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 3);
    cadence c = parsed("dac");
    cadence_attempt a = {.fragile_ns = 100 * NS_PER_MS, .active = 8, .mapped = 8};
    for (int i = 0; i < 60; i++)
        cadence_attempted(&c, &a, &r);
    const int64_t gap_ns = c.gap_ns;
    a.fragile_ns = 0;
    cadence_attempted(&c, &a, &r);
    assert_int_equal(c.gap_ns, gap_ns);
    a.fragile_ns = 300 * NS_PER_MS;
    for (int i = 0; i < 60; i++)
        cadence_attempted(&c, &a, &r);
    assert_true(fabs((double)c.gap_ns / (double)gap_ns - 3) < 1e-3);
    /* Fewer producers: it takes effect with the next attempt. */
    a.active = 1;
    cadence_attempted(&c, &a, &r);
    assert_true(fabs((double)c.gap_ns / (2700.0 * NS_PER_MS) - 1) < 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),    cmocka_unit_test(gaps),       cmocka_unit_test(heuristics),
        cmocka_unit_test(dac_gaps), cmocka_unit_test(dac_jitter), cmocka_unit_test(dac_window),
    };
    return cmocka_run_group_tests_name("cadence", tests, NULL, NULL);
}
