// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "timed_store.h"

#include "base/thread.h"
#include "store/driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TIMED_INFLIGHT_MAX 64u

typedef struct timed_flight {
    store_op *op;
    int64_t due_ns;
    timed_answer answer;
} timed_flight;

typedef struct timed_store {
    store base;
    timed_space *space;
    timed_flight flights[TIMED_INFLIGHT_MAX];
    size_t count;
    lock lock;
    condition wakes;
    struct {
        bool woken;
    } locked;
} timed_store;

static timed_store *timed_of(store *s)
{
    return (timed_store *)s;
}

static int64_t read_virtual(void *context)
{
    return ((const timed_space *)context)->now_ns;
}

static int64_t read_real(void *context)
{
    (void)context;
    return clock_now(clock_system());
}

void timed_init(timed_space *s, timed_script script, void *context)
{
    s->script = script;
    s->context = context;
    s->features = STORE_TAKES_BACK;
    s->clock = (clock_source){.monotonic_ns = s->real ? read_real : read_virtual,
                              .wall_ms = s->real ? read_real : read_virtual,
                              .context = s};
}

uint8_t timed_byte(const char *key, uint64_t offset)
{
    return (uint8_t)(offset * 31 + (uint8_t)key[0] + (offset >> 8));
}

void assert_timed_bytes(const char *key, uint64_t offset, const void *bytes, size_t size)
{
    const uint8_t *all = bytes;
    for (size_t i = 0; i < size; i++)
        assert_int_equal(all[i], timed_byte(key, offset + i));
}

static void scribble(const store_op *op)
{
    if (op->kind == STORE_READ)
        memset(op->dest, 0xEE, (size_t)op->length);
}

static void timed_submit(store *base, store_op *op)
{
    timed_store *s = timed_of(base);
    timed_space *space = s->space;
    store_op_restart(op);
    assert_true(store_op_check(op));
    assert_true(s->count < TIMED_INFLIGHT_MAX);
    const uint64_t number = atomic_fetch_add(&space->all, 1) + 1;
    atomic_fetch_add(&space->sent[op->kind], 1);
    const uint64_t now = atomic_fetch_add(&space->in_flight, 1) + 1;
    uint64_t most = atomic_load(&space->in_flight_max);
    while (now > most && !atomic_compare_exchange_weak(&space->in_flight_max, &most, now))
        continue;
    const timed_answer answer = space->script(space->context, op, number);
    s->flights[s->count++] = (timed_flight){
        .op = op, .due_ns = clock_now(&space->clock) + answer.after_ns, .answer = answer};
    scribble(op);
}

static void fill(const timed_flight *f)
{
    store_op *op = f->op;
    op->outcome = f->answer.outcome;
    if (f->answer.outcome != STORE_OK && f->answer.outcome != STORE_NOT_FOUND &&
        f->answer.outcome != STORE_CREATED && f->answer.outcome != STORE_EXISTS)
        store_op_end(op, f->answer.outcome, BW_IO, "as the script says");
    op->throttled = f->answer.throttled;
    op->retry_after_ns = f->answer.retry_after_ns;
    if (op->outcome != STORE_OK)
        return;
    op->object_bytes = 1234;
    if (op->kind == STORE_READ) {
        for (uint64_t i = 0; i < op->length; i++)
            ((uint8_t *)op->dest)[i] = timed_byte(op->key, op->offset + i);
    } else if (op->kind == STORE_GET) {
        for (uint64_t i = 0; i < 100; i++)
            buf_put_u8(&op->out, timed_byte(op->key, i));
    }
}

static void land(timed_store *s, size_t at)
{
    s->flights[at] = s->flights[--s->count];
    atomic_fetch_sub(&s->space->in_flight, 1);
}

/** Of what is due, the earliest first; SIZE_MAX: nothing. */
static size_t earliest(const timed_store *s)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < s->count; i++) {
        if (best == SIZE_MAX || s->flights[i].due_ns < s->flights[best].due_ns)
            best = i;
    }
    return best;
}

/* Until the first answer, the timeout or a wake; false: not any more. */
static bool wait_for(timed_store *s, int64_t until_ns)
{
    if (!s->space->real) {
        const size_t first = earliest(s);
        const int64_t due_ns = s->flights[first].due_ns;
        s->space->now_ns = due_ns < until_ns ? due_ns : until_ns;
        return due_ns <= until_ns;
    }
    const int64_t due_ns = s->flights[earliest(s)].due_ns;
    lock_acquire(&s->lock);
    if (!s->locked.woken)
        (void)condition_wait_until(&s->wakes, &s->lock, due_ns < until_ns ? due_ns : until_ns);
    const bool woken = s->locked.woken;
    s->locked.woken = false;
    lock_release(&s->lock);
    return !woken && clock_now(clock_system()) < until_ns;
}

static size_t timed_poll(store *base, store_op **done, size_t max, int64_t timeout_ns)
{
    timed_store *s = timed_of(base);
    const clock_source *clock = &s->space->clock;
    const int64_t until_ns = timeout_ns == 0 ? 0 : clock_deadline(clock, timeout_ns);
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        scribble(s->flights[i].op);
    while (s->count > 0) {
        const int64_t now_ns = clock_now(clock);
        size_t first = earliest(s);
        while (count < max && first != SIZE_MAX && s->flights[first].due_ns <= now_ns) {
            fill(&s->flights[first]);
            done[count++] = s->flights[first].op;
            land(s, first);
            first = earliest(s);
        }
        if (count > 0 || timeout_ns == 0 || !wait_for(s, until_ns))
            break;
    }
    return count;
}

static void timed_take_back(store *base, store_op *op)
{
    timed_store *s = timed_of(base);
    size_t at = 0;
    while (at < s->count && s->flights[at].op != op)
        at++;
    assert_true(at < s->count);
    land(s, at);
    atomic_fetch_add(&s->space->taken_back, 1);
}

static void timed_cancel(store *base)
{
    timed_store *s = timed_of(base);
    for (size_t i = 0; i < s->count; i++) {
        s->flights[i].due_ns = 0;
        s->flights[i].answer = (timed_answer){
            .outcome = s->flights[i].op->kind == STORE_CREATE ? STORE_UNKNOWN : STORE_RETRY};
    }
}

static void timed_close(store *base)
{
    timed_store *s = timed_of(base);
    atomic_fetch_sub(&s->space->in_flight, s->count);
    condition_destroy(&s->wakes);
    lock_destroy(&s->lock);
    free(s);
}

static void timed_wake(store *base)
{
    timed_store *s = timed_of(base);
    lock_acquire(&s->lock);
    s->locked.woken = true;
    condition_signal(&s->wakes);
    lock_release(&s->lock);
}

static bw_status timed_clone(store *base, store **out, bw_error *error)
{
    (void)error;
    *out = timed_open(timed_of(base)->space);
    return BW_OK;
}

static const store_driver timed_driver = {
    .name = "timed",
    .submit = timed_submit,
    .poll = timed_poll,
    .clone = timed_clone,
    .close = timed_close,
    .wake = timed_wake,
    .cancel = timed_cancel,
    .take_back = timed_take_back,
};

store *timed_open(timed_space *space)
{
    timed_store *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->base = (store){
        .driver = &timed_driver, .features = space->features, .inflight_max = TIMED_INFLIGHT_MAX};
    s->space = space;
    assert_int_equal(lock_init(&s->lock), BW_OK);
    assert_int_equal(condition_init(&s->wakes), BW_OK);
    return &s->base;
}
