// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Small slices behind a network: one job reads many, each for itself. Jobs are seen at
 * executor_submit, memory runs out at mem_aligned, both through --wrap. */
#include "stand.h"

#include "base/alloc.h"
#include "store/decorator.h"
#include "store/decorators.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define STEPS 16u
#define TAIL 2u /* so few are found in the manifest, all at once */
#define UNLIMITED 1000000
#define LARGE 600000u /* no two in a megabyte */

static atomic_uint jobs, buffers_made;
static atomic_int exhausted; /* buffers to refuse memory for */
static atomic_int allowed;   /* reads that the store will answer */
static char large[LARGE + 1];

void __real_executor_submit(executor *e, job *j);
void __wrap_executor_submit(executor *e, job *j);
void *__real_mem_aligned(size_t alignment, size_t bytes);
void *__wrap_mem_aligned(size_t alignment, size_t bytes);

void __wrap_executor_submit(executor *e, job *j)
{
    atomic_fetch_add(&jobs, 1u);
    __real_executor_submit(e, j);
}

void *__wrap_mem_aligned(size_t alignment, size_t bytes)
{
    atomic_fetch_add(&buffers_made, 1u);
    return atomic_fetch_sub(&exhausted, 1) > 0 ? NULL : __real_mem_aligned(alignment, bytes);
}

/* ---- a store that is far away: it maps nothing, and answers reads when it is allowed to ---- */

typedef struct far_store {
    decorator over;
    op_queue waiting;
} far_store;

static void far_submit(store *s, store_op *op)
{
    far_store *f = (far_store *)s;
    if (op->kind == STORE_READ)
        op_queue_push(&f->waiting, op);
    else
        store_submit(f->over.inner, op);
}

static size_t far_poll(store *s, store_op **done, size_t max, int64_t timeout_ns)
{
    far_store *f = (far_store *)s;
    const struct timespec pause = {.tv_nsec = NS_PER_MS};
    while (f->waiting.count > 0 && atomic_load(&allowed) > 0) {
        atomic_fetch_sub(&allowed, 1);
        store_submit(f->over.inner, op_queue_pop(&f->waiting));
    }
    const bool waits = f->waiting.count > 0;
    const size_t count = store_poll(f->over.inner, done, max, waits ? 0 : timeout_ns);
    if (count == 0 && waits)
        nanosleep(&pause, NULL);
    return count;
}

static bw_status far_clone(store *s, store **out, bw_error *error);

static const store_driver far_driver = {
    .name = "far",
    .submit = far_submit,
    .poll = far_poll,
    .clone = far_clone,
    .close = decorator_close,
};

static bw_status far_wrap(store *inner, store **out, bw_error *error)
{
    BW_TRY(decorator_new(sizeof(far_store), &far_driver, inner, out, error));
    (*out)->features &= ~(uint32_t)(STORE_CAN_MAP | STORE_IS_LOCAL);
    return BW_OK;
}

static bw_status far_clone(store *s, store **out, bw_error *error)
{
    store *inner = NULL;
    BW_TRY(store_clone(((far_store *)s)->over.inner, &inner, error));
    return decorator_cloned(inner, far_wrap(inner, out, error));
}

/* ---- a namespace, and a rank of it ---- */

typedef struct scene {
    stand s;
    bw_space *space;
    bw_consumer *c;
    uint32_t steps;
} scene;

static void say(char *text, size_t capacity, uint32_t step, bool is_large)
{
    if (is_large)
        (void)snprintf(text, capacity, "%0*u", (int)LARGE, step);
    else
        (void)snprintf(text, capacity, "item %u", step);
}

static void fill(stand *s, uint32_t steps, bool is_large)
{
    bw_producer *p = stand_producer(s, s->space, "p", "naive");
    for (uint32_t step = 0; step < steps; step++) {
        say(large, sizeof large, step, is_large);
        stand_put(s, p, large, step + 1);
        stand_expect(s, producer_flush(p, true, 10 * NS_PER_S, &s->error), BW_OK);
    }
    stand_expect(s, producer_finish(p, 10 * NS_PER_S, &s->error), BW_OK);
    stand_expect(s, producer_close(p, 0, &s->error), BW_OK);
}

static void open_space(scene *sc, const char *rules)
{
    stand *s = &sc->s;
    store *plain = NULL, *distant = NULL, *faulty = NULL;
    const space_options options = {.retry_limit_ns = 30 * NS_PER_S};
    stand_expect(s, store_mem_open(s->contents, &plain, &s->error), BW_OK);
    stand_expect(s, far_wrap(plain, &distant, &s->error), BW_OK);
    stand_expect(s, store_fault_wrap(distant, rules, &faulty, &s->error), BW_OK);
    stand_expect(
        s, space_open_on(s->runtime, faulty, "far", &options, 20 * NS_PER_S, &sc->space, &s->error),
        BW_OK);
}

static void open_rank(scene *sc, bw_space *space, uint32_t prefetch)
{
    const consumer_options options = {
        .has_position = true,
        .tp = 1,
        .pp = 1,
        .start = START_EARLIEST,
        .prefetch = prefetch,
        .verify = true,
    };
    atomic_store(&jobs, 0u);
    stand_expect(&sc->s, consumer_open(space, &options, NULL, TIME_NEVER, &sc->c, &sc->s.error),
                 BW_OK);
}

static void scene_open(scene *sc, uint32_t steps, bool is_large, const char *rules)
{
    atomic_store(&exhausted, 0);
    atomic_store(&allowed, UNLIMITED);
    stand_open(&sc->s, 1, "", false);
    fill(&sc->s, steps, is_large);
    sc->steps = steps;
    open_space(sc, rules);
    atomic_store(&buffers_made, 0u);
}

static void close_rank(scene *sc)
{
    consumer_close(sc->c);
    assert_int_equal(budget_used(sc->s.runtime->budget), 0);
}

static void scene_close(scene *sc)
{
    close_rank(sc);
    space_close(sc->space);
    stand_close(&sc->s);
}

static void take(scene *sc, uint32_t step, bool is_large)
{
    say(large, sizeof large, step, is_large);
    stand_take(&sc->s, sc->c, large);
}

static void take_all(scene *sc, bool is_large)
{
    for (uint32_t step = 0; step < sc->steps; step++)
        take(sc, step, is_large);
}

/* ---- what is expected ---- */

static void one_job_reads_many(void **state)
{
    (void)state;
    scene sc;
    scene_open(&sc, TAIL, false, "");
    open_rank(&sc, sc.space, STEPS);
    take_all(&sc, false);
    assert_int_equal(atomic_load(&jobs), 1);
    close_rank(&sc);
    /* Where slices are mapped, nobody waits for anything. */
    open_rank(&sc, sc.s.space, STEPS);
    take_all(&sc, false);
    assert_int_equal(atomic_load(&jobs), TAIL);
    scene_close(&sc);
}

/* Large ones are checked side by side; and their memory is used again. */
static void no_more_than_a_megabyte(void **state)
{
    (void)state;
    scene sc;
    scene_open(&sc, TAIL, true, "");
    open_rank(&sc, sc.space, STEPS);
    take_all(&sc, true);
    assert_int_equal(atomic_load(&jobs), TAIL);
    close_rank(&sc);
    open_rank(&sc, sc.space, STEPS);
    take_all(&sc, true);
    assert_in_range(atomic_load(&buffers_made), 1, TAIL);
    scene_close(&sc);
}

/* The trainer does not wait for the others of a group. */
static void each_as_soon_as_it_is_there(void **state)
{
    (void)state;
    scene sc;
    bw_item *item = NULL;
    scene_open(&sc, TAIL, false, "");
    atomic_store(&allowed, 0);
    open_rank(&sc, sc.space, STEPS);
    for (uint32_t step = 0; step < TAIL; step++) {
        stand_expect(&sc.s, consumer_next(sc.c, 5 * NS_PER_MS, &item, &sc.s.error), BW_STARVED);
        atomic_store(&allowed, 1);
        take(&sc, step, false);
    }
    assert_int_equal(atomic_load(&jobs), 1);
    scene_close(&sc);
}

/* A second look is for that one alone. */
static void one_of_them_fails(void **state)
{
    (void)state;
    static const char *const rules[] = {"flip:read:data/:3", "not-found:read:data/:5",
                                        "short-read:read:data/:8", "retry-before:read:data/:1"};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        scene sc;
        scene_open(&sc, STEPS, false, rules[i]);
        open_rank(&sc, sc.space, STEPS);
        take_all(&sc, false);
        if (i < 2)
            assert_int_equal(sc.c->locked.stats.refetches, 1);
        scene_close(&sc);
    }
}

static void memory_runs_out(void **state)
{
    (void)state;
    scene sc;
    scene_open(&sc, STEPS, false, "");
    atomic_store(&exhausted, 3); /* some of a group */
    open_rank(&sc, sc.space, STEPS);
    take_all(&sc, false);
    scene_close(&sc);
}

/* ---- closed meanwhile ---- */

typedef struct occupant {
    job job;
    atomic_bool running;
} occupant;

static atomic_bool blocked;

static void wait_unblocked(job *j, uint32_t worker)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS};
    (void)worker;
    atomic_store(&((occupant *)(void *)j)->running, true);
    while (atomic_load(&blocked))
        nanosleep(&pause, NULL);
    atomic_store(&((occupant *)(void *)j)->running, false);
}

static void until_it_is(const atomic_bool *flag, bool value)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS};
    while (atomic_load(flag) != value)
        nanosleep(&pause, NULL);
}

/* No thread has come to the groups yet: they are taken out of the queue whole. */
static void closed_before_it_begins(void **state)
{
    (void)state;
    enum { THREADS = EXECUTOR_THREADS_MAX };
    static occupant occupants[THREADS];
    scene sc;
    scene_open(&sc, STEPS, false, "");
    atomic_store(&blocked, true);
    executor *e = sc.s.runtime->executor;
    assert_int_equal(executor_start(e), BW_OK);
    for (uint32_t i = 0; i < THREADS; i++) {
        occupants[i].job.run = wait_unblocked;
        __real_executor_submit(e, &occupants[i].job);
        until_it_is(&occupants[i].running, true);
    }
    open_rank(&sc, sc.space, STEPS);
    while (atomic_load(&jobs) == 0)
        nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
    close_rank(&sc);
    atomic_store(&blocked, false);
    for (uint32_t i = 0; i < THREADS; i++)
        until_it_is(&occupants[i].running, false);
    open_rank(&sc, sc.space, STEPS);
    take_all(&sc, false);
    scene_close(&sc);
}

static void *allow_soon(void *context)
{
    (void)context;
    nanosleep(&(struct timespec){.tv_nsec = 20 * NS_PER_MS}, NULL);
    atomic_store(&allowed, UNLIMITED);
    return NULL;
}

/* What is on its way is waited for. */
static void closed_while_it_reads(void **state)
{
    (void)state;
    scene sc;
    bw_item *item = NULL;
    pthread_t thread;
    scene_open(&sc, STEPS, false, "");
    atomic_store(&allowed, 0);
    open_rank(&sc, sc.space, STEPS);
    stand_expect(&sc.s, consumer_next(sc.c, 5 * NS_PER_MS, &item, &sc.s.error), BW_STARVED);
    assert_int_equal(thread_start(&thread, "allow", allow_soon, NULL), BW_OK);
    scene_close(&sc);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_job_reads_many),
        cmocka_unit_test(no_more_than_a_megabyte),
        cmocka_unit_test(each_as_soon_as_it_is_there),
        cmocka_unit_test(one_of_them_fails),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(closed_before_it_begins),
        cmocka_unit_test(closed_while_it_reads),
    };
    return cmocka_run_group_tests_name("grouped", tests, NULL, NULL);
}
