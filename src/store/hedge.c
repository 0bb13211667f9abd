// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Second requests for reads that are late. The caller's operation goes to the inner store as it is,
 * so that its bytes arrive where they are wanted; the second one has a buffer of its own. When the
 * second one is answered first, the inner store gives the first one back before its bytes are
 * copied: nothing is ever written to an operation that the caller has again.
 */
#include "base/alloc.h"
#include "base/thread.h"
#include "store/decorator.h"
#include "store/decorators.h"
#include "store/hedging.h"

#include <stdatomic.h>
#include <string.h>

/* Shared by clones. */
typedef struct hedge_shared {
    atomic_uint references;
    const clock_source *clock;
    store_meter *meter;
    lock lock;
    struct {
        hedging policy;
    } locked;
} hedge_shared;

/** A read on its way. */
typedef struct hedge_record {
    store_op *op;
    store_op *twin; /* the second request; NULL: none in flight */
    int64_t sent_ns;
    int64_t due_ns; /* when it is late; TIME_NEVER: it was, or it is not known */
    uint32_t class;
    bool was_late;
    bool failed; /* the caller's operation came back, and the twin is waited for */
} hedge_record;

typedef struct hedge_store {
    decorator over;
    hedge_shared *shared;
    hedge_record *records;
    size_t count, capacity;
    size_t flying;       /* with the inner store: twins and what has no record, too */
    store_op **answered; /* by the poll that is settled, and not looked at yet */
    size_t answered_count;
    op_queue complete;
    atomic_bool woken;
} hedge_store;

static hedge_store *hedge_of(store *s)
{
    return (hedge_store *)s;
}

static int64_t hedge_now(const hedge_store *h)
{
    return clock_now(h->shared->clock);
}

/* The other request of an answered read: it is on its way, or was answered by the same poll. */
static void take_back(hedge_store *h, store_op *op)
{
    h->flying--;
    for (size_t i = 0; i < h->answered_count; i++) {
        if (h->answered[i] == op) {
            h->answered[i] = NULL;
            return;
        }
    }
    store_take_back(h->over.inner, op);
}

/* ---- the twin ---- */

static void twin_free(store_op *twin)
{
    if (twin == NULL)
        return;
    if (twin->kind == STORE_READ)
        mem_free(twin->dest);
    store_op_clear(twin);
    mem_free(twin);
}

static store_op *twin_new(const store_op *op)
{
    store_op *twin = mem_alloc(sizeof *twin);
    if (twin == NULL)
        return NULL;
    store_op_init(twin, op->kind, op->key);
    if (op->kind == STORE_GET) {
        buf_init(&twin->out, op->out.max);
        return twin;
    }
    twin->offset = op->offset;
    twin->length = op->length;
    twin->dest = mem_alloc((size_t)op->length);
    if (twin->dest != NULL)
        return twin;
    mem_free(twin);
    return NULL;
}

static void send_twin(hedge_store *h, hedge_record *record)
{
    if (h->flying >= h->over.base.inflight_max)
        return;
    record->twin = twin_new(record->op);
    if (record->twin == NULL)
        return;
    h->flying++;
    if (h->shared->meter != NULL)
        atomic_fetch_add_explicit(&h->shared->meter->hedges, 1, memory_order_relaxed);
    store_submit(h->over.inner, record->twin);
}

static void drop_twin(hedge_store *h, hedge_record *record)
{
    if (record->twin == NULL)
        return;
    take_back(h, record->twin);
    twin_free(record->twin);
    record->twin = NULL;
}

/* The twin's answer as the operation's own. */
static void take_answer(hedge_record *record)
{
    store_op *op = record->op;
    store_op *twin = record->twin;
    const uint32_t attempts = op->attempts;
    store_op_restart(op);
    op->attempts = attempts + twin->attempts;
    op->outcome = twin->outcome;
    op->object_bytes = twin->object_bytes;
    op->modified_ms = twin->modified_ms;
    if (op->kind == STORE_GET) {
        const buf mine = op->out;
        op->out = twin->out;
        twin->out = mine;
    } else if (op->outcome == STORE_OK) {
        memcpy(op->dest, twin->dest, (size_t)op->length);
    }
    twin_free(twin);
    record->twin = NULL;
}

/* ---- records ---- */

static void hedge_submit(store *s, store_op *op)
{
    hedge_store *h = hedge_of(s);
    const uint32_t class = hedging_class(op);
    void *records = h->records;
    h->flying++;
    if (class != HEDGING_NEVER &&
        mem_grow(&records, &h->capacity, h->count + 1, sizeof *h->records) == 0) {
        h->records = records;
        hedge_record *record = &h->records[h->count++];
        *record = (hedge_record){.op = op, .class = class, .due_ns = TIME_NEVER};
        lock_acquire(&h->shared->lock);
        const int64_t patience_ns = hedging_began(&h->shared->locked.policy, class);
        lock_release(&h->shared->lock);
        record->sent_ns = hedge_now(h);
        if (patience_ns != TIME_NEVER)
            record->due_ns = record->sent_ns + patience_ns;
    }
    store_submit(h->over.inner, op);
}

static hedge_record *find(hedge_store *h, const store_op *op)
{
    for (size_t i = 0; i < h->count; i++) {
        if (h->records[i].op == op || h->records[i].twin == op)
            return &h->records[i];
    }
    return NULL;
}

static void forget(hedge_store *h, hedge_record *record)
{
    *record = h->records[--h->count];
}

/* A read has its answer: what it took is learnt. */
static store_op *conclude(hedge_store *h, hedge_record *record)
{
    store_op *op = record->op;
    lock_acquire(&h->shared->lock);
    hedging_ended(&h->shared->locked.policy, record->class, hedge_now(h) - record->sent_ns,
                  record->was_late);
    lock_release(&h->shared->lock);
    forget(h, record);
    return op;
}

/* The other request may still be answered. */
static store_op *take_failure(hedge_store *h, hedge_record *record, store_op *op)
{
    if (op->throttled) {
        lock_acquire(&h->shared->lock);
        hedging_throttled(&h->shared->locked.policy);
        lock_release(&h->shared->lock);
    }
    record->due_ns = TIME_NEVER;
    if (op == record->twin) {
        twin_free(op);
        record->twin = NULL;
        if (!record->failed)
            return NULL;
    } else if (record->twin != NULL) {
        record->failed = true;
        return NULL;
    }
    store_op *own = record->op;
    forget(h, record);
    return own;
}

/** The caller's operation that is over by `op` coming back; NULL: none yet. */
static store_op *settle(hedge_store *h, store_op *op)
{
    h->flying--;
    hedge_record *record = find(h, op);
    if (record == NULL)
        return op;
    if (op->outcome != STORE_OK && op->outcome != STORE_NOT_FOUND)
        return take_failure(h, record, op);
    if (op == record->op) {
        drop_twin(h, record);
        return conclude(h, record);
    }
    if (!record->failed)
        take_back(h, record->op);
    take_answer(record);
    if (h->shared->meter != NULL)
        atomic_fetch_add_explicit(&h->shared->meter->hedges_won, 1, memory_order_relaxed);
    return conclude(h, record);
}

static int64_t next_due(const hedge_store *h)
{
    int64_t next_ns = TIME_NEVER;
    for (size_t i = 0; i < h->count; i++) {
        if (h->records[i].due_ns < next_ns)
            next_ns = h->records[i].due_ns;
    }
    return next_ns;
}

static void ask_again(hedge_store *h, int64_t now_ns)
{
    for (size_t i = 0; i < h->count; i++) {
        hedge_record *record = &h->records[i];
        if (record->due_ns > now_ns)
            continue;
        record->due_ns = TIME_NEVER;
        record->was_late = true;
        lock_acquire(&h->shared->lock);
        const bool due = hedging_is_due(&h->shared->locked.policy);
        lock_release(&h->shared->lock);
        if (due)
            send_twin(h, record);
    }
}

/* ---- the driver ---- */

static size_t hedge_poll(store *s, store_op **done, size_t max, int64_t timeout_ns)
{
    hedge_store *h = hedge_of(s);
    size_t over = op_queue_drain(&h->complete, done, max);
    const int64_t deadline_ns = timeout_ns == 0 ? 0 : clock_deadline(h->shared->clock, timeout_ns);
    while (over == 0 && h->flying > 0) {
        const int64_t next_ns = next_due(h);
        const int64_t until_ns = next_ns < deadline_ns ? next_ns : deadline_ns;
        const int64_t now_ns = hedge_now(h);
        const size_t count =
            store_poll(h->over.inner, done, max, until_ns > now_ns ? until_ns - now_ns : 0);
        for (size_t i = 0; i < count; i++) {
            h->answered = done + i + 1;
            h->answered_count = count - i - 1;
            store_op *op = done[i] != NULL ? settle(h, done[i]) : NULL;
            if (op != NULL)
                done[over++] = op;
        }
        const int64_t then_ns = hedge_now(h);
        if (over == 0 && then_ns >= next_ns) /* behind a look at what has come since */
            ask_again(h, then_ns);
        else if (count == 0 && (then_ns >= deadline_ns || atomic_exchange(&h->woken, false)))
            break;
    }
    return over;
}

static void hedge_cancel(store *s)
{
    hedge_store *h = hedge_of(s);
    for (size_t i = h->count; i-- > 0;) {
        hedge_record *record = &h->records[i];
        drop_twin(h, record);
        record->due_ns = TIME_NEVER;
        if (record->failed) {
            op_queue_push(&h->complete, record->op);
            forget(h, record); /* the last one, looked at already, takes its place */
        }
    }
    store_cancel(h->over.inner);
}

static void shared_release(hedge_shared *shared)
{
    if (atomic_fetch_sub(&shared->references, 1u) != 1u)
        return;
    lock_destroy(&shared->lock);
    mem_free(shared);
}

static void hedge_close(store *s)
{
    hedge_store *h = hedge_of(s);
    store_close(h->over.inner); /* from here on nothing is written to twins */
    for (size_t i = 0; i < h->count; i++)
        twin_free(h->records[i].twin);
    shared_release(h->shared);
    mem_free(h->records);
    mem_free(h);
}

static void hedge_wake(store *s)
{
    hedge_store *h = hedge_of(s);
    atomic_store(&h->woken, true);
    store_wake(h->over.inner);
}

static bw_status hedge_clone(store *s, store **out, bw_error *error);

static const store_driver hedge_driver = {
    .name = "hedge",
    .submit = hedge_submit,
    .poll = hedge_poll,
    .clone = hedge_clone,
    .close = hedge_close,
    .probe = store_probe_by_ops,
    .wake = hedge_wake,
    .cancel = hedge_cancel,
};

static bw_status hedge_new(store *inner, hedge_shared *shared, store **out, bw_error *error)
{
    BW_TRY(decorator_new(sizeof(hedge_store), &hedge_driver, inner, out, error));
    hedge_of(*out)->shared = shared;
    atomic_init(&hedge_of(*out)->woken, false);
    atomic_fetch_add(&shared->references, 1u);
    return BW_OK;
}

static bw_status hedge_clone(store *s, store **out, bw_error *error)
{
    hedge_store *h = hedge_of(s);
    store *inner = NULL;
    BW_TRY(store_clone(h->over.inner, &inner, error));
    return decorator_cloned(inner, hedge_new(inner, h->shared, out, error));
}

bw_status store_hedge_wrap(store *inner, const clock_source *clock, store_meter *meter, store **out,
                           bw_error *error)
{
    const uint32_t features = inner->features;
    if ((features & STORE_IS_LOCAL) != 0 || (features & STORE_TAKES_BACK) == 0) {
        *out = inner;
        return BW_OK;
    }
    hedge_shared *shared = mem_zalloc(sizeof *shared);
    if (shared == NULL || lock_init(&shared->lock) != BW_OK) {
        mem_free(shared);
        return error_set(error, BW_NOMEM, "no memory for a store");
    }
    atomic_init(&shared->references, 1u);
    shared->clock = clock;
    shared->meter = meter;
    hedging_init(&shared->locked.policy);
    const bw_status status = hedge_new(inner, shared, out, error);
    shared_release(shared);
    return status;
}
