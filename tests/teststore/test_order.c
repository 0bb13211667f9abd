// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The two ordered structures of the test store against plain arrays: timers and names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "names.h"
#include "timers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMERS 200u
#define NAMES 500u
#define TURNS 20000u

static timer all[TIMERS];
static bool armed[TIMERS];
static int64_t last_ns;

static void fire(timer *t)
{
    const size_t i = (size_t)(t - all);
    assert_true(armed[i]);
    assert_true(t->at_ns >= last_ns);
    last_ns = t->at_ns;
    armed[i] = false;
}

static int64_t least(void)
{
    int64_t found = INT64_MAX;
    for (size_t i = 0; i < TIMERS; i++)
        if (armed[i] && all[i].at_ns < found)
            found = all[i].at_ns;
    return found;
}

static void timers_fire_in_order_whatever_is_moved_or_taken_out(void **state)
{
    (void)state;
    timers t = {0};
    rng random;
    rng_seed(&random, 1);
    for (size_t i = 0; i < TIMERS; i++)
        all[i].fire = fire;
    for (unsigned turn = 0; turn < TURNS; turn++) {
        const size_t i = (size_t)rng_below(&random, TIMERS);
        if (rng_below(&random, 3) == 0) {
            timer_disarm(&t, &all[i]);
            armed[i] = false;
        } else {
            timer_arm(&t, &all[i], (int64_t)rng_below(&random, 1000));
            armed[i] = true;
        }
        assert_int_equal(timers_next_ns(&t), least());
        if (rng_below(&random, 50) == 0) {
            const int64_t now = (int64_t)rng_below(&random, 300);
            last_ns = 0;
            timers_run(&t, now);
            assert_true(least() > now);
        }
    }
    last_ns = 0;
    timers_run(&t, INT64_MAX);
    assert_int_equal(least(), INT64_MAX);
    timers_free(&t);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void names_are_found_and_followed_in_the_order_of_bytes(void **state)
{
    (void)state;
    static char texts[NAMES][16];
    names n;
    rng random;
    names_init(&n);
    rng_seed(&random, 2);
    for (size_t i = 0; i < NAMES; i++) {
        snprintf(texts[i], sizeof texts[i], "%c%u", (int)(0xc0 + rng_below(&random, 4)),
                 (unsigned)rng_below(&random, 100000) * 1000u + (unsigned)i);
        assert_null(names_find(&n, texts[i]));
        name *made = names_make(&n, texts[i]);
        assert_ptr_equal(made, names_make(&n, texts[i]));
        assert_ptr_equal(made, names_find(&n, texts[i]));
    }
    qsort(texts, NAMES, sizeof texts[0], by_text);
    const name *at = names_from(&n, "");
    for (size_t i = 0; i < NAMES; i++, at = at->next[0]) {
        char behind[18] = "";
        assert_string_equal(at->text, texts[i]);
        memcpy(behind, texts[i], strlen(texts[i]));
        behind[strlen(texts[i])] = '\1';
        assert_ptr_equal(names_from(&n, texts[i]), at);
        assert_ptr_equal(names_from(&n, behind), at->next[0]);
    }
    assert_null(at);
    names_free(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_fire_in_order_whatever_is_moved_or_taken_out),
        cmocka_unit_test(names_are_found_and_followed_in_the_order_of_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
