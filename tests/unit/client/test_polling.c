// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/polling.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* A second of S3's reads below one prefix. */
#define PREFIX_READS 5500

static void test_a_quarter_of_the_gap(void **state)
{
    (void)state;
    polling p;
    int64_t now_ns = 7 * NS_PER_S;
    polling_init(&p, now_ns);
    for (int i = 0; i < 100; i++) {
        now_ns += NS_PER_S;
        polling_learn(&p, 5, now_ns); /* five versions a second */
    }
    assert_in_range(polling_interval_ns(&p, false, 0, now_ns), 49 * NS_PER_MS, 50 * NS_PER_MS);
    assert_in_range(polling_interval_ns(&p, true, 0, now_ns), 49 * NS_PER_MS, 50 * NS_PER_MS);
    /* With the silence it gets longer, up to a second. */
    int64_t before_ns = 0;
    for (int64_t silence_ns = 0; silence_ns < 20 * NS_PER_S; silence_ns += 100 * NS_PER_MS) {
        const int64_t interval_ns = polling_interval_ns(&p, false, 0, now_ns + silence_ns);
        assert_true(interval_ns >= before_ns && interval_ns >= silence_ns / 16 - 250 * NS_PER_MS);
        before_ns = interval_ns;
    }
    assert_int_equal(before_ns, NS_PER_S);
    assert_int_equal(polling_interval_ns(&p, true, 0, now_ns + 20 * NS_PER_S), 100 * NS_PER_MS);
}

static void test_never_at_once(void **state)
{
    (void)state;
    polling p;
    polling_init(&p, NS_PER_S);
    assert_int_equal(polling_interval_ns(&p, false, 0, NS_PER_S), 2 * NS_PER_MS);
    polling_learn(&p, 1000, NS_PER_S); /* in no time */
    assert_int_equal(polling_interval_ns(&p, false, 0, NS_PER_S), 2 * NS_PER_MS);
}

/* The polls of a whole job together, at the interval that its fast commits ask for. */
static double polls_a_second(uint32_t ranks, uint32_t here, int64_t silence_ns)
{
    polling p;
    polling_init(&p, 0);
    const int64_t interval_ns =
        polling_interval_ns(&p, false, polling_floor_ns(ranks, here), silence_ns);
    return (double)ranks / here * (double)NS_PER_S / (double)interval_ns;
}

static void test_a_large_job_stays_below_a_quarter_of_a_prefix(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {64, 512, 1024, 4096, 100000, UINT32_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const uint32_t ranks = sizes[i];
        /* Each has a process, or eight share one: their polls are one. */
        assert_true(polls_a_second(ranks, 1, 0) < PREFIX_READS / 4.0);
        assert_true(polls_a_second(ranks, 8, 0) < PREFIX_READS / 4.0);
        assert_true(polls_a_second(ranks, 1, 3600 * NS_PER_S) < PREFIX_READS / 4.0);
    }
    /* What it costs: so long a rank may not see a step. */
    assert_in_range(polling_floor_ns(1024, 1), 0, 820 * NS_PER_MS);
    assert_in_range(polling_floor_ns(1024, 8), 0, 103 * NS_PER_MS);
}

static void test_a_small_job_is_as_quick_as_one_rank(void **state)
{
    (void)state;
    polling p;
    polling_init(&p, 0);
    for (int64_t t = 1; t <= 100; t++)
        polling_learn(&p, 1, t * 100 * NS_PER_MS); /* a commit each tenth of a second */
    for (uint32_t ranks = 1; ranks <= 16; ranks++)
        assert_int_equal(polling_interval_ns(&p, false, polling_floor_ns(ranks, 1), 10 * NS_PER_S),
                         polling_interval_ns(&p, false, 0, 10 * NS_PER_S));
    /* Nor is one on a local store slowed, whatever its size. */
    assert_int_equal(polling_interval_ns(&p, true, polling_floor_ns(1024, 1), 10 * NS_PER_S),
                     polling_interval_ns(&p, true, 0, 10 * NS_PER_S));
}

static void test_jitter(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 3);
    int64_t least = INT64_MAX, most = 0, sum = 0;
    for (int i = 0; i < 10000; i++) {
        const int64_t ns = polling_jitter_ns(NS_PER_S, &r);
        least = ns < least ? ns : least;
        most = ns > most ? ns : most;
        sum += ns;
    }
    assert_in_range(least, 750 * NS_PER_MS, 752 * NS_PER_MS);
    assert_in_range(most, 1248 * NS_PER_MS, 1250 * NS_PER_MS);
    assert_in_range(sum / 10000, 990 * NS_PER_MS, 1010 * NS_PER_MS);
    assert_int_equal(polling_jitter_ns(0, &r), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_quarter_of_the_gap),
        cmocka_unit_test(test_never_at_once),
        cmocka_unit_test(test_a_large_job_stays_below_a_quarter_of_a_prefix),
        cmocka_unit_test(test_a_small_job_is_as_quick_as_one_rank),
        cmocka_unit_test(test_jitter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
