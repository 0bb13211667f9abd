// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/producer.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "client/stats.h"
#include "codec/small.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COMMIT_BACKOFF_MIN_NS (2 * NS_PER_MS)
#define COMMIT_BACKOFF_MAX_NS NS_PER_S
#define STATS_BYTES_MAX 65536u

/* ---- open ---- */

static void destroy(bw_producer *p)
{
    turn_close(&p->worker.turn);
    drive_free(p->worker.drive);
    commit_free(p->worker.commit);
    chain_free(p->worker.chain);
    stage_free(p->locked.stage);
    events_destroy(&p->locked.events);
    mem_free(p->resume_state);
    lock_destroy(&p->put_lock);
    lock_destroy(&p->lock);
    mem_free(p);
}

/* docs/design/cadence.md has the figures. */
#define CADENCE_LOCAL "fixed:100"
#define CADENCE_REMOTE "turn"

static bw_status make_worker(bw_producer *p, const atomic_int *stop, bw_error *error)
{
    bw_runtime *runtime = p->space->runtime;
    store *own = NULL;
    BW_TRY(space_store(p->space, &own, error));
    own->stop = stop;
    bw_status status = drive_new(own, &p->worker.drive);
    if (status == BW_OK)
        status = chain_new(runtime_random(runtime), &runtime->log, &p->worker.chain);
    const commit_options options = {
        .backoff_min_ns = COMMIT_BACKOFF_MIN_NS,
        .backoff_max_ns = COMMIT_BACKOFF_MAX_NS,
        .conflict_retries = 1, /* each lost race gives the cadence a say */
        .seed = runtime_random(runtime),
        .clock = clock_system(),
        .log = &runtime->log,
    };
    if (status == BW_OK)
        status = commit_new(p->worker.chain, &options, &p->worker.commit);
    if (status != BW_OK)
        return error_set(error, status, "opening %s: %s", p->id, bw_status_text(status));
    p->worker.cadence = p->options.cadence;
    if (p->options.cadence_by_store)
        BW_TRY(cadence_parse((own->features & STORE_IS_LOCAL) != 0 ? CADENCE_LOCAL : CADENCE_REMOTE,
                             &p->worker.cadence, error));
    rng_seed(&p->worker.rng, runtime_random(runtime));
    return BW_OK;
}

static bw_status producer_new(bw_space *space, const char *id, const producer_options *options,
                              bw_producer **out, bw_error *error)
{
    if (!name_is_valid(view_text(id)))
        return error_set(error, BW_INVALID,
                         "\"%.80s\" is no name of a producer: 1 … 64 of a-z 0-9 . _ -, beginning "
                         "with a letter or digit, without \"..\"",
                         id);
    bw_producer *p = mem_zalloc(sizeof *p);
    if (p == NULL || lock_init(&p->lock) != BW_OK) {
        mem_free(p);
        return error_set(error, BW_NOMEM, "out of memory");
    }
    if (lock_init(&p->put_lock) != BW_OK) {
        lock_destroy(&p->lock);
        mem_free(p);
        return error_set(error, BW_NOMEM, "out of memory");
    }
    p->space = space;
    p->options = *options;
    p->options.stop = NULL; /* of the open alone */
    memcpy(p->id, id, strlen(id) + 1);
    gate_init(&p->changed);
    gate_init(&p->work);
    atomic_init(&p->interrupted, 0);
    atomic_init(&p->stopping, 0);
    runtime_token(space->runtime, &p->token);
    p->locked.events.fd = -1;
    *out = p;
    return BW_OK;
}

/* The event that says how the handle ended is made now: there may be no memory then. */
static bw_status reserve_last_event(bw_producer *p)
{
    bw_event *e = event_new(BW_EVENT_FAILED, true);
    if (e == NULL)
        return BW_NOMEM;
    p->locked.last_event = e;
    return BW_OK;
}

bw_status producer_open(bw_space *space, const char *id, const producer_options *options,
                        int64_t timeout_ns, bw_producer **out, bw_error *error)
{
    const int64_t deadline_ns = clock_deadline(clock_system(), timeout_ns);
    if (!space->options.writable)
        return error_set(error, BW_READ_ONLY,
                         "the namespace was opened for reading; open it with mode=write");
    bw_producer *p = NULL;
    uint64_t seq = 0;
    BW_TRY(producer_new(space, id, options, &p, error));
    bw_status status = events_init(&p->locked.events, error);
    if (status == BW_OK)
        status = make_worker(p, options->stop, error);
    if (status == BW_OK &&
        (reserve_last_event(p) != BW_OK || executor_start(space->runtime->executor) != BW_OK))
        status = error_set(error, BW_NOMEM, "no memory for a producer and its threads");
    if (status == BW_OK)
        status = committer_open(p, deadline_ns, &seq, error);
    if (status == BW_OK && store_stopped(drive_store(p->worker.drive))) /* perhaps cancelled */
        status = error_set(error, BW_INTERRUPTED, "opening %s was interrupted", id);
    if (status == BW_OK && stage_new(seq, p->resume_offset, options->staged_batches_max,
                                     options->staged_bytes_max, &p->locked.stage) != BW_OK)
        status = error_set(error, BW_NOMEM, "out of memory");
    if (status != BW_OK) {
        event_free(p->locked.last_event);
        destroy(p);
        return status;
    }
    drive_store(p->worker.drive)->stop = NULL;
    p->locked.stats.committed_offset = p->resume_offset;
    atomic_fetch_add(&space->users, 1u);
    *out = p;
    return BW_OK;
}

/* ---- notices ---- */

static void push_notice_locked(bw_producer *p, bw_event *e, bw_event_kind kind, uint64_t version,
                               const char *message)
{
    e->kind = kind;
    e->version = version;
    (void)snprintf(e->message, EVENT_MESSAGE_MAX + 1, "%s", message);
    events_push(&p->locked.events, e);
}

void producer_notice_locked(bw_producer *p, bw_event_kind kind, uint64_t version,
                            const char *message)
{
    bw_event *e = event_new(kind, true);
    if (e == NULL) {
        log_line(&p->space->runtime->log, LOG_LEVEL_WARN, "%s: no memory for an event: %s", p->id,
                 message);
        return;
    }
    push_notice_locked(p, e, kind, version, message);
}

static void describe(const bw_error *why, char *text, size_t size)
{
    /* Cut when too long: the beginning says what failed. */
    (void)snprintf(text, size, "%s: %.300s%s%.150s", bw_status_name(why->code), why->message,
                   why->key[0] != '\0' ? ": " : "", why->key);
}

void producer_fail_locked(bw_producer *p, const bw_error *why)
{
    if (p->locked.failure.code != BW_OK)
        return;
    p->locked.failure = *why;
    char text[EVENT_MESSAGE_MAX + 1];
    describe(why, text, sizeof text);
    bw_event *e = p->locked.last_event;
    p->locked.last_event = NULL;
    push_notice_locked(p, e, why->code == BW_FENCED ? BW_EVENT_FENCED : BW_EVENT_FAILED, 0, text);
    gate_open(&p->changed);
}

void producer_mind_locked(bw_producer *p)
{
    bw_error broken;
    if (invariant_taken(&broken))
        producer_fail_locked(p, &broken);
}

void producer_blocked_locked(bw_producer *p, const bw_error *why)
{
    const bool known = p->locked.blocked.code == why->code;
    p->locked.blocked = *why;
    if (known)
        return;
    char text[EVENT_MESSAGE_MAX + 1];
    describe(why, text, sizeof text);
    producer_notice_locked(p, BW_EVENT_BLOCKED, 0, text);
    gate_open(&p->changed);
}

static bw_status failure_locked(const bw_producer *p, bw_error *error)
{
    if (p->locked.failure.code != BW_OK)
        error_copy(error, &p->locked.failure);
    return p->locked.failure.code;
}

/* ---- put ---- */

static bw_status check_put_locked(bw_producer *p, bw_error *error)
{
    BW_TRY(failure_locked(p, error));
    if (p->locked.finishing)
        return error_set(error, BW_FINISHED, "%s has finished; open it again with reopen=true",
                         p->id);
    return BW_OK;
}

static bw_status no_room_locked(const bw_producer *p, bw_error *error)
{
    if (p->locked.blocked.code != BW_OK)
        return error_set(error, BW_TIMEOUT, "staging is full, and nothing moves: %s",
                         p->locked.blocked.message);
    if (p->options.events_max > 0 && p->locked.events.count >= p->options.events_max)
        return error_set(error, BW_TIMEOUT,
                         "%u events were not taken: take them, or open with events=0",
                         p->locked.events.count);
    return error_set(error, BW_TIMEOUT, "staging is full: %u batches, %" PRIu64 " bytes",
                     stage_batches(p->locked.stage), stage_bytes(p->locked.stage));
}

static bool has_room_locked(const bw_producer *p, uint64_t bytes)
{
    if (p->options.events_max > 0 && p->locked.events.count >= p->options.events_max)
        return false;
    return stage_has_room(p->locked.stage, bytes);
}

/* Returns with the lock held when BW_OK. */
static bw_status wait_for_room(bw_producer *p, uint64_t bytes, int64_t deadline_ns, bw_error *error)
{
    for (;;) {
        const uint32_t ticket = gate_ticket(&p->changed);
        lock_acquire(&p->lock);
        bw_status status = check_put_locked(p, error);
        if (status == BW_OK && has_room_locked(p, bytes))
            return BW_OK;
        if (status == BW_OK && atomic_load(&p->interrupted) != 0)
            status = error_set(error, BW_INTERRUPTED, "the put was interrupted");
        if (status == BW_OK && clock_now(clock_system()) >= deadline_ns)
            status = no_room_locked(p, error);
        lock_release(&p->lock);
        if (status != BW_OK)
            return status;
        gate_wait(&p->changed, ticket, deadline_ns);
    }
}

/* Everything that staging needs is allocated here, before anything is staged. */
static bw_status prepare(bw_batch *b, uint64_t token, bw_event **committed, bw_error *error)
{
    bw_producer *p = b->producer;
    const uint32_t parts = b->extent.parts;
    mem_free(b->parts);
    event_free(b->released);
    b->released = NULL;
    b->parts = mem_array(parts, sizeof *b->parts);
    if (p->options.events_max > 0) {
        b->released = event_new(BW_EVENT_RELEASED, false);
        *committed = event_new(BW_EVENT_COMMITTED, false);
    }
    if (b->parts == NULL ||
        (p->options.events_max > 0 && (b->released == NULL || *committed == NULL))) {
        event_free(*committed);
        *committed = NULL;
        return error_set(error, BW_NOMEM, "no memory to stage a batch");
    }
    if (b->released != NULL)
        b->released->token = token;
    b->token = token;
    for (uint32_t slice = 0; slice < b->slices; slice++) {
        part_job *part = &b->parts[b->places[slice].part];
        if (part->end_slice == 0)
            part->first_slice = slice;
        part->end_slice = slice + 1;
    }
    return BW_OK;
}

/* A state too long for the manifest becomes an object of its own. Only puts add to the stage, so
 * the batch's seq is known. */
static bw_status prepare_state(bw_batch *b, uint64_t seq, view state, state_ref *ref,
                               bw_error *error)
{
    bw_producer *p = b->producer;
    buf_reset(&b->state_object);
    if (state.size <= STATE_INLINE_MAX)
        return BW_OK;
    *ref = (state_ref){.epoch = p->epoch, .seq = seq, .nonce = b->nonce};
    bw_status status =
        state_encode(p->space->genesis->uuid, p->epoch, seq, state, &b->state_object);
    if (status == BW_OK)
        status = hash_bytes(b->state_object.data, b->state_object.size, &ref->hash);
    ref->bytes = (uint32_t)b->state_object.size;
    if (status != BW_OK)
        return error_set(error, status, "the resume state: %s", bw_status_text(status));
    return BW_OK;
}

static uint64_t last_seq(bw_producer *p)
{
    lock_acquire(&p->lock);
    const uint64_t seq = stage_last_seq(p->locked.stage);
    lock_release(&p->lock);
    return seq;
}

static void begin_jobs_locked(bw_batch *b)
{
    for (uint32_t i = 0; i < b->extent.parts; i++) {
        part_job *part = &b->parts[i];
        part->batch = b;
        part->part = i;
        upload_prepare(part);
    }
    b->put_ns = clock_now(clock_system());
    upload_start_locked(b);
}

static bw_status stage_batch(bw_batch *b, uint64_t end_offset, view state, uint64_t token,
                             int64_t deadline_ns, bw_error *error)
{
    bw_producer *p = b->producer;
    bw_event *committed = NULL;
    state_ref ref = {0};
    BW_TRY(batch_layout(b, runtime_random(p->space->runtime), error));
    const uint64_t seq = last_seq(p) + 1;
    BW_TRY(prepare_state(b, seq, state, &ref, error));
    BW_TRY(prepare(b, token, &committed, error));
    const descriptor d = {
        .id = view_text(p->id),
        .record = {.nonce = b->nonce, .epoch = p->epoch},
        .shape = b->shape,
    };
    bw_status status = wait_for_room(p, b->extent.total_bytes, deadline_ns, error);
    if (status == BW_OK) {
        status = committer_start_locked(p);
        if (status != BW_OK)
            (void)error_set(error, status, "no memory for the committer's thread");
        else
            status = stage_add(p->locked.stage, &d, end_offset, state,
                               b->state_object.size > 0 ? &ref : NULL, token, &b->seq, error);
        if (status == BW_OK) {
            if (committed != NULL) {
                committed->next = p->locked.events.spare;
                p->locked.events.spare = committed;
                committed = NULL;
            }
            p->locked.stats.batches_put++;
            begin_jobs_locked(b);
        }
        producer_mind_locked(p);
        lock_release(&p->lock);
    }
    event_free(committed);
    return status;
}

bw_status producer_put(bw_producer *p, bw_batch *b, uint64_t end_offset, view state, uint64_t token,
                       int64_t timeout_ns, bw_error *error)
{
    const int64_t deadline_ns = clock_deadline(clock_system(), timeout_ns);
    if (b->producer != p)
        return error_set(error, BW_INVALID, "the batch was made for another producer");
    if (state.size > STATE_BYTES_MAX)
        return error_set(error, BW_TOO_LARGE, "a resume state of %zu bytes; at most %u", state.size,
                         STATE_BYTES_MAX);
    lock_acquire(&p->put_lock);
    const bw_status status = stage_batch(b, end_offset, state, token, deadline_ns, error);
    lock_release(&p->put_lock);
    return status;
}

/* ---- events, flush, finish ---- */

bw_status producer_event(bw_producer *p, int64_t timeout_ns, bw_event **out, bw_error *error)
{
    const int64_t deadline_ns = clock_deadline(clock_system(), timeout_ns);
    for (;;) {
        const uint32_t ticket = gate_ticket(&p->changed);
        lock_acquire(&p->lock);
        bw_event *e = events_pop(&p->locked.events);
        bw_status status = e == NULL ? failure_locked(p, error) : BW_OK;
        lock_release(&p->lock);
        if (e != NULL) {
            gate_open(&p->changed); /* a put may have waited for room in the queue */
            *out = e;
            return BW_OK;
        }
        if (status == BW_OK && atomic_load(&p->interrupted) != 0)
            status = error_set(error, BW_INTERRUPTED, "the wait for an event was interrupted");
        if (status == BW_OK && clock_now(clock_system()) >= deadline_ns)
            status = error_set(error, BW_TIMEOUT, "no event in time");
        if (status != BW_OK)
            return status;
        gate_wait(&p->changed, ticket, deadline_ns);
    }
}

/* Why something put before is not on the chain yet. */
static bw_status unfinished_locked(const bw_producer *p, const char *what, bw_error *error)
{
    const uint32_t batches = stage_batches(p->locked.stage);
    const uint64_t offset = p->locked.stats.committed_offset;
    if (p->locked.overdue)
        return error_set(error, BW_UNKNOWN,
                         "%s: the outcome of a commit is not known yet; %u batches beyond offset "
                         "%" PRIu64 " are not acknowledged",
                         what, batches, offset);
    if (p->locked.blocked.code != BW_OK) {
        error_copy(error, &p->locked.blocked);
        error_prefix(error, "%s: %u batches beyond offset %" PRIu64 " are not acknowledged", what,
                     batches, offset);
        return p->locked.blocked.code;
    }
    return error_set(error, BW_TIMEOUT,
                     "%s: %u batches beyond offset %" PRIu64 " are not acknowledged", what, batches,
                     offset);
}

/* Until the batch `seq` is published and, with `finish`, the producer is finished. */
static bw_status wait_published(bw_producer *p, uint64_t seq, bool finish, int64_t deadline_ns,
                                const char *what, bw_error *error)
{
    for (;;) {
        const uint32_t ticket = gate_ticket(&p->changed);
        lock_acquire(&p->lock);
        const bool done =
            stage_published_seq(p->locked.stage) >= seq && (!finish || p->locked.finished);
        bw_status status = done ? BW_OK : failure_locked(p, error);
        if (!done && status == BW_OK && atomic_load(&p->interrupted) != 0)
            status = error_set(error, BW_INTERRUPTED, "%s was interrupted", what);
        if (!done && status == BW_OK && clock_now(clock_system()) >= deadline_ns)
            status = unfinished_locked(p, what, error);
        lock_release(&p->lock);
        if (done || status != BW_OK)
            return status;
        gate_wait(&p->changed, ticket, deadline_ns);
    }
}

bw_status producer_flush(bw_producer *p, bool urgent, int64_t timeout_ns, bw_error *error)
{
    const int64_t deadline_ns = clock_deadline(clock_system(), timeout_ns);
    lock_acquire(&p->lock);
    const uint64_t seq = stage_last_seq(p->locked.stage);
    if (urgent && seq > p->locked.urgent_seq)
        p->locked.urgent_seq = seq;
    lock_release(&p->lock);
    gate_open(&p->work);
    return wait_published(p, seq, false, deadline_ns, "flush", error);
}

bw_status producer_finish(bw_producer *p, int64_t timeout_ns, bw_error *error)
{
    const int64_t deadline_ns = clock_deadline(clock_system(), timeout_ns);
    lock_acquire(&p->lock);
    const uint64_t seq = stage_last_seq(p->locked.stage);
    bw_status status = failure_locked(p, error);
    if (status == BW_OK)
        status = committer_start_locked(p);
    if (status == BW_OK) {
        p->locked.finishing = true;
        p->locked.urgent_seq = seq;
    }
    lock_release(&p->lock);
    BW_TRY(status);
    gate_open(&p->work);
    return wait_published(p, seq, true, deadline_ns, "finish", error);
}

void producer_interrupt(bw_producer *p, bool on)
{
    atomic_store(&p->interrupted, on ? 1 : 0);
    gate_open(&p->changed);
}

/* ---- stats, close ---- */

bw_status producer_stats_json(bw_producer *p, char *json, size_t cap, size_t *length,
                              bw_error *error)
{
    buf out;
    buf_init(&out, STATS_BYTES_MAX);
    json_put_object(&out, NULL);
    json_put_text(&out, "id", p->id);
    json_put_u64(&out, "epoch", p->epoch);
    json_put_text(&out, "policy", cadence_name(&p->worker.cadence));
    lock_acquire(&p->lock);
    const producer_stats *s = &p->locked.stats;
    json_put_u64(&out, "offset_committed", s->committed_offset);
    json_put_u64(&out, "offset_staged", stage_end_offset(p->locked.stage));
    json_put_u64(&out, "staged_batches", stage_batches(p->locked.stage));
    json_put_u64(&out, "staged_bytes", stage_bytes(p->locked.stage));
    json_put_u64(&out, "batches_put", s->batches_put);
    json_put_u64(&out, "batches_committed", s->batches_committed);
    json_put_u64(&out, "bytes_uploaded", s->bytes_uploaded);
    json_put_u64(&out, "commits", s->commits);
    json_put_u64(&out, "conflicts", s->conflicts);
    json_put_u64(&out, "unknown", s->unknowns);
    json_put_bool(&out, "finished", p->locked.finished);
    json_put_text(&out, "state",
                  p->locked.failure.code != BW_OK ? bw_status_name(p->locked.failure.code) : "OK");
    if (p->locked.blocked.code != BW_OK)
        json_put_text(&out, "blocked", p->locked.blocked.message);
    else
        json_put_null(&out, "blocked");
    json_put_hist(&out, "commit", &s->commit_ns);
    json_put_hist(&out, "upload", &s->upload_ns);
    lock_release(&p->lock);
    json_put_meter(&out, "store", &p->space->meter);
    json_put_object_end(&out);
    const bw_status status = json_hand_out(&out, json, cap, length, error);
    buf_free(&out);
    return status;
}

static bw_status left_behind(bw_producer *p, bw_error *error)
{
    if (stage_batches(p->locked.stage) == 0 && !(p->locked.finishing && !p->locked.finished))
        return BW_OK;
    if (p->locked.failure.code != BW_OK) {
        error_copy(error, &p->locked.failure);
        error_prefix(error, "close: %u batches beyond offset %" PRIu64 " are not acknowledged",
                     stage_batches(p->locked.stage), p->locked.stats.committed_offset);
        return p->locked.failure.code;
    }
    /* A commit that was stopped half-way may still land; the next open finds out and is final. */
    if (p->locked.attempt_open)
        p->locked.overdue = true;
    return unfinished_locked(p, "close", error);
}

bw_status producer_close(bw_producer *p, int64_t timeout_ns, bw_error *error)
{
    if (p == NULL)
        return BW_OK;
    if (!runtime_is_ours(p->space->runtime)) {
        /* The committer and its half-done work are the parent's: only the handle's own memory is
         * freed. */
        mem_free(p);
        return BW_OK;
    }
    if (timeout_ns != 0)
        (void)producer_flush(p, true, timeout_ns, NULL);
    atomic_store(&p->stopping, 1);
    gate_open(&p->work);
    lock_acquire(&p->lock);
    const bool started = p->locked.started;
    lock_release(&p->lock);
    if (started)
        (void)pthread_join(p->locked.thread, NULL);
    upload_cancel_all(p);
    const bw_status status = left_behind(p, error);
    atomic_fetch_sub(&p->space->users, 1u);
    event_free(p->locked.last_event);
    destroy(p);
    return status;
}
