// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "protocol/machine.h"

static void test_a_code_counts_most(void **state)
{
    (void)state;
    for (int outcome = STORE_OK; outcome < STORE_OUTCOMES; outcome++) {
        const machine_reply reply = {.outcome = (store_outcome)outcome, .code = BW_NO_SPACE};
        assert_int_equal(machine_status(&reply), BW_NO_SPACE);
    }
}

static void test_else_the_outcome(void **state)
{
    (void)state;
    static const bw_status expected[STORE_OUTCOMES] = {
        [STORE_OK] = BW_OK,
        [STORE_NOT_FOUND] = BW_NOT_FOUND,
        [STORE_RETRY] = BW_IO,
        [STORE_DENIED] = BW_DENIED,
        [STORE_FATAL] = BW_IO,
        [STORE_CREATED] = BW_OK,
        [STORE_EXISTS] = BW_OK,
        [STORE_UNKNOWN] = BW_UNKNOWN,
        [STORE_UNSUPPORTED] = BW_UNSUPPORTED,
    };
    for (int outcome = STORE_OK; outcome < STORE_OUTCOMES; outcome++) {
        const machine_reply reply = {.outcome = (store_outcome)outcome};
        assert_int_equal(machine_status(&reply), expected[outcome]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_code_counts_most),
        cmocka_unit_test(test_else_the_outcome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
