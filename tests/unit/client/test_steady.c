// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What a rank allocates once it runs: nothing for a step, a fixed number for a segment. */
#include "allocations.h"
#include "stand.h"

#include "tests/contract/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DP 4u
#define ITEMS 3u
#define WARM_STEPS 24u
#define STEPS 150u
#define WINDOW 8u

/* One thread: each makes its store at its first job, whenever that comes. */
typedef struct steady {
    stand s; /* runtime and error only */
    char *root;
    char url[256];
    bw_space *space;
    bw_consumer *c;
} steady;

static void put_steps(steady *t, uint32_t steps)
{
    stand *s = &t->s;
    /* One commit takes all that is staged: a history of few segments, or of none. */
    bw_producer *p = stand_producer(s, t->space, "p", "naive");
    static const char text[] = "an item of a steady step";
    const struct iovec piece = {(void *)(uintptr_t)text, sizeof text};
    for (uint32_t k = 1; k <= steps; k++) {
        bw_batch *b = NULL;
        stand_expect(s, batch_new(p, ITEMS, &b, &s->error), BW_OK);
        for (uint32_t d = 0; d < DP; d++)
            for (uint32_t i = 0; i < ITEMS; i++)
                stand_expect(s, batch_set_item(b, d, 0, i, &piece, 1, &s->error), BW_OK);
        stand_expect(s, producer_put(p, b, k, view_text(""), k, TIME_NEVER, &s->error), BW_OK);
        bw_event *e = NULL;
        while (producer_event(p, 0, &e, NULL) == BW_OK)
            event_free(e);
    }
    stand_expect(s, producer_finish(p, TIME_NEVER, &s->error), BW_OK);
    stand_expect(s, producer_close(p, TIME_NEVER, &s->error), BW_OK);
}

static void set_up(steady *t, uint32_t tail_cap, uint32_t dp)
{
    stand *s = &t->s;
    const space_options options = {.writable = true, .retry_limit_ns = 10 * NS_PER_S};
    const consumer_options reading = {.has_position = true,
                                      .d = 1,
                                      .tp = 1,
                                      .pp = 1,
                                      .dp = dp,
                                      .start = START_EARLIEST,
                                      .prefetch = WINDOW,
                                      .verify = true};
    const runtime_options threads = {
        .threads = 1, .memory_bytes = 64u << 20, .log = LOG_LEVEL_ERROR};
    const genesis g = {.dp = DP,
                       .cp = 1,
                       .items_default = ITEMS,
                       .block_size = 4,
                       .tail_cap = tail_cap,
                       .part_bytes = 4096,
                       .page_min = 2,
                       .schema = view_text("")};
    s->commit_timeout_ns = 10 * NS_PER_S;
    stand_expect(s, runtime_open(&threads, &s->runtime, &s->error), BW_OK);
    t->root = scratch_make();
    (void)snprintf(t->url, sizeof t->url, "file://%s", t->root);
    stand_expect(s, stand_init_at(s->runtime, t->url, &options, &g, &s->error), BW_OK);
    stand_expect(s, stand_open_at(s->runtime, t->url, &options, TIME_NEVER, &t->space, &s->error),
                 BW_OK);
    put_steps(t, WARM_STEPS + STEPS + 2 * WINDOW);
    stand_expect(s, consumer_open(t->space, &reading, NULL, TIME_NEVER, &t->c, &s->error), BW_OK);
}

static void tear_down(steady *t)
{
    consumer_close(t->c);
    space_close(t->space);
    runtime_close(t->s.runtime);
    scratch_remove(t->root);
}

static bw_item *take(steady *t)
{
    bw_item *item = NULL;
    stand_expect(&t->s, consumer_next(t->c, TIME_NEVER, &item, &t->s.error), BW_OK);
    return item;
}

/* How much of the window there is, once all that was begun is there. */
static uint32_t settled_window(const steady *t)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS};
    bw_consumer *c = t->c;
    for (;;) {
        bool ready = true;
        lock_acquire(&c->lock);
        const uint32_t count = c->locked.count;
        for (uint32_t i = 0; i < count; i++)
            ready &= consumer_slot(c, i)->state == FETCH_READY;
        lock_release(&c->lock);
        if (ready)
            return count;
        nanosleep(&pause, NULL);
    }
}

/* Until there was the most that is ever held at once: a full window beside the item that was handed
 * out last. */
static void warm_up(steady *t, uint32_t items)
{
    uint32_t most = 0;
    for (uint32_t k = 0; k < WARM_STEPS; k++)
        for (uint32_t i = 0; i < items; i++) {
            bw_item *item = take(t);
            const uint32_t count = settled_window(t);
            most = count > most && i + 1 == items ? count : most;
            item_release(item);
        }
    assert_int_equal(most, t->c->slots_max);
}

static uint64_t read_steps(steady *t, uint32_t items)
{
    const uint64_t before = allocations();
    for (uint32_t k = 0; k < STEPS * items; k++)
        item_release(take(t));
    return allocations() - before;
}

static uint64_t requests(steady *t, store_op_kind kind)
{
    return atomic_load(&t->space->meter.ops[kind]);
}

/* Where the store cannot map, the bytes themselves need a buffer. */
static uint64_t buffers(steady *t, uint32_t slices)
{
    return (t->space->base->features & STORE_CAN_MAP) != 0 ? 0 : slices * STEPS;
}

static void counting_counts(void **state)
{
    (void)state;
    const uint64_t before = allocations();
    void *memory = malloc(100);
    memory = realloc(memory, 1u << 20);
    assert_non_null(memory);
    free(memory);
    char *text = strdup("by the C library itself");
    assert_non_null(text);
    free(text);
    assert_int_equal(allocations() - before, 3);
}

static void a_step_allocates_nothing(void **state)
{
    (void)state;
    steady t = {0};
    set_up(&t, 1u << 20, DP);
    warm_up(&t, ITEMS);
    assert_int_equal(read_steps(&t, ITEMS), buffers(&t, 1));
    tear_down(&t);
}

/* A smaller job reads two slices of each step. */
static void nor_does_a_step_of_two_slices(void **state)
{
    (void)state;
    steady t = {0};
    set_up(&t, 1u << 20, DP / 2);
    warm_up(&t, 2 * ITEMS);
    assert_int_equal(read_steps(&t, 2 * ITEMS), buffers(&t, 2));
    tear_down(&t);
}

/* The object, its entry in the cache, and two tables while it is checked. */
static void a_segment_costs_four(void **state)
{
    (void)state;
    steady t = {0};
    set_up(&t, 4096, DP);
    warm_up(&t, ITEMS);
    const uint64_t before = requests(&t, STORE_GET);
    const uint64_t count = read_steps(&t, ITEMS) - buffers(&t, 1);
    const uint64_t loads = requests(&t, STORE_GET) - before;
    assert_in_range(loads, 1, STEPS / 4);
    assert_int_equal(count, 4 * loads);
    tear_down(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counting_counts),
        cmocka_unit_test(a_step_allocates_nothing),
        cmocka_unit_test(nor_does_a_step_of_two_slices),
        cmocka_unit_test(a_segment_costs_four),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
