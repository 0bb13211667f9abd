// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Memory that runs out at the n-th allocation of retry, admit and hedge, for each n: what fails
 * says so, what was asked comes back, and nothing is lost. Through --wrap. */
#include "base/alloc.h"
#include "store/decorators.h"
#include "timed_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static unsigned made, fails_at;

void *__real_mem_alloc(size_t bytes);
void *__wrap_mem_alloc(size_t bytes);
void *__real_mem_zalloc(size_t bytes);
void *__wrap_mem_zalloc(size_t bytes);
int __real_mem_grow(void **array, size_t *capacity, size_t need, size_t size);
int __wrap_mem_grow(void **array, size_t *capacity, size_t need, size_t size);

void *__wrap_mem_alloc(size_t bytes)
{
    return ++made == fails_at ? NULL : __real_mem_alloc(bytes);
}

void *__wrap_mem_zalloc(size_t bytes)
{
    return ++made == fails_at ? NULL : __real_mem_zalloc(bytes);
}

int __wrap_mem_grow(void **array, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity) /* it does not allocate */
        return __real_mem_grow(array, capacity, need, size);
    return ++made == fails_at ? -1 : __real_mem_grow(array, capacity, need, size);
}

static timed_answer answer(void *context, const store_op *op, uint64_t number)
{
    (void)context;
    (void)op;
    return (timed_answer){.after_ns = number % 70 == 0 ? 200 * NS_PER_MS : 20 * NS_PER_MS,
                          .outcome = number % 40 == 0 ? STORE_RETRY : STORE_OK};
}

/** The whole stack on `s`, which it takes over; NULL: no memory. */
static store *wrap(store *s, const clock_source *clock, store_retry_purse *purse)
{
    const store_retry_options options = {.clock = clock,
                                         .seed = 1,
                                         .backoff_min_ns = NS_PER_MS,
                                         .backoff_max_ns = NS_PER_MS,
                                         .limit_ns = 10 * NS_PER_S,
                                         .attempts_max = 10,
                                         .purse = purse};
    if (store_hedge_wrap(s, clock, NULL, &s, NULL) == BW_OK &&
        store_admit_wrap(s, clock, 2, NULL, &s, NULL) == BW_OK &&
        store_retry_wrap(s, &options, &s, NULL) == BW_OK)
        return s;
    store_close(s);
    return NULL;
}

static void read_four(store *s, timed_space *space)
{
    static uint8_t bytes[4][100];
    store_op ops[4];
    store_op *done[4];
    for (int i = 0; i < 4; i++) {
        store_op_init(&ops[i], STORE_READ, "key");
        ops[i].length = sizeof bytes[i];
        ops[i].dest = bytes[i];
        store_submit(s, &ops[i]);
    }
    for (size_t over = 0; over < 4; space->now_ns += NS_PER_MS)
        over += store_poll(s, done, 4, 0);
    for (int i = 0; i < 4; i++) {
        if (ops[i].outcome == STORE_OK)
            assert_timed_bytes("key", 0, bytes[i], sizeof bytes[i]);
        else
            assert_int_equal(store_op_status(&ops[i]), BW_NOMEM);
    }
}

static void run(void)
{
    timed_space space = {.now_ns = 0};
    store_retry_purse *purse = NULL;
    store *clone = NULL;
    timed_init(&space, answer, NULL);
    if (store_retry_purse_new(&space.clock, 10, &purse) != BW_OK)
        return;
    store *s = wrap(timed_open(&space), &space.clock, purse);
    if (s != NULL) {
        for (int i = 0; i < 60; i++)
            read_four(s, &space);
        if (store_clone(s, &clone, NULL) == BW_OK)
            read_four(clone, &space);
        store_close(clone);
        read_four(s, &space);
        store_close(s);
    }
    store_retry_purse_free(purse);
    assert_int_equal(space.in_flight, 0);
}

static void test_each_allocation(void **state)
{
    (void)state;
    fails_at = made = 0;
    run();
    const unsigned all = made;
    assert_in_range(all, 15, 1000);
    for (unsigned n = 1; n <= all; n++) {
        made = 0;
        fails_at = n;
        run();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
