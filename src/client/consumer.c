// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/consumer.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "client/follower.h"
#include "client/slicepool.h"
#include "client/stats.h"
#include "protocol/limit.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES_MAX 65536u
#define CURSOR_BYTES_MAX (128u << 10) /* 1,024 skips of two 19-digit numbers */

static int64_t now(void)
{
    return clock_now(clock_system());
}

/* ---- open ---- */

static void destroy(bw_consumer *c)
{
    budget_give(c->space->runtime->budget, c->locked.slots * sizeof(fetch));
    for (uint32_t i = 0; i < c->locked.slots; i++)
        mem_free(consumer_slot(c, i));
    handout_free(c->locked.handout);
    manifest_unref(c->locked.manifest);
    mem_free(c->locked.ring);
    slice_pool_close(c->pool);
    lending_close(c->lending);
    mem_free(c->group);
    mem_free(c->launch);
    lock_destroy(&c->lock);
    mem_free(c);
}

static bw_status consumer_new(bw_space *space, const consumer_options *options,
                              const consumer_seat *seat, bw_consumer **out, bw_error *error)
{
    const genesis *g = space->genesis;
    bw_consumer *c = mem_zalloc(sizeof *c);
    if (c == NULL || lock_init(&c->lock) != BW_OK) {
        mem_free(c);
        return error_set(error, BW_NOMEM, "out of memory");
    }
    c->space = space;
    c->position = seat->position;
    c->ranks = seat->ranks;
    c->verify = options->verify;
    c->adapts = options->prefetch == 0;
    c->clock = options->clock != NULL ? options->clock : clock_system();
    gate_init(&c->changed);
    atomic_init(&c->interrupted, 0);
    atomic_init(&c->wanted, 0u);
    bw_status status = handout_new(g, seat->position, options->dp != 0 ? options->dp : g->dp,
                                   options->mode, &c->locked.handout, error);
    if (status == BW_OK) {
        c->reads = handout_reads(c->locked.handout);
        const uint32_t window = (c->adapts ? DEPTH_FIRST : options->prefetch) * c->reads;
        c->slots_max = c->adapts ? DEPTH_MAX * c->reads : window;
        c->locked.ring = mem_array(c->slots_max, sizeof(fetch *));
        if (c->locked.ring != NULL)
            prefetch_resize_locked(c, window);
        /* The window, and as many that the caller may hold. */
        if (c->locked.window < window || slice_pool_new(2 * c->slots_max, &c->pool) != BW_OK ||
            (options->lend && lending_new(&c->lending) != BW_OK))
            status = error_set(error, BW_NOMEM, "no memory for a window of %u slices", window);
    }
    if (status != BW_OK) {
        destroy(c);
        return status;
    }
    *out = c;
    return BW_OK;
}

bw_status consumer_open(bw_space *space, const consumer_options *options, const cursor *from,
                        int64_t timeout_ns, bw_consumer **out, bw_error *error)
{
    const int64_t deadline_ns = clock_deadline(clock_system(), timeout_ns);
    consumer_seat seat;
    bw_consumer *c = NULL;
    BW_TRY(space_check_chain(space, error));
    BW_TRY(position_resolve(options, space->genesis, &seat, error));
    BW_TRY(follower_start(space, error));
    if (executor_start(space->runtime->executor) != BW_OK)
        return error_set(error, BW_NOMEM, "no memory for the executor's threads");
    unmapper_start(budget_unmapper(space->runtime->budget));
    BW_TRY(consumer_new(space, options, &seat, &c, error));
    const bw_status status = consumer_begin(c, options, &seat, from, deadline_ns, error);
    if (status != BW_OK) {
        destroy(c);
        return status;
    }
    follower_join(space->follower, c);
    /* It begins with what it has; what has changed since is found while it reads. */
    if (space->behind)
        (void)follower_ask(space->follower);
    atomic_fetch_add(&space->users, 1u);
    *out = c;
    return BW_OK;
}

void consumer_mind_locked(bw_consumer *c)
{
    bw_error broken;
    if (!invariant_taken(&broken) || c->locked.broken.code != BW_OK)
        return;
    error_copy(&c->locked.broken, &broken);
    gate_open(&c->changed);
}

static bw_status broken_locked(const bw_consumer *c, bw_error *error)
{
    if (c->locked.broken.code != BW_OK)
        error_copy(error, &c->locked.broken);
    return c->locked.broken.code;
}

/* ---- told by the follower ---- */

void consumer_offer(bw_consumer *c, const consumer_news *news)
{
    lock_acquire(&c->lock);
    if (news->newest != c->locked.manifest) {
        manifest_unref(c->locked.manifest);
        c->locked.manifest = manifest_ref(news->newest);
    }
    c->locked.answered = news->answered;
    error_copy(&c->locked.failure, news->failure);
    prefetch_pump_locked(c);
    consumer_mind_locked(c);
    gate_open(&c->changed);
    lock_release(&c->lock);
}

bool consumer_needs(bw_consumer *c, segment_ref *needed)
{
    bool needs = false;
    lock_acquire(&c->lock);
    for (uint32_t i = 0; i < c->locked.count && !needs; i++) {
        const fetch *f = consumer_slot(c, i);
        needs = f->state == FETCH_SEGMENT;
        if (needs)
            *needed = f->needed;
    }
    lock_release(&c->lock);
    return needs;
}

/* The same verdicts as for a slice: the manifest that came with it is proved newest after the miss.
 */
static void segment_missed_locked(bw_consumer *c, fetch *f, bw_status status, const bw_error *error)
{
    const bool damaged = status == BW_NOT_FOUND || status == BW_CORRUPT;
    f->state = FETCH_PLANNED;
    if (damaged && c->locked.failure.code == BW_OK && ++f->segment_misses < 2)
        return;
    error_copy(&f->error, error);
    error_prefix(&f->error, "step %" PRIu64, f->step);
    error_set_step(&f->error, f->step);
    f->error.code = damaged ? BW_CORRUPT : status;
    if (damaged && c->locked.failure.code != BW_OK)
        error_copy(&f->error, &c->locked.failure);
    f->state = FETCH_FAILED;
}

void consumer_loaded(bw_consumer *c, const segment_ref *ref, bw_status status,
                     const bw_error *error)
{
    lock_acquire(&c->lock);
    for (uint32_t i = 0; i < c->locked.count; i++) {
        fetch *f = consumer_slot(c, i);
        if (f->state != FETCH_SEGMENT || !hash_equal(&f->needed.hash, &ref->hash))
            continue;
        if (status != BW_OK) {
            segment_missed_locked(c, f, status, error);
            continue;
        }
        f->state = FETCH_PLANNED;
        f->segment_misses = 0; /* the next one has two looks of its own */
    }
    prefetch_pump_locked(c);
    consumer_mind_locked(c);
    gate_open(&c->changed);
    lock_release(&c->lock);
}

/* ---- next ---- */

fetch *consumer_front(bw_consumer *c)
{
    if (c->locked.count == 0)
        return NULL;
    fetch *first = consumer_slot(c, 0);
    if (c->reads == 1 || first->state != FETCH_READY)
        return first;
    uint32_t nth, item;
    handout_pick(c->locked.handout, first->slice->items, &nth, &item);
    return consumer_slot(c, nth);
}

static bw_item *take_locked(bw_consumer *c, fetch *f)
{
    slice *s = f->slice;
    handout *h = c->locked.handout;
    uint32_t nth, index;
    handout_pick(h, s->items, &nth, &index);
    bw_item *item = slice_item(s, index);
    item->order = handout_item(h);
    item->total = handout_items(h, s->items);
    c->locked.stats.items++;
    c->locked.stats.bytes += s->frames[item->index].plain_bytes;
    handout_advance(h, s->items, s->nonce);
    if (item->order + 1 == item->total) {
        c->locked.stats.steps++;
        prefetch_pop_locked(c);
    }
    return item;
}

typedef struct producers_seen {
    uint32_t known, alive, finished;
} producers_seen;

static producers_seen count_producers(const manifest *m)
{
    producers_seen seen = {.known = m->producer_count};
    for (uint32_t i = 0; i < m->producer_count; i++) {
        seen.alive += !m->producers[i].finished && !m->producers[i].forgotten;
        seen.finished += m->producers[i].finished;
    }
    return seen;
}

/* Who could still bring a step. When nobody is left, only an operator ends the wait. */
static const char *tell_producers(const manifest *m, char text[128])
{
    const uint32_t alive = count_producers(m).alive;
    const uint64_t known = m->producer_count + (m->has_page ? m->page.entries : 0);
    if (known == 0)
        (void)snprintf(text, 128, "no producer has come yet");
    else if (alive > 0)
        (void)snprintf(text, 128, "%u of %" PRIu64 " producers have not finished", alive, known);
    else if (known == 1)
        (void)snprintf(text, 128,
                       "its producer has finished: if no other comes, batchweave seal ends it");
    else
        (void)snprintf(text, 128,
                       "all %" PRIu64
                       " producers have finished: if no other comes, batchweave seal ends it",
                       known);
    return text;
}

static int64_t commit_age_ms(const manifest *m)
{
    return clock_age_ms(clock_system(), m->clock_ms);
}

/* At which limit the next batch stands, one of mean size. */
static limit_kind limit_of(const bw_consumer *c, const manifest *m, keeper *k)
{
    const uint64_t mean = m->next > 0 ? m->committed_bytes / m->next : 0;
    return limit_reached(c->space->genesis, m, mean, k);
}

/* Producers that wait for a group wait for this job when it is its own: then nobody moves, until it
 * pins a later step (docs/protocol.md). */
static const char *tell_limit(const bw_consumer *c, const manifest *m, char *text)
{
    keeper k = {.step = 0};
    char limit[LIMIT_TEXT_BYTES];
    const limit_kind kind = limit_of(c, m, &k);
    if (kind == LIMIT_NONE)
        return "";
    const bool own =
        kind != LIMIT_SWEEP && c->group != NULL && view_equal(k.group->name, view_text(c->group));
    (void)snprintf(text, LIMIT_TEXT_BYTES + 256, "; producers stand at %s%s",
                   limit_tell(c->space->genesis, m, kind, &k, limit),
                   own ? ": this job and its producers wait for each other until it pins a later "
                         "step; the limit is smaller than what it reads between two checkpoints"
                       : "");
    return text;
}

/* The time is over: with the facts that tell a slow producer from a dead one, and both from a slow
 * store. */
static bw_status starved_locked(const bw_consumer *c, const fetch *f, bw_error *error)
{
    const manifest *m = c->locked.manifest;
    const uint64_t step = handout_reading(c->locked.handout);
    if (c->locked.failure.code != BW_OK) {
        error_copy(error, &c->locked.failure);
        return c->locked.failure.code;
    }
    if (f != NULL && f->error.code != BW_OK) {
        error_copy(error, &f->error);
        return f->error.code;
    }
    char producers[128], limit[LIMIT_TEXT_BYTES + 256];
    if (f != NULL)
        (void)error_set(error, BW_STARVED,
                        "step %" PRIu64 " is committed and still being read; the newest step is "
                        "%" PRIu64,
                        step, m->next - 1);
    else
        (void)error_set(error, BW_STARVED,
                        "step %" PRIu64 " is not committed yet: version %" PRIu64 " has %" PRIu64
                        " steps; %s; the last commit is %.1f s old by its committer's clock%s",
                        step, m->version, m->next, tell_producers(m, producers),
                        (double)commit_age_ms(m) / 1000, tell_limit(c, m, limit));
    error_set_step(error, step);
    return BW_STARVED;
}

/* What ends the wait although there is no item; BW_OK: wait on. */
static bw_status verdict_locked(bw_consumer *c, fetch *f, bw_error *error)
{
    const manifest *m = c->locked.manifest;
    const handout *h = c->locked.handout;
    if (f != NULL && f->state == FETCH_FAILED) {
        const bw_status status = f->error.code;
        error_copy(error, &f->error);
        f->state = FETCH_REPORTED;
        return status;
    }
    if (f == NULL && handout_at_end(h, m)) {
        const uint64_t left = m->next > handout_reading(h) ? m->next - handout_reading(h) : 0;
        (void)error_set(error, BW_END, "the namespace is sealed and ends at step %" PRIu64 "%s",
                        m->next,
                        left > 0 ? "; the last steps are no whole training step of this job, and "
                                   "are not delivered"
                                 : "");
        error_set_step(error, m->next);
        return BW_END;
    }
    if (f == NULL && handout_reading(h) < m->trim) {
        (void)error_set(error, BW_TRIMMED,
                        "step %" PRIu64 " is not retained: the trim step is %" PRIu64,
                        handout_step(h), m->trim);
        error_set_step(error, handout_step(h));
        return BW_TRIMMED;
    }
    const bw_class class = bw_status_class(c->locked.failure.code);
    if (class == BW_CLASS_DATA || class == BW_CLASS_STATE || class == BW_CLASS_FATAL) {
        error_copy(error, &c->locked.failure);
        return c->locked.failure.code;
    }
    if (atomic_load(&c->interrupted) != 0)
        return error_set(error, BW_INTERRUPTED, "the wait for an item was interrupted");
    return BW_OK;
}

static void wait_ended_locked(bw_consumer *c, int64_t began_ns)
{
    const int64_t waited_ns = clock_now(c->clock) - began_ns;
    hist_add(&c->locked.stats.wait_ns, waited_ns);
    c->locked.waited_ns += waited_ns;
    c->locked.waiting = false;
}

bw_status consumer_next(bw_consumer *c, int64_t timeout_ns, bw_item **item, bw_error *error)
{
    int64_t began_ns = 0, deadline_ns = 0;
    bw_status status = BW_OK;
    fetch *f = NULL;
    lock_acquire(&c->lock);
    for (;;) {
        const uint32_t ticket = gate_ticket(&c->changed);
        f = consumer_front(c);
        consumer_mind_locked(c);
        status = broken_locked(c, error);
        if (status == BW_OK && f != NULL && f->state == FETCH_READY)
            break;
        if (status == BW_OK)
            status = verdict_locked(c, f, error);
        if (status != BW_OK)
            break;
        /* Only a call that must wait asks for the time; and the last one of a step, where the
         * window adapts. */
        if (!c->locked.waiting) {
            c->locked.waiting = true;
            began_ns = clock_now(c->clock);
            deadline_ns = clock_deadline(clock_system(), timeout_ns);
            if (f != NULL && f->state == FETCH_REPORTED)
                prefetch_retry_locked(f);
            prefetch_pump_locked(c);
            c->locked.stats.waits++;
            continue;
        }
        if (now() >= deadline_ns) {
            status = starved_locked(c, f, error);
            break;
        }
        lock_release(&c->lock);
        gate_wait(&c->changed, ticket, deadline_ns);
        lock_acquire(&c->lock);
    }
    if (c->locked.waiting)
        wait_ended_locked(c, began_ns);
    if (status == BW_OK)
        *item = take_locked(c, f);
    lock_release(&c->lock);
    return status;
}

bw_status consumer_lend(bw_consumer *c, void *data, size_t bytes, uint64_t token, bw_error *error)
{
    if (c->lending == NULL)
        return error_set(error, BW_INVALID, "the consumer was not opened with lend=true");
    BW_TRY(lending_add(c->lending, data, bytes, token, error));
    lock_acquire(&c->lock);
    prefetch_pump_locked(c);
    consumer_mind_locked(c);
    lock_release(&c->lock);
    return BW_OK;
}

void consumer_interrupt(bw_consumer *c, bool on)
{
    atomic_store(&c->interrupted, on ? 1 : 0);
    gate_open(&c->changed);
}

/* ---- cursor ---- */

bw_status cursor_wrap(const cursor *from, bw_cursor **out, bw_error *error)
{
    bw_cursor *c = mem_zalloc(sizeof *c);
    if (c == NULL)
        return error_set(error, BW_NOMEM, "out of memory");
    buf_init(&c->json, CURSOR_BYTES_MAX);
    bw_status status = cursor_copy(&c->cursor, from);
    if (status == BW_OK)
        status = cursor_encode(&c->cursor, &c->json);
    if (status == BW_OK && buf_text(&c->json)[0] == '\0')
        status = BW_NOMEM;
    if (status != BW_OK) {
        cursor_unwrap(c);
        return error_set(error, status, "the cursor: %s", bw_status_text(status));
    }
    *out = c;
    return BW_OK;
}

void cursor_unwrap(bw_cursor *c)
{
    if (c == NULL)
        return;
    cursor_free(&c->cursor);
    buf_free(&c->json);
    mem_free(c);
}

/* A restart that is told this version finds the next step with the fewest requests: in its tail, or
 * else by what is named as the way. */
static bw_status cursor_locked(bw_consumer *c, cursor *out)
{
    const manifest *m = c->locked.manifest;
    const uint64_t in_tail = c->locked.count > 0 ? consumer_slot(c, 0)->in_tail : 0;
    const bw_status status =
        handout_cursor(c->locked.handout, in_tail > 0 ? in_tail : m->version, out);
    if (status == BW_OK && in_tail == 0)
        segments_way(&c->space->segments, m, out);
    return status;
}

bw_status consumer_cursor(bw_consumer *c, bw_cursor **out, bw_error *error)
{
    cursor plain;
    lock_acquire(&c->lock);
    consumer_mind_locked(c);
    bw_status status = broken_locked(c, error);
    if (status != BW_OK) {
        lock_release(&c->lock);
        return status;
    }
    status = cursor_locked(c, &plain);
    lock_release(&c->lock);
    if (status != BW_OK)
        return error_set(error, status, "the cursor: %s", bw_status_text(status));
    status = cursor_wrap(&plain, out, error);
    cursor_free(&plain);
    return status;
}

/* ---- reports ---- */

static const char *reason_locked(bw_consumer *c)
{
    const fetch *f = consumer_front(c);
    if (f != NULL && f->state == FETCH_READY)
        return "ready";
    if (f != NULL && (f->state == FETCH_FAILED || f->state == FETCH_REPORTED))
        return "failed";
    if (f != NULL)
        return f->state == FETCH_SEGMENT ? "reading segment" : "reading";
    if (c->locked.failure.code != BW_OK)
        return "store";
    if (handout_at_end(c->locked.handout, c->locked.manifest))
        return "end";
    return handout_reading(c->locked.handout) < c->locked.manifest->trim ? "trimmed" : "no batch";
}

bw_status consumer_wait_reason(bw_consumer *c, char *json, size_t cap, size_t *length,
                               bw_error *error)
{
    buf out;
    buf_init(&out, TEXT_BYTES_MAX);
    lock_acquire(&c->lock);
    const manifest *m = c->locked.manifest;
    const fetch *f = consumer_front(c);
    const producers_seen seen = count_producers(m);
    json_put_object(&out, NULL);
    json_put_text(&out, "reason", reason_locked(c));
    json_put_u64(&out, "step", handout_step(c->locked.handout));
    json_put_u64(&out, "item", handout_item(c->locked.handout));
    json_put_u64(&out, "next_step", m->next);
    json_put_u64(&out, "trim_step", m->trim);
    json_put_u64(&out, "version", m->version);
    json_put_bool(&out, "sealed", m->sealed);
    json_put_u64(&out, "producers", seen.known);
    json_put_u64(&out, "producers_alive", seen.alive);
    json_put_u64(&out, "producers_finished", seen.finished);
    json_put_i64(&out, "last_commit_age_ms", commit_age_ms(m));
    char limit[LIMIT_TEXT_BYTES + 256];
    const char *told = tell_limit(c, m, limit);
    if (*told != '\0')
        json_put_text(&out, "limit", told + 2);
    else
        json_put_null(&out, "limit");
    const bw_error *why = c->locked.failure.code != BW_OK ? &c->locked.failure
                          : f != NULL                     ? &f->error
                                                          : NULL;
    if (why != NULL && why->code != BW_OK) {
        json_put_text(&out, "error", bw_status_name(why->code));
        json_put_text(&out, "message", why->message);
    }
    json_put_object_end(&out);
    lock_release(&c->lock);
    const bw_status status = json_hand_out(&out, json, cap, length, error);
    buf_free(&out);
    return status;
}

bw_status consumer_stats_json(bw_consumer *c, char *json, size_t cap, size_t *length,
                              bw_error *error)
{
    buf out;
    buf_init(&out, TEXT_BYTES_MAX);
    follower_counts follow;
    follower_counted(c->space->follower, &follow);
    lock_acquire(&c->lock);
    const consumer_stats *s = &c->locked.stats;
    uint32_t ready = 0;
    for (uint32_t i = 0; i < c->locked.count; i++)
        ready += consumer_slot(c, i)->state == FETCH_READY;
    json_put_object(&out, NULL);
    json_put_u64(&out, "d", c->position.d);
    json_put_u64(&out, "c", c->position.c);
    json_put_u64(&out, "step", handout_step(c->locked.handout));
    json_put_u64(&out, "next_step", c->locked.manifest->next);
    json_put_u64(&out, "items", s->items);
    json_put_u64(&out, "steps", s->steps);
    json_put_u64(&out, "passed", s->passed);
    json_put_u64(&out, "bytes", s->bytes);
    json_put_u64(&out, "waits", s->waits);
    json_put_u64(&out, "reads", s->reads);
    json_put_u64(&out, "refetches", s->refetches);
    if (c->lending != NULL) {
        const lending_counts lent = lending_count(c->lending);
        json_put_u64(&out, "lent", lent.buffers);
        json_put_u64(&out, "lent_free", lent.free);
        json_put_u64(&out, "lent_reads", s->lent_reads);
        json_put_u64(&out, "lent_bytes", s->lent_bytes);
        json_put_u64(&out, "lent_missed", s->lent_missed);
    }
    json_put_u64(&out, "depth", c->locked.window / c->reads);
    json_put_u64(&out, "window", c->locked.count);
    json_put_u64(&out, "ready", ready);
    json_put_hist(&out, "wait", &s->wait_ns);
    json_put_hist(&out, "fetch", &s->fetch_ns);
    lock_release(&c->lock);
    json_put_u64(&out, "memory_used", budget_used(c->space->runtime->budget));
    json_put_u64(&out, "polls", follow.chain.polls);
    json_put_u64(&out, "versions_read", follow.chain.versions_read);
    json_put_i64(&out, "poll_interval_us", follow.interval_ns / 1000);
    json_put_meter(&out, "store", &c->space->meter);
    json_put_object_end(&out);
    const bw_status status = json_hand_out(&out, json, cap, length, error);
    buf_free(&out);
    return status;
}

void consumer_close(bw_consumer *c)
{
    if (c == NULL)
        return;
    if (!runtime_is_ours(c->space->runtime)) {
        mem_free(c); /* all else may be in the middle of a change by the parent's threads */
        return;
    }
    follower_leave(c->space->follower, c);
    prefetch_close(c);
    atomic_fetch_sub(&c->space->users, 1u);
    destroy(c);
}
