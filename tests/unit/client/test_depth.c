// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * How far a rank reads ahead, on a clock of its own: the trainer's steps move it for everybody, and
 * a read (seen at store_run, through --wrap) only for the thread that makes it. So latencies are
 * exact, however many reads there are at once.
 */
#include "stand.h"

#include "base/alloc.h"
#include "client/depth.h"
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define STEPS 300u
#define MS NS_PER_MS

static atomic_int_least64_t trainer_ns, latency_ns;
static atomic_uint looks; /* at the clock */
static bw_consumer *_Atomic stalled;
static _Thread_local int64_t reader_ns;
static _Thread_local bool refuse;

store_outcome __real_store_run(store *s, store_op *op);
store_outcome __wrap_store_run(store *s, store_op *op);
void *__real_mem_zalloc(size_t bytes);
void *__wrap_mem_zalloc(size_t bytes);

/* Until the trainer waits for it, and then for a second of everybody's. */
static void stall(void)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS / 10};
    bw_consumer *c = NULL;
    while ((c = atomic_load(&stalled)) != NULL) {
        lock_acquire(&c->lock);
        const bool waiting = c->locked.waiting;
        lock_release(&c->lock);
        if (waiting) {
            atomic_fetch_add(&trainer_ns, NS_PER_S);
            return;
        }
        nanosleep(&pause, NULL);
    }
}

store_outcome __wrap_store_run(store *s, store_op *op)
{
    if (strncmp(op->key, "data/", 5) == 0) {
        reader_ns += atomic_load(&latency_ns);
        stall();
    }
    return __real_store_run(s, op);
}

void *__wrap_mem_zalloc(size_t bytes)
{
    return refuse ? NULL : __real_mem_zalloc(bytes);
}

static int64_t look(void *context)
{
    (void)context;
    atomic_fetch_add(&looks, 1u);
    return atomic_load(&trainer_ns) + reader_ns;
}

static const clock_source virtual_clock = {.monotonic_ns = look};

/* ---- the rule ---- */

static uint32_t steps_for(int64_t latency, int64_t step)
{
    depth d = {.latency_ns = 0};
    depth_read(&d, latency);
    depth_step(&d, step);
    return depth_steps(&d);
}

static void latency_by_step(void **state)
{
    (void)state;
    static const struct {
        int64_t latency, step;
        uint32_t steps;
    } cases[] = {
        {0, 0, 4},
        {0, 10, 4},
        {1, 10, 4},
        {10, 10, 4},
        {11, 10, 6},
        {20, 10, 6},
        {21, 10, 8},
        {300, 10, 62},
        {301, 10, DEPTH_MAX},
        {1, 0, DEPTH_MAX},
        {-5, 10, 4}, /* a clock that goes back */
        {10, -5, DEPTH_MAX},
        {INT64_MAX, INT64_MAX, 4},
        {INT64_MAX, 1, DEPTH_MAX},
    };
    const depth nothing = {.latency_ns = 0};
    assert_int_equal(depth_steps(&nothing), DEPTH_FIRST);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(steps_for(cases[i].latency, cases[i].step), cases[i].steps);
}

static void up_at_once_and_slowly_down(void **state)
{
    (void)state;
    depth d = {.latency_ns = 0};
    depth_read(&d, 80);
    assert_int_equal(d.latency_ns, 80);
    depth_read(&d, 0);
    assert_int_equal(d.latency_ns, 70);
    depth_read(&d, 100);
    assert_int_equal(d.latency_ns, 100);
    for (int i = 0; i < 100; i++)
        depth_read(&d, 3);
    assert_int_equal(d.latency_ns, 3);
    depth_step(&d, 800);
    assert_int_equal(d.step_ns, 800);
    depth_step(&d, 0);
    assert_int_equal(d.step_ns, 700);
    depth_step(&d, 1500);
    assert_int_equal(d.step_ns, 800);
    /* Four steps at once and then the work of all four: as one by one. */
    for (int i = 0; i < 400; i++)
        depth_step(&d, i % 4 == 0 ? 400 : 0);
    assert_in_range(d.step_ns, 50, 150);
}

/* ---- the window ---- */

typedef struct scene {
    stand s;
    bw_consumer *c;
    uint32_t taken;
} scene;

static void scene_open(scene *sc, uint32_t prefetch)
{
    stand *s = &sc->s;
    stand_open(s, 1, "", false);
    bw_producer *p = stand_producer(s, s->space, "p", "naive");
    for (uint64_t i = 1; i <= STEPS; i++)
        stand_put(s, p, "item", i);
    stand_expect(s, producer_finish(p, TIME_NEVER, &s->error), BW_OK);
    stand_expect(s, producer_close(p, TIME_NEVER, &s->error), BW_OK);
    atomic_store(&trainer_ns, NS_PER_S);
    atomic_store(&latency_ns, 0);
    atomic_store(&looks, 0u);
    const consumer_options options = {
        .has_position = true,
        .tp = 1,
        .pp = 1,
        .start = START_EARLIEST,
        .prefetch = prefetch,
        .verify = true,
        .clock = &virtual_clock,
    };
    stand_expect(s, consumer_open(s->space, &options, NULL, TIME_NEVER, &sc->c, &s->error), BW_OK);
    sc->taken = 0;
}

static void scene_close(scene *sc)
{
    consumer_close(sc->c);
    assert_int_equal(budget_used(sc->s.runtime->budget), 0);
    stand_close(&sc->s);
}

/* Once all is read that was begun: how many steps are in the window, and how many are there. */
static uint32_t settle(const scene *sc, uint32_t *ready)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS / 10};
    bw_consumer *c = sc->c;
    for (;;) {
        lock_acquire(&c->lock);
        bool settled = c->locked.jobs == 0;
        *ready = 0;
        for (uint32_t i = 0; i < c->locked.count; i++) {
            const fetch_state state = consumer_slot(c, i)->state;
            settled &= state == FETCH_READY || state == FETCH_PLANNED;
            *ready += state == FETCH_READY;
        }
        const uint32_t count = c->locked.count;
        lock_release(&c->lock);
        if (settled && count > 0)
            return count;
        nanosleep(&pause, NULL);
    }
}

/* So many steps of the trainer: the most that were in the window, and at no time less than half of
 * it, which is there. */
static uint32_t train(scene *sc, uint32_t steps, int64_t step_ns)
{
    uint32_t most = 0, ready = 0;
    for (uint32_t i = 0; i < steps; i++, sc->taken++) {
        const uint32_t count = settle(sc, &ready);
        assert_int_equal(ready, count);
        assert_true(count >= sc->c->locked.window / 2);
        most = count > most ? count : most;
        atomic_fetch_add(&trainer_ns, step_ns);
        stand_take(&sc->s, sc->c, "item");
    }
    const uint32_t count = settle(sc, &ready);
    assert_int_equal(sc->c->locked.stats.reads, sc->taken + count); /* each once, and no more */
    return most;
}

static void the_window_follows(void **state)
{
    (void)state;
    scene sc;
    scene_open(&sc, 0);
    atomic_store(&latency_ns, 15 * MS);
    (void)train(&sc, 24, 10 * MS);
    assert_int_equal(sc.c->locked.window, 6);
    assert_int_equal(train(&sc, 12, 10 * MS), 6);
    /* A slower store: known from the next read, deeper with the step after that. */
    atomic_store(&latency_ns, 95 * MS);
    (void)train(&sc, 5, 10 * MS);
    assert_int_equal(sc.c->locked.window, 22);
    assert_int_equal(train(&sc, 24, 10 * MS), 22);
    /* A trainer that takes its time. */
    (void)train(&sc, 60, 100 * MS);
    assert_int_equal(sc.c->locked.window, 4);
    assert_int_equal(train(&sc, 12, 100 * MS), 4);
    /* One that only reads. */
    (void)train(&sc, 60, 0);
    assert_int_equal(sc.c->locked.window, DEPTH_MAX);
    scene_close(&sc);
}

static void a_fixed_depth_stays(void **state)
{
    (void)state;
    scene sc;
    scene_open(&sc, 5);
    atomic_store(&latency_ns, 95 * MS);
    assert_int_equal(train(&sc, 20, 10 * MS), 5);
    assert_int_equal(train(&sc, 20, 1000 * MS), 5);
    assert_int_equal(train(&sc, 20, 0), 5);
    assert_int_equal(sc.c->locked.window, 5);
    assert_int_equal(sc.c->locked.slots, 5);
    /* Two looks of each read, and those of calls that waited. */
    assert_int_equal(atomic_load(&looks),
                     2 * (sc.c->locked.stats.reads + sc.c->locked.stats.waits));
    scene_close(&sc);
}

/* One step of the trainer: how many are there then. */
static uint32_t step(scene *sc)
{
    uint32_t ready = 0;
    atomic_fetch_add(&trainer_ns, 10 * MS);
    stand_take(&sc->s, sc->c, "item");
    (void)settle(sc, &ready);
    return ready;
}

static uint64_t take_the_rest(budget *b)
{
    uint64_t taken = 0;
    for (uint64_t bytes = 1u << 30; bytes > 0; bytes /= 2)
        taken += budget_take(b, bytes, false) ? bytes : 0;
    return taken;
}

/* However deep it would like to be. */
static void within_the_budget(void **state)
{
    (void)state;
    scene sc;
    uint32_t ready = 0;
    scene_open(&sc, 0);
    atomic_store(&latency_ns, 95 * MS);
    (void)train(&sc, 12, 10 * MS);
    assert_int_equal(sc.c->locked.window, 22);
    (void)settle(&sc, &ready);
    /* Others take what room there is, until five steps are read ahead. */
    budget *b = sc.s.runtime->budget;
    uint64_t others = 0, most = 0;
    while (ready > 5) {
        others += take_the_rest(b);
        most = budget_used(b);
        ready = step(&sc);
    }
    for (uint32_t i = 0; i < 40; i++) {
        assert_in_range(step(&sc), 5, 6); /* with the one that is handed out, six fit */
        assert_in_range(budget_used(b), others, most);
    }
    budget_give(b, others);
    assert_int_equal(step(&sc), 22);
    scene_close(&sc);
}

/* A rank that always waits for the store is no slow trainer. */
static void waits_are_not_the_trainers(void **state)
{
    (void)state;
    scene sc;
    scene_open(&sc, 0);
    (void)train(&sc, 4, 10 * MS);
    /* No room to read ahead: what comes next is read when the step before it is handed out. */
    budget *b = sc.s.runtime->budget;
    uint64_t others = 0;
    do
        others += take_the_rest(b);
    while (step(&sc) > 1);
    others += take_the_rest(b);
    const uint64_t waits = sc.c->locked.stats.waits;
    atomic_store(&stalled, sc.c);
    for (uint32_t i = 0; i < 20; i++) {
        atomic_fetch_add(&trainer_ns, 10 * MS);
        stand_take(&sc.s, sc.c, "item");
        others += take_the_rest(b);
    }
    assert_true(sc.c->locked.stats.waits >= waits + 10);
    assert_int_equal(sc.c->locked.depth.step_ns, 10 * MS);
    assert_int_equal(depth_steps(&sc.c->locked.depth), DEPTH_MAX);
    assert_int_equal(sc.c->locked.slots, DEPTH_FIRST); /* nor is there room for more slots */
    atomic_store(&stalled, NULL);
    budget_give(b, others);
    scene_close(&sc);
}

/* Then it stays as deep as it was, and is no failure. */
static void without_memory_to_grow(void **state)
{
    (void)state;
    scene sc;
    scene_open(&sc, 0);
    atomic_store(&latency_ns, 95 * MS);
    refuse = true; /* in this thread, where windows grow */
    assert_int_equal(train(&sc, 30, 10 * MS), DEPTH_FIRST);
    assert_int_equal(sc.c->locked.slots, DEPTH_FIRST);
    refuse = false;
    (void)train(&sc, 1, 10 * MS);
    assert_int_equal(train(&sc, 30, 10 * MS), 22);
    scene_close(&sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latency_by_step),        cmocka_unit_test(up_at_once_and_slowly_down),
        cmocka_unit_test(the_window_follows),     cmocka_unit_test(a_fixed_depth_stays),
        cmocka_unit_test(within_the_budget),      cmocka_unit_test(waits_are_not_the_trainers),
        cmocka_unit_test(without_memory_to_grow),
    };
    return cmocka_run_group_tests_name("depth", tests, NULL, NULL);
}
