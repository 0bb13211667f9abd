// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "refusal.h"

#include "../fuzz/meter.h"
#include "base/clock.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

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

/* Of all threads of this process. */
static int64_t processor_ns(void)
{
    struct timespec t;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void expect_refusal(attempt_fn attempt, void *context, bw_status expected, size_t bytes_usual)
{
    static bw_error error;
    int64_t fastest_ns = INT64_MAX, least_ns = INT64_MAX;
    for (int i = 0; i < TRIES_MIN || (i < TRIES_MAX && (least_ns >= REFUSAL_NS_MAX ||
                                                        fastest_ns >= REFUSAL_WAIT_NS_MAX));
         i++) {
        memset(&error, 0, sizeof error);
        meter_start();
        const int64_t from = clock_now(clock_system()), processor_from = processor_ns();
        const bw_status status = attempt(context, &error);
        least_ns = at_most(least_ns, processor_ns() - processor_from);
        fastest_ns = at_most(fastest_ns, clock_now(clock_system()) - from);
        const size_t bytes = meter_peak();
        check_once(status, expected, &error);
        const size_t extra = bytes > bytes_usual ? bytes - bytes_usual : 0;
        if (extra >= REFUSAL_BYTES_MAX)
            fail_msg("%zu bytes of memory, %zu when it succeeds", bytes, bytes_usual);
        largest_bytes = extra > largest_bytes ? extra : largest_bytes;
    }
    if (least_ns >= REFUSAL_NS_MAX || fastest_ns >= REFUSAL_WAIT_NS_MAX)
        fail_msg("%.1f ms of the processor, %.1f ms in all, at best", (double)least_ns / 1e6,
                 (double)fastest_ns / 1e6);
    slowest_ns = least_ns > slowest_ns ? least_ns : slowest_ns;
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
