// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Opens that would go on for long end soon after they are told to, and leave nothing behind that
 * goes on; what was opened does not look at that flag any more. */
#include "stand.h"

#include "base/thread.h"
#include "client/follower.h"
#include "client/space.h"
#include <time.h>

#define LONG_NS (100 * NS_PER_S)
/* Of what takes some 20 ms, on a machine that is busy. */
#define SOON_NS (20 * NS_PER_S)

/* Sets `on` once the store was asked for a `kind`. */
typedef struct teller {
    pthread_t thread;
    const atomic_uint_least64_t *counter; /* of a space, or NULL: */
    mem_space *contents;
    store_op_kind kind;
    uint64_t before;
    atomic_int on;
    int64_t told_ns;
} teller;

static uint64_t count(const teller *t)
{
    return t->counter != NULL ? atomic_load(t->counter) : mem_space_applied(t->contents, t->kind);
}

static void *tell(void *context)
{
    teller *t = context;
    const struct timespec pause = {.tv_nsec = 1000000};
    while (count(t) == t->before)
        nanosleep(&pause, NULL);
    t->told_ns = clock_now(clock_system());
    atomic_store(&t->on, 1);
    return NULL;
}

static void teller_start(teller *t, stand *s, bw_space *space, store_op_kind kind)
{
    *t = (teller){.counter = space != NULL ? &space->meter.ops[kind] : NULL,
                  .contents = s->contents,
                  .kind = kind};
    atomic_init(&t->on, 0);
    t->before = count(t);
    assert_int_equal(thread_start(&t->thread, "teller", tell, t), BW_OK);
}

static void teller_end(teller *t)
{
    const int64_t now_ns = clock_now(clock_system());
    assert_int_equal(pthread_join(t->thread, NULL), 0);
    assert_true(now_ns - t->told_ns < SOON_NS);
}

static void test_open_of_a_space(void **state)
{
    (void)state;
    stand s;
    teller t;
    stand_open(&s, 2, "", false);
    store *plain = NULL, *failing = NULL;
    bw_space *space = NULL;
    stand_expect(&s, store_mem_open(s.contents, &plain, &s.error), BW_OK);
    stand_expect(&s, store_fault_wrap(plain, "retry-before:get:manifest/:0", &failing, &s.error),
                 BW_OK);
    teller_start(&t, &s, NULL, STORE_GET);
    const space_options options = {.retry_limit_ns = LONG_NS, .stop = &t.on};
    stand_expect(&s, space_open_on(s.runtime, failing, "mem", &options, LONG_NS, &space, &s.error),
                 BW_INTERRUPTED);
    teller_end(&t);
    stand_close(&s);
}

static void test_init_of_a_space(void **state)
{
    (void)state;
    stand s;
    atomic_int on;
    atomic_init(&on, 1);
    stand_open(&s, 2, "", false);
    genesis g = *s.space->genesis;
    mem_space *other = NULL;
    store *plain = NULL;
    assert_int_equal(mem_space_new(&other), BW_OK);
    stand_expect(&s, store_mem_open(other, &plain, &s.error), BW_OK);
    const space_options options = {.writable = true, .retry_limit_ns = LONG_NS, .stop = &on};
    stand_expect(&s, space_init_on(s.runtime, plain, &options, &g, &s.error), BW_INTERRUPTED);
    assert_int_equal(mem_space_count(other, ""), 0);
    mem_space_free(other);
    stand_close(&s);
}

static void test_open_of_a_producer(void **state)
{
    (void)state;
    stand s;
    teller t;
    bw_producer *p = NULL;
    stand_open(&s, 1, "", false);
    bw_space *space = stand_space(&s, "slow-down:create:manifest/:0", false);
    teller_start(&t, &s, space, STORE_CREATE);
    producer_options options = {.cadence_by_store = true,
                                .kind = ITEM_RAW,
                                .commit_timeout_ns = LONG_NS,
                                .staged_bytes_max = 1u << 20,
                                .staged_batches_max = 8,
                                .stop = &t.on};
    stand_expect(&s, producer_open(space, "p", &options, LONG_NS, &p, &s.error), BW_INTERRUPTED);
    teller_end(&t);
    space_close(space);
    /* The id is free, and whoever opens it now is not fenced by what was interrupted. */
    p = stand_producer(&s, s.space, "p", "naive");
    stand_put(&s, p, "here", 1);
    stand_expect(&s, producer_flush(p, true, LONG_NS, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);

    /* The flag is of the open alone. */
    atomic_store(&t.on, 0);
    stand_expect(&s, producer_open(s.space, "q", &options, LONG_NS, &p, &s.error), BW_OK);
    atomic_store(&t.on, 1);
    stand_put(&s, p, "there", 1);
    stand_expect(&s, producer_flush(p, true, LONG_NS, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    stand_close(&s);
}

static void open_consumer(stand *s, bw_space *space, uint32_t d, teller *t)
{
    bw_consumer *c = NULL;
    const consumer_options options = {
        .has_position = true, .d = d, .group = "job", .launch = "1", .stop = &t->on};
    stand_expect(s, consumer_open(space, &options, NULL, LONG_NS, &c, &s->error), BW_INTERRUPTED);
    teller_end(t);
}

static void test_open_of_a_consumer(void **state)
{
    (void)state;
    stand s;
    teller t;
    stand_open(&s, 2, "", false);
    bw_space *space = stand_space(&s, "slow-down:create:manifest/:0", false);
    teller_start(&t, &s, space, STORE_CREATE); /* rank 0 commits the launch */
    open_consumer(&s, space, 0, &t);
    teller_start(&t, &s, space, STORE_GET); /* rank 1 waits for it */
    open_consumer(&s, space, 1, &t);

    manifest *m = NULL;
    follower *f = space->follower;
    stand_expect(&s, follower_answer(f, UINT64_MAX, TIME_NEVER, &t.on, &m, &s.error),
                 BW_INTERRUPTED);
    space_close(space);
    stand_close(&s);
}

static void test_a_reader(void **state)
{
    (void)state;
    stand s;
    reader r;
    atomic_int on;
    atomic_init(&on, 1);
    stand_open(&s, 1, "", false);
    stand_expect(&s, reader_open(s.space, TIME_NEVER, &on, &r, &s.error), BW_INTERRUPTED);
    atomic_store(&on, 0);
    stand_expect(&s, reader_open(s.space, TIME_NEVER, &on, &r, &s.error), BW_OK);
    reader_close(&r);
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_of_a_space),    cmocka_unit_test(test_init_of_a_space),
        cmocka_unit_test(test_open_of_a_producer), cmocka_unit_test(test_open_of_a_consumer),
        cmocka_unit_test(test_a_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
