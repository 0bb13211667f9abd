// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A namespace that lives for a day is clean wherever it is stopped, the same twice, and what is
 * taken from it at a stop is missed. */
#include "month.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static month lives(const char *program)
{
    char path[400];
    (void)snprintf(path, sizeof path, "%s/%s", getenv("BATCHWEAVE_ROOT"), program);
    month m = {.days = 1, .verify = path};
    month_run(&m, 3);
    return m;
}

static void a_day_is_clean_and_the_same_twice(void **state)
{
    (void)state;
    const month a = lives("sim/verify"), b = lives("sim/verify");
    if (a.result.violated)
        print_error("%s: %s\n", a.result.invariant, a.result.violation);
    assert_false(a.result.violated);
    assert_int_equal(a.result.trace, b.result.trace);
    assert_int_equal(a.stops, a.clean);
    assert_true(a.stops >= 3);
    assert_true(a.killed > 0);
    assert_true(a.result.versions > 2000);
    assert_true(a.launches > 4 && a.pins > 20);
    assert_true(a.result.marks[MARK_SEGMENT_DELETED] > 500);
    assert_true(a.result.marks[MARK_PAGE_MADE] > 0);
}

static void a_part_that_is_lost_is_missed(void **state)
{
    (void)state;
    const month m = lives("tests/sim/spoil");
    assert_true(m.result.violated);
    assert_string_equal(m.result.invariant, "VERIFY");
    assert_int_equal(m.stops, 1);
    assert_int_equal(m.clean, 0);
    dump_remove(m.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_day_is_clean_and_the_same_twice),
        cmocka_unit_test(a_part_that_is_lost_is_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
