// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <errno.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_new_error_is_empty(void **state)
{
    (void)state;
    bw_error *error = bw_error_new();
    assert_non_null(error);
    assert_int_equal(bw_error_code(error), BW_OK);
    assert_int_equal(bw_error_class(error), BW_CLASS_OK);
    assert_int_equal(bw_error_step(error), -1);
    assert_int_equal(bw_error_attempts(error), 0);
    assert_string_equal(bw_error_key(error), "");
    assert_string_equal(bw_error_message(error), "");
    bw_error_free(error);
}

static void setting_fills_and_clears(void **state)
{
    (void)state;
    bw_error error;
    error_clear(&error);
    errno = ENOENT;
    assert_int_equal(error_set(&error, BW_CORRUPT, "part %d of %s", 3, "x"), BW_CORRUPT);
    assert_int_equal(errno, ENOENT);
    error_set_key(&error, "data/00/p");
    error_set_step(&error, 17);
    error_set_attempts(&error, 4);
    assert_int_equal(bw_error_code(&error), BW_CORRUPT);
    assert_int_equal(bw_error_class(&error), BW_CLASS_DATA);
    assert_string_equal(bw_error_message(&error), "part 3 of x");
    assert_string_equal(bw_error_key(&error), "data/00/p");
    assert_int_equal(bw_error_step(&error), 17);
    assert_int_equal(bw_error_attempts(&error), 4);
    error_prefix(&error, "step %d", 17);
    assert_string_equal(bw_error_message(&error), "step 17: part 3 of x");
    bw_error copy;
    error_copy(&copy, &error);
    assert_string_equal(copy.message, error.message);
    assert_int_equal(error_set(&error, BW_IO, "gone"), BW_IO);
    assert_string_equal(bw_error_key(&error), "");
    assert_int_equal(bw_error_step(&error), -1);
    assert_int_equal(bw_error_attempts(&error), 0);
    error_set_step(&error, UINT64_MAX);
    assert_int_equal(bw_error_step(&error), INT64_MAX);
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    char text[3000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    bw_error error;
    error_clear(&error);
    error_set(&error, BW_IO, "%s", text);
    assert_int_equal(strlen(error.message), ERROR_MESSAGE_MAX);
    error_prefix(&error, "%s", "front");
    assert_int_equal(strlen(error.message), ERROR_MESSAGE_MAX);
    assert_memory_equal(error.message, "front: aaa", 10);
    error_prefix(&error, "%s", text);
    assert_int_equal(strlen(error.message), ERROR_MESSAGE_MAX);
    error_set_key(&error, text);
    assert_int_equal(strlen(error.key), ERROR_KEY_MAX);
}

static void null_is_allowed_everywhere(void **state)
{
    (void)state;
    assert_int_equal(error_set(NULL, BW_IO, "x"), BW_IO);
    error_clear(NULL);
    error_prefix(NULL, "x");
    error_set_key(NULL, "x");
    error_set_step(NULL, 1);
    error_set_attempts(NULL, 1);
    error_copy(NULL, NULL);
    bw_error_free(NULL);
    assert_int_equal(bw_error_code(NULL), BW_OK);
    assert_int_equal(bw_error_class(NULL), BW_CLASS_OK);
    assert_int_equal(bw_error_step(NULL), -1);
    assert_int_equal(bw_error_attempts(NULL), 0);
    assert_string_equal(bw_error_key(NULL), "");
    assert_string_equal(bw_error_message(NULL), "");
}

static bw_status forward(bw_status status)
{
    BW_TRY(status);
    return BW_END;
}

static void try_forwards_failures_only(void **state)
{
    (void)state;
    assert_int_equal(forward(BW_OK), BW_END);
    assert_int_equal(forward(BW_IO), BW_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_error_is_empty),       cmocka_unit_test(setting_fills_and_clears),
        cmocka_unit_test(long_texts_are_cut),         cmocka_unit_test(null_is_allowed_everywhere),
        cmocka_unit_test(try_forwards_failures_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
