// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "payload/safetensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void names_and_types_are_one_to_one(void **state)
{
    (void)state;
    for (unsigned i = 0; i < TENSOR_TYPES; i++) {
        const char *name = tensor_type_name((tensor_type)i);
        tensor_type found;
        assert_true(tensor_type_find(name, strlen(name), &found));
        assert_int_equal(found, i);
        assert_false(tensor_type_find(name, strlen(name) - 1, &found) && found == i);
    }
    tensor_type type;
    assert_true(tensor_type_find("BF16", 4, &type) && tensor_type_bits(type) == 16);
    assert_true(tensor_type_find("F8_E4M3", 7, &type) && tensor_type_bits(type) == 8);
    assert_false(tensor_type_find("bf16", 4, &type));
    assert_false(tensor_type_find("F128", 4, &type));
    assert_false(tensor_type_find("", 0, &type));
}

static void sizes_do_not_overflow(void **state)
{
    (void)state;
    uint64_t size;
    const uint64_t big = (uint64_t)1 << 62, shape[] = {3, 5, 7}, empty[] = {big, big, 0};
    const uint64_t wide[] = {big}, wider[] = {2 * big}, square[] = {(uint64_t)1 << 32, 1u << 31};
    assert_true(tensor_size(TENSOR_F32, shape, 3, &size) && size == 420);
    assert_true(tensor_size(TENSOR_F64, NULL, 0, &size) && size == 8);
    assert_true(tensor_size(TENSOR_U8, empty + 2, 1, &size) && size == 0);
    assert_false(tensor_size(TENSOR_U8, empty, 3, &size));
    const uint64_t first[] = {0, big, big};
    assert_false(tensor_size(TENSOR_U8, first, 3, &size));
    assert_false(tensor_size(TENSOR_U8, wide, 1, &size));
    assert_false(tensor_size(TENSOR_U8, wider, 1, &size));
    assert_false(tensor_size(TENSOR_BF16, square, 2, &size));
    /* Types below a byte fill whole bytes. */
    const uint64_t odd[] = {3}, even[] = {4};
    assert_false(tensor_size(TENSOR_F4, odd, 1, &size));
    assert_true(tensor_size(TENSOR_F4, even, 1, &size) && size == 2);
    assert_true(tensor_size(TENSOR_F6_E2M3, even, 1, &size) && size == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_types_are_one_to_one),
        cmocka_unit_test(sizes_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
