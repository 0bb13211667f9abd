// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "delay.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "store/driver.h"
#include <math.h>
#include <time.h>

#define INFLIGHT_MAX 64u
#define SIGMA 0.15

typedef struct held_op {
    store_op *op;
    int64_t apply_ns, due_ns;
    bool applied;
} held_op;

typedef struct delay_store {
    store base;
    store *inner;
    delay_medians medians;
    rng random;
    held_op *held;
    size_t count, capacity;
    op_queue complete; /* ended here */
} delay_store;

static delay_store *delay_of(store *s)
{
    return (delay_store *)s;
}

static int64_t draw_ns(delay_store *d, double median_ms)
{
    const double u = ((double)rng_below(&d->random, 1u << 30) + 1) / (1u << 30);
    const double angle = (double)rng_below(&d->random, 1u << 30) * (2 * M_PI / (1u << 30));
    return (int64_t)(median_ms * NS_PER_MS * exp(SIGMA * sqrt(-2 * log(u)) * cos(angle)));
}

static void delay_submit(store *s, store_op *op)
{
    delay_store *d = delay_of(s);
    void *held = d->held;
    if (mem_grow(&held, &d->capacity, d->count + 1, sizeof *d->held) != 0) {
        store_op_end(op, STORE_FATAL, BW_NOMEM, "no memory for one more operation");
        op_queue_push(&d->complete, op);
        return;
    }
    d->held = held;
    const bool writes =
        op->kind == STORE_PUT || op->kind == STORE_CREATE || op->kind == STORE_DELETE;
    const int64_t takes_ns = draw_ns(d, writes ? d->medians.write_ms : d->medians.read_ms);
    const int64_t now_ns = clock_now(clock_system());
    d->held[d->count++] =
        (held_op){op, now_ns + (writes ? takes_ns : takes_ns / 2), now_ns + takes_ns, false};
}

static void apply(delay_store *d, held_op *h)
{
    store_op *done;
    store_submit(d->inner, h->op);
    while (store_poll(d->inner, &done, 1, NS_PER_S) == 0)
        continue;
    h->applied = true;
}

/* Moves what is over to `done`; *next_ns: when to look again. */
static size_t move_on(delay_store *d, store_op **done, size_t max, int64_t *next_ns)
{
    const int64_t now_ns = clock_now(clock_system());
    size_t over = 0;
    *next_ns = TIME_NEVER;
    for (size_t i = d->count; i-- > 0;) {
        held_op *h = &d->held[i];
        if (!h->applied && h->apply_ns <= now_ns)
            apply(d, h);
        const int64_t due_ns = h->applied ? h->due_ns : h->apply_ns;
        if (h->applied && due_ns <= now_ns && over < max) {
            done[over++] = h->op;
            *h = d->held[--d->count]; /* looked at already */
        } else if (due_ns < *next_ns) {
            *next_ns = due_ns;
        }
    }
    return over;
}

static void sleep_until(int64_t at_ns)
{
    const int64_t left_ns = at_ns - clock_now(clock_system());
    const struct timespec pause = {left_ns / NS_PER_S, (long)(left_ns % NS_PER_S)};
    if (left_ns > 0)
        nanosleep(&pause, NULL);
}

static size_t delay_poll(store *s, store_op **done, size_t max, int64_t timeout_ns)
{
    delay_store *d = delay_of(s);
    const int64_t deadline_ns = timeout_ns > 0 ? clock_deadline(clock_system(), timeout_ns) : 0;
    size_t over = op_queue_drain(&d->complete, done, max);
    while (over == 0 && d->count > 0) {
        int64_t next_ns;
        over = move_on(d, done, max, &next_ns);
        if (over > 0 || clock_now(clock_system()) >= deadline_ns)
            break;
        sleep_until(next_ns < deadline_ns ? next_ns : deadline_ns);
    }
    return over;
}

static bw_status delay_clone(store *s, store **out, bw_error *error)
{
    delay_store *d = delay_of(s);
    store *inner = NULL;
    BW_TRY(store_clone(d->inner, &inner, error));
    const bw_status status = delay_wrap(inner, d->medians, rng_u64(&d->random), out, error);
    if (status != BW_OK)
        store_close(inner);
    return status;
}

static void delay_close(store *s)
{
    delay_store *d = delay_of(s);
    store_close(d->inner);
    mem_free(d->held);
    mem_free(d);
}

static const store_driver delay_driver = {
    .name = "delay",
    .submit = delay_submit,
    .poll = delay_poll,
    .clone = delay_clone,
    .close = delay_close,
    .probe = store_probe_by_ops,
};

bw_status delay_wrap(store *inner, delay_medians medians, uint64_t seed, store **out,
                     bw_error *error)
{
    delay_store *d = mem_zalloc(sizeof *d);
    if (d == NULL)
        return error_set(error, BW_NOMEM, "no memory for a store");
    /* Neither local nor blocking any more, and what is mapped cannot be late. */
    d->base = (store){.driver = &delay_driver, .inflight_max = INFLIGHT_MAX};
    d->inner = inner;
    d->medians = medians;
    rng_seed(&d->random, seed);
    *out = &d->base;
    return BW_OK;
}
