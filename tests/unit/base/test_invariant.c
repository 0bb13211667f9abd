// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/invariant.h"

#include "base/thread.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int half(int number)
{
    MUST(number >= 0);
    MUST_OR(number % 2 == 0, return -1);
    return number / 2;
}

static void nothing_is_noted_while_all_holds(void **state)
{
    (void)state;
    invariant_observe(NULL);
    assert_int_equal(half(4), 2);
    assert_false(invariant_taken(NULL));
}

static void the_first_broken_one_is_told_once(void **state)
{
    bw_error error;
    (void)state;
    invariant_observe(NULL);
    assert_int_equal(half(-3), -1);
    assert_true(invariant_taken(&error));
    assert_int_equal(error.code, BW_BUG);
    assert_non_null(strstr(error.message, "half: number >= 0"));
    assert_false(invariant_taken(&error));
}

static void must_goes_on_and_must_or_leaves(void **state)
{
    (void)state;
    invariant_observe(NULL);
    assert_int_equal(half(-4), -2);
    assert_true(invariant_taken(NULL));
    assert_int_equal(half(3), -1);
    assert_true(invariant_taken(NULL));
}

static void *break_one(void *context)
{
    *(int *)context = half(1);
    return NULL;
}

static void a_note_is_its_threads(void **state)
{
    int result = 0;
    pthread_t thread;
    (void)state;
    invariant_observe(NULL);
    assert_int_equal(thread_start(&thread, "breaks", break_one, &result), BW_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(result, -1);
    assert_false(invariant_taken(NULL));
}

static const char *seen;

static void see(const char *what, const char *function)
{
    assert_string_equal(function, "half");
    seen = what;
}

static void an_observer_is_called_at_once(void **state)
{
    (void)state;
    invariant_observe(see);
    assert_int_equal(half(5), -1);
    assert_string_equal(seen, "number % 2 == 0");
    invariant_observe(NULL);
    assert_true(invariant_taken(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_noted_while_all_holds),
        cmocka_unit_test(the_first_broken_one_is_told_once),
        cmocka_unit_test(must_goes_on_and_must_or_leaves),
        cmocka_unit_test(a_note_is_its_threads),
        cmocka_unit_test(an_observer_is_called_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
