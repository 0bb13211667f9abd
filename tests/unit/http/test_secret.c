// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Memory that held a secret is zero when it is given back: seen by wrapping free. */
#include "http/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char planted[] = "wJalrXUtnFEMI/K7MDENG";
static void *watched;
static char seen[sizeof planted];

void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory)
{
    if (memory != NULL && memory == watched)
        memcpy(seen, memory, sizeof planted - 1);
    __real_free(memory);
}

static void test_zeroed_when_cleared_and_when_replaced(void **state)
{
    (void)state;
    static const char zero[sizeof planted];
    for (int how = 0; how < 2; how++) {
        secret s = {NULL, 0};
        assert_false(secret_is_set(&s));
        assert_string_equal(secret_text(&s), "");
        assert_int_equal(secret_set(&s, planted, sizeof planted - 1), BW_OK);
        assert_true(secret_is_set(&s));
        assert_string_equal(secret_text(&s), planted);
        watched = s.text;
        memcpy(seen, planted, sizeof planted);
        if (how == 0)
            secret_clear(&s);
        else
            assert_int_equal(secret_set(&s, "other", 5), BW_OK);
        watched = NULL;
        assert_memory_equal(seen, zero, sizeof planted - 1);
        secret_clear(&s);
        assert_false(secret_is_set(&s));
        secret_clear(&s);
    }
}

static void test_a_piece_of_it_is_found(void **state)
{
    (void)state;
    assert_true(secret_is_told(planted, planted));
    assert_true(secret_is_told(planted, "the key wJalrXUtnFEM was cut"));
    assert_true(secret_is_told(planted, "the end: K7MDENG") == false); /* 7 bytes are no piece */
    assert_true(secret_is_told(planted, "the end: /K7MDENG"));
    assert_false(secret_is_told(planted, ""));
    assert_false(secret_is_told("", planted));
    assert_true(secret_is_told("short", "a short one"));
    assert_false(secret_is_told("short", "shor"));
}

static void test_too_long_is_refused_and_leaves_none(void **state)
{
    (void)state;
    secret s = {NULL, 0};
    assert_int_equal(secret_set(&s, "old", 3), BW_OK);
    char *text = calloc(1, SECRET_BYTES_MAX + 1);
    assert_int_equal(secret_set(&s, text, SECRET_BYTES_MAX + 1), BW_TOO_LARGE);
    assert_false(secret_is_set(&s));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zeroed_when_cleared_and_when_replaced),
        cmocka_unit_test(test_a_piece_of_it_is_found),
        cmocka_unit_test(test_too_long_is_refused_and_leaves_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
