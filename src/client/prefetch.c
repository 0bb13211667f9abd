// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * The window: a ring of steps in the order of handing out. A missing or damaged object is no
 * verdict: first the follower is asked for a manifest proved newest after the miss. Below its trim
 * step: TRIMMED. Else it is read once more, and only a second miss, judged in the same way, is
 * CORRUPT.
 */
#include "client/consumer.h"

#include "base/alloc.h"
#include "base/faultpoint.h"
#include "base/invariant.h"
#include "client/follower.h"
#include "codec/packing.h"
#include <inttypes.h>
#include <string.h>

#define READ_RETRY_NS (100 * NS_PER_MS)
#define MISSES_MAX 2u
/* Of small slices behind a network, a thread does many at once: a thread for each costs more than
 * to read it. Large ones are better checked by threads side by side. */
#define GROUP_READS_MAX 8u
#define GROUP_BYTES_MAX (1u << 20)

/* Kilobytes each: with many ranks and small slices no small part of what they take. A larger window
 * is only worth something where the budget has room. */
static bool add_slot_locked(bw_consumer *c)
{
    budget *b = c->space->runtime->budget;
    if (!budget_take(b, sizeof(fetch), !c->adapts || c->locked.slots < DEPTH_FIRST * c->reads))
        return false;
    fetch *f = mem_zalloc(sizeof *f);
    if (f == NULL) {
        budget_give(b, sizeof *f);
        return false;
    }
    c->locked.ring[(c->locked.first + c->locked.slots++) % c->slots_max] = f;
    return true;
}

void prefetch_resize_locked(bw_consumer *c, uint32_t window)
{
    while (c->locked.slots < window && add_slot_locked(c))
        continue;
    const uint32_t there = c->locked.slots < window ? c->locked.slots : window;
    MUST_OR(c->reads > 0, c->reads = 1);
    c->locked.window = there - there % c->reads;
}

/* The slots of the front step go behind all others. */
static void turn_locked(bw_consumer *c)
{
    for (uint32_t i = 0; i < c->reads; i++) {
        fetch *f = consumer_slot(c, 0);
        c->locked.ring[c->locked.first] = NULL;
        c->locked.ring[(c->locked.first + c->locked.slots) % c->slots_max] = f;
        c->locked.first = (c->locked.first + 1) % c->slots_max;
    }
    c->locked.count -= c->reads;
}

static void fail_locked(fetch *f, bw_status code)
{
    f->error.code = code;
    f->state = FETCH_FAILED;
    gate_open(&f->consumer->changed);
}

static void fail_trimmed_locked(fetch *f, const manifest *m)
{
    (void)error_set(&f->error, BW_TRIMMED,
                    "step %" PRIu64 " is not retained any more: the trim step is %" PRIu64, f->step,
                    m->trim);
    error_set_step(&f->error, f->step);
    fail_locked(f, BW_TRIMMED);
}

static void give_back(fetch *f)
{
    if (f->request.reserved > 0)
        budget_give(f->request.budget, f->request.reserved);
    f->request.reserved = 0;
    if (f->request.lent != NULL)
        lending_give(f->request.lent);
    f->request.lent = NULL;
}

/* ---- the job ---- */

static bool may_pass(bw_status status)
{
    return status == BW_IO || status == BW_NOMEM || status == BW_TIMEOUT || status == BW_NO_SPACE;
}

/* One of the slices of the step that comes next. */
static bool in_front_locked(const bw_consumer *c, const fetch *f)
{
    return c->locked.count > 0 && f->step == consumer_slot(c, 0)->step;
}

static void settle_locked(fetch *f, bw_status status, int64_t began_ns)
{
    bw_consumer *c = f->consumer;
    const int64_t now_ns = clock_now(clock_system());
    const int64_t latency_ns = clock_now(c->clock) - began_ns;
    c->locked.stats.reads++;
    hist_add(&c->locked.stats.fetch_ns, latency_ns);
    if (status != BW_OK && may_pass(status) && !c->locked.closing &&
        now_ns - f->first_try_ns < c->space->options.retry_limit_ns) {
        f->next_of_group = NULL;
        executor_submit_at(c->space->runtime->executor, &f->job, now_ns + READ_RETRY_NS);
        return;
    }
    c->locked.jobs--;
    if (status == BW_OK) {
        f->state = FETCH_READY;
        depth_read(&c->locked.depth, latency_ns);
    } else {
        give_back(f);
        if (status == BW_NOT_FOUND || status == BW_CORRUPT) {
            f->misses++;
            f->state = FETCH_SUSPECT;
            f->ticket = follower_ask(c->space->follower);
        } else {
            fail_locked(f, status);
        }
    }
    /* Under the lock: once the last job is counted off and the lock is free, the consumer may be
     * gone. */
    if (in_front_locked(c, f) || c->locked.closing)
        gate_open(&c->changed);
}

static void learn_locked(bw_consumer *c, const slice *made, uint64_t framed)
{
    const uint64_t unpacked = frame_unpacked_bytes(made->frames, made->items);
    consumer_stats *stats = &c->locked.stats;
    c->locked.unpacked_bytes = unpacked;
    if (c->lending == NULL)
        return;
    if (made->lent != NULL) {
        stats->lent_reads++;
        stats->lent_bytes += framed + (made->unpacked.data == NULL ? unpacked : 0);
    }
    stats->lent_missed += made->lent == NULL || made->unpacked.data != NULL;
}

/* The fetch is the consumer's again; so is the consumer, once the last one is. */
static void conclude(fetch *f, bw_status status, slice *made, const bw_error *error,
                     int64_t began_ns)
{
    bw_consumer *c = f->consumer;
    lock_acquire(&c->lock);
    f->slice = made;
    if (made != NULL)
        learn_locked(c, made, f->request.plan.where.bytes);
    if (status != BW_OK)
        error_copy(&f->error, error);
    settle_locked(f, status, began_ns);
    consumer_mind_locked(c);
    lock_release(&c->lock);
}

static void read_one(fetch *f, store *s, int64_t began_ns)
{
    slice *made = NULL;
    bw_error error;
    error_clear(&error);
    fault_point("prefetch");
    const bw_status status = slice_fetch(&f->request, s, &made, &error);
    conclude(f, status, made, &error, began_ns);
}

static void finish(fetch *f, slice_read *read, int64_t began_ns)
{
    slice *made = NULL;
    bw_error error;
    error_clear(&error);
    const bw_status status = slice_finish(&f->request, read, &made, &error);
    conclude(f, status, made, &error, began_ns);
}

/* False: it is over already. */
static bool begin(fetch *f, store *s, slice_read *read, int64_t began_ns)
{
    bw_error error;
    error_clear(&error);
    fault_point("prefetch");
    const bw_status status = slice_prepare(&f->request, s, read, &error);
    if (status != BW_OK) {
        conclude(f, status, NULL, &error, began_ns);
        return false;
    }
    store_submit(s, &read->op);
    return true;
}

/* Reads all of the group at once, and concludes each as soon as it is there. */
static void read_group(fetch *first, store *s, int64_t began_ns)
{
    fetch *fetches[GROUP_READS_MAX];
    slice_read reads[GROUP_READS_MAX];
    uint32_t count = 0;
    for (fetch *f = first, *next; f != NULL; f = next) {
        next = f->next_of_group;
        fetches[count] = f;
        if (begin(f, s, &reads[count], began_ns))
            count++;
    }
    for (uint32_t flying = count; flying > 0;) {
        store_op *done[GROUP_READS_MAX];
        const size_t over = store_await(s, done, flying);
        flying -= (uint32_t)over;
        for (size_t i = 0; i < over; i++)
            for (uint32_t at = 0; at < count; at++)
                if (&reads[at].op == done[i])
                    finish(fetches[at], &reads[at], began_ns);
    }
}

static void fetch_run(job *j, uint32_t worker)
{
    fetch *first = (fetch *)(void *)j;
    const bw_consumer *c = first->consumer;
    const int64_t began_ns = clock_now(c->clock);
    store *s = NULL;
    bw_error error;
    error_clear(&error);
    const bw_status status = space_worker_store(c->space, worker, &s, &error);
    if (status == BW_OK) {
        (first->next_of_group == NULL ? read_one : read_group)(first, s, began_ns);
        return;
    }
    for (fetch *f = first, *next; f != NULL; f = next) {
        next = f->next_of_group;
        conclude(f, status, NULL, &error, began_ns);
    }
}

/* ---- the pump ---- */

static void submit_group_locked(bw_consumer *c)
{
    if (c->locked.group == NULL)
        return;
    executor_submit(c->space->runtime->executor, &c->locked.group->job);
    c->locked.group = NULL;
}

/* Its thread would do nothing but wait for one answer, so that others can be waited for beside it.
 */
static bool is_for_group(const fetch *f)
{
    const uint32_t features = f->consumer->space->base->features;
    return (features & (STORE_BLOCKS | STORE_CAN_MAP)) == 0 && f->misses == 0 &&
           !f->request.plan.needs_footer;
}

static void group_locked(fetch *f)
{
    bw_consumer *c = f->consumer;
    const uint64_t bytes = f->request.plan.where.bytes;
    const bool joins = is_for_group(f);
    if (!joins || c->locked.group_count == GROUP_READS_MAX ||
        bytes > GROUP_BYTES_MAX - c->locked.group_bytes)
        submit_group_locked(c);
    f->next_of_group = NULL;
    if (c->locked.group == NULL) {
        c->locked.group = f;
        c->locked.group_count = 0;
        c->locked.group_bytes = 0;
    } else {
        *c->locked.group_last = f;
    }
    c->locked.group_last = &f->next_of_group;
    c->locked.group_count++;
    c->locked.group_bytes += bytes < GROUP_BYTES_MAX ? bytes : GROUP_BYTES_MAX;
    if (!joins)
        submit_group_locked(c);
}

static void read_locked(fetch *f)
{
    bw_consumer *c = f->consumer;
    f->state = FETCH_READING;
    f->job.run = fetch_run;
    f->first_try_ns = clock_now(clock_system());
    f->request.genesis = c->space->genesis;
    f->request.handout = c->locked.handout;
    f->request.pool = c->pool;
    f->request.budget = c->space->runtime->budget;
    f->request.verify = c->verify;
    f->request.map = f->misses == 0; /* a second look takes the other way */
    if (f->misses > 0)
        c->locked.stats.refetches++;
    c->locked.jobs++;
    group_locked(f);
}

/* What the caller waits for right now goes on whatever the budget says and whether a lent buffer is
 * free; what lies ahead waits for room. */
static bool reserve_locked(fetch *f, bool front)
{
    bw_consumer *c = f->consumer;
    const uint64_t framed = slice_estimate(c->space->genesis, &f->request.plan);
    const uint64_t unpacked = c->locked.unpacked_bytes;
    if (c->lending != NULL) {
        const lending_answer answer =
            lending_take(c->lending, align64(framed) + unpacked, &f->request.lent);
        if (answer == LENDING_TAKEN)
            return true;
        if (answer == LENDING_FULL && !(front && c->locked.waiting))
            return false;
    }
    const uint64_t bytes = framed + unpacked + SLICE_SLACK_BYTES;
    if (!budget_take(c->space->runtime->budget, bytes, front))
        return false;
    f->request.reserved = bytes;
    return true;
}

/* False when nothing further can be begun now. */
static bool plan_locked(fetch *f, bool front)
{
    bw_consumer *c = f->consumer;
    const manifest *m = c->locked.manifest;
    if (f->step < m->trim) {
        fail_trimmed_locked(f, m);
        return true;
    }
    switch (segments_find(&c->space->segments, m, f->step, &f->entry, &f->needed)) {
    case LOOKUP_FOUND:
        f->in_tail = f->step >= manifest_tail_first(m) ? m->version : 0;
        break;
    case LOOKUP_NEED:
        f->state = FETCH_SEGMENT;
        follower_ask_load(c->space->follower);
        return true;
    case LOOKUP_TRIMMED:
        fail_trimmed_locked(f, m);
        return true;
    case LOOKUP_BEYOND:
    case LOOKUP_FAILED:
        return false;
    }
    if (handout_passes(c->locked.handout, f->step, f->entry.descriptor.shape.tag)) {
        f->state = FETCH_PASSED;
        return true;
    }
    const bw_status status = handout_plan(c->locked.handout, f->step, f->nth, &f->entry.descriptor,
                                          &f->request.plan, &f->error);
    if (status != BW_OK) {
        fail_locked(f, status);
        return true;
    }
    if (!reserve_locked(f, front))
        return false;
    read_locked(f);
    return true;
}

static void judge_locked(fetch *f)
{
    bw_consumer *c = f->consumer;
    if (f->ticket > c->locked.answered)
        return;
    if (c->locked.failure.code != BW_OK) {
        error_copy(&f->error, &c->locked.failure);
        fail_locked(f, c->locked.failure.code);
    } else if (f->step < c->locked.manifest->trim) {
        fail_trimmed_locked(f, c->locked.manifest);
    } else if (f->misses >= MISSES_MAX) {
        fail_locked(f, BW_CORRUPT);
    } else {
        f->state = FETCH_PLANNED;
    }
}

/* All that the rank reads of one more step. */
static void add_step_locked(bw_consumer *c)
{
    for (uint32_t nth = 0; nth < c->reads; nth++) {
        fetch *f = consumer_slot(c, c->locked.count++);
        f->consumer = c;
        f->state = FETCH_PLANNED;
        f->step = c->locked.plan_step;
        f->nth = nth;
        f->slice = NULL;
        f->misses = f->segment_misses = 0;
        f->in_tail = 0;
        f->request.reserved = 0;
        f->request.lent = NULL;
        error_clear(&f->error);
    }
    c->locked.plan_step = handout_after(c->locked.handout, c->locked.plan_step);
}

/* Begins what can be begun of the slot at `index`; false when there is no room left. Lent buffers
 * are few: steps that wait for a segment get theirs before later ones. */
static bool begin_locked(bw_consumer *c, uint32_t index, bool room)
{
    fetch *f = consumer_slot(c, index);
    if (f->state == FETCH_SEGMENT && c->lending != NULL)
        return false;
    if (f->state == FETCH_SUSPECT)
        judge_locked(f);
    return f->state == FETCH_PLANNED && room ? plan_locked(f, index < c->reads) : room;
}

/* Whether the step whose first slot this is has a tag that is not wanted; its other slots say the
 * same as soon as they say anything. */
static bool passed_locked(bw_consumer *c, uint32_t index)
{
    const bool passed = consumer_slot(c, index)->state == FETCH_PASSED;
    c->locked.stats.passed += passed;
    return passed;
}

/* Steps that are passed take no place in the window where that shows at once, and leave it in front
 * where it shows later. */
static bool extend_locked(bw_consumer *c, bool room)
{
    const manifest *m = c->locked.manifest;
    while (c->locked.count + c->reads <= c->locked.window &&
           handout_last(c->locked.handout, c->locked.plan_step) < m->next) {
        const uint32_t at = c->locked.count;
        add_step_locked(c);
        for (uint32_t nth = 0; nth < c->reads; nth++)
            room = begin_locked(c, at + nth, room);
        if (passed_locked(c, at))
            c->locked.count = at;
    }
    return room;
}

/* All before the front was handed out or passed. */
static bool reach_locked(bw_consumer *c)
{
    bool passed = false;
    while (c->locked.count > 0 && passed_locked(c, 0)) {
        passed = true;
        turn_locked(c);
    }
    handout_reach(c->locked.handout,
                  c->locked.count > 0 ? consumer_slot(c, 0)->step : c->locked.plan_step);
    return passed;
}

void prefetch_pump_locked(bw_consumer *c)
{
    if (c->locked.closing || c->locked.manifest == NULL)
        return;
    bool room = true;
    do {
        for (uint32_t i = 0; i < c->locked.count; i++)
            room = begin_locked(c, i, room);
        room = extend_locked(c, room);
    } while (reach_locked(c));
    submit_group_locked(c);
    c->locked.short_of_room = !room;
    /* Beyond the window, so that news has come by the time it is needed. */
    const uint64_t room_left =
        c->locked.count < c->locked.window ? (c->locked.window - c->locked.count) / c->reads : 0;
    const uint64_t wanted = handout_last(c->locked.handout, c->locked.plan_step) + room_left + 1;
    atomic_store(&c->wanted, wanted);
    if (wanted > c->locked.manifest->next && !c->locked.manifest->sealed)
        follower_nudge(c->space->follower);
}

static void adapt_locked(bw_consumer *c)
{
    const int64_t now_ns = clock_now(c->clock);
    if (c->locked.popped_ns != 0)
        depth_step(&c->locked.depth, now_ns - c->locked.popped_ns - c->locked.waited_ns);
    c->locked.popped_ns = now_ns;
    c->locked.waited_ns = 0;
    prefetch_resize_locked(c, depth_steps(&c->locked.depth) * c->reads);
}

void prefetch_pop_locked(bw_consumer *c)
{
    for (uint32_t i = 0; i < c->reads; i++) {
        slice_unref(consumer_slot(c, i)->slice);
        consumer_slot(c, i)->slice = NULL;
    }
    turn_locked(c);
    (void)reach_locked(c);
    if (c->adapts)
        adapt_locked(c);
    /* What failed while it lay ahead may have passed: it is looked at again before it is reported.
     */
    fetch *front = consumer_front(c);
    const bool again = front != NULL && front->state == FETCH_FAILED;
    if (again)
        prefetch_retry_locked(front);
    /* Refilling half a window at a time wakes threads once for many steps, and most calls of next
     * wake nobody; but room that comes back is used at once. */
    if (again || c->locked.short_of_room || c->locked.count <= c->locked.window / 2)
        prefetch_pump_locked(c);
}

void prefetch_retry_locked(fetch *f)
{
    f->state = FETCH_PLANNED;
    f->misses = f->segment_misses = 0;
    error_clear(&f->error);
}

void prefetch_close(bw_consumer *c)
{
    executor *e = c->space->runtime->executor;
    lock_acquire(&c->lock);
    c->locked.closing = true;
    for (uint32_t i = 0; i < c->locked.count; i++) {
        fetch *f = consumer_slot(c, i);
        if (f->state != FETCH_READING || !executor_cancel(e, &f->job))
            continue;
        for (; f != NULL; f = f->next_of_group) {
            give_back(f);
            f->state = FETCH_PLANNED;
            c->locked.jobs--;
        }
    }
    while (c->locked.jobs > 0) {
        const uint32_t ticket = gate_ticket(&c->changed);
        lock_release(&c->lock);
        gate_wait(&c->changed, ticket, TIME_NEVER);
        lock_acquire(&c->lock);
    }
    for (uint32_t i = 0; i < c->locked.count; i++) {
        slice_unref(consumer_slot(c, i)->slice);
        consumer_slot(c, i)->slice = NULL;
    }
    c->locked.count = 0;
    lock_release(&c->lock);
}
