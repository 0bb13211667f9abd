// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "stand.h"

#include "client/slicebuffers.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define ALL UINT64_MAX

static slice_buffers *buffers_of(void)
{
    slice_buffers *b = NULL;
    assert_int_equal(slice_buffers_new(&b), BW_OK);
    return b;
}

static slice_buffer take(slice_buffers *b, uint64_t bytes)
{
    const slice_buffer one = slice_buffers_take(b, bytes, ALL);
    assert_non_null(one.data);
    assert_true(one.bytes >= bytes && (uintptr_t)one.data % 64 == 0);
    one.data[0] = one.data[bytes - 1] = 1; /* it is there to be written to */
    return one;
}

static void free_all(slice_buffers *b, slice_buffer *some, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        slice_buffer_free(&some[i]);
    slice_buffers_free(b);
}

/* The one given last that fits, and is not much larger. */
static void what_is_kept_is_taken_again(void **state)
{
    (void)state;
    slice_buffers *b = buffers_of();
    const slice_buffer first = take(b, MIB), second = take(b, MIB);
    assert_true(slice_buffers_keep(b, first, ALL) && slice_buffers_keep(b, second, ALL));
    slice_buffer some[] = {take(b, MIB + 1), take(b, MIB * 7 / 8), take(b, MIB - KIB),
                           take(b, MIB)};
    assert_true(some[0].data != first.data && some[0].data != second.data);
    assert_true(some[1].data != first.data && some[1].data != second.data);
    assert_true(some[2].data == second.data && some[2].bytes == MIB);
    assert_ptr_equal(some[3].data, first.data);
    free_all(b, some, 4);
}

static void no_more_than_there_is_room_for(void **state)
{
    (void)state;
    slice_buffers *b = buffers_of();
    slice_buffer some[] = {take(b, MIB), take(b, MIB), take(b, MIB), take(b, KIB)};
    assert_true(slice_buffers_keep(b, some[0], 2 * MIB));
    assert_true(slice_buffers_keep(b, some[1], 2 * MIB));
    assert_false(slice_buffers_keep(b, some[2], 3 * MIB - 1));
    assert_false(slice_buffers_keep(b, some[2], MIB - 1));
    assert_false(slice_buffers_keep(b, some[2], 0));
    assert_false(slice_buffers_keep(b, some[3], ALL)); /* so small: malloc is as quick */
    /* Room was lost: the oldest goes when memory is asked for, the newest serves. */
    const uint8_t *newest = some[1].data;
    some[0] = slice_buffers_take(b, 5 * MIB, MIB);
    some[1] = take(b, MIB);
    assert_ptr_equal(some[1].data, newest);
    slice_buffer fresh = slice_buffers_take(b, MIB, 0);
    assert_true(slice_buffers_keep(b, fresh, ALL));
    free_all(b, some, 4); /* and what is still kept: the sanitizers see it */
}

static void nothing_after_the_end(void **state)
{
    (void)state;
    slice_buffers *b = buffers_of();
    slice_buffer some[] = {take(b, MIB), take(b, MIB)};
    assert_true(slice_buffers_keep(b, some[0], ALL));
    slice_buffers_stop(b);
    assert_false(slice_buffers_keep(b, some[1], ALL));
    some[0] = take(b, MIB);
    free_all(b, some, 2);
    slice_buffers_free(NULL);
}

/* Of the byte budget: what is kept is not used, and never more than is left. */
static void within_the_budget(void **state)
{
    (void)state;
    budget *b = NULL;
    assert_int_equal(budget_new(3 * MIB, &b), BW_OK);
    assert_true(budget_take(b, 2 * MIB, false));
    const slice_buffer one = budget_buffer(b, MIB), two = budget_buffer(b, MIB);
    assert_true(budget_keep(b, one, MIB));
    assert_int_equal(budget_used(b), MIB);
    assert_true(budget_keep(b, two, MIB));
    assert_int_equal(budget_used(b), 0);
    assert_true(budget_take(b, 3 * MIB, false)); /* nobody waits for what is kept */
    slice_buffer some[] = {budget_buffer(b, 2 * MIB), budget_buffer(b, MIB)};
    assert_true(some[1].data != NULL && some[0].data != NULL);
    assert_true(budget_take(b, 3 * MIB, true)); /* beyond its end nothing is kept */
    assert_false(budget_keep(b, some[1], MIB));
    assert_int_equal(budget_used(b), 6 * MIB);
    budget_give(b, 6 * MIB);
    budget_stop_keeping(b);
    assert_false(budget_keep(b, some[1], 0));
    slice_buffer_free(&some[0]);
    slice_buffer_free(&some[1]);
    budget_unref(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_is_taken_again),
        cmocka_unit_test(no_more_than_there_is_room_for),
        cmocka_unit_test(nothing_after_the_end),
        cmocka_unit_test(within_the_budget),
    };
    return cmocka_run_group_tests_name("slicebuffers", tests, NULL, NULL);
}
