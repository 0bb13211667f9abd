// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A producer at work: makes batches, puts their parts, publishes the done prefix by its cadence,
 * finishes or just stops. */
#include "producer.h"

#include "base/alloc.h"
#include "codec/small.h"
#include "network.h"
#include "protocol/limit.h"
#include "tgb_maker.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define UPLOAD_AGAIN_NS (5 * NS_PER_MS)
#define FENCED_PAUSE_NS (25 * NS_PER_S)
#define FEUD_PAUSE_NS (200 * NS_PER_MS)
#define CALM_QUOTA 2u
#define STATE_OBJECT_BYTES 300u
#define BLOCKED_PAUSE_NS (150 * NS_PER_MS)
#define ALL_READY 1000u

uint32_t produce_state_text(uint64_t offset, bool long_one, char *text, size_t size)
{
    const int used = snprintf(text, size, "o=%" PRIu64 "%*s", offset,
                              long_one ? (int)STATE_OBJECT_BYTES : 0, "");
    return (uint32_t)used;
}

tgb *produce_tgb(process *p, uint64_t seq)
{
    const history *h = p->sim->history;
    for (size_t i = h->tgb_count; i > 0; i--) {
        tgb *t = h->tgbs[i - 1];
        if (t->process == p->index && t->life == p->life && t->seq == seq)
            return t;
    }
    sim_defect("a batch that nobody made");
}

void produce_begin(process *p, uint64_t seq, uint64_t offset)
{
    producer *d = p->state;
    d->phase = PRODUCER_RUNS;
    d->seq = seq;
    d->offset = offset;
    if (stage_new(seq, offset, p->sim->plan.stage_max, 1u << 20, &d->stage) != BW_OK)
        sim_defect("no memory");
    p->moved = true;
}

/* ---- uploads ---- */

static upload *free_upload(producer *d)
{
    for (uint32_t i = 0; i < UPLOADS_MAX; i++)
        if (d->uploads[i].tgb == NULL)
            return &d->uploads[i];
    return NULL;
}

static void send_piece(process *p, const upload *u, uint32_t piece)
{
    const producer *d = p->state;
    const tgb *t = u->tgb;
    const object *o = piece == t->parts ? t->state_object : t->objects[piece];
    const blob *b = piece == t->parts ? t->state : t->contents[piece];
    const machine_request request = {.id = (uint32_t)(u - d->uploads) * 8 + piece,
                                     .kind = STORE_PUT,
                                     .key = o->key,
                                     .bytes = b->bytes,
                                     .size = b->size};
    network_send(p, &request, true, 0, 0);
}

void produce_answered(process *p, machine_reply *reply)
{
    producer *d = p->state;
    upload *u = &d->uploads[reply->id / 8];
    if (reply->outcome == STORE_RETRY) {
        u->again[reply->id % 8] = true;
        if (p->timer_ns == TIME_NEVER || p->timer_ns > p->sim->now_ns + UPLOAD_AGAIN_NS)
            act_rest(p, UPLOAD_AGAIN_NS);
        return;
    }
    if (reply->outcome != STORE_OK) {
        produce_fail(p); /* the store refuses: the handle fails */
        return;
    }
    if (--u->left > 0)
        return;
    stage_done(d->stage, u->seq);
    u->tgb = NULL;
    if (d->staged_ns == 0)
        d->staged_ns = p->sim->now_ns;
}

static void send_again(process *p, producer *d)
{
    for (uint32_t i = 0; i < UPLOADS_MAX; i++) {
        for (uint32_t k = 0; k <= TGB_PARTS_MAX; k++) {
            if (!d->uploads[i].again[k])
                continue;
            d->uploads[i].again[k] = false;
            send_piece(p, &d->uploads[i], k);
        }
    }
}

/* ---- batches ---- */

static state_ref make_state(process *p, tgb *t, const descriptor *d, uint64_t end, view *text_out,
                            char *text, size_t size)
{
    producer *self = p->state;
    sim *s = p->sim;
    const bool long_one = rng_below(&p->random, 16) == 0;
    const uint32_t used = produce_state_text(end, long_one, text, size);
    *text_out = view_of(text, used);
    if (!long_one)
        return (state_ref){0};
    object_key key;
    buf bytes;
    buf_init(&bytes, object_bytes_max(OBJECT_STATE));
    state_ref ref = {.epoch = self->epoch, .seq = t->seq, .nonce = t->nonce};
    if (state_encode(s->genesis.uuid, self->epoch, t->seq, *text_out, &bytes) != BW_OK ||
        hash_bytes(bytes.data, bytes.size, &ref.hash) != BW_OK)
        sim_defect("no memory");
    ref.bytes = (uint32_t)bytes.size;
    key_state(&key, d->id, self->epoch, t->seq, t->nonce);
    t->state_object = vstore_object(s->store, &key, vstore_key_hash(key.text));
    t->state = blob_new(bytes.data, bytes.size);
    buf_free(&bytes);
    return ref;
}

static tgb *new_tgb(process *p, const producer *d, uint64_t end)
{
    tgb *t = history_tgb(p->sim, rng_u64(&p->random));
    t->id = d->id;
    t->epoch = d->epoch;
    t->process = p->index;
    t->life = p->life;
    t->seq = stage_last_seq(d->stage) + 1;
    t->start = stage_end_offset(d->stage);
    t->end = end;
    t->items = 1 + (uint32_t)rng_below(&p->random, p->sim->plan.items);
    return t;
}

/* Incarnations cut the stream differently: what one staged another need not. */
static void make_batch(process *p, producer *d)
{
    sim *s = p->sim;
    char text[512];
    view state;
    buf side;
    upload *u = free_upload(d);
    const uint64_t end = stage_end_offset(d->stage) + 1 + rng_below(&p->random, 9);
    tgb *t = new_tgb(p, d, end);
    descriptor made = {.id = view_text(d->name)};
    buf_init(&side, INLINE_BYTES_MAX);
    tgb_make(s, t, rng_u64(&p->random), &made, &side);
    made.record.nonce = t->nonce;
    made.record.epoch = d->epoch;
    for (uint32_t i = 0; i < t->parts; i++) {
        object_key key;
        key_part(&key, made.id, d->epoch, t->seq, t->nonce, i);
        t->objects[i] = vstore_object(s->store, &key, vstore_key_hash(key.text));
    }
    const state_ref ref = make_state(p, t, &made, end, &state, text, sizeof text);
    uint64_t seq;
    if (stage_add(d->stage, &made, end, state, t->state != NULL ? &ref : NULL, t->nonce, &seq,
                  NULL) != BW_OK ||
        seq != t->seq)
        sim_violate(s, "R2", "%s: the stage does not take seq %" PRIu64, p->name, t->seq);
    buf_free(&side);
    *u = (upload){.tgb = t, .seq = t->seq, .left = t->parts + (t->state != NULL)};
    const uint32_t pieces = u->left;
    for (uint32_t i = 0; i < pieces && !p->doomed; i++)
        send_piece(p, u, i);
    d->quota--;
}

/* ---- publishes ---- */

void produce_forget(process *p, bool killed)
{
    producer *d = p->state;
    sim *s = p->sim;
    if (d->stage == NULL)
        return;
    for (uint64_t seq = stage_published_seq(d->stage) + 1; seq <= stage_last_seq(d->stage); seq++) {
        tgb *t = produce_tgb(p, seq);
        if (t->fate != FATE_PENDING)
            continue;
        if (killed || t->doubtful || d->committing)
            t->fate = FATE_UNKNOWN;
        else
            check_lost(p, t);
        const model *m = model_of(s);
        for (size_t k = m->step_count; killed && k > 0 && k + 20 > m->step_count; k--)
            MARK_IF(s, KILLED_BEFORE_ACK, m->steps[k - 1].tgb == t);
    }
}

int64_t produce_fenced_rest(const process *p)
{
    return p->sim->plan.feud ? FEUD_PAUSE_NS : FENCED_PAUSE_NS;
}

void produce_fail(process *p)
{
    /* In the middle of an answer: the life ends at the next safe point. */
    process_doom(p);
}

static void doubt(process *p, const producer *d)
{
    for (uint32_t i = 0; i < d->intent.publish.count; i++)
        produce_tgb(p, d->intent.publish.descriptors[i].record.seq)->doubtful = true;
}

static uint64_t step_of(const tgb *t)
{
    return t->on_chain ? t->step : COMMIT_STEP_UNKNOWN;
}

/* As the client does: what our entry says in a proved manifest is what happened. */
static void published(process *p, producer *d, const commit_report *r)
{
    sim *s = p->sim;
    const manifest *m = chain_held(d->chain);
    const producer_entry *e = manifest_producer(m, view_text(d->name));
    const uint64_t first = stage_published_seq(d->stage) + 1;
    uint32_t count = r->result.already + r->result.published;
    bool finished = false;
    if (e != NULL && token_equal(&e->token, &d->token)) {
        finished = e->finished;
        count = (uint32_t)(e->seq - (first - 1));
    } else if (e == NULL && m->has_page) {
        finished = d->intent.publish.finish; /* and moved to the page since */
    }
    if (count > stage_batches(d->stage)) {
        sim_violate(s, "I6", "%s was told of %u batches and staged %u", p->name, count,
                    stage_batches(d->stage));
        return;
    }
    const uint32_t row = r->result.published < count ? r->result.published : count;
    for (uint32_t i = 0; i < count; i++) {
        tgb *t = produce_tgb(p, first + i);
        const bool in_row = i >= count - row;
        check_acked(p, t, in_row ? r->result.first_step + (i - (count - row)) : step_of(t),
                    r->version);
    }
    stage_published(d->stage, count, r->result.first_step, NULL, NULL);
    s->history->commits++;
    story(s, p, "acknowledges %u batches by version %" PRIu64 "%s", count, r->version,
          finished ? ", finished" : "");
    d->failures = 0;
    d->not_before_ns = 0;
    if (d->intent.publish.finish && finished)
        process_end(p, false);
}

/* It stands at a limit, drops nothing, and goes on when there is room. */
static void blocked(process *p, producer *d)
{
    sim *s = p->sim;
    keeper k;
    const limit_kind kind = limit_reached(&s->genesis, chain_held(d->chain),
                                          d->intent.publish.descriptors[0].shape.total_bytes, &k);
    MARK_IF(s, BLOCKED_LAG, kind == LIMIT_LAG);
    MARK_IF(s, BLOCKED_BYTES, kind == LIMIT_BYTES);
    MARK_IF(s, BLOCKED_SWEEP, kind == LIMIT_SWEEP);
    check_blocked(p, chain_held(d->chain), d->intent.publish.descriptors, d->intent.publish.count);
    for (uint32_t i = 0; i < s->process_count; i++)
        MARK_IF(s, BLOCKED_TOGETHER,
                s->processes[i] != p && s->processes[i]->blocked_until_ns > s->now_ns);
    d->not_before_ns =
        s->now_ns + 1 + sim_pace(s, (int64_t)rng_below(&p->random, BLOCKED_PAUSE_NS));
    p->blocked_until_ns = d->not_before_ns;
}

static void refused(process *p, producer *d, const commit_report *r)
{
    sim *s = p->sim;
    story(s, p, "is refused: %s%s: %s", bw_status_name(r->status),
          r->open_unknown ? ", an attempt is open" : "", r->error.message);
    if (r->open_unknown)
        doubt(p, d);
    switch (r->status) {
    case BW_FENCED:
        MARK(s, FENCED_PUBLISH);
        check_fenced(p, d->id, &d->token);
        MARK_IF(s, FENCED_OPEN_UNKNOWN, r->open_unknown);
        p->rest_ns = produce_fenced_rest(p);
        p->left = s->phase == PHASE_LIVENESS;
        break;
    case BW_BLOCKED:
        blocked(p, d);
        return;
    case BW_SEALED:
        MARK(s, SEALED_PUBLISH);
        check_sealed(p);
        p->left = true;
        break;
    default:
        if (!act_may_pass(p, r->status, &r->error))
            return;
    }
    process_end(p, false);
}

static void failed(process *p, producer *d, const commit_report *r)
{
    const bw_class class = bw_status_class(r->status);
    if (!act_may_pass(p, r->status, &r->error))
        return;
    if (r->open_unknown)
        doubt(p, d);
    /* Store trouble may pass; what the client takes for final ends the handle. */
    if ((class != BW_CLASS_WAIT && class != BW_CLASS_STORE) || r->status == BW_DENIED) {
        process_end(p, false);
        return;
    }
    const uint32_t shift = d->failures < 8 ? d->failures++ : 8;
    d->not_before_ns =
        p->sim->now_ns + 1 + (int64_t)rng_below(&p->random, (uint64_t)(2 * NS_PER_MS) << shift);
}

static void count_ends(sim *s, producer *d, const commit_report *r)
{
    const commit_counts *c = commit_counted(d->commit), *old = &d->counted;
    const bool unknown = c->unknown > old->unknown;
    MARK_IF(s, OVERDUE_MADE, d->was_overdue && r->end == COMMIT_DONE);
    MARK_IF(s, OVERDUE_LOST, d->was_overdue && r->end == COMMIT_LOST);
    MARK_IF(s, EXISTS_OURS, c->exists_ours > old->exists_ours);
    MARK_IF(s, EXISTS_OTHER, c->exists_other > old->exists_other);
    MARK_IF(s, MARKER_AFTER_CREATED, c->marker_after_created > old->marker_after_created);
    MARK_IF(s, MARKER_AFTER_EXISTS, c->marker_after_exists > old->marker_after_exists);
    MARK_IF(s, WITNESS_MADE, c->witness_made > old->witness_made);
    MARK_IF(s, WITNESS_LOST, c->witness_lost > old->witness_lost);
    MARK_IF(s, WITNESS_FENCED, c->witness_fenced > old->witness_fenced);
    MARK_IF(s, UNKNOWN_RESOLVED_MADE, unknown && c->exists_ours > old->exists_ours);
    MARK_IF(s, UNKNOWN_RESOLVED_LOST, unknown && r->end == COMMIT_LOST);
    MARK_IF(s, FOLD_WAITED, c->fold_waits > old->fold_waits);
    MARK_IF(s, MERGE_WAITED, c->merge_waits > old->merge_waits);
    d->counted = *c;
}

/* The outcome is told as soon as it is decided; the machine may run on for a hint. */
static void tell(process *p, producer *d)
{
    sim *s = p->sim;
    const commit_report *r = commit_reported(d->commit);
    if (r->overdue && !d->was_overdue) {
        d->was_overdue = true;
        MARK(s, OVERDUE);
        story(s, p, "is told UNKNOWN: %s", r->error.message);
    }
    if (r->end == COMMIT_RUNNING || d->told)
        return;
    d->told = true;
    d->committing = false;
    process_count_chain(p);
    check_proved(p, chain_held(d->chain), false);
    check_ended(p, d->attempts_from, r, false);
    if (s->plan.turns)
        turns_committed(p, r);
    count_ends(s, d, r);
    const cadence_attempt attempt = {
        .now_ns = s->now_ns, .fragile_ns = r->fragile_ns, .conflict = r->end == COMMIT_LOST};
    cadence_attempted(&d->cadence, &attempt, &p->random);
    d->staged_ns = s->now_ns;
    if (r->end == COMMIT_DONE)
        published(p, d, r);
    else if (r->end == COMMIT_REFUSED)
        refused(p, d, r);
    else if (r->end == COMMIT_FAILED)
        failed(p, d, r);
}

/* False: there is nothing to publish. */
static bool fill_intent(const process *p, producer *d)
{
    d->intent = (intent){.kind = INTENT_PUBLISH};
    d->intent.publish.id = view_text(d->name);
    d->intent.publish.token = d->token;
    const uint32_t count = stage_ready(d->stage, ALL_READY, &d->intent.publish.descriptors,
                                       &d->intent.publish.states, &d->intent.publish.state_refs);
    d->intent.publish.count = count;
    d->intent.publish.takes_turn = p->sim->plan.turns;
    if (p->sim->plan.turns)
        d->intent.publish.slot_ms = turn_slot_ms(&d->turn);
    d->intent.publish.finish = d->finishes && d->quota == 0 && count == stage_batches(d->stage);
    return count > 0 || d->intent.publish.finish;
}

static void publish(process *p, producer *d)
{
    sim *s = p->sim;
    d->committing = true;
    d->told = d->was_overdue = false;
    d->attempts_from = s->history->attempt_count;
    if (s->plan.turns)
        turns_commit(p);
    commit_start(d->commit, &d->intent, view_text(d->name), s->now_ns,
                 s->now_ns + s->plan.patience_ns);
    process_run(p, &commit_machine, d->commit, d->chain);
}

static int64_t latest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* After a look that failed it does not look again, and a finish waits for no turn. */
static int64_t start_of(process *p, producer *d)
{
    const bool failed = d->look_failed;
    d->look_failed = false;
    d->advice = (turn_advice){.act = TURN_VISIT};
    if (failed)
        return p->sim->now_ns;
    return p->sim->plan.turns && !d->intent.publish.finish ? turns_due(p)
                                                           : cadence_due(&d->cadence, d->staged_ns);
}

static void wake_by(process *p, int64_t at_ns)
{
    if (at_ns < p->timer_ns)
        p->timer_ns = at_ns;
}

/* Faults are over: two more batches, then it finishes or leaves. */
static void grow_calm(process *p, producer *d)
{
    if (d->calm || p->sim->phase != PHASE_LIVENESS)
        return;
    d->calm = true;
    d->quota = CALM_QUOTA;
    d->finishes = p->sim->plan.expected > 0 || d->finishes;
    p->moved = true;
}

static bool out_of_work(const producer *d)
{
    return d->quota == 0 && !d->finishes && stage_batches(d->stage) == 0 && !d->committing;
}

void produce_advance(process *p)
{
    producer *d = p->state;
    sim *s = p->sim;
    grow_calm(p, d);
    if (d->committing) {
        tell(p, d);
        if (!p->alive || s->violated)
            return;
        d->committing = s->plan.turns ? !commit_may_start(d->commit) : process_busy(p);
    }
    if (d->looking && !process_busy(p)) {
        turns_looked(p);
        if (s->violated)
            return;
    }
    if (p->timer_ns == TIME_NEVER)
        send_again(p, d);
    while (!p->doomed && d->quota > 0 && free_upload(d) != NULL &&
           stage_has_room(d->stage, 1u << 10) && stage_batches(d->stage) < s->plan.stage_max)
        make_batch(p, d);
    if (p->doomed || d->committing || d->looking)
        return;
    if (out_of_work(d)) {
        p->left = s->phase == PHASE_LIVENESS;
        process_end(p, false);
        return;
    }
    if (!fill_intent(p, d))
        return;
    const int64_t due_ns = latest(start_of(p, d), d->not_before_ns);
    if (due_ns > s->now_ns)
        wake_by(p, due_ns);
    else if (d->advice.act == TURN_LOOK || d->advice.act == TURN_CATCH_UP)
        turns_look(p);
    else
        publish(p, d);
}
