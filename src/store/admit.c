// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * The window of requests that a store is given at once, over all handles on it. Handles that have
 * operations waiting stand in a row; each in turn is granted one request, and its own operations go
 * in the order they came.
 */
#include "base/alloc.h"
#include "base/thread.h"
#include "store/congestion.h"
#include "store/decorator.h"
#include "store/decorators.h"

#include <stdatomic.h>

/* Longer than any answer takes but for sick stores. */
#define PATIENCE_NS (5 * NS_PER_S)

typedef struct admit_store admit_store;

/* Shared by clones. */
typedef struct admit_shared {
    atomic_uint references;
    const clock_source *clock;
    store_meter *meter;
    lock lock;
    struct {
        congestion policy;
        uint32_t in_flight;        /* granted, not answered */
        admit_store *first, *last; /* handles that want a request */
    } locked;
} admit_shared;

typedef struct admit_record {
    store_op *op;
    int64_t sent_ns;
} admit_record;

struct admit_store {
    decorator over;
    admit_shared *shared;
    admit_record *records; /* with the inner store */
    size_t count, capacity;
    op_queue waiting;
    op_queue complete;
    int64_t waits_since_ns; /* with nothing in flight */
    condition granted;      /* with the shared lock */
    struct {
        bool in_row;
        admit_store *next;
        uint32_t wanted;  /* waiting, not granted */
        uint32_t granted; /* not taken yet */
        bool woken;
    } locked; /* by the shared lock */
};

static admit_store *admit_of(store *s)
{
    return (admit_store *)s;
}

static int64_t admit_now(const admit_store *a)
{
    return clock_now(a->shared->clock);
}

/* ---- the row ---- */

static void join_locked(admit_shared *shared, admit_store *a)
{
    if (a->locked.in_row)
        return;
    a->locked.in_row = true;
    a->locked.next = NULL;
    if (shared->locked.first == NULL)
        shared->locked.first = a;
    else
        shared->locked.last->locked.next = a;
    shared->locked.last = a;
}

static void leave_locked(admit_shared *shared, admit_store *a)
{
    if (!a->locked.in_row)
        return;
    a->locked.in_row = false;
    admit_store *before = NULL;
    for (admit_store *at = shared->locked.first; at != a; at = at->locked.next)
        before = at;
    if (before == NULL)
        shared->locked.first = a->locked.next;
    else
        before->locked.next = a->locked.next;
    if (shared->locked.last == a)
        shared->locked.last = before;
}

static void grant_locked(admit_shared *shared, admit_store *a)
{
    shared->locked.in_flight++;
    congestion_sent(&shared->locked.policy, shared->locked.in_flight);
    a->locked.granted++;
    if (--a->locked.wanted == 0)
        leave_locked(shared, a);
}

/* As far as the window goes, one by one. A handle leaves the row, and closes, under the same lock,
 * so that it is there to be woken. */
static void grant_row_locked(admit_shared *shared, const admit_store *self)
{
    while (shared->locked.first != NULL &&
           shared->locked.in_flight < congestion_window(&shared->locked.policy)) {
        admit_store *a = shared->locked.first;
        leave_locked(shared, a);
        grant_locked(shared, a);
        if (a->locked.wanted > 0)
            join_locked(shared, a);
        if (a != self) {
            condition_signal(&a->granted);
            store_wake(a->over.inner);
        }
    }
}

/* ---- operations ---- */

static void send(admit_store *a, store_op *op)
{
    a->records[a->count++] = (admit_record){.op = op, .sent_ns = admit_now(a)};
    store_submit(a->over.inner, op);
}

static void admit_submit(store *s, store_op *op)
{
    admit_store *a = admit_of(s);
    admit_shared *shared = a->shared;
    void *records = a->records;
    if (mem_grow(&records, &a->capacity, a->count + a->waiting.count + 1, sizeof *a->records) !=
        0) {
        store_op_end(op, STORE_RETRY, BW_NOMEM, "no memory for one more operation");
        op_queue_push(&a->complete, op);
        return;
    }
    a->records = records;
    lock_acquire(&shared->lock);
    const bool goes = a->waiting.count == 0 && shared->locked.first == NULL &&
                      shared->locked.in_flight < congestion_window(&shared->locked.policy);
    if (goes) {
        shared->locked.in_flight++;
        congestion_sent(&shared->locked.policy, shared->locked.in_flight);
    } else {
        congestion_waits(&shared->locked.policy);
        a->locked.wanted++;
        join_locked(shared, a);
    }
    lock_release(&shared->lock);
    if (goes) {
        send(a, op);
        return;
    }
    if (a->waiting.count == 0)
        a->waits_since_ns = admit_now(a);
    op_queue_push(&a->waiting, op);
    if (shared->meter != NULL)
        atomic_fetch_add_explicit(&shared->meter->waits, 1, memory_order_relaxed);
}

/* Sends what was granted; and one without a grant when it waited long enough. */
static void send_granted(admit_store *a)
{
    admit_shared *shared = a->shared;
    if (a->waiting.count == 0)
        return;
    const bool too_long = a->count == 0 && admit_now(a) - a->waits_since_ns >= PATIENCE_NS;
    lock_acquire(&shared->lock);
    if (too_long && a->locked.granted == 0)
        grant_locked(shared, a);
    uint32_t granted = a->locked.granted;
    a->locked.granted = 0;
    lock_release(&shared->lock);
    for (; granted > 0; granted--)
        send(a, op_queue_pop(&a->waiting));
}

static void settle(admit_store *a, const store_op *op)
{
    admit_shared *shared = a->shared;
    size_t at = 0;
    while (a->records[at].op != op)
        at++;
    const int64_t sent_ns = a->records[at].sent_ns;
    const int64_t now_ns = admit_now(a);
    a->records[at] = a->records[--a->count];
    a->waits_since_ns = now_ns;
    lock_acquire(&shared->lock);
    congestion_answered(&shared->locked.policy, op, sent_ns, now_ns, shared->locked.in_flight);
    shared->locked.in_flight--;
    grant_row_locked(shared, a);
    lock_release(&shared->lock);
}

/* For a handle with nothing in flight, which no answer can wake. */
static void sleep_until_granted(admit_store *a, int64_t duration_ns)
{
    const int64_t deadline_ns = clock_deadline(clock_system(), duration_ns);
    lock_acquire(&a->shared->lock);
    while (a->locked.granted == 0 && !a->locked.woken &&
           condition_wait_until(&a->granted, &a->shared->lock, deadline_ns))
        continue;
    lock_release(&a->shared->lock);
}

static bool was_woken(admit_store *a)
{
    lock_acquire(&a->shared->lock);
    const bool woken = a->locked.woken;
    a->locked.woken = false;
    lock_release(&a->shared->lock);
    return woken;
}

/* ---- the driver ---- */

static size_t admit_poll(store *s, store_op **done, size_t max, int64_t timeout_ns)
{
    admit_store *a = admit_of(s);
    size_t over = op_queue_drain(&a->complete, done, max);
    const int64_t deadline_ns = timeout_ns == 0 ? 0 : clock_deadline(a->shared->clock, timeout_ns);
    while (over == 0) {
        send_granted(a);
        if (a->count == 0 && a->waiting.count == 0)
            break;
        const int64_t now_ns = admit_now(a);
        int64_t left_ns = deadline_ns == TIME_NEVER ? TIME_NEVER
                          : deadline_ns > now_ns    ? deadline_ns - now_ns
                                                    : 0;
        if (a->count > 0) {
            over = store_poll(a->over.inner, done, max, left_ns);
            for (size_t i = 0; i < over; i++)
                settle(a, done[i]);
        } else {
            const int64_t patience_ns = a->waits_since_ns + PATIENCE_NS - now_ns;
            sleep_until_granted(a, left_ns < patience_ns ? left_ns : patience_ns);
        }
        if (over == 0 && (was_woken(a) || admit_now(a) >= deadline_ns))
            break;
    }
    send_granted(a); /* by what was answered: the caller may be busy for long */
    return over;
}

/* Operations that wait end as not sent; what they stood for goes to the others. */
static void withdraw(admit_store *a)
{
    admit_shared *shared = a->shared;
    lock_acquire(&shared->lock);
    leave_locked(shared, a);
    shared->locked.in_flight -= a->locked.granted;
    a->locked.granted = a->locked.wanted = 0;
    grant_row_locked(shared, a);
    lock_release(&shared->lock);
}

static void admit_cancel(store *s)
{
    admit_store *a = admit_of(s);
    withdraw(a);
    for (store_op *op = op_queue_pop(&a->waiting); op != NULL; op = op_queue_pop(&a->waiting)) {
        store_op_end(op, STORE_RETRY, BW_IO, "%s: not sent before the store was closed",
                     store_op_name(op->kind));
        op_queue_push(&a->complete, op);
    }
    store_cancel(a->over.inner);
}

static void shared_release(admit_shared *shared)
{
    if (atomic_fetch_sub(&shared->references, 1u) != 1u)
        return;
    lock_destroy(&shared->lock);
    mem_free(shared);
}

static void admit_close(store *s)
{
    admit_store *a = admit_of(s);
    admit_shared *shared = a->shared;
    withdraw(a);
    store_close(a->over.inner);
    lock_acquire(&shared->lock);
    shared->locked.in_flight -= (uint32_t)a->count;
    grant_row_locked(shared, NULL);
    lock_release(&shared->lock);
    condition_destroy(&a->granted);
    shared_release(shared);
    mem_free(a->records);
    mem_free(a);
}

static void admit_wake(store *s)
{
    admit_store *a = admit_of(s);
    lock_acquire(&a->shared->lock);
    a->locked.woken = true;
    condition_signal(&a->granted);
    lock_release(&a->shared->lock);
    store_wake(a->over.inner);
}

static bw_status admit_clone(store *s, store **out, bw_error *error);

static const store_driver admit_driver = {
    .name = "admit",
    .submit = admit_submit,
    .poll = admit_poll,
    .clone = admit_clone,
    .close = admit_close,
    .probe = store_probe_by_ops,
    .wake = admit_wake,
    .cancel = admit_cancel,
};

static bw_status admit_new(store *inner, admit_shared *shared, store **out, bw_error *error)
{
    store *made = NULL;
    BW_TRY(decorator_new(sizeof(admit_store), &admit_driver, inner, &made, error));
    admit_store *a = admit_of(made);
    if (condition_init(&a->granted) != BW_OK) {
        mem_free(a);
        return error_set(error, BW_NOMEM, "no memory for a store");
    }
    a->shared = shared;
    atomic_fetch_add(&shared->references, 1u);
    *out = made;
    return BW_OK;
}

static bw_status admit_clone(store *s, store **out, bw_error *error)
{
    admit_store *a = admit_of(s);
    store *inner = NULL;
    BW_TRY(store_clone(a->over.inner, &inner, error));
    return decorator_cloned(inner, admit_new(inner, a->shared, out, error));
}

bw_status store_admit_wrap(store *inner, const clock_source *clock, uint32_t window_max,
                           store_meter *meter, store **out, bw_error *error)
{
    admit_shared *shared = mem_zalloc(sizeof *shared);
    if (shared == NULL || lock_init(&shared->lock) != BW_OK) {
        mem_free(shared);
        return error_set(error, BW_NOMEM, "no memory for a store");
    }
    atomic_init(&shared->references, 1u);
    shared->clock = clock;
    shared->meter = meter;
    congestion_init(&shared->locked.policy, window_max);
    const bw_status status = admit_new(inner, shared, out, error);
    shared_release(shared);
    return status;
}
