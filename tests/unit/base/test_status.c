// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include <batchweave/status.h>

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void names_parse_back(void **state)
{
    (void)state;
    int codes = 0;
    for (int number = 0; number < 256; number++) {
        const char *name = bw_status_name((bw_status)number);
        bw_status parsed;
        if (strcmp(name, "UNKNOWN_STATUS") == 0)
            continue;
        codes++;
        assert_int_equal(bw_status_parse(name, &parsed), 0);
        assert_int_equal(parsed, number);
        assert_true(strlen(bw_status_text((bw_status)number)) > 0);
    }
    /* A released code never disappears. */
    assert_true(codes >= 48);
}

static void parsing_takes_any_case_and_prefix(void **state)
{
    (void)state;
    bw_status status = BW_OK;
    assert_int_equal(bw_status_parse("bw_chain_blocked", &status), 0);
    assert_int_equal(status, BW_CHAIN_BLOCKED);
    assert_int_equal(bw_status_parse("Trimmed", &status), 0);
    assert_int_equal(status, BW_TRIMMED);
    assert_int_equal(bw_status_parse("", &status), -1);
    assert_int_equal(bw_status_parse("bw_", &status), -1);
    assert_int_equal(bw_status_parse("TRIMME", &status), -1);
    assert_int_equal(bw_status_parse("TRIMMEDX", &status), -1);
    assert_int_equal(bw_status_parse(NULL, &status), -1);
    assert_int_equal(bw_status_parse("OK", NULL), -1);
}

static void numbers_and_classes_are_fixed(void **state)
{
    (void)state;
    assert_int_equal(BW_OK, 0);
    assert_int_equal(BW_FENCED, 30);
    assert_int_equal(BW_UNCLEAN, 63);
    assert_int_equal(bw_status_class(BW_OK), BW_CLASS_OK);
    assert_int_equal(bw_status_class(BW_INVALID), BW_CLASS_USAGE);
    assert_int_equal(bw_status_class(BW_TIMEOUT), BW_CLASS_WAIT);
    assert_int_equal(bw_status_class(BW_SEALED), BW_CLASS_STATE);
    assert_int_equal(bw_status_class(BW_IO), BW_CLASS_STORE);
    assert_int_equal(bw_status_class(BW_CORRUPT), BW_CLASS_DATA);
    assert_int_equal(bw_status_class(BW_FENCED), BW_CLASS_FATAL);
}

static void a_number_that_is_no_code(void **state)
{
    (void)state;
    assert_string_equal(bw_status_name((bw_status)999), "UNKNOWN_STATUS");
    assert_string_equal(bw_status_text((bw_status)999), "a number that is no status code");
    assert_int_equal(bw_status_class((bw_status)999), BW_CLASS_FATAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_parse_back),
        cmocka_unit_test(parsing_takes_any_case_and_prefix),
        cmocka_unit_test(numbers_and_classes_are_fixed),
        cmocka_unit_test(a_number_that_is_no_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
