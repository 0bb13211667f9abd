// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The processes of a pacing: producers, which publish by their cadence, and guests, which commit
 * something else now and then: pins. A sweep's commit is to the chain what a pin's is, so a second
 * guest stands for the sweeper. */
#include "pacing_inner.h"

#include "base/alloc.h"
#include "protocol/limit.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* As in the client. */
#define BACKOFF_MIN_NS (2 * NS_PER_MS)
#define BACKOFF_MAX_NS NS_PER_S
#define PUBLISH_MAX 16384u
#define STATE_BYTES 64u /* of a resume state, which each batch has */
#define BATCH_OFFSETS 10u

static const char state_text[STATE_BYTES + 1] =
    "the resume state of a producer is about as long as this line is.";
static view states[PUBLISH_MAX];

static bool connect(pacing_process *x)
{
    const commit_options options = {
        .backoff_min_ns = BACKOFF_MIN_NS,
        .backoff_max_ns = BACKOFF_MAX_NS,
        .conflict_retries = x->role == ROLE_PRODUCER ? 1 : 0,
        .seed = rng_u64(&x->random),
    };
    x->chain = NULL;
    x->commit = NULL;
    if (chain_new(rng_u64(&x->random), NULL, &x->chain) == BW_OK &&
        commit_new(x->chain, &options, &x->commit) == BW_OK)
        return true;
    pacing_defect(x->of, "no memory for %s", x->name);
    return false;
}

static void disconnect(pacing_process *x)
{
    commit_free(x->commit);
    chain_free(x->chain);
    x->commit = NULL;
    x->chain = NULL;
}

/* Geometric between the slowest and the fastest, in an order of its own; the sum of the rates is
 * that of even producers. */
static int64_t batch_time(const pacing *p, uint32_t index)
{
    const double spread = p->plan->scene->spread;
    const uint32_t count = p->plan->producers;
    const int64_t mean_ns =
        p->plan->scene->batch_ns > 0 ? p->plan->scene->batch_ns : p->plan->batch_ns;
    if (spread <= 1 || count < 2)
        return mean_ns;
    double rate = 1, own = 1, sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t rank = (uint32_t)((uint64_t)i * 0x9e3779b1u % count);
        rate = 1 + (spread - 1) * rank / (count - 1);
        sum += rate;
        if (i == index)
            own = rate;
    }
    return (int64_t)((double)mean_ns * (sum / count) / own);
}

void process_begin(pacing *p, uint32_t index, pacing_role role)
{
    pacing_process *x = &p->processes[index];
    *x = (pacing_process){.of = p, .index = index, .role = role, .alive = true};
    rng_split(&p->random, index, &x->random);
    states[0] = view_text(state_text);
    for (uint32_t i = 1; index == 0 && i < PUBLISH_MAX; i++)
        states[i] = states[0];
    (void)snprintf(x->name, sizeof x->name, "%c%04" PRIu32, role == ROLE_PRODUCER ? 'p' : 'g',
                   index);
    (void)cadence_parse(p->plan->policy, &x->cadence, NULL);
    x->batch_ns = batch_time(p, index);
    const bool pins = p->plan->scene->pin_ns > 0 && index == p->plan->producers;
    x->every_ns = pins ? p->plan->scene->pin_ns : p->plan->scene->sweep_ns;
    (void)connect(x);
}

void process_end(pacing_process *x)
{
    disconnect(x);
    turn_close(&x->turn);
    mem_free(x->ready);
    mem_free(x->descriptors);
}

void process_kill(pacing_process *x)
{
    disconnect(x);
    turn_close(&x->turn);
    x->alive = x->opened = x->committing = x->looking = false;
    x->life++;
    x->ready_count = 0;
    x->wake_ns = x->frozen_until_ns = 0;
}

void process_back(pacing_process *x)
{
    x->alive = connect(x);
    (void)cadence_parse(x->of->plan->policy, &x->cadence, NULL);
    if (x->alive)
        process_advance(x);
}

/* ---- batches ---- */

static void next_batch(pacing_process *x, int64_t from_ns)
{
    const uint64_t tenth = (uint64_t)x->batch_ns / 10 + 1;
    x->next_ns = from_ns + (int64_t)(7 * tenth + rng_below(&x->random, 6 * tenth));
}

static void make_batches(pacing_process *x)
{
    while (x->next_ns <= x->of->now_ns) {
        void *ready = x->ready;
        if (mem_grow(&ready, &x->ready_capacity, x->ready_count + 1, sizeof *x->ready) != 0) {
            pacing_defect(x->of, "no memory for batches");
            return;
        }
        x->ready = ready;
        x->ready[x->ready_count++] = x->next_ns;
        next_batch(x, x->next_ns);
    }
}

static bool describe(pacing_process *x, uint32_t count)
{
    void *descriptors = x->descriptors;
    if (mem_grow(&descriptors, &x->descriptor_capacity, count, sizeof *x->descriptors) != 0) {
        pacing_defect(x->of, "no memory for descriptors");
        return false;
    }
    x->descriptors = descriptors;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t seq = x->seq + 1 + i;
        x->descriptors[i] = (descriptor){
            .id = view_text(x->name),
            .record = {.nonce = rng_u64(&x->random),
                       .start = (seq - 1) * BATCH_OFFSETS,
                       .end = seq * BATCH_OFFSETS,
                       .seq = seq,
                       .epoch = x->epoch},
            .shape = {.form = FORM_UNIFORM,
                      .kind = ITEM_RAW,
                      .parts = 1,
                      .items = 1,
                      .footer_bytes = 60,
                      .uniform = 200,
                      .total_bytes = 316,
                      .samples = BATCH_OFFSETS},
        };
    }
    return true;
}

/* ---- commits ---- */

static void start(pacing_process *x)
{
    x->committing = true;
    x->told = false;
    x->began_ns = x->of->now_ns;
    commit_start(x->commit, &x->intent, view_text(x->role == ROLE_PRODUCER ? x->name : ""),
                 x->of->now_ns, TIME_NEVER);
}

static void start_open(pacing_process *x)
{
    rng_bytes(&x->random, x->token.bytes, TOKEN_BYTES);
    x->intent =
        (intent){.kind = INTENT_OPEN, .open = {.id = view_text(x->name), .token = x->token}};
    start(x);
}

static void start_publish(pacing_process *x)
{
    const uint32_t count = x->ready_count < PUBLISH_MAX ? (uint32_t)x->ready_count : PUBLISH_MAX;
    if (!describe(x, count))
        return;
    x->intent = (intent){.kind = INTENT_PUBLISH,
                         .publish = {.id = view_text(x->name),
                                     .token = x->token,
                                     .descriptors = x->descriptors,
                                     .states = states,
                                     .count = count,
                                     .takes_turn = x->cadence.policy == CADENCE_TURN}};
    if (x->cadence.policy == CADENCE_TURN)
        x->intent.publish.slot_ms = turn_slot_ms(&x->turn);
    start(x);
}

static void start_launch(pacing_process *x)
{
    static const cursor plain = {.mode = MODE_SAME_BATCH, .dp = 1};
    x->intent = (intent){.kind = INTENT_LAUNCH,
                         .launch = {.name = view_text(x->name),
                                    .launch = view_text("1"),
                                    .start = LAUNCH_EARLIEST,
                                    .cursor = &plain}};
    start(x);
}

/* Each pin releases the one before. */
static void start_pin(pacing_process *x)
{
    const bool first = x->pins++ == 0;
    memcpy(x->released_id, x->pin_id, sizeof x->released_id);
    x->released = (pin_key){.id = view_text(x->released_id), .nonce = x->pin.nonce};
    (void)snprintf(x->pin_id, sizeof x->pin_id, "%" PRIu64, x->pins);
    x->pin = (pin){.id = view_text(x->pin_id),
                   .nonce = rng_u64(&x->random),
                   .step = chain_held(x->chain)->next};
    x->intent = (intent){.kind = INTENT_PIN,
                         .pin = {.group = view_text(x->name),
                                 .launch = view_text("1"),
                                 .pin = &x->pin,
                                 .releases = &x->released,
                                 .release_count = first ? 0 : 1}};
    start(x);
}

/* ---- what came of them ---- */

static void show(pacing_process *x, uint32_t count)
{
    pacing *p = x->of;
    if (p->run_of != x->index) {
        if (p->run_length > 0 && pacing_counts(p))
            hist_add(&p->report->run, (int64_t)p->run_length);
        p->run_of = x->index;
        p->run_length = 0;
    }
    p->run_length += count;
    p->shown += count;
    if (!pacing_counts(p))
        return;
    p->report->commits++;
    p->report->batches += count;
    for (uint32_t i = 0; i < count; i++)
        hist_add(&p->report->lag_us, (p->now_ns - x->ready[i]) / 1000);
}

void process_created(pacing_process *x, const machine_request *request, store_outcome outcome)
{
    pacing *p = x->of;
    pacing_report *r = p->report;
    const uint64_t what[] = {x->index, (uint64_t)p->now_ns, request->size, (uint64_t)outcome};
    for (size_t i = 0; i < sizeof what / sizeof *what; i++)
        r->trace = (r->trace ^ what[i]) * 0x9e3779b97f4a7c15u ^ r->trace >> 32;
    if (outcome == STORE_CREATED && pacing_counts(p)) {
        r->manifest_bytes += request->size;
        if (request->size > r->manifest_bytes_max)
            r->manifest_bytes_max = request->size;
    }
    if (x->intent.kind != INTENT_PUBLISH)
        return;
    r->attempts += pacing_counts(p);
    r->conflicts += pacing_counts(p) && outcome == STORE_EXISTS;
    if (outcome == STORE_CREATED)
        show(x, commit_reported(x->commit)->result.published);
}

static void published(pacing_process *x, const commit_report *r)
{
    const uint32_t count = r->result.already + r->result.published;
    if (r->result.already > 0 || count > x->ready_count) {
        pacing_defect(x->of, "%s: a commit of %u, %u of them before", x->name, count,
                      r->result.already);
        return;
    }
    x->seq += count;
    x->ready_count -= count;
    memmove(x->ready, x->ready + count, x->ready_count * sizeof *x->ready);
}

static void feed_cadence(pacing_process *x, const commit_report *r)
{
    const manifest *m = chain_held(x->chain);
    if (x->cadence.policy == CADENCE_TURN) {
        const bw_status status =
            r->end == COMMIT_DONE
                ? turn_committed(&x->turn, r->create_ns, x->of->now_ns, m, &x->random)
                : turn_lost(&x->turn, x->of->now_ns, m, &x->random);
        if (status != BW_OK)
            pacing_defect(x->of, "no memory for members");
        return;
    }
    const cadence_attempt attempt = {.now_ns = x->of->now_ns,
                                     .fragile_ns = r->fragile_ns,
                                     .conflict = r->end == COMMIT_LOST,
                                     .active = limit_active(m),
                                     .mapped = m->producer_count};
    cadence_attempted(&x->cadence, &attempt, &x->random);
}

/* The outcome is told as soon as it is decided; the machine may run on for a hint or a segment. */
static void settle(pacing_process *x)
{
    pacing *p = x->of;
    const commit_report *r = commit_reported(x->commit);
    x->told = true;
    if (r->end != COMMIT_DONE && r->end != COMMIT_LOST) {
        pacing_defect(p, "%s: %s", x->name, r->error.message);
        return;
    }
    const bool done = r->end == COMMIT_DONE;
    if (x->intent.kind == INTENT_PUBLISH) {
        feed_cadence(x, r);
        if (done && pacing_counts(p))
            hist_add(&p->report->commit_us, (p->now_ns - x->began_ns) / 1000);
        if (done)
            published(x, r);
        if (p->plan->scene->serial)
            next_batch(x, p->now_ns);
    } else if (x->intent.kind == INTENT_OPEN && done) {
        x->opened = true;
        x->epoch = r->result.epoch;
        x->seq = r->result.seq;
        next_batch(x, p->now_ns);
        turn_open(&x->turn, view_text(x->name), p->genesis.tail_cap, r->create_ns);
        (void)turn_caught_up(&x->turn, p->now_ns, chain_held(x->chain), &x->random);
    } else if (done) {
        x->opened = true;
        x->due_ns = p->now_ns + x->every_ns;
        if (pacing_counts(p)) {
            p->report->guest_commits++;
            hist_add(&p->report->guest_us, (p->now_ns - x->began_ns) / 1000);
        }
    }
}

/* ---- what to do next ---- */

static void wake_at(pacing_process *x, int64_t at_ns)
{
    if (at_ns == TIME_NEVER || (x->wake_ns == at_ns && at_ns > x->of->now_ns))
        return;
    x->wake_ns = at_ns;
    pacing_event(x->of, at_ns, EVENT_WAKE, x, NULL);
}

static void look(pacing_process *x, turn_advice advice)
{
    x->looking = true;
    x->look = advice;
    x->looked_ns = x->of->now_ns;
    if (advice.act == TURN_LOOK)
        chain_look(x->chain, advice.version, x->of->now_ns);
    else
        chain_start(x->chain, CHAIN_NEWEST, x->of->now_ns);
}

static void looked(pacing_process *x)
{
    const int64_t now_ns = x->of->now_ns;
    const manifest *m = chain_held(x->chain);
    x->looking = false;
    bw_status status = chain_result(x->chain, NULL);
    if (status == BW_OK)
        status = x->look.act == TURN_LOOK
                     ? turn_looked(&x->turn, x->look.version, x->looked_ns, now_ns, m, &x->random)
                     : turn_caught_up(&x->turn, now_ns, m, &x->random);
    if (status != BW_OK)
        pacing_defect(x->of, "%s cannot look", x->name);
}

/* The cadence that asks before each step. False: woken later. */
static bool take_turn(pacing_process *x)
{
    make_batches(x);
    if (x->ready_count == 0) {
        wake_at(x, x->next_ns);
        return false;
    }
    const turn_advice advice = turn_ask(&x->turn, x->ready[0], x->of->now_ns);
    switch (advice.act) {
    case TURN_WAIT:
        wake_at(x, advice.at_ns);
        return false;
    case TURN_COMMIT:
        commit_trust_base(x->commit);
        start_publish(x);
        break;
    case TURN_VISIT:
        start_publish(x);
        break;
    default:
        look(x, advice);
    }
    return x->of->status == BW_OK;
}

/* Starts a commit if it is time. Else it is woken when it may be. */
static bool start_what_is_due(pacing_process *x)
{
    const int64_t now_ns = x->of->now_ns;
    if (!x->opened) {
        if (x->role == ROLE_PRODUCER)
            start_open(x);
        else
            start_launch(x);
        return true;
    }
    if (x->role == ROLE_PRODUCER && x->cadence.policy == CADENCE_TURN)
        return take_turn(x);
    int64_t due_ns = x->due_ns;
    if (x->role == ROLE_PRODUCER) {
        make_batches(x);
        due_ns = x->ready_count > 0 ? cadence_due(&x->cadence, x->ready[0]) : x->next_ns;
        /* The paper's loop looks at the cadence whenever a batch is done. */
        if (x->of->plan->scene->serial &&
            (x->ready_count == 0 || x->ready[x->ready_count - 1] < now_ns))
            due_ns = x->next_ns;
    }
    if (due_ns > now_ns) {
        wake_at(x, due_ns);
        return false;
    }
    if (x->role == ROLE_PRODUCER)
        start_publish(x);
    else
        start_pin(x);
    return x->of->status == BW_OK;
}

static machine machine_of(const pacing_process *x)
{
    return x->looking ? (machine){&chain_machine, x->chain} : (machine){&commit_machine, x->commit};
}

void process_advance(pacing_process *x)
{
    machine_request request;
    while (x->alive && x->of->status == BW_OK) {
        const machine m = machine_of(x);
        while (m.type->next(m.self, &request))
            pacing_send(x->of, x, &request);
        const bool running = m.type->running(m.self);
        if (x->looking && !running)
            looked(x);
        if (x->committing && !x->told && commit_reported(x->commit)->end != COMMIT_RUNNING)
            settle(x);
        if (running) {
            wake_at(x, m.type->due(m.self));
            return;
        }
        x->committing = false;
        if (!start_what_is_due(x))
            return;
    }
}

void process_reply(pacing_process *x, flight *f)
{
    machine_reply reply = {
        .id = f->request.id, .outcome = f->outcome, .bytes = f->found.bytes, .size = f->found.size};
    f->found = (stored){0};
    const machine m = machine_of(x);
    m.type->reply(m.self, x->of->now_ns, &reply);
    mem_free(reply.bytes);
    process_advance(x);
}

void process_tick(pacing_process *x)
{
    if (!x->alive)
        return;
    const machine m = machine_of(x);
    m.type->tick(m.self, x->of->now_ns);
    process_advance(x);
}
