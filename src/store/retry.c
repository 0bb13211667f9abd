// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Repeats operations that ended RETRY, with the same bytes. Never a create: a create that was
 * answered RETRY "nothing landed" may follow one that was answered UNKNOWN, and only the commit
 * protocol knows that. A retry that the budget has no token for waits for one, as far as the
 * operation's time limit goes. While an operation is with the inner store its private fields are
 * the inner store's, so the records stand beside it.
 */
#include "base/alloc.h"
#include "base/mutant.h"
#include "base/rng.h"
#include "base/thread.h"
#include "store/decorator.h"
#include "store/retry_budget.h"

#include <stdatomic.h>

/* Shared by the handles on one store. */
struct store_retry_purse {
    const clock_source *clock;
    lock lock;
    struct {
        retry_budget budget;
    } locked;
};

typedef struct retry_record {
    store_op *op;
    int64_t deadline_ns; /* no try starts after it */
    int64_t due_ns;      /* when to submit again; -1 while the inner store has it */
    uint32_t tries;
} retry_record;

typedef struct retry_store {
    decorator over;
    store_retry_options options;
    rng rng;
    uint64_t clones;
    retry_record *records;
    size_t count, capacity;
    size_t waiting;    /* records with a due time */
    op_queue complete; /* ended here, without the inner store */
    bool cancelled;    /* nothing is tried again */
    bw_error last;     /* what was tried again failed with */
    lock lock;         /* of what another thread's wake touches */
    condition wakes;
    struct {
        bool woken;
    } locked;
} retry_store;

static retry_store *retry_of(store *s)
{
    return (retry_store *)s;
}

static int64_t retry_now(const retry_store *r)
{
    return clock_now(r->options.clock);
}

/* ---- the budget ---- */

bw_status store_retry_purse_new(const clock_source *clock, uint32_t percent,
                                store_retry_purse **out)
{
    store_retry_purse *p = mem_zalloc(sizeof *p);
    if (p == NULL || lock_init(&p->lock) != BW_OK) {
        mem_free(p);
        return BW_NOMEM;
    }
    p->clock = clock;
    retry_budget_init(&p->locked.budget, percent, clock_now(clock));
    *out = p;
    return BW_OK;
}

void store_retry_purse_free(store_retry_purse *p)
{
    if (p == NULL)
        return;
    lock_destroy(&p->lock);
    mem_free(p);
}

static void purse_operation(store_retry_purse *p)
{
    if (p == NULL)
        return;
    lock_acquire(&p->lock);
    retry_budget_operation(&p->locked.budget);
    lock_release(&p->lock);
}

static void purse_give(store_retry_purse *p)
{
    if (p == NULL)
        return;
    lock_acquire(&p->lock);
    retry_budget_give(&p->locked.budget);
    lock_release(&p->lock);
}

/** Takes a token for a retry; false: *due_ns says when to look again. */
static bool purse_take(store_retry_purse *p, int64_t *due_ns)
{
    if (p == NULL)
        return true;
    lock_acquire(&p->lock);
    const int64_t now_ns = clock_now(p->clock);
    const bool taken = retry_budget_take(&p->locked.budget, now_ns);
    if (!taken)
        *due_ns = retry_budget_due_ns(&p->locked.budget, now_ns);
    lock_release(&p->lock);
    return taken;
}

/* ---- the decorator ---- */

static void retry_submit(store *s, store_op *op)
{
    retry_store *r = retry_of(s);
    void *records = r->records;
    if (mem_grow(&records, &r->capacity, r->count + 1, sizeof *r->records) != 0) {
        store_op_end(op, STORE_FATAL, BW_NOMEM, "no memory for one more operation");
        op_queue_push(&r->complete, op);
        return;
    }
    r->records = records;
    r->records[r->count++] = (retry_record){
        .op = op,
        .deadline_ns = clock_deadline(r->options.clock, r->options.limit_ns),
        .due_ns = -1,
        .tries = 1,
    };
    purse_operation(r->options.purse);
    store_submit(r->over.inner, op);
}

static void forget(retry_store *r, retry_record *record)
{
    *record = r->records[--r->count];
}

static int64_t jitter(retry_store *r, int64_t ceiling)
{
    return ceiling <= 0 ? 0 : (int64_t)rng_below(&r->rng, (uint64_t)ceiling + 1);
}

/** Full jitter: anything between nothing and the exponentially growing ceiling. */
static int64_t backoff(retry_store *r, uint32_t tries)
{
    int64_t ceiling = r->options.backoff_min_ns;
    for (uint32_t i = 1; i < tries && ceiling < r->options.backoff_max_ns; i++)
        ceiling = ceiling > INT64_MAX / 2 ? INT64_MAX : ceiling * 2;
    if (ceiling > r->options.backoff_max_ns)
        ceiling = r->options.backoff_max_ns;
    return jitter(r, ceiling);
}

/* The backoff goes on top of what the store asks for: all of its clients were told the same. */
static int64_t pause_before(retry_store *r, const store_op *op, uint32_t tries)
{
    const int64_t pause = backoff(r, tries);
    return pause > INT64_MAX - op->retry_after_ns ? INT64_MAX : pause + op->retry_after_ns;
}

static void tell_tries(store_op *op, uint32_t tries)
{
    if (tries > 1)
        error_prefix(&op->error, "%u attempts failed", tries);
    error_set_attempts(&op->error, tries);
}

/** true when `op` is over for good; false when it will be tried again. */
static bool settle(retry_store *r, store_op *op)
{
    size_t at = 0;
    while (r->records[at].op != op)
        at++;
    retry_record *record = &r->records[at];
    const uint32_t tries = record->tries;
    if (op->outcome == STORE_RETRY && (op->kind != STORE_CREATE || MUTANT(create_repeated))) {
        const int64_t now = retry_now(r);
        const int64_t pause = pause_before(r, op, tries);
        const bool again = !r->cancelled && tries < r->options.attempts_max;
        if (again && pause <= record->deadline_ns - now) {
            record->due_ns = now + pause;
            r->waiting++;
            error_copy(&r->last, &op->error);
            return false;
        }
        tell_tries(op, tries);
    } else if (tries > 1) {
        purse_give(r->options.purse);
    }
    forget(r, record);
    return true;
}

/* No token will come in time: it ends as it last did. */
static void give_up(retry_store *r, retry_record *record)
{
    store_op *op = record->op;
    tell_tries(op, record->tries);
    error_prefix(&op->error, "the store fails too often to be asked again");
    r->waiting--;
    forget(r, record);
    op_queue_push(&r->complete, op);
}

/** Submits again what is due, as far as the budget goes; the time of the next one, or TIME_NEVER.
 */
static int64_t resubmit(retry_store *r)
{
    int64_t next = TIME_NEVER;
    if (r->waiting == 0)
        return next;
    const int64_t now = retry_now(r);
    for (size_t i = r->count; i-- > 0;) {
        retry_record *record = &r->records[i];
        if (record->due_ns < 0)
            continue;
        int64_t due = record->due_ns;
        if (due <= now && purse_take(r->options.purse, &due)) {
            record->due_ns = -1;
            record->tries++;
            r->waiting--;
            store_submit(r->over.inner, record->op);
            continue;
        }
        if (due > record->due_ns) /* no token: they do not all come for the next one */
            record->due_ns = due + jitter(r, due - now);
        if (record->due_ns > record->deadline_ns)
            give_up(r, record); /* the last one, looked at already, takes its place */
        else if (record->due_ns < next)
            next = record->due_ns;
    }
    return next;
}

/** Takes the wake that came, if any. */
static bool was_woken(retry_store *r)
{
    lock_acquire(&r->lock);
    const bool woken = r->locked.woken;
    r->locked.woken = false;
    lock_release(&r->lock);
    return woken;
}

static void sleep_until_woken(retry_store *r, int64_t duration_ns)
{
    const int64_t deadline = clock_deadline(clock_system(), duration_ns);
    lock_acquire(&r->lock);
    while (!r->locked.woken && condition_wait_until(&r->wakes, &r->lock, deadline))
        continue;
    lock_release(&r->lock);
}

static size_t retry_poll(store *s, store_op **done, size_t max, int64_t timeout_ns)
{
    retry_store *r = retry_of(s);
    size_t over = op_queue_drain(&r->complete, done, max);
    if (over > 0 || r->count == 0)
        return over;
    const int64_t deadline = timeout_ns == 0 ? 0 : clock_deadline(r->options.clock, timeout_ns);
    for (;;) {
        int64_t until = resubmit(r);
        over = op_queue_drain(&r->complete, done, max);
        if (over > 0)
            return over;
        if (until > deadline)
            until = deadline;
        const int64_t now = timeout_ns == 0 ? 0 : retry_now(r);
        const int64_t left = until > now ? until - now : 0;
        const bool inner_has_some = r->count > r->waiting;
        const size_t count = inner_has_some ? store_poll(r->over.inner, done, max, left) : 0;
        for (size_t i = 0; i < count; i++) {
            if (settle(r, done[i]))
                done[over++] = done[i];
        }
        if (over > 0 || now >= deadline || was_woken(r))
            return over;
        if (!inner_has_some)
            sleep_until_woken(r, left);
    }
}

static void retry_close(store *s)
{
    retry_store *r = retry_of(s);
    store_close(r->over.inner);
    condition_destroy(&r->wakes);
    lock_destroy(&r->lock);
    mem_free(r->records);
    mem_free(r);
}

static bw_status retry_clone(store *s, store **out, bw_error *error)
{
    retry_store *r = retry_of(s);
    store *inner = NULL;
    BW_TRY(store_clone(r->over.inner, &inner, error));
    const bw_status status = store_retry_wrap(inner, &r->options, out, error);
    if (status == BW_OK)
        rng_split(&r->rng, r->clones++, &retry_of(*out)->rng);
    else
        store_close(inner);
    return status;
}

static void retry_cancel(store *s)
{
    retry_store *r = retry_of(s);
    r->cancelled = true;
    for (size_t i = r->count; i-- > 0;) {
        retry_record *record = &r->records[i];
        if (record->due_ns < 0)
            continue;
        op_queue_push(&r->complete, record->op);
        r->waiting--;
        forget(r, record); /* the last one, looked at already, takes its place */
    }
    store_cancel(r->over.inner);
}

static bool retry_failing(store *s, bw_error *why)
{
    const retry_store *r = retry_of(s);
    for (size_t i = 0; i < r->count; i++) {
        if (r->records[i].tries > 1 || r->records[i].due_ns >= 0) {
            error_copy(why, &r->last);
            return true;
        }
    }
    return false;
}

static void retry_wake(store *s)
{
    retry_store *r = retry_of(s);
    lock_acquire(&r->lock);
    r->locked.woken = true;
    condition_broadcast(&r->wakes);
    lock_release(&r->lock);
    store_wake(r->over.inner);
}

static const store_driver retry_driver = {
    .name = "retry",
    .submit = retry_submit,
    .poll = retry_poll,
    .clone = retry_clone,
    .close = retry_close,
    .probe = store_probe_by_ops,
    .wake = retry_wake,
    .failing = retry_failing,
    .cancel = retry_cancel,
};

bw_status store_retry_wrap(store *inner, const store_retry_options *options, store **out,
                           bw_error *error)
{
    store *made = NULL;
    BW_TRY(decorator_new(sizeof(retry_store), &retry_driver, inner, &made, error));
    retry_store *r = retry_of(made);
    if (lock_init(&r->lock) != BW_OK)
        goto no_lock;
    if (condition_init(&r->wakes) != BW_OK)
        goto no_condition;
    r->options = *options;
    rng_seed(&r->rng, options->seed);
    *out = made;
    return BW_OK;

no_condition:
    lock_destroy(&r->lock);
no_lock:
    mem_free(r);
    return error_set(error, BW_NOMEM, "no memory for a store");
}
