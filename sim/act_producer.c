// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A producer's way in: opens the chain, finishes an interrupted genesis, commits its open, reads
 * its resume state. What follows is in produce.c. */
#include "producer.h"

#include "base/alloc.h"
#include "codec/small.h"
#include "network.h"
#include <stdio.h>
#include <string.h>

#define OPEN_PATIENCE_NS (10 * NS_PER_S)
#define EARLY_PAUSE_NS (30 * NS_PER_MS)
#define RIVAL_PAUSE_NS (40 * NS_PER_S)
#define FINISHED_PAUSE_NS (20 * NS_PER_S)
#define STATE_READ 1000u

static void begin_walk(process *p, producer *d)
{
    d->phase = PRODUCER_WALKS;
    chain_start(d->chain, CHAIN_OPEN, p->sim->now_ns);
    process_run(p, &chain_machine, d->chain, d->chain);
}

static void born(process *p)
{
    sim *s = p->sim;
    producer *d = sim_alloc(sizeof *d);
    p->state = d;
    /* The first processes have an id each; rivals take one over. */
    if (s->plan.month) /* or whoever there is work for */
        p->name[9] = (char)('a' + rng_below(&p->random, s->plan.ids));
    d->id = (uint32_t)(p->name[9] - 'a');
    d->name[0] = p->name[9];
    const commit_options options = {.backoff_min_ns = 2 * NS_PER_MS,
                                    .backoff_max_ns = NS_PER_S,
                                    .conflict_retries = s->plan.conflict_retries,
                                    .seed = rng_u64(&p->random),
                                    .clock = &p->clock};
    if (chain_new(rng_u64(&p->random), NULL, &d->chain) != BW_OK ||
        commit_new(d->chain, &options, &d->commit) != BW_OK)
        sim_defect("no memory");
    rng_bytes(&p->random, d->token.bytes, TOKEN_BYTES);
    d->cadence = (cadence){.policy = s->plan.gap_ns > 0 ? CADENCE_FIXED : CADENCE_NAIVE,
                           .gap_ns = s->plan.gap_ns};
    d->waits_overdue = rng_below(&p->random, 2) == 0;
    d->quota = 20 + (uint32_t)rng_below(&p->random, 300);
    d->finishes = rng_below(&p->random, s->plan.leavers ? 2 : 5) == 0;
    if (s->plan.leavers)
        d->quota = 2 + d->quota / 8;
    begin_walk(p, d);
}

static void dead(process *p, bool killed)
{
    producer *d = p->state;
    p->sim->history->leaves += !killed;
    produce_forget(p, killed);
    turns_forget(p, killed);
    create_free(d->create);
    commit_free(d->commit);
    stage_free(d->stage);
    chain_free(d->chain);
    mem_free(d);
}

static void early(process *p, bw_status status)
{
    if (p->newest_at_start > 0)
        sim_violate(p->sim, "I3", "%s finds no namespace (%s)", p->name, bw_status_name(status));
    act_rest(p, EARLY_PAUSE_NS);
}

static void found(process *p, producer *d)
{
    token128 nonce;
    create_free(d->create);
    d->create = NULL;
    rng_bytes(&p->random, nonce.bytes, TOKEN_BYTES);
    if (create_new(NULL, 1, &nonce, &d->create) != BW_OK)
        sim_defect("no memory");
    create_start(d->create, p->sim->now_ns, p->sim->now_ns + OPEN_PATIENCE_NS);
    d->phase = PRODUCER_FOUNDS;
    process_run(p, &create_machine, d->create, NULL);
}

/* Who is on the page is not looked up here. */
static uint32_t base_epoch(const manifest *m, const producer_entry *e)
{
    return e != NULL ? e->epoch : m->has_page ? UINT32_MAX : 0;
}

static void begin_open(process *p, producer *d)
{
    sim *s = p->sim;
    if (d->intent.open.id.size == 0) {
        d->intent = (intent){.kind = INTENT_OPEN};
        d->intent.open.id = view_text(d->name);
        d->intent.open.token = d->token;
        d->intent.open.reopen =
            s->phase == PHASE_SAFETY && rng_below(&p->random, s->plan.expected > 0 ? 8 : 2) == 0;
        const producer_entry *e = manifest_producer(chain_held(d->chain), view_text(d->name));
        *history_open(s->history) = (open_note){.token = d->token,
                                                .id = d->id,
                                                .process = p->index,
                                                .life = p->life,
                                                .base_epoch = base_epoch(chain_held(d->chain), e),
                                                .reopen = d->intent.open.reopen};
    }
    p->opens = d->id + 1;
    d->phase = PRODUCER_OPENS;
    d->told = d->was_overdue = false;
    d->attempts_from = s->history->attempt_count;
    commit_start(d->commit, &d->intent, view_text(d->name), s->now_ns,
                 s->now_ns + OPEN_PATIENCE_NS);
    process_run(p, &commit_machine, d->commit, d->chain);
}

static void walked(process *p, producer *d)
{
    sim *s = p->sim;
    bw_error error;
    const bw_status status = chain_result(d->chain, &error);
    process_count_chain(p);
    if (chain_held(d->chain) != NULL)
        check_proved(p, chain_held(d->chain), status == BW_OK);
    MARK_IF(s, NOT_READY, status == BW_NOT_READY);
    p->machine = (machine){0};
    if (status == BW_OK)
        begin_open(p, d);
    else if (status == BW_NOT_READY)
        found(p, d);
    else if (status == BW_NO_NAMESPACE)
        early(p, status);
    else if (act_may_pass(p, status, &error))
        process_end(p, false);
}

static void founded(process *p, producer *d)
{
    bw_error error;
    const bw_status status = create_result(d->create, &error);
    p->machine = (machine){0};
    if (status == BW_OK) {
        MARK(p->sim, GENESIS_FINISHED);
        begin_walk(p, d);
    } else if (act_may_pass(p, status, &error)) {
        process_end(p, false);
    }
}

/* ---- the open ---- */

static void opened(process *p, producer *d)
{
    const producer_entry *e = manifest_producer(chain_held(d->chain), view_text(d->name));
    if (e == NULL || !token_equal(&e->token, &d->token)) {
        check_fenced(p, d->id, &d->token);
        p->rest_ns = produce_fenced_rest(p);
        process_end(p, false);
        return;
    }
    check_opened(p, d->id, e->epoch, e->seq, e->offset, 0);
    story(p->sim, p, "is open: epoch %u, seq %llu, offset %llu", e->epoch,
          (unsigned long long)e->seq, (unsigned long long)e->offset);
    if (p->sim->plan.turns)
        turns_open(p, commit_reported(d->commit)->create_ns);
    d->epoch = e->epoch;
    d->seq = e->seq;
    d->offset = e->offset;
    if (e->state_is_object) {
        object_key key;
        d->state_ref = e->state_ref;
        key_state(&key, e->id, e->state_ref.epoch, e->state_ref.seq, e->state_ref.nonce);
        d->phase = PRODUCER_READS;
        const machine_request request = {.id = STATE_READ, .kind = STORE_GET, .key = key};
        network_send(p, &request, true, 0, 0);
        return;
    }
    char text[512];
    const uint32_t size = e->seq > 0 ? produce_state_text(e->offset, false, text, sizeof text) : 0;
    if (!view_equal(e->state, view_of(text, size)))
        sim_violate(p->sim, "G3", "%s: the resume state is not that of offset %llu", p->name,
                    (unsigned long long)e->offset);
    produce_begin(p, d->seq, d->offset);
}

static void state_read(process *p, machine_reply *reply)
{
    producer *d = p->state;
    uint8_t uuid[UUID_BYTES];
    uint32_t epoch = 0;
    uint64_t seq = 0;
    view state = {0};
    hash128 hash = {{0}};
    char text[512];
    bw_error error;
    bool good = reply->outcome == STORE_OK &&
                hash_bytes(reply->bytes, reply->size, &hash) == BW_OK &&
                hash_equal(&hash, &d->state_ref.hash) && reply->size == d->state_ref.bytes;
    if (reply->outcome == STORE_NOT_FOUND) {
        /* Who took over may have published, and a sweep followed. */
        if (token_equal(&model_of(p->sim)->ids[d->id].token, &d->token))
            sim_violate(p->sim, "G3", "%s: the resume state is missing", p->name);
        process_end(p, false);
        return;
    }
    if (!good) {
        object_key key;
        key_state(&key, view_text(d->name), d->state_ref.epoch, d->state_ref.seq,
                  d->state_ref.nonce);
        if (reply->outcome == STORE_OK && act_damaged(p, key.text) == 0)
            sim_violate(p->sim, "I21", "%s: %s is damaged", p->name, key.text);
        process_end(p, false); /* damaged or denied: opened again later */
        return;
    }
    good = state_decode(view_of(reply->bytes, reply->size), uuid, &epoch, &seq, &state, &error) ==
           BW_OK;
    const uint32_t size = produce_state_text(d->offset, true, text, sizeof text);
    if (!good || !view_equal(state, view_of(text, size)))
        sim_violate(p->sim, "G3", "%s: the resume state is not that of offset %llu", p->name,
                    (unsigned long long)d->offset);
    MARK(p->sim, STATE_OBJECT);
    produce_begin(p, d->seq, d->offset);
}

static void open_refused(process *p, const producer *d, const commit_report *r)
{
    sim *s = p->sim;
    switch (r->status) {
    case BW_FENCED:
        MARK(s, FENCED_OPEN);
        check_fenced(p, d->id, &d->token);
        MARK_IF(s, FENCED_OPEN_UNKNOWN, r->open_unknown);
        p->rest_ns = produce_fenced_rest(p);
        break;
    case BW_FINISHED:
        MARK(s, FINISHED_OPEN);
        p->rest_ns = s->plan.leavers ? FINISHED_PAUSE_NS / 8 : FINISHED_PAUSE_NS;
        check_finished(p, d->id, r->result.offset);
        p->left = s->phase == PHASE_LIVENESS;
        break;
    case BW_SEALED:
        MARK(s, SEALED_OPEN);
        check_sealed(p);
        p->left = true;
        break;
    default:
        if (!act_may_pass(p, r->status, &r->error))
            return;
    }
    process_end(p, false);
}

/* One call opens with one token, whatever it takes. */
static void open_ended(process *p, producer *d)
{
    sim *s = p->sim;
    const commit_report *r = commit_reported(d->commit);
    const commit_counts *c = commit_counted(d->commit);
    if (r->overdue && !d->was_overdue) {
        d->was_overdue = true;
        MARK(s, OVERDUE);
    }
    if (r->end == COMMIT_RUNNING) {
        /* The user is told UNKNOWN, and opens again. */
        if (r->overdue && !d->waits_overdue && s->phase == PHASE_SAFETY)
            process_end(p, true);
        return;
    }
    if (!d->told) {
        d->told = true;
        check_ended(p, d->attempts_from, r, false);
        MARK_IF(s, OPEN_ALREADY, r->end == COMMIT_DONE && c->created + c->exists_ours == 0);
        MARK_IF(s, WITNESS_FENCED, c->witness_fenced > 0);
    }
    if (process_busy(p))
        return; /* a hint is on its way */
    process_count_chain(p);
    check_proved(p, chain_held(d->chain), false);
    p->machine = (machine){0};
    p->opens = 0;
    if (r->end == COMMIT_DONE)
        opened(p, d);
    else if (r->end == COMMIT_LOST)
        begin_open(p, d);
    else
        open_refused(p, d, r);
}

static void advance(process *p)
{
    producer *d = p->state;
    if (p->timer_ns != TIME_NEVER && d->phase != PRODUCER_RUNS)
        return;
    if (d->phase == PRODUCER_OPENS) {
        open_ended(p, d);
        return;
    }
    if (d->phase == PRODUCER_RUNS) {
        produce_advance(p);
        return;
    }
    if (process_busy(p) || d->phase == PRODUCER_READS)
        return;
    if (p->machine.self == NULL)
        begin_walk(p, d);
    else if (d->phase == PRODUCER_WALKS)
        walked(p, d);
    else
        founded(p, d);
}

static void answered(process *p, machine_reply *reply)
{
    if (reply->id == STATE_READ)
        state_read(p, reply);
    else
        produce_answered(p, reply);
}

const role role_producer = {.name = "producer",
                            .kind = ROLE_PRODUCER,
                            .born = born,
                            .dead = dead,
                            .advance = advance,
                            .answered = answered,
                            .rest_ns = 800 * NS_PER_MS};

void act_producer(sim *s, uint32_t index)
{
    char name[24];
    const bool rival = index >= s->plan.ids;
    (void)snprintf(name, sizeof name, "producer %c%s", (int)('a' + index % s->plan.ids),
                   rival ? "′" : "");
    const uint64_t until = rival && !s->plan.feud ? RIVAL_PAUSE_NS : 200 * NS_PER_MS;
    process_birth_at(process_add(s, &role_producer, name), (int64_t)rng_below(&s->random, until));
}
