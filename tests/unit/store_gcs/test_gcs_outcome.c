// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Each row of the table, said a second time: what (status, code) means to a create and to all else.
 */
#include "store_gcs/gcs_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

typedef struct expected {
    int status;
    const char *code;
    store_outcome create, other;
    bw_status meaning;
} expected;

static const expected rows[] = {
    {412, "conditionNotMet", STORE_EXISTS, STORE_FATAL, BW_IO},
    {404, "notFound", STORE_FATAL, STORE_NOT_FOUND, BW_NOT_FOUND},
    {416, "requestedRangeNotSatisfiable", STORE_FATAL, STORE_FATAL, BW_CORRUPT},
    {403, "forbidden", STORE_FATAL, STORE_DENIED, BW_DENIED},
    {403, "insufficientPermissions", STORE_FATAL, STORE_DENIED, BW_DENIED},
    {401, "authError", STORE_FATAL, STORE_DENIED, BW_DENIED},
    {401, "required", STORE_FATAL, STORE_DENIED, BW_DENIED},
    {403, "accountDisabled", STORE_FATAL, STORE_DENIED, BW_DENIED},
    {403, "retentionPolicyNotMet", STORE_FATAL, STORE_DENIED, BW_DENIED},
    {403, "objectUnderActiveHold", STORE_FATAL, STORE_DENIED, BW_DENIED},
    {413, "uploadTooLarge", STORE_FATAL, STORE_FATAL, BW_TOO_LARGE},
    {400, "crc32cMismatch", STORE_RETRY, STORE_RETRY, BW_IO},
    {503, "uploadBrokenConnection", STORE_RETRY, STORE_RETRY, BW_IO},
    {409, "conflict", STORE_UNKNOWN, STORE_RETRY, BW_IO},
    {429, "rateLimitExceeded", STORE_UNKNOWN, STORE_RETRY, BW_IO},
    {403, "userRateLimitExceeded", STORE_UNKNOWN, STORE_RETRY, BW_IO},
    {429, "usageLimits", STORE_UNKNOWN, STORE_RETRY, BW_IO},
    {503, "backendError", STORE_UNKNOWN, STORE_RETRY, BW_IO},
    {500, "internalError", STORE_UNKNOWN, STORE_RETRY, BW_IO},
    {200, "", STORE_CREATED, STORE_OK, BW_OK},
    {204, "", STORE_UNKNOWN, STORE_OK, BW_OK},
    {206, "", STORE_UNKNOWN, STORE_OK, BW_OK},
    {201, "", STORE_UNKNOWN, STORE_RETRY, BW_IO},
    {308, "", STORE_FATAL, STORE_FATAL, BW_INVALID},
    {401, "", STORE_FATAL, STORE_DENIED, BW_DENIED},
    {403, "", STORE_FATAL, STORE_DENIED, BW_DENIED},
    {404, "", STORE_UNKNOWN, STORE_RETRY, BW_IO},
    {407, "", STORE_FATAL, STORE_DENIED, BW_DENIED},
    {408, "", STORE_UNKNOWN, STORE_RETRY, BW_IO},
    {409, "", STORE_UNKNOWN, STORE_RETRY, BW_IO},
    {412, "", STORE_EXISTS, STORE_FATAL, BW_IO},
    {416, "", STORE_FATAL, STORE_FATAL, BW_CORRUPT},
    {429, "", STORE_UNKNOWN, STORE_RETRY, BW_IO},
    {418, "", STORE_FATAL, STORE_FATAL, BW_IO},
    {501, "", STORE_UNSUPPORTED, STORE_FATAL, BW_UNSUPPORTED},
    {502, "", STORE_UNKNOWN, STORE_RETRY, BW_IO},
};

static void assert_found(int status, const char *code, const expected *e)
{
    const net_outcome *found = net_outcome_find(&gcs_outcomes, status, code);
    if (found->create != e->create || found->other != e->other || found->meaning != e->meaning)
        fail_msg("%d %s: %s, %s", status, code, store_outcome_name(found->create),
                 store_outcome_name(found->other));
}

static void test_every_row(void **state)
{
    (void)state;
    const size_t count = gcs_outcomes.count;
    const net_outcome *all = gcs_outcomes.rows;
    assert_int_equal(count, sizeof rows / sizeof rows[0]);
    for (size_t i = 0; i < count; i++) {
        assert_found(rows[i].status, rows[i].code, &rows[i]);
        assert_ptr_equal(net_outcome_find(&gcs_outcomes, rows[i].status, rows[i].code), &all[i]);
        assert_string_not_equal(all[i].source, "");
        /* A create never ends in an outcome of the others, and they not in one of its own. */
        assert_true(all[i].create >= STORE_CREATED || all[i].create == STORE_RETRY ||
                    all[i].create == STORE_FATAL);
        assert_true(all[i].other < STORE_CREATED);
    }
}

/* The code decides, whatever status a store sends it with. */
static void test_a_code_goes_before_a_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].code[0] != '\0')
            assert_found(418, rows[i].code, &rows[i]);
    }
}

static void test_what_nobody_knows(void **state)
{
    (void)state;
    static const int statuses[] = {0, 100, 299, 500, 503, 504, 599, 999, -1, 1000};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        const net_outcome *row = net_outcome_find(&gcs_outcomes, statuses[i], "SomethingNew");
        assert_int_equal(row->create, STORE_UNKNOWN);
        assert_int_equal(row->other, STORE_RETRY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row),
        cmocka_unit_test(test_a_code_goes_before_a_status),
        cmocka_unit_test(test_what_nobody_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
