// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/slicepool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static slice_pool *pool_of(uint32_t slices_max)
{
    slice_pool *pool = NULL;
    assert_int_equal(slice_pool_new(slices_max, &pool), BW_OK);
    return pool;
}

/* As a new one, whatever it was used for. */
static void what_is_given_is_taken_again(void **state)
{
    (void)state;
    slice_pool *pool = pool_of(2);
    slice *first = slice_pool_take(pool, 3);
    first->step = 7;
    first->handles[2].order = 5;
    slice_pool_give(first);
    slice *again = slice_pool_take(pool, 2);
    assert_ptr_equal(again, first);
    assert_true(again->items_max == 3 && again->step == 0 && again->handles[2].order == 0);
    slice *other = slice_pool_take(pool, 2);
    assert_ptr_not_equal(other, again);
    slice_pool_give(other);
    slice_pool_give(again);
    /* Too small: the room is there, whoever had it before. */
    slice *larger = slice_pool_take(pool, 100);
    assert_int_equal(larger->items_max, 100);
    larger->handles[99].order = 1;
    slice_pool_give(larger);
    slice_pool_close(pool);
}

/* Taken before, given after: the sanitizers see what is freed too often or never. */
static void a_pool_lives_until_its_last_slice(void **state)
{
    (void)state;
    slice_pool *pool = pool_of(1);
    slice *a = slice_pool_take(pool, 1), *b = slice_pool_take(pool, 1),
          *c = slice_pool_take(pool, 1);
    slice_pool_give(a);
    slice_pool_give(b); /* there is room for one only */
    slice_pool_close(pool);
    slice_pool_give(c);
    slice_pool_close(NULL);
    slice_pool_give(slice_pool_take(NULL, 4));
}

static void what_is_huge_is_not_kept(void **state)
{
    (void)state;
    slice_pool *pool = pool_of(1);
    slice_pool_give(slice_pool_take(pool, 1025));
    slice *s = slice_pool_take(pool, 1);
    assert_int_equal(s->items_max, 1);
    slice_pool_give(s);
    slice_pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_given_is_taken_again),
        cmocka_unit_test(a_pool_lives_until_its_last_slice),
        cmocka_unit_test(what_is_huge_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
