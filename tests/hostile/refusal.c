// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "refusal.h"

#include "../fuzz/meter.h"
#include "base/clock.h"
#include <stdio.h>
#include <string.h>

#define TRIES_MIN 3
#define TRIES_MAX 40

static unsigned refusals;
static int64_t slowest_ns;
static size_t largest_bytes;

static void check_once(bw_status status, bw_status expected, const bw_error *error)
{
    if (status != expected)
        fail_msg("%s where %s was expected: %s", bw_status_name(status), bw_status_name(expected),
                 status == BW_OK ? "" : error->message);
    if (expected == BW_OK)
        return;
    assert_int_equal(error->code, expected);
    assert_true(error->message[0] != '\0');
}

void expect_refusal(attempt_fn attempt, void *context, bw_status expected, size_t bytes_usual)
{
    static bw_error error;
    int64_t fastest_ns = INT64_MAX;
    for (int i = 0; i < TRIES_MIN || (i < TRIES_MAX && fastest_ns >= REFUSAL_NS_MAX); i++) {
        memset(&error, 0, sizeof error);
        meter_start();
        const int64_t from = clock_now(clock_system());
        const bw_status status = attempt(context, &error);
        const int64_t spent = clock_now(clock_system()) - from;
        const size_t bytes = meter_peak();
        check_once(status, expected, &error);
        const size_t extra = bytes > bytes_usual ? bytes - bytes_usual : 0;
        if (extra >= REFUSAL_BYTES_MAX)
            fail_msg("%zu bytes of memory, %zu when it succeeds", bytes, bytes_usual);
        largest_bytes = extra > largest_bytes ? extra : largest_bytes;
        fastest_ns = spent < fastest_ns ? spent : fastest_ns;
    }
    if (fastest_ns >= REFUSAL_NS_MAX)
        fail_msg("%.1f ms at best", (double)fastest_ns / 1e6);
    slowest_ns = fastest_ns > slowest_ns ? fastest_ns : slowest_ns;
    refusals++;
}

size_t expect_success(attempt_fn attempt, void *context)
{
    static bw_error error;
    memset(&error, 0, sizeof error);
    meter_start();
    const bw_status status = attempt(context, &error);
    const size_t bytes = meter_peak();
    if (status != BW_OK)
        fail_msg("%s: %s", bw_status_name(status), error.message);
    return bytes;
}

int print_refusals(void **state)
{
    (void)state;
    printf("%u refusals; slowest %.3f ms, most memory %zu bytes\n", refusals,
           (double)slowest_ns / 1e6, largest_bytes);
    return 0;
}
