// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * The thread that publishes: it waits until the contiguous done prefix is not empty and the cadence
 * allows (or somebody is in a hurry), and drives one commit after the other. Nothing is
 * acknowledged before the machine says DONE.
 */
#include "client/producer.h"

#include "base/alloc.h"
#include "client/polling.h"
#include "codec/small.h"
#include "protocol/limit.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COMMIT_BACKOFF_MIN_NS (2 * NS_PER_MS)
#define COMMIT_BACKOFF_MAX_NS NS_PER_S
/* Descriptors offered to one commit; the intent takes what fits. */
#define PUBLISH_MAX 16384u
/* How often a commit that takes long is looked at: is it overdue, has it an outcome already? */
#define LOOK_NS (100 * NS_PER_MS)
/* How often a producer that stands at a limit looks for the commit that moves it, in the end. */
#define LIMIT_PAUSE_NS NS_PER_S
#define LIMIT_PAUSE_LOCAL_NS (100 * NS_PER_MS)
/* So long what is off the critical path is waited for: some puts' time. */
#define REST_NS (500 * NS_PER_MS)

static int64_t now(void)
{
    return clock_now(clock_system());
}

/* ---- what becomes of a commit ---- */

static int64_t next_ceiling(committer *w, int64_t most_ns)
{
    int64_t ceiling_ns = COMMIT_BACKOFF_MIN_NS;
    for (uint32_t i = 0; i < w->failures && ceiling_ns < most_ns; i++)
        ceiling_ns *= 2;
    w->failures++;
    return ceiling_ns < most_ns ? ceiling_ns : most_ns;
}

static int64_t backoff(committer *w)
{
    return (int64_t)rng_below(&w->rng, (uint64_t)next_ceiling(w, COMMIT_BACKOFF_MAX_NS)) + 1;
}

/* Producers that stand at a limit may do so for days, and all of them: each asks for what is new
 * once a second in the end, in one request. Who backed off with full jitter instead would ask twice
 * as often, and an attempt on a proved newest base costs several. */
static int64_t limit_pause(committer *w)
{
    const bool local = (drive_store(w->drive)->features & STORE_IS_LOCAL) != 0;
    return polling_jitter_ns(next_ceiling(w, local ? LIMIT_PAUSE_LOCAL_NS : LIMIT_PAUSE_NS),
                             &w->rng);
}

/* The step of our batch `seq` in `m`: from the tail, where it nearly always is, backwards. On a
 * handle of its own, since the drive's may still have a hint in flight. */
static uint64_t find_step(bw_producer *p, const manifest *m, uint64_t seq)
{
    store *own = NULL;
    step_entry entry;
    uint64_t step = COMMIT_STEP_UNKNOWN;
    if (space_store(p->space, &own, NULL) != BW_OK)
        return step;
    for (uint64_t at = m->next; at > m->swept && step == COMMIT_STEP_UNKNOWN; at--) {
        if (segments_get(&p->space->segments, own, p->space->genesis, m, at - 1, &entry, NULL) !=
            BW_OK)
            break;
        const descriptor *d = &entry.descriptor;
        if (d->record.seq == seq && d->record.epoch == p->epoch &&
            view_equal(d->id, view_text(p->id)))
            step = at - 1;
    }
    store_close(own);
    return step;
}

typedef struct acknowledgement {
    bw_producer *producer;
    uint64_t version;
} acknowledgement;

static void acknowledge(void *context, uint64_t token, uint64_t step)
{
    const acknowledgement *a = context;
    bw_producer *p = a->producer;
    p->locked.stats.batches_committed++;
    bw_event *e = p->locked.events.spare;
    if (p->options.events_max == 0 || e == NULL)
        return;
    p->locked.events.spare = e->next;
    e->kind = BW_EVENT_COMMITTED;
    e->token = token;
    e->step = step;
    e->version = a->version;
    events_push(&p->locked.events, e);
}

/* Batches [1, count] of the stage are in. Those that this very commit added stand in a row from
 * `first_step` on; others (a lost reply, found on the chain later) are looked up one by one. */
static void settle_published(bw_producer *p, const commit_report *r, const manifest *m,
                             uint32_t count, bool finished)
{
    acknowledgement a = {p, r->version};
    const uint64_t first_seq = stage_published_seq(p->locked.stage) + 1;
    const uint32_t row = r->result.published < count ? r->result.published : count;
    for (uint32_t i = 0; i < count - row; i++) {
        const uint64_t step = find_step(p, m, first_seq + i);
        lock_acquire(&p->lock);
        stage_published(p->locked.stage, 1, step, acknowledge, &a);
        producer_mind_locked(p);
        lock_release(&p->lock);
    }
    lock_acquire(&p->lock);
    stage_published(p->locked.stage, row, r->result.first_step, acknowledge, &a);
    const descriptor *d;
    const view *states;
    const state_ref *refs;
    p->locked.ready_ns = stage_ready(p->locked.stage, 1, &d, &states, &refs) > 0 ? now() : 0;
    const producer_entry *e = manifest_producer(m, view_text(p->id));
    if (e != NULL && token_equal(&e->token, &p->token))
        p->locked.stats.committed_offset = e->offset;
    p->locked.finished = p->locked.finished || finished;
    p->locked.commit_blocked = false;
    error_clear(&p->locked.blocked);
    producer_mind_locked(p);
    lock_release(&p->lock);
}

/* What our entry says in a proved manifest is what happened, by whatever way we came to know. */
static void commit_done(bw_producer *p, const commit_report *r, int64_t began_ns)
{
    manifest *m = manifest_ref(chain_held(p->worker.chain));
    const producer_entry *e = manifest_producer(m, view_text(p->id));
    uint32_t count = r->result.already + r->result.published;
    bool finished = false;
    if (e != NULL && token_equal(&e->token, &p->token)) {
        finished = e->finished;
        count = (uint32_t)(e->seq - stage_published_seq(p->locked.stage));
    }
    settle_published(p, r, m, count, finished);
    lock_acquire(&p->lock);
    p->locked.stats.commits++;
    p->locked.stats.conflicts += r->conflicts;
    hist_add(&p->locked.stats.commit_ns, now() - began_ns);
    lock_release(&p->lock);
    p->worker.failures = 0;
    manifest_unref(m);
}

/* Store trouble and limits may pass; a refusal by a proved manifest, or a store that breaks its
 * promises, does not. */
static bool may_pass(bw_status status)
{
    const bw_class class = bw_status_class(status);
    return (class == BW_CLASS_WAIT || class == BW_CLASS_STORE) && status != BW_DENIED &&
           status != BW_STORE_UNSAFE;
}

/* No answer will ever come to this handle. What became of a commit in doubt, the chain tells. */
static void store_lost_locked(bw_producer *p, const bw_error *lost)
{
    bw_error why = {.code = BW_OK};
    (void)error_set(&why, BW_IO,
                    "%.300s; %u batches beyond offset %" PRIu64 " are not acknowledged, and some "
                    "may be on the chain: open the namespace again, and a new producer %s knows "
                    "where to go on",
                    lost->message, stage_batches(p->locked.stage), p->locked.stats.committed_offset,
                    p->id);
    error_set_key(&why, lost->key);
    producer_fail_locked(p, &why);
}

/* The outcome of the commit's own failure, or of the driver's. */
static void commit_failed(bw_producer *p, const bw_error *why)
{
    bw_error lost;
    const bool is_lost = drive_lost(p->worker.drive, &lost);
    lock_acquire(&p->lock);
    if (is_lost && may_pass(why->code)) {
        store_lost_locked(p, &lost);
    } else if (may_pass(why->code)) {
        p->locked.commit_blocked = true;
        producer_blocked_locked(p, why);
        const bool limit = why->code == BW_BLOCKED && chain_held(p->worker.chain) != NULL;
        p->worker.limit_version = limit ? chain_held(p->worker.chain)->version : 0;
        p->worker.not_before_ns = now() + (limit ? limit_pause(&p->worker) : backoff(&p->worker));
    } else {
        producer_fail_locked(p, why);
    }
    lock_release(&p->lock);
}

static void announce_unknown(bw_producer *p, const commit_report *r)
{
    char nonce[HASH_HEX_BYTES], message[EVENT_MESSAGE_MAX];
    hex_encode(r->nonce.bytes, TOKEN_BYTES, nonce);
    (void)snprintf(message, sizeof message,
                   "the outcome of the commit of version %" PRIu64 ", nonce %s, is not known: it "
                   "may have landed, or may still; the handle goes on asking",
                   r->open_version, nonce);
    lock_acquire(&p->lock);
    p->locked.stats.unknowns++;
    p->locked.overdue = true;
    producer_notice_locked(p, BW_EVENT_UNKNOWN, r->open_version, message);
    gate_open(&p->changed);
    lock_release(&p->lock);
}

/* ---- the thread ---- */

typedef struct work {
    intent intent;
    bool urgent;
    bool limited; /* nothing but a newer manifest can let it begin */
    turn_act act; /* TURN_VISIT: an ordinary commit, TURN_COMMIT: on the base that is held */
    turn_advice look;
} work;

static bool takes_turns(const bw_producer *p)
{
    return p->worker.cadence.policy == CADENCE_TURN;
}

/* When the cadence lets the work begin; what it is, a look or a commit, is in `w`. */
static int64_t start_of(bw_producer *p, work *w, int64_t now_ns)
{
    w->act = TURN_VISIT;
    if (w->urgent)
        return now_ns;
    if (!takes_turns(p))
        return cadence_due(&p->worker.cadence, p->locked.ready_ns);
    w->look = turn_ask(&p->worker.turn, p->locked.ready_ns, now_ns);
    w->act = w->look.act;
    return w->act == TURN_WAIT ? w->look.at_ns : now_ns;
}

static void attempt_begins_locked(bw_producer *p)
{
    p->locked.attempt_open = true;
    p->locked.overdue = false;
}

/* Fills `w` when a commit may be attempted now; else `*due_ns` says when to look again. Under
 * `lock`. */
static bool next_work_locked(bw_producer *p, work *w, int64_t *due_ns)
{
    *due_ns = TIME_NEVER;
    if (p->locked.failure.code != BW_OK || p->locked.finished)
        return false;
    w->intent = (intent){.kind = INTENT_PUBLISH};
    w->intent.publish.id = view_text(p->id);
    w->intent.publish.token = p->token;
    const uint32_t count = stage_ready(p->locked.stage, PUBLISH_MAX, &w->intent.publish.descriptors,
                                       &w->intent.publish.states, &w->intent.publish.state_refs);
    w->intent.publish.count = count;
    w->intent.publish.takes_turn = takes_turns(p);
    if (takes_turns(p))
        w->intent.publish.slot_ms = turn_slot_ms(&p->worker.turn);
    w->intent.publish.finish = p->locked.finishing && count == stage_batches(p->locked.stage);
    if (count == 0 && !w->intent.publish.finish)
        return false;
    /* A hurry is worth one commit: when all that was put before it is ready. Until then the cadence
     * decides. */
    const uint64_t published = stage_published_seq(p->locked.stage);
    const bool reached = published + count >= p->locked.urgent_seq || count == PUBLISH_MAX;
    w->urgent = w->intent.publish.finish || (published < p->locked.urgent_seq && reached);
    w->act = TURN_VISIT;
    w->limited = p->worker.limit_version != 0;
    const int64_t now_ns = now();
    int64_t start_ns = w->limited ? now_ns : start_of(p, w, now_ns);
    if (start_ns < p->worker.not_before_ns)
        start_ns = p->worker.not_before_ns;
    if (start_ns > now_ns) {
        *due_ns = start_ns;
        return false;
    }
    if (!w->limited && (w->act == TURN_VISIT || w->act == TURN_COMMIT))
        attempt_begins_locked(p);
    return true;
}

/* Drives until the machine has an outcome; past its deadline it goes on, and says so once. What the
 * machine does besides (a hint that the store is slow to take) holds up no outcome. */
static bw_status drive_attempt(bw_producer *p)
{
    const drive_stop stop = {&p->work, &p->stopping};
    const commit_report *r = commit_reported(p->worker.commit);
    bool announced = false;
    for (;;) {
        const bw_status status =
            drive_commit(p->worker.drive, p->worker.commit, now() + LOOK_NS, &stop);
        if (r->end == COMMIT_RUNNING && r->overdue && !announced) {
            announced = true;
            announce_unknown(p, r);
        }
        if (status != BW_TIMEOUT || r->end != COMMIT_RUNNING)
            return status == BW_TIMEOUT ? BW_OK : status;
    }
}

/* Until a commit may start. What the last one left to do besides, a hint or a segment, is waited
 * for until then at most: a store may be long in taking it, or have no room. */
static bw_status settle_machine(bw_producer *p, int64_t rest_until_ns)
{
    const commit *c = p->worker.commit;
    const machine m = {&commit_machine, p->worker.commit};
    const drive_stop stop = {&p->work, &p->stopping};
    bw_status status = BW_TIMEOUT;
    while (status == BW_TIMEOUT && (!commit_may_start(c) || now() < rest_until_ns))
        status = drive_run(p->worker.drive, m, now() + LOOK_NS, &stop);
    return status == BW_TIMEOUT ? BW_OK : status;
}

/* Without memory for the members it goes on with those it knew. */
static void turn_ended(bw_producer *p, const commit_report *r, const manifest *m)
{
    turn *t = &p->worker.turn;
    if (r->end == COMMIT_DONE && r->result.published > 0)
        (void)turn_committed(t, r->create_ns, now(), m, &p->worker.rng);
    else if (r->end == COMMIT_LOST)
        (void)turn_lost(t, now(), m, &p->worker.rng);
    else
        (void)turn_caught_up(t, now(), m, &p->worker.rng);
}

static void attempt_ended(bw_producer *p, const commit_report *r, bool urgent)
{
    const manifest *m = chain_held(p->worker.chain);
    if (takes_turns(p) && m != NULL)
        turn_ended(p, r, m);
    const cadence_attempt attempt = {
        .now_ns = now(),
        .fragile_ns = r->fragile_ns,
        .conflict = r->end == COMMIT_LOST,
        .active = m != NULL ? limit_active(m) : 0,
        .mapped = m != NULL ? m->producer_count : 0,
    };
    cadence_attempted(&p->worker.cadence, &attempt, &p->worker.rng);
    p->worker.not_before_ns = 0;
    if (attempt.conflict && urgent)
        p->worker.not_before_ns = attempt.now_ns + backoff(&p->worker);
}

static void publish(bw_producer *p, work *w)
{
    commit *c = p->worker.commit;
    const int64_t began_ns = now();
    if (settle_machine(p, commit_puts_segment(c) ? began_ns + REST_NS : 0) == BW_INTERRUPTED)
        return;
    if (w->act == TURN_COMMIT)
        commit_trust_base(c);
    commit_start(c, &w->intent, view_text(p->id), began_ns,
                 clock_deadline(clock_system(), p->options.commit_timeout_ns));
    const bw_status status = drive_attempt(p);
    if (status == BW_INTERRUPTED)
        return; /* closing: what is open stays open, and close says so */
    const commit_report *r = commit_reported(c);
    bw_error why = r->error;
    why.code = r->status;
    if (status != BW_OK) {
        (void)drive_tell(p->worker.drive, status, &why, "driving the commit");
        commit_failed(p, &why);
    } else {
        attempt_ended(p, r, w->urgent);
        if (r->open_unknown)
            announce_unknown(p, r);
        if (r->end == COMMIT_DONE)
            commit_done(p, r, began_ns);
        else if (r->end != COMMIT_LOST)
            commit_failed(p, &why);
    }
    lock_acquire(&p->lock);
    if (r->end == COMMIT_LOST)
        p->locked.stats.conflicts++;
    /* A machine that is stopped in the middle leaves its attempt in doubt. */
    const bool doubt =
        r->open_unknown || (status == BW_BUG && r->attempts > 0) || (status == BW_IO && r->overdue);
    p->locked.attempt_open = doubt;
    p->locked.overdue = doubt;
    gate_open(&p->changed);
    lock_release(&p->lock);
}

static void visit(bw_producer *p, work *w)
{
    w->act = TURN_VISIT;
    lock_acquire(&p->lock);
    attempt_begins_locked(p);
    lock_release(&p->lock);
    publish(p, w);
}

/* Where it fails, an ordinary commit finds out why, and says so. So it is while a put is under
 * way: the store handle is the commit's. */
static void look(bw_producer *p, work *w)
{
    committer *c = &p->worker;
    const drive_stop stop = {&p->work, &p->stopping};
    if (settle_machine(p, now() + REST_NS) == BW_INTERRUPTED)
        return;
    if (commit_machine.running(c->commit)) {
        visit(p, w);
        return;
    }
    const int64_t sent_ns = now();
    if (w->look.act == TURN_LOOK)
        chain_look(c->chain, w->look.version, sent_ns);
    else
        chain_start(c->chain, CHAIN_NEWEST, sent_ns);
    bw_status status = drive_run(c->drive, (machine){&chain_machine, c->chain}, TIME_NEVER, &stop);
    if (status == BW_INTERRUPTED)
        return;
    if (status == BW_OK)
        status = chain_result(c->chain, NULL);
    const manifest *m = chain_held(c->chain);
    if (status == BW_OK)
        status = w->look.act == TURN_LOOK
                     ? turn_looked(&c->turn, w->look.version, sent_ns, now(), m, &c->rng)
                     : turn_caught_up(&c->turn, now(), m, &c->rng);
    if (status == BW_OK)
        return;
    visit(p, w);
}

/* A limit moves with the chain alone: until that has grown, another attempt would be refused as the
 * last one was. What goes wrong here an ordinary commit finds out, and says. */
static void watch_limit(bw_producer *p)
{
    committer *c = &p->worker;
    const drive_stop stop = {&p->work, &p->stopping};
    if (settle_machine(p, now() + REST_NS) == BW_INTERRUPTED)
        return;
    if (commit_machine.running(c->commit)) { /* the store handle is the commit's */
        c->not_before_ns = now() + limit_pause(c);
        return;
    }
    chain_start(c->chain, CHAIN_POLL, now());
    bw_status status = drive_run(c->drive, (machine){&chain_machine, c->chain}, TIME_NEVER, &stop);
    if (status == BW_INTERRUPTED)
        return;
    if (status == BW_OK)
        status = chain_result(c->chain, NULL);
    const manifest *m = chain_held(c->chain);
    const bool moved = status == BW_OK && m->version > c->limit_version;
    if (moved && takes_turns(p))
        status = turn_caught_up(&c->turn, now(), m, &c->rng);
    if (status != BW_OK || moved)
        c->limit_version = 0;
    c->not_before_ns = moved ? 0 : now() + limit_pause(c);
}

static void *committer_run(void *context)
{
    bw_producer *p = context;
    while (atomic_load(&p->stopping) == 0) {
        const uint32_t ticket = gate_ticket(&p->work);
        work w;
        int64_t due_ns = TIME_NEVER;
        lock_acquire(&p->lock);
        const bool ready = next_work_locked(p, &w, &due_ns);
        producer_mind_locked(p);
        lock_release(&p->lock);
        if (ready && w.limited)
            watch_limit(p);
        else if (ready && (w.act == TURN_LOOK || w.act == TURN_CATCH_UP))
            look(p, &w);
        else if (ready)
            publish(p, &w);
        else if (atomic_load(&p->stopping) == 0)
            gate_wait(&p->work, ticket, due_ns);
    }
    return NULL;
}

bw_status committer_start_locked(bw_producer *p)
{
    if (p->locked.started)
        return BW_OK;
    const bw_status status = thread_start(&p->locked.thread, "bw-commit", committer_run, p);
    p->locked.started = status == BW_OK;
    return status;
}

/* ---- open ---- */

static bw_status read_state_object(bw_producer *p, const producer_entry *e, bw_error *error)
{
    const state_ref *ref = &e->state_ref;
    object_key key;
    key_state(&key, e->id, ref->epoch, ref->seq, ref->nonce);
    store_op op;
    store_op_init(&op, STORE_GET, key.text);
    buf_init(&op.out, object_bytes_max(OBJECT_STATE));
    uint8_t uuid[UUID_BYTES];
    uint32_t epoch = 0;
    uint64_t seq = 0;
    view state = {0};
    hash128 hash = {0};
    bw_status status = BW_OK;
    const store_outcome outcome = store_run(drive_store(p->worker.drive), &op);
    if (outcome == STORE_NOT_FOUND) {
        status = error_set(error, BW_CORRUPT, "the resume state of %s is missing", p->id);
    } else if (outcome != STORE_OK) {
        status = store_op_status(&op);
        error_copy(error, &op.error);
    } else {
        const view object = view_of(op.out.data, op.out.size);
        status = hash_bytes(object.data, object.size, &hash);
        if (status == BW_OK)
            status = state_decode(object, uuid, &epoch, &seq, &state, error);
        if (status == BW_OK && (!hash_equal(&hash, &ref->hash) || object.size != ref->bytes ||
                                memcmp(uuid, p->space->genesis->uuid, UUID_BYTES) != 0 ||
                                epoch != ref->epoch || seq != ref->seq))
            status = error_set(error, BW_CORRUPT, "the resume state of %s is another one", p->id);
    }
    if (status == BW_OK) {
        p->resume_state = mem_dup(state.data, state.size);
        p->resume_state_bytes = state.size;
        if (p->resume_state == NULL)
            status = error_set(error, BW_NOMEM, "out of memory");
    } else {
        error_set_key(error, key.text);
    }
    store_op_clear(&op);
    return status;
}

static bw_status take_over(bw_producer *p, const commit_report *r, uint64_t *seq, bw_error *error)
{
    const manifest *m = chain_held(p->worker.chain);
    const producer_entry *e = manifest_producer(m, view_text(p->id));
    if (e == NULL || !token_equal(&e->token, &p->token))
        return error_set(error, BW_FENCED, "%s was taken over while it was being opened", p->id);
    turn_open(&p->worker.turn, view_text(p->id), p->space->genesis->tail_cap, r->create_ns);
    if (turn_caught_up(&p->worker.turn, now(), m, &p->worker.rng) != BW_OK)
        return error_set(error, BW_NOMEM, "out of memory");
    p->epoch = e->epoch;
    p->resume_offset = e->offset;
    *seq = e->seq;
    if (e->state_is_object)
        return read_state_object(p, e, error);
    p->resume_state = mem_dup(e->state.data, e->state.size);
    p->resume_state_bytes = e->state.size;
    return p->resume_state != NULL ? BW_OK : error_set(error, BW_NOMEM, "out of memory");
}

bw_status committer_open(bw_producer *p, int64_t deadline_ns, uint64_t *seq, bw_error *error)
{
    committer *w = &p->worker;
    BW_TRY(chain_walk(w->chain, w->drive, CHAIN_OPEN, deadline_ns, NULL, error));
    intent i = {.kind = INTENT_OPEN};
    i.open.id = view_text(p->id);
    i.open.token = p->token;
    i.open.reopen = p->options.reopen;
    /* A race lost is tried again at once: nobody holds a cadence yet. */
    for (;;) {
        commit_start(w->commit, &i, view_text(p->id), now(), deadline_ns);
        const bw_status status = drive_commit(w->drive, w->commit, deadline_ns, NULL);
        const commit_report *r = commit_reported(w->commit);
        if ((status == BW_TIMEOUT || status == BW_IO) && r->overdue)
            return error_set(error, BW_UNKNOWN,
                             "opening %s: the outcome of version %" PRIu64
                             " is not known; open again",
                             p->id, r->open_version);
        if (status != BW_OK) {
            (void)drive_tell(w->drive, status, error, "the commit");
            error_prefix(error, "opening %s", p->id);
            return status;
        }
        if (r->end == COMMIT_DONE)
            return take_over(p, r, seq, error);
        if (r->end != COMMIT_LOST) {
            error_copy(error, &r->error);
            if (error != NULL)
                error->code = r->status;
            error_prefix(error, "opening %s", p->id);
            return r->status;
        }
        if (deadline_ns != TIME_NEVER && now() >= deadline_ns)
            return error_set(error, BW_TIMEOUT, "opening %s: other commits were faster", p->id);
    }
}
