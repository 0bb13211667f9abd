// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"
#include "base/thread.h"
#include "store/decorators.h"
#include "store/mem.h"
#include "timed_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BASE_NS (20 * NS_PER_MS)
#define SLOW_NS (200 * NS_PER_MS)
#define BYTES 1000u
/* What a read that is late is waited for: one and a half times the median, a bucket wide. */
#define LATE_MIN_NS (30 * NS_PER_MS)
#define LATE_MAX_NS (35 * NS_PER_MS)

typedef struct fixture {
    timed_space space;
    store_meter meter;
    store *store;
    timed_answer usual;
    timed_answer next[8]; /* of the next requests; after_ns 0: as usual */
    uint64_t next_from;
} fixture;

static timed_answer answer(void *context, const store_op *op, uint64_t number)
{
    const fixture *f = context;
    (void)op;
    const uint64_t at = number - f->next_from;
    return number >= f->next_from && at < 8 && f->next[at].after_ns != 0 ? f->next[at] : f->usual;
}

static void open_on(fixture *f)
{
    f->usual = (timed_answer){.after_ns = BASE_NS, .outcome = STORE_OK};
    timed_init(&f->space, answer, f);
    store *metered = NULL;
    assert_int_equal(store_meter_wrap(timed_open(&f->space), &f->meter, &metered, NULL), BW_OK);
    assert_int_equal(store_hedge_wrap(metered, &f->space.clock, &f->meter, &f->store, NULL), BW_OK);
    assert_ptr_not_equal(f->store, metered);
}

static uint64_t hedges(const fixture *f)
{
    return atomic_load(&f->meter.hedges);
}

static uint64_t won(const fixture *f)
{
    return atomic_load(&f->meter.hedges_won);
}

static store_outcome read_one(fixture *f, uint8_t *bytes)
{
    store_op op;
    store_op_init(&op, STORE_READ, "key");
    op.offset = 7;
    op.length = BYTES;
    op.dest = bytes;
    const store_outcome outcome = store_run(f->store, &op);
    if (outcome == STORE_OK)
        assert_timed_bytes("key", 7, bytes, BYTES);
    return outcome;
}

/* Enough reads that it is known what they take, and that there is a budget. */
static void learn(fixture *f)
{
    uint8_t bytes[BYTES];
    for (int i = 0; i < 200; i++)
        assert_int_equal(read_one(f, bytes), STORE_OK);
    assert_int_equal(hedges(f), 0);
}

static void script(fixture *f, timed_answer first, timed_answer second)
{
    f->next_from = atomic_load(&f->space.all) + 1;
    f->next[0] = first;
    f->next[1] = second;
}

static timed_answer good(int64_t after_ns)
{
    return (timed_answer){.after_ns = after_ns, .outcome = STORE_OK};
}

static timed_answer bad(int64_t after_ns)
{
    return (timed_answer){.after_ns = after_ns, .outcome = STORE_RETRY};
}

static void test_second_request_wins(void **state)
{
    (void)state;
    fixture f = {0};
    open_on(&f);
    learn(&f);
    script(&f, good(SLOW_NS), good(BASE_NS));
    uint8_t bytes[BYTES];
    const int64_t start_ns = f.space.now_ns;
    assert_int_equal(read_one(&f, bytes), STORE_OK);
    assert_in_range(f.space.now_ns - start_ns, LATE_MIN_NS + BASE_NS, LATE_MAX_NS + BASE_NS);
    assert_int_equal(hedges(&f), 1);
    assert_int_equal(won(&f), 1);
    assert_int_equal(f.space.taken_back, 1);
    assert_int_equal(f.space.in_flight, 0);
    /* The slow one is gone for good: nothing of it comes, and nothing is written. */
    f.space.now_ns += SLOW_NS;
    store_op *done[4];
    assert_int_equal(store_poll(f.store, done, 4, 0), 0);
    assert_timed_bytes("key", 7, bytes, BYTES);
    store_close(f.store);
}

static void test_first_request_wins_after_all(void **state)
{
    (void)state;
    fixture f = {0};
    open_on(&f);
    learn(&f);
    script(&f, good(LATE_MAX_NS + 5 * NS_PER_MS), good(BASE_NS));
    uint8_t bytes[BYTES];
    const int64_t start_ns = f.space.now_ns;
    assert_int_equal(read_one(&f, bytes), STORE_OK);
    assert_int_equal(f.space.now_ns - start_ns, LATE_MAX_NS + 5 * NS_PER_MS);
    assert_int_equal(hedges(&f), 1);
    assert_int_equal(won(&f), 0);
    assert_int_equal(f.space.taken_back, 1);
    assert_int_equal(f.space.in_flight, 0);
    store_close(f.store);
}

/* One poll of the inner store brings both answers: whichever is first, the caller gets one. */
static void test_both_answered_in_one_poll(void **state)
{
    (void)state;
    const timed_answer firsts[] = {good(60 * NS_PER_MS), good(SLOW_NS)};
    for (size_t i = 0; i < 2; i++) {
        fixture f = {0};
        open_on(&f);
        learn(&f);
        script(&f, firsts[i], good(50 * NS_PER_MS));
        uint8_t bytes[BYTES];
        store_op op;
        store_op *done[4];
        store_op_init(&op, STORE_READ, "key");
        op.offset = 7;
        op.length = BYTES;
        op.dest = bytes;
        store_submit(f.store, &op);
        assert_int_equal(store_poll(f.store, done, 4, LATE_MAX_NS), 0);
        assert_int_equal(hedges(&f), 1);
        f.space.now_ns += SLOW_NS;
        assert_int_equal(store_poll(f.store, done, 4, 0), 1);
        assert_ptr_equal(done[0], &op);
        assert_int_equal(op.outcome, STORE_OK);
        assert_timed_bytes("key", 7, bytes, BYTES);
        assert_int_equal(won(&f), i);
        assert_int_equal(f.space.in_flight, 0);
        assert_int_equal(read_one(&f, bytes), STORE_OK);
        store_close(f.store);
    }
}

static store_outcome get_one(fixture *f, uint32_t *attempts)
{
    store_op op;
    store_op_init(&op, STORE_GET, "get");
    buf_init(&op.out, 1000);
    const store_outcome outcome = store_run(f->store, &op);
    if (outcome == STORE_OK) {
        assert_int_equal(op.out.size, 100);
        assert_int_equal(op.out.max, 1000);
        assert_timed_bytes("get", 0, op.out.data, 100);
        assert_int_equal(op.object_bytes, 1234);
        assert_int_equal(op.error.code, BW_OK);
    }
    *attempts = op.attempts;
    store_op_clear(&op);
    return outcome;
}

static void test_whole_objects(void **state)
{
    (void)state;
    fixture f = {0};
    uint32_t attempts = 0;
    open_on(&f);
    for (int i = 0; i < 200; i++)
        assert_int_equal(get_one(&f, &attempts), STORE_OK);
    script(&f, good(SLOW_NS), good(BASE_NS));
    assert_int_equal(get_one(&f, &attempts), STORE_OK);
    assert_int_equal(attempts, 2);
    assert_int_equal(won(&f), 1);
    /* That there is none is an answer, too. */
    for (int i = 0; i < 100; i++)
        assert_int_equal(get_one(&f, &attempts), STORE_OK);
    script(&f, good(SLOW_NS), (timed_answer){.after_ns = BASE_NS, .outcome = STORE_NOT_FOUND});
    assert_int_equal(get_one(&f, &attempts), STORE_NOT_FOUND);
    assert_int_equal(won(&f), 2);
    store_close(f.store);
}

/* The first good answer counts; failures only when both fail, and then the first request's. */
static void test_failures(void **state)
{
    (void)state;
    const struct {
        timed_answer first, second;
        store_outcome expected;
        int64_t took_min_ns, took_max_ns;
        uint64_t won;
    } rows[] = {
        {bad(SLOW_NS), good(BASE_NS), STORE_OK, LATE_MIN_NS + BASE_NS, LATE_MAX_NS + BASE_NS, 1},
        {bad(LATE_MAX_NS + 1), good(BASE_NS), STORE_OK, LATE_MIN_NS + BASE_NS,
         LATE_MAX_NS + BASE_NS, 1}, /* the failure comes first, and is not told */
        {good(SLOW_NS), bad(1), STORE_OK, SLOW_NS, SLOW_NS, 0},
        {bad(SLOW_NS), bad(1), STORE_RETRY, SLOW_NS, SLOW_NS, 0},
        {bad(LATE_MAX_NS + 1),
         {.after_ns = SLOW_NS, .outcome = STORE_DENIED},
         STORE_RETRY,
         LATE_MIN_NS + SLOW_NS,
         LATE_MAX_NS + SLOW_NS,
         0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture f = {0};
        open_on(&f);
        learn(&f);
        script(&f, rows[i].first, rows[i].second);
        uint8_t bytes[BYTES];
        const int64_t start_ns = f.space.now_ns;
        assert_int_equal(read_one(&f, bytes), rows[i].expected);
        assert_in_range(f.space.now_ns - start_ns, rows[i].took_min_ns, rows[i].took_max_ns);
        assert_int_equal(hedges(&f), 1);
        assert_int_equal(won(&f), rows[i].won);
        assert_int_equal(f.space.in_flight, 0);
        assert_int_equal(read_one(&f, bytes), STORE_OK);
        store_close(f.store);
    }
}

/* A failure before it is late is answered at once, and nothing is asked twice. */
static void test_quick_failures_are_told(void **state)
{
    (void)state;
    fixture f = {0};
    uint8_t bytes[BYTES];
    open_on(&f);
    learn(&f);
    script(&f, bad(BASE_NS), good(BASE_NS));
    const int64_t start_ns = f.space.now_ns;
    assert_int_equal(read_one(&f, bytes), STORE_RETRY);
    assert_int_equal(f.space.now_ns - start_ns, BASE_NS);
    assert_int_equal(hedges(&f), 0);
    store_close(f.store);
}

static void test_only_reads(void **state)
{
    (void)state;
    static const store_op_kind kinds[] = {STORE_PUT, STORE_CREATE, STORE_HEAD, STORE_LIST,
                                          STORE_DELETE};
    fixture f = {0};
    open_on(&f);
    learn(&f);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (int i = 0; i < 200; i++) {
            store_op op;
            f.usual =
                (timed_answer){.after_ns = i == 199 ? SLOW_NS : BASE_NS,
                               .outcome = kinds[k] == STORE_CREATE ? STORE_CREATED : STORE_OK};
            store_op_init(&op, kinds[k], "key");
            assert_int_equal(store_run(f.store, &op), f.usual.outcome);
            store_op_clear(&op);
        }
    }
    assert_int_equal(hedges(&f), 0);
    store_close(f.store);
}

static void test_many_at_once(void **state)
{
    (void)state;
    enum { EACH = 16, ROUNDS = 2000 };
    static uint8_t bytes[EACH][BYTES];
    fixture f = {0};
    rng r;
    open_on(&f);
    learn(&f);
    rng_seed(&r, 3);
    store_op ops[EACH];
    store_op *done[EACH];
    for (int round = 0; round < ROUNDS; round++) {
        f.next_from = atomic_load(&f.space.all) + 1;
        for (int i = 0; i < 8; i++)
            f.next[i] = rng_below(&r, 100) == 0 ? good(SLOW_NS) : good(0);
        for (int i = 0; i < EACH; i++) {
            store_op_init(&ops[i], STORE_READ, "key");
            ops[i].offset = (uint64_t)i * BYTES;
            ops[i].length = BYTES;
            ops[i].dest = bytes[i];
            store_submit(f.store, &ops[i]);
        }
        const int64_t start_ns = f.space.now_ns;
        for (size_t over = 0; over < EACH;)
            over += store_poll(f.store, done, EACH, TIME_NEVER);
        if (won(&f) == hedges(&f))
            assert_true(f.space.now_ns - start_ns <= LATE_MAX_NS + BASE_NS);
        assert_int_equal(f.space.in_flight, 0);
        for (uint64_t i = 0; i < EACH; i++)
            assert_timed_bytes("key", i * BYTES, bytes[i], BYTES);
    }
    assert_in_range(won(&f), 120, 200); /* of 16,000 one in 100 */
    assert_true(hedges(&f) * 100 <= 3 * (uint64_t)(ROUNDS * EACH));
    store_close(f.store);
}

/* What waits for its second request, its first one, or both comes back, once. */
static void test_cancel(void **state)
{
    (void)state;
    fixture f = {0};
    open_on(&f);
    learn(&f);
    f.next_from = atomic_load(&f.space.all) + 1;
    f.next[0] = good(SLOW_NS);         /* late, with a second request */
    f.next[1] = bad(LATE_MAX_NS + 10); /* failed, its second request still out */
    f.next[2] = good(SLOW_NS);
    f.next[3] = good(SLOW_NS);
    static uint8_t bytes[2][BYTES];
    store_op ops[2];
    store_op *done[4];
    for (int i = 0; i < 2; i++) {
        store_op_init(&ops[i], STORE_READ, "key");
        ops[i].length = BYTES;
        ops[i].dest = bytes[i];
        store_submit(f.store, &ops[i]);
    }
    assert_int_equal(store_poll(f.store, done, 4, LATE_MAX_NS + 20), 0);
    assert_int_equal(hedges(&f), 2);
    assert_int_equal(f.space.in_flight, 3);
    store_cancel(f.store);
    size_t over = 0;
    for (int i = 0; i < 4; i++)
        over += store_poll(f.store, done, 4, 0);
    assert_int_equal(over, 2);
    assert_int_equal(ops[0].outcome, STORE_RETRY);
    assert_int_equal(ops[1].outcome, STORE_RETRY);
    assert_int_equal(f.space.in_flight, 0);
    store_close(f.store);
}

static void test_close_with_both_in_flight(void **state)
{
    (void)state;
    fixture f = {0};
    open_on(&f);
    learn(&f);
    script(&f, good(SLOW_NS), good(SLOW_NS));
    uint8_t *bytes = malloc(BYTES); /* freed before anything could be written late */
    store_op *op = calloc(1, sizeof *op);
    assert_non_null(bytes);
    assert_non_null(op);
    store_op_init(op, STORE_READ, "key");
    op->length = BYTES;
    op->dest = bytes;
    store_submit(f.store, op);
    store_op *done[1];
    assert_int_equal(store_poll(f.store, done, 1, LATE_MAX_NS), 0);
    assert_int_equal(hedges(&f), 1);
    store_close(f.store);
    free(bytes);
    free(op);
    assert_int_equal(f.space.in_flight, 0);
}

static void test_clones_learn_together(void **state)
{
    (void)state;
    fixture f = {0};
    open_on(&f);
    learn(&f);
    store *const original = f.store;
    assert_int_equal(store_clone(original, &f.store, NULL), BW_OK);
    script(&f, good(SLOW_NS), good(BASE_NS));
    uint8_t bytes[BYTES];
    assert_int_equal(read_one(&f, bytes), STORE_OK);
    assert_int_equal(won(&f), 1);
    store_close(original);
    assert_int_equal(read_one(&f, bytes), STORE_OK);
    store_close(f.store);
}

static void test_local_stores_are_left_alone(void **state)
{
    (void)state;
    fixture f = {0};
    timed_init(&f.space, answer, &f);
    static const uint32_t features[] = {STORE_TAKES_BACK | STORE_IS_LOCAL, 0};
    for (int i = 0; i < 2; i++) {
        f.space.features = features[i];
        store *s = timed_open(&f.space);
        store *same = NULL;
        assert_int_equal(store_hedge_wrap(s, &f.space.clock, NULL, &same, NULL), BW_OK);
        assert_ptr_equal(s, same);
        store_close(s);
    }
}

/* ---- threads, on the machine's clock ---- */

static timed_answer answer_threads(void *context, const store_op *op, uint64_t number)
{
    (void)context;
    (void)op;
    return (timed_answer){.after_ns = number % 50 == 0 ? 40 * NS_PER_MS : NS_PER_MS / 2,
                          .outcome = STORE_OK};
}

typedef struct reader_thread {
    store *store;
    int bad;
} reader_thread;

static void *read_many(void *context)
{
    reader_thread *t = context;
    uint8_t bytes[BYTES];
    for (int i = 0; i < 300; i++) {
        store_op op;
        store_op_init(&op, STORE_READ, "key");
        op.length = BYTES;
        op.dest = bytes;
        t->bad += store_run(t->store, &op) == STORE_OK ? 0 : 1;
        for (uint64_t b = 0; b < BYTES; b++)
            t->bad += bytes[b] == timed_byte("key", b) ? 0 : 1;
        store_wake(t->store); /* a wake that nobody waits for does no harm */
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    fixture f = {.space = {.real = true}};
    timed_init(&f.space, answer_threads, NULL);
    store *metered = NULL;
    assert_int_equal(store_meter_wrap(timed_open(&f.space), &f.meter, &metered, NULL), BW_OK);
    assert_int_equal(store_hedge_wrap(metered, &f.space.clock, &f.meter, &f.store, NULL), BW_OK);
    reader_thread readers[THREADS] = {{0}};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(store_clone(f.store, &readers[i].store, NULL), BW_OK);
        assert_int_equal(thread_start(&threads[i], "read", read_many, &readers[i]), BW_OK);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(readers[i].bad, 0);
        store_close(readers[i].store);
    }
    assert_true(hedges(&f) > 0);
    assert_true(hedges(&f) * 100 <= 3 * 300 * THREADS);
    assert_int_equal(f.space.in_flight, 0);
    store_close(f.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_second_request_wins),
        cmocka_unit_test(test_first_request_wins_after_all),
        cmocka_unit_test(test_both_answered_in_one_poll),
        cmocka_unit_test(test_whole_objects),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_quick_failures_are_told),
        cmocka_unit_test(test_only_reads),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_close_with_both_in_flight),
        cmocka_unit_test(test_clones_learn_together),
        cmocka_unit_test(test_local_stores_are_left_alone),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
