// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Memory of the caller's: where the store writes to is seen at store_run, memory runs out at
 * mem_alloc, both through --wrap. */
#include "stand.h"

#include "base/alloc.h"
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define BUFFER 256u
#define BUFFERS_MAX 8u
#define DEPTH 4u
#define STEPS 12u

static uint8_t ring[BUFFERS_MAX][BUFFER] __attribute__((aligned(64)));
static atomic_uint_least64_t reads_inside, reads_outside, bytes_inside;
static atomic_int exhausted; /* slices to refuse memory for, once they were read */
static _Thread_local bool refuse;

store_outcome __real_store_run(store *s, store_op *op);
store_outcome __wrap_store_run(store *s, store_op *op);
void *__real_mem_alloc(size_t bytes);
void *__wrap_mem_alloc(size_t bytes);

store_outcome __wrap_store_run(store *s, store_op *op)
{
    const bool data = strncmp(op->key, "data/", 5) == 0;
    const uintptr_t at = (uintptr_t)op->dest - (uintptr_t)ring;
    const bool inside = data && op->kind == STORE_READ && at < sizeof ring;
    if (inside) {
        assert_true(at % BUFFER == 0 && op->length <= BUFFER);
        atomic_fetch_add(&reads_inside, 1u);
        atomic_fetch_add(&bytes_inside, op->length);
    } else if (data && (op->kind == STORE_READ || op->kind == STORE_MAP)) {
        atomic_fetch_add(&reads_outside, 1u);
    }
    const store_outcome outcome = __real_store_run(s, op);
    if (inside && atomic_load(&exhausted) > 0)
        refuse = atomic_fetch_sub(&exhausted, 1) > 0;
    return outcome;
}

void *__wrap_mem_alloc(size_t bytes)
{
    if (!refuse)
        return __real_mem_alloc(bytes);
    refuse = false;
    return NULL;
}

static lending *ring_of(uint32_t buffers)
{
    lending *l = NULL;
    assert_int_equal(lending_new(&l), BW_OK);
    for (uint32_t i = 0; i < buffers; i++)
        assert_int_equal(lending_add(l, ring[i], BUFFER, i, NULL), BW_OK);
    return l;
}

static void the_smallest_that_will_do(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {128, 64, 256, 192};
    lent_buffer *a = NULL, *b = NULL;
    lending *l = ring_of(0);
    assert_int_equal(lending_take(l, 1, &a), LENDING_FULL); /* none was lent yet */
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(lending_add(l, ring[i], sizes[i], i, NULL), BW_OK);
    assert_int_equal(lending_take(l, 257, &a), LENDING_SMALL);
    assert_int_equal(lending_take(l, 129, &a), LENDING_TAKEN);
    assert_int_equal(a->token, 3);
    assert_int_equal(lending_take(l, 129, &b), LENDING_TAKEN);
    assert_int_equal(b->token, 2);
    lending_give(b);
    assert_int_equal(lending_take(l, 192, &b), LENDING_TAKEN);
    assert_int_equal(b->token, 2);
    lent_buffer *none = NULL;
    assert_int_equal(lending_take(l, 129, &none), LENDING_FULL);
    assert_null(none);
    assert_true(lending_count(l).buffers == 4 && lending_count(l).free == 2);
    lending_close(l);
    lending_give(a); /* of an item that was still held */
    lending_give(b);
    lending_close(NULL);
}

static void what_cannot_be_lent(void **state)
{
    (void)state;
    bw_error error;
    lending *l = ring_of(1);
    lent_buffer *b = NULL;
    assert_int_equal(lending_take(l, 1, &b), LENDING_TAKEN); /* taken ones count, too */
    error_clear(&error);
    assert_int_equal(lending_add(l, ring[1] + 32, 128, 1, &error), BW_INVALID);
    assert_int_equal(lending_add(l, ring[1], 63, 1, &error), BW_INVALID);
    assert_int_equal(lending_add(l, ring[0], BUFFER, 1, &error), BW_INVALID);
    assert_non_null(strstr(error.message, "token 1 overlaps the one of token 0"));
    assert_int_equal(lending_add(l, ring[0] + BUFFER - 64, BUFFER, 1, &error), BW_INVALID);
    refuse = true;
    assert_int_equal(lending_add(l, ring[1], BUFFER, 1, &error), BW_NOMEM);
    assert_int_equal(lending_count(l).buffers, 1);
    assert_int_equal(lending_add(l, ring[1], BUFFER, 1, &error), BW_OK);
    lending_give(b);
    lending_close(l);
}

typedef struct scene {
    stand s;
    bw_consumer *c;
    uint64_t idle_bytes; /* of the budget, when nothing is read */
} scene;

static bw_consumer *open_lending(scene *sc, uint32_t dp)
{
    const consumer_options options = {
        .has_position = true,
        .dp = dp,
        .tp = 1,
        .pp = 1,
        .start = START_EARLIEST,
        .prefetch = DEPTH,
        .lend = true,
        .verify = true,
    };
    bw_consumer *c = NULL;
    stand_expect(&sc->s, consumer_open(sc->s.space, &options, NULL, TIME_NEVER, &c, &sc->s.error),
                 BW_OK);
    return c;
}

static void scene_open(scene *sc, uint32_t dp)
{
    stand *s = &sc->s;
    stand_open(s, 2, "", false);
    bw_producer *p = stand_producer(s, s->space, "p", "naive");
    for (uint64_t i = 1; i <= STEPS; i++) {
        stand_put(s, p, "item", i);
        /* A commit each: the first steps are in segments. */
        stand_expect(s, producer_flush(p, true, TIME_NEVER, &s->error), BW_OK);
    }
    stand_expect(s, producer_finish(p, TIME_NEVER, &s->error), BW_OK);
    stand_expect(s, producer_close(p, TIME_NEVER, &s->error), BW_OK);
    atomic_store(&reads_inside, 0u);
    atomic_store(&reads_outside, 0u);
    atomic_store(&bytes_inside, 0u);
    sc->c = open_lending(sc, dp);
    sc->idle_bytes = budget_used(s->runtime->budget);
}

static void scene_close(scene *sc)
{
    consumer_close(sc->c);
    assert_int_equal(budget_used(sc->s.runtime->budget), 0);
    stand_close(&sc->s);
}

static void lend(scene *sc, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        stand_expect(&sc->s, consumer_lend(sc->c, ring[i], BUFFER, i, &sc->s.error), BW_OK);
}

static bw_item *take(scene *sc, bool inside)
{
    bw_item *item = NULL;
    stand_expect(&sc->s, consumer_next(sc->c, 20 * NS_PER_S, &item, &sc->s.error), BW_OK);
    assert_memory_equal(item->data, "item", 4);
    const lent_buffer *b = item_lent(item);
    assert_true((b != NULL) == inside);
    if (inside)
        assert_true(b->data == ring[b->token] && item->data > b->data &&
                    item->data + 4 <= b->data + BUFFER);
    return item;
}

/* Until the window is full and all that can be read of it was; how many steps that is. */
static uint32_t settle(const scene *sc)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS};
    bw_consumer *c = sc->c;
    for (;;) {
        uint32_t ready = 0;
        lock_acquire(&c->lock);
        bool settled = c->locked.count == c->locked.window && c->locked.jobs == 0;
        for (uint32_t i = 0; i < c->locked.count; i++) {
            const fetch_state state = consumer_slot(c, i)->state;
            settled &= state == FETCH_PLANNED || state == FETCH_READY;
            ready += state == FETCH_READY;
        }
        lock_release(&c->lock);
        if (settled)
            return ready;
        nanosleep(&pause, NULL);
    }
}

static consumer_stats stats(bw_consumer *c)
{
    lock_acquire(&c->lock);
    const consumer_stats s = c->locked.stats;
    lock_release(&c->lock);
    return s;
}

/* Each byte of each slice is written once, by the store, to where the caller finds it; the library
 * takes no memory for it. A job of half the dp reads two slices a step. */
static void slices_land_in_lent_memory(void **state)
{
    (void)state;
    for (uint32_t reads = 1; reads <= 2; reads++) {
        scene sc;
        scene_open(&sc, 2 / reads);
        assert_int_equal(settle(&sc), 0); /* nothing before there is a buffer */
        lend(&sc, 0, BUFFERS_MAX);
        assert_int_equal(settle(&sc), DEPTH * reads);
        assert_int_equal(budget_used(sc.s.runtime->budget), sc.idle_bytes);
        for (uint32_t i = 0; i < STEPS * reads; i++)
            item_release(take(&sc, true));
        const consumer_stats s = stats(sc.c);
        assert_int_equal(s.lent_reads, STEPS * reads);
        assert_int_equal(s.lent_missed, 0);
        assert_int_equal(atomic_load(&reads_inside), STEPS * reads);
        assert_int_equal(atomic_load(&reads_outside), 0);
        assert_int_equal(s.lent_bytes, atomic_load(&bytes_inside));
        assert_int_equal(s.lent_bytes, STEPS * reads * (frame_bytes_min(1) + 4));
        assert_int_equal(budget_used(sc.s.runtime->budget), sc.idle_bytes);
        assert_int_equal(lending_count(sc.c->lending).free, BUFFERS_MAX);
        scene_close(&sc);
    }
}

/* Read-ahead stands still, next does not; and what comes back is used at the next step. */
static void a_full_ring(void **state)
{
    (void)state;
    scene sc;
    scene_open(&sc, 2);
    lend(&sc, 0, 2);
    assert_int_equal(settle(&sc), 2);
    bw_item *first = take(&sc, true), *second = take(&sc, true);
    bw_item *third = take(&sc, false);
    assert_int_equal(settle(&sc), 0);
    assert_int_equal(stats(sc.c).lent_missed, 1);
    assert_int_equal(atomic_load(&reads_outside), 1);
    item_release(third);
    item_release(first);
    item_release(take(&sc, true));
    item_release(second);
    /* One is free when the next step is handed out, and the other as soon as that was. */
    for (uint32_t i = 4; i < STEPS; i++)
        item_release(take(&sc, true));
    assert_int_equal(stats(sc.c).lent_reads, STEPS - 1);
    assert_int_equal(stats(sc.c).lent_missed, 1);
    scene_close(&sc);
}

static void before_the_first_buffer(void **state)
{
    (void)state;
    scene sc;
    scene_open(&sc, 2);
    item_release(take(&sc, false));
    lend(&sc, 0, 1);
    for (uint32_t i = 1; i < STEPS; i++)
        item_release(take(&sc, true));
    assert_int_equal(stats(sc.c).lent_missed, 1);
    scene_close(&sc);
}

/* As without: read ahead, within the budget. */
static void larger_than_all_buffers(void **state)
{
    (void)state;
    scene sc;
    scene_open(&sc, 2);
    stand_expect(&sc.s, consumer_lend(sc.c, ring[0], 64, 0, &sc.s.error), BW_OK);
    assert_int_equal(settle(&sc), DEPTH);
    for (uint32_t i = 0; i < STEPS; i++)
        item_release(take(&sc, false));
    assert_int_equal(stats(sc.c).lent_missed, STEPS);
    assert_int_equal(lending_count(sc.c->lending).free, 1);
    scene_close(&sc);
}

/* Its items are views of the caller's memory; the library is done with it. */
static void closed_with_buffers_lent(void **state)
{
    (void)state;
    scene sc;
    scene_open(&sc, 2);
    lend(&sc, 0, 3);
    bw_item *item = take(&sc, true);
    scene_close(&sc);
    assert_memory_equal(item->data, "item", 4);
    memset(ring, 0, sizeof ring);
    item_release(item);
    /* With reads under way: none writes after the close. */
    scene_open(&sc, 2);
    lend(&sc, 0, BUFFERS_MAX);
    consumer_close(sc.c);
    memset(ring, 0x5a, sizeof ring);
    sc.c = open_lending(&sc, 2);
    assert_int_equal(settle(&sc), 0);
    for (size_t i = 0; i < sizeof ring; i++)
        assert_int_equal(((const uint8_t *)ring)[i], 0x5a);
    scene_close(&sc);
}

/* A read that found no memory for its slice is repeated, into the same buffer. */
static void memory_runs_out(void **state)
{
    (void)state;
    scene sc;
    scene_open(&sc, 2);
    assert_int_equal(settle(&sc), 0);
    refuse = true;
    stand_expect(&sc.s, consumer_lend(sc.c, ring[0], BUFFER, 0, &sc.s.error), BW_NOMEM);
    assert_int_equal(lending_count(sc.c->lending).buffers, 0);
    atomic_store(&exhausted, 3);
    lend(&sc, 0, 2);
    for (uint32_t i = 0; i < STEPS; i++)
        item_release(take(&sc, true));
    assert_int_equal(atomic_load(&reads_inside), STEPS + 3);
    assert_int_equal(stats(sc.c).lent_missed, 0);
    assert_int_equal(lending_count(sc.c->lending).free, 2);
    scene_close(&sc);
}

static void only_where_it_was_asked_for(void **state)
{
    (void)state;
    scene sc;
    scene_open(&sc, 2);
    bw_consumer *plain = stand_consumer(&sc.s, sc.s.space, 1);
    stand_expect(&sc.s, consumer_lend(plain, ring[0], BUFFER, 0, &sc.s.error), BW_INVALID);
    stand_take(&sc.s, plain, "item");
    consumer_close(plain);
    scene_close(&sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_that_will_do),   cmocka_unit_test(what_cannot_be_lent),
        cmocka_unit_test(slices_land_in_lent_memory),  cmocka_unit_test(a_full_ring),
        cmocka_unit_test(before_the_first_buffer),     cmocka_unit_test(larger_than_all_buffers),
        cmocka_unit_test(closed_with_buffers_lent),    cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(only_where_it_was_asked_for),
    };
    return cmocka_run_group_tests_name("lending", tests, NULL, NULL);
}
