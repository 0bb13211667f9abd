// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "stand.h"

#include "base/alloc.h"
#include "client/budget.h"
#include <string.h>
#include <time.h>

#define PIECE_BYTES 100u

static atomic_uint unmapped;
static atomic_bool in_test_thread; /* one was released in the thread of the test */
static pthread_t test_thread;

static void count_release(store_mapping *mapping)
{
    (void)mapping;
    if (pthread_equal(pthread_self(), test_thread))
        atomic_store(&in_test_thread, true);
    atomic_fetch_add(&unmapped, 1u);
}

static int setup(void **state)
{
    (void)state;
    test_thread = pthread_self();
    atomic_store(&unmapped, 0u);
    atomic_store(&in_test_thread, false);
    return 0;
}

static budget *budget_of(uint64_t bytes)
{
    budget *b = NULL;
    assert_int_equal(budget_new(bytes, &b), BW_OK);
    return b;
}

/* The memory of a slice, reserved in `b`. */
static unmapper_piece piece_of(budget *b)
{
    assert_true(budget_take(b, PIECE_BYTES, true));
    return (unmapper_piece){.mapping = {.release = count_release},
                            .buffer = mem_aligned(64, 64),
                            .unpacked = mem_aligned(64, 64),
                            .reserved = PIECE_BYTES};
}

static bool give(budget *b)
{
    const unmapper_piece piece = piece_of(b);
    const bool taken = unmapper_give(budget_unmapper(b), &piece);
    if (!taken) {
        unmapper_release(&piece);
        budget_give(b, piece.reserved);
    }
    return taken;
}

/* Again while the thread has the lock. */
static void give_surely(budget *b)
{
    const unmapper_piece piece = piece_of(b);
    const struct timespec moment = {.tv_nsec = 1000};
    while (!unmapper_give(budget_unmapper(b), &piece))
        nanosleep(&moment, NULL);
}

static void await_unmapped(unsigned count)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    while (atomic_load(&unmapped) < count)
        nanosleep(&pause, NULL);
}

static void await_unused(budget *b)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    while (budget_used(b) > 0)
        nanosleep(&pause, NULL);
}

static void test_a_thread_of_its_own_does_it(void **state)
{
    (void)state;
    budget *b = budget_of(1u << 20);
    unmapper_start(budget_unmapper(b));
    unmapper_start(budget_unmapper(b)); /* again is fine */
    for (unsigned i = 0; i < 10; i++)
        give_surely(b);
    await_unmapped(10);
    await_unused(b);
    assert_false(atomic_load(&in_test_thread));
    unmapper_stop(budget_unmapper(b));
    budget_unref(b);
}

/* Nothing came for long: what comes then is not left lying. */
static void test_it_wakes_from_its_rest(void **state)
{
    (void)state;
    budget *b = budget_of(1u << 20);
    unmapper_start(budget_unmapper(b));
    give_surely(b);
    await_unmapped(1);
    const struct timespec rest = {.tv_sec = 1, .tv_nsec = 500000000};
    nanosleep(&rest, NULL); /* whether it rests or not by now: it must come */
    give_surely(b);
    await_unmapped(2);
    unmapper_stop(budget_unmapper(b));
    budget_unref(b);
}

static void test_nothing_is_taken_before_the_start_and_after_the_stop(void **state)
{
    (void)state;
    budget *b = budget_of(1u << 20);
    assert_false(give(b));
    unmapper_start(budget_unmapper(b));
    for (unsigned i = 0; i < 50; i++)
        (void)give(b);
    unmapper_stop(budget_unmapper(b));
    assert_int_equal(atomic_load(&unmapped), 51);
    assert_int_equal(budget_used(b), 0);
    assert_false(give(b));
    unmapper_start(budget_unmapper(b));
    assert_false(give(b));
    unmapper_stop(budget_unmapper(b));
    budget_unref(b);
    budget *never = budget_of(1);
    unmapper_stop(budget_unmapper(never));
    budget_unref(never);
}

/* What waits is reserved, and free soon after somebody wants the room. */
static void test_who_lacks_room_gets_it(void **state)
{
    (void)state;
    budget *b = budget_of(4 * PIECE_BYTES);
    unmapper_start(budget_unmapper(b));
    for (unsigned round = 0; round < 2000; round++) {
        for (unsigned i = 0; i < 4; i++)
            give_surely(b);
        const struct timespec moment = {.tv_nsec = 1000};
        while (!budget_take(b, 4 * PIECE_BYTES, false))
            nanosleep(&moment, NULL); /* the thread is about to */
        assert_true(atomic_load(&unmapped) == 4 * (round + 1));
        budget_give(b, 4 * PIECE_BYTES);
    }
    unmapper_stop(budget_unmapper(b));
    budget_unref(b);
}

static void *give_many(void *context)
{
    for (unsigned i = 0; i < 5000; i++)
        (void)give(context);
    return NULL;
}

static void test_many_threads(void **state)
{
    (void)state;
    budget *b = budget_of(1000 * PIECE_BYTES);
    pthread_t threads[4];
    unmapper_start(budget_unmapper(b));
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(thread_start(&threads[i], "giver", give_many, b), BW_OK);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    unmapper_stop(budget_unmapper(b));
    assert_int_equal(atomic_load(&unmapped), 20000);
    assert_int_equal(budget_used(b), 0);
    budget_unref(b);
}

static void test_no_more_than_there_is_room_for(void **state)
{
    (void)state;
    budget *b = budget_of(1u << 30);
    unmapper_start(budget_unmapper(b));
    unsigned taken = 0, refused = 0;
    while (refused == 0 && taken < 10000000)
        *(give(b) ? &taken : &refused) += 1;
    assert_int_equal(refused, 1);
    unmapper_stop(budget_unmapper(b));
    assert_int_equal(atomic_load(&unmapped), taken + refused);
    budget_unref(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_thread_of_its_own_does_it, setup),
        cmocka_unit_test_setup(test_it_wakes_from_its_rest, setup),
        cmocka_unit_test_setup(test_nothing_is_taken_before_the_start_and_after_the_stop, setup),
        cmocka_unit_test_setup(test_who_lacks_room_gets_it, setup),
        cmocka_unit_test_setup(test_many_threads, setup),
        cmocka_unit_test_setup(test_no_more_than_there_is_room_for, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
