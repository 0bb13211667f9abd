// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/record.h"

#include "base/error.h"
#include "scratch.h"

static void test_fields(void **state)
{
    (void)state;
    record r;
    record_init(&r, 32);
    assert_int_equal(record_add_field(&r, "a", "12", 2), BW_OK);
    assert_int_equal(record_open_field(&r, "bc", 2), BW_OK);
    buf_put_text(&r.data, "345");
    record_close_field(&r);
    const record_field *f = record_find(&r, "bc", 2);
    assert_non_null(f);
    assert_int_equal(f->value_bytes, 3);
    assert_memory_equal(r.data.data + f->value_at, "345", 3);
    assert_null(record_find(&r, "b", 1));
    assert_null(record_find(&r, "12", 2));
    assert_int_equal(record_find(&r, "a", 1)->value_bytes, 2);
    assert_int_equal(record_add_field(&r, "d", "0123456789012345678901234567", 28), BW_TOO_LARGE);
    record_free(&r);
    assert_int_equal(r.field_count, 0);
    assert_int_equal(record_add_field(&r, "", NULL, 0), BW_OK);
    record_free(&r);
}

static void test_ids(void **state)
{
    (void)state;
    record r;
    record_init(&r, 32);
    assert_int_equal(record_set_id(&r, "%s@%d", "a", 12), BW_OK);
    assert_string_equal(r.id, "a@12");
    assert_int_equal(record_set_id(&r, "b"), BW_OK);
    assert_string_equal(r.id, "b");
    record_free(&r);
    assert_null(r.id);
}

static void test_failures_name_the_place(void **state)
{
    (void)state;
    bw_error error;
    char name[] = "dir/x";
    const document d = {.path = name, .name = name};
    assert_int_equal(record_fail(&error, BW_INPUT_BAD, &d, 1ull << 40, "is %s", "odd"),
                     BW_INPUT_BAD);
    assert_string_equal(error.message, "input dir/x at byte 1099511627776: is odd");
    assert_string_equal(error.key, "dir/x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_failures_name_the_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
