// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void sizes_are_checked(void **state)
{
    (void)state;
    /* Through a variable: the compiler would refuse the constants. */
    volatile size_t huge = SIZE_MAX;
    assert_null(mem_alloc(huge));
    assert_null(mem_zalloc(huge));
    assert_null(mem_realloc(NULL, huge));
    assert_null(mem_aligned(64, huge));
    assert_null(mem_array(huge / 4, 8));
    assert_null(mem_array(3, huge / 2));
}

static void zero_bytes_are_no_failure(void **state)
{
    (void)state;
    void *memory[] = {mem_alloc(0),   mem_zalloc(0),        mem_array(0, 8),   mem_array(8, 0),
                      mem_dup("", 0), mem_realloc(NULL, 0), mem_aligned(64, 0)};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) {
        assert_non_null(memory[i]);
        mem_free(memory[i]);
    }
}

static void arrays_are_zeroed_and_copies_equal(void **state)
{
    (void)state;
    uint8_t *array = mem_array(100, 3);
    for (size_t i = 0; i < 300; i++)
        assert_int_equal(array[i], 0);
    mem_free(array);
    char *text = mem_strdup("abc");
    assert_string_equal(text, "abc");
    mem_free(text);
    void *aligned = mem_aligned(4096, 100);
    assert_int_equal((uintptr_t)aligned % 4096, 0);
    mem_free(aligned);
}

static void growing_keeps_what_is_there(void **state)
{
    (void)state;
    void *array = NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(mem_grow(&array, &capacity, i + 1, sizeof i), 0);
        ((uint32_t *)array)[i] = i;
    }
    assert_in_range(capacity, 1000, 2000);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(((uint32_t *)array)[i], i);
    const size_t before = capacity;
    assert_int_equal(mem_grow(&array, &capacity, SIZE_MAX / 2, sizeof(uint32_t)), -1);
    assert_int_equal(mem_grow(&array, &capacity, before + 1, 0), -1);
    assert_int_equal(capacity, before);
    assert_int_equal(((uint32_t *)array)[999], 999);
    mem_free(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_checked),
        cmocka_unit_test(zero_bytes_are_no_failure),
        cmocka_unit_test(arrays_are_zeroed_and_copies_equal),
        cmocka_unit_test(growing_keeps_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
