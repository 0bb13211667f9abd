// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* One simulation: the plan of the seed, the clock, the queue of events, the two phases. */
#include "sim.h"

#include "act.h"
#include "base/alloc.h"
#include "check.h"
#include "month.h"
#include "network.h"
#include "tape.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Far more than any seed needs: a livelock is a violation, not a test that hangs. */
#define EVENTS_MAX 2000000u
/* Virtual time within which everything must have settled once faults are over (G11). */
#define LIVENESS_NS (300 * NS_PER_S)
#define LOOK_NS (250 * NS_PER_MS)

void sim_defect(const char *what)
{
    (void)fprintf(stderr, "simulator: %s\n", what);
    abort();
}

void *sim_alloc(size_t bytes)
{
    void *memory = mem_zalloc(bytes);
    if (memory == NULL)
        sim_defect("no memory");
    return memory;
}

void sim_violate(sim *s, const char *invariant, const char *format, ...)
{
    if (s->violated)
        return;
    s->violated = true;
    (void)snprintf(s->invariant, sizeof s->invariant, "%s", invariant);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(s->violation, sizeof s->violation, format, args);
    va_end(args);
    story(s, NULL, "VIOLATED %s: %s", s->invariant, s->violation);
}

__extension__ typedef unsigned __int128 wide;

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t sim_draw(const sim *s, uint32_t salt, uint64_t where)
{
    return mix(mix(s->dice * 0x9e3779b97f4a7c15u + salt) ^ where * 0xd6e8feb86659fd93u);
}

uint64_t sim_draw_below(const sim *s, uint32_t salt, uint64_t where, uint64_t bound)
{
    return bound == 0 ? 0 : (uint64_t)(((wide)sim_draw(s, salt, where) * bound) >> 64);
}

int64_t sim_pace(const sim *s, int64_t for_ns)
{
    return for_ns * s->plan.pace;
}

/* ---- events ---- */

static bool before(const event *a, const event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void sink(sim *s, size_t at)
{
    const event e = s->heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= s->events)
            break;
        if (child + 1 < s->events && before(&s->heap[child + 1], &s->heap[child]))
            child++;
        if (!before(&s->heap[child], &e))
            break;
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = e;
}

void sim_schedule(sim *s, int64_t at_ns, event_kind kind, flight *f, process *p)
{
    void *heap = s->heap;
    if (mem_grow(&heap, &s->event_capacity, s->events + 1, sizeof *s->heap) != 0)
        sim_defect("no memory");
    s->heap = heap;
    const event e = {at_ns > s->now_ns ? at_ns : s->now_ns, s->order++, kind, f, p};
    size_t at = s->events++;
    while (at > 0 && before(&e, &s->heap[(at - 1) / 2])) {
        s->heap[at] = s->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    s->heap[at] = e;
}

static event next_event(sim *s)
{
    const event e = s->heap[0];
    s->heap[0] = s->heap[--s->events];
    if (s->events > 0)
        sink(s, 0);
    return e;
}

static void wake(sim *s, process *p)
{
    if (!p->alive)
        return;
    p->wake_ns = TIME_NEVER;
    if (process_is_frozen(p))
        return; /* another wake stands at its thaw */
    if (p->machine.self != NULL)
        p->machine.type->tick(p->machine.self, s->now_ns);
    if (p->timer_ns <= s->now_ns)
        p->timer_ns = TIME_NEVER;
    process_pump(p);
}

static void handle(sim *s, const event *e)
{
    s->now_ns = e->at_ns;
    s->handled++;
    switch (e->kind) {
    case EVENT_APPLY:
        network_apply(s, e->flight);
        break;
    case EVENT_REPLY:
        network_reply(s, e->flight);
        break;
    case EVENT_WAKE:
        wake(s, e->process);
        break;
    default:
        process_birth(e->process);
    }
}

/* ---- the plan ---- */

static uint32_t pick(sim *s, uint32_t from, uint32_t to)
{
    return from + (uint32_t)rng_below(&s->random, to - from + 1);
}

static void draw_plan(sim *s, const sim_options *options)
{
    static const uint32_t caps[] = {64, 128, 256, 1024};
    sim_plan *p = &s->plan;
    p->dp = pick(s, 1, 2);
    p->cp = pick(s, 1, 2);
    p->items = pick(s, 1, 2);
    p->block_size = pick(s, 2, 4);
    p->tail_cap = caps[pick(s, 0, 3)];
    p->ids = pick(s, 1, 3);
    p->producers = p->ids + pick(s, 0, 2);
    p->expected = pick(s, 0, 3) == 0 ? p->ids : 0;
    p->ranks = 2;
    p->sweepers = 2;
    p->openers = 1;
    p->versions = options->versions > 0 ? options->versions : pick(s, 300, 420);
    p->safety_ns = 240 * NS_PER_S;
    p->latency_ns = (int64_t)pick(s, 1, 12) * NS_PER_MS;
    p->patience_ns = pick(s, 0, 2) == 0 ? 300 * NS_PER_MS : 20 * NS_PER_S;
    p->gap_ns = (int64_t)pick(s, 0, 60) * NS_PER_MS;
    p->conflict_retries = pick(s, 0, 3);
    p->stage_max = pick(s, 2, 6);
    p->prefetch = pick(s, 1, 4);
    p->rival_founder = pick(s, 0, 1) == 1;
    p->seals_early = pick(s, 0, 15) == 0;
    p->storm = pick(s, 0, 3) == 0;
    if (p->storm)
        p->block_size = 2;
    p->polls_only = pick(s, 0, 1) == 1;
    for (uint32_t i = 0; i < 2; i++)
        p->rank_slices[i] = pick(s, 0, p->dp * p->cp - 1);
    p->skip_count = pick(s, 0, 3) == 0 ? 2 : 0;
    uint64_t at = pick(s, 0, 20);
    for (uint32_t i = 0; i < 2; i++) {
        p->skips[i][0] = at;
        p->skips[i][1] = at += pick(s, 1, 12);
        at += pick(s, 1, 40);
    }
    p->groups = pick(s, 0, 3) == 0 ? 0 : pick(s, 1, 2);
    p->group_rivals = pick(s, 0, 1) == 1;
    p->removes = pick(s, 0, 3) == 0;
    p->forgets = pick(s, 0, 3) == 0;
    p->leavers = p->expected == 0 && pick(s, 0, 3) == 0;
    p->page_min = pick(s, 1, 2);
    p->max_lag = pick(s, 0, 2) == 0 ? pick(s, 8, 40) : 0;
    p->max_bytes = pick(s, 0, 2) == 0 ? 1000 * pick(s, 40, 120) : 0;
    p->feud = p->producers > p->ids && pick(s, 0, 3) == 0;
    rng own; /* so that what is drawn above stays what it was before there were tags */
    rng_seed(&own, s->seed ^ 0x74616773);
    p->tagged = rng_below(&own, 4) == 0;
    rng_seed(&own, s->seed ^ 0x7475726e73);
    p->turns = rng_below(&own, 3) == 0;
    p->hasty = p->turns && rng_below(&own, 2) == 0;
    p->pace = p->stride = p->patience = 1;
    if (s->month != NULL)
        month_plan(s);
}

static void make_genesis(sim *s)
{
    const sim_plan *p = &s->plan;
    s->genesis = (genesis){.created_ms = 1,
                           .dp = p->dp,
                           .cp = p->cp,
                           .items_default = p->items,
                           .expected_producers = p->expected,
                           .block_size = p->block_size,
                           .tail_cap = p->tail_cap,
                           .part_bytes = 4096,
                           .page_min = p->page_min,
                           .has_max_lag = p->groups > 0 && p->max_lag > 0,
                           .has_max_bytes = p->groups > 0 && p->max_bytes > 0};
    s->genesis.max_lag = s->genesis.has_max_lag ? p->max_lag : 0;
    s->genesis.max_bytes = s->genesis.has_max_bytes ? p->max_bytes : 0;
    rng_bytes(&s->random, s->genesis.uuid, UUID_BYTES);
}

static void people(sim *s)
{
    const sim_plan *p = &s->plan;
    act_jobs(s);
    act_founders(s);
    for (uint32_t i = 0; i < p->producers; i++)
        act_producer(s, i);
    for (uint32_t i = 0; i < p->ranks; i++)
        act_rank(s, i);
    for (uint32_t i = 0; i < p->sweepers; i++)
        act_sweeper(s, i);
    act_operator(s);
    for (uint32_t i = 0; i < p->openers; i++)
        act_opener(s, i);
    act_trainers(s);
    if (p->groups > 0)
        act_janitor(s);
}

/* ---- the phases ---- */

static void reorder(sim *s)
{
    for (size_t i = s->events; i > 0; i--)
        sink(s, i - 1);
}

/* Faults are over. Whoever is frozen thaws; what was to land late lands now; whoever is dead
 * starts once more. */
static void calm(sim *s)
{
    story(s, NULL, "-- the faults are over");
    s->phase = PHASE_LIVENESS;
    s->faults.on = false;
    network_calm(s);
    reorder(s);
    for (uint32_t i = 0; i < s->process_count; i++) {
        process *p = s->processes[i];
        p->denied_until_ns = p->throttled_until_ns = 0;
        if (p->frozen_until_ns > s->now_ns)
            process_freeze(p, s->now_ns);
        if (!p->alive)
            process_birth_at(p, s->now_ns);
    }
}

static bool is_safety_over(const sim *s)
{
    const bool over = vstore_newest(s->store) >= s->plan.versions ||
                      s->now_ns >= s->plan.safety_ns || act_all_left(s);
    return s->tape != NULL ? tape_is_over(s->tape, s->now_ns, over) : over;
}

static void run(sim *s)
{
    int64_t look_ns = 0, end_ns = TIME_NEVER;
    while (!s->violated && s->phase != PHASE_OVER) {
        if (s->events == 0 || s->handled > (uint64_t)EVENTS_MAX * s->plan.pace) {
            sim_violate(s, "G11", "%s", s->events == 0 ? "nothing is left to happen" : "livelock");
            return;
        }
        const event e = next_event(s);
        handle(s, &e);
        if (s->month != NULL && s->now_ns >= s->month->stop_ns)
            month_stop(s);
        if (s->now_ns < look_ns)
            continue;
        look_ns = s->now_ns + sim_pace(s, LOOK_NS);
        if (s->phase == PHASE_SAFETY && is_safety_over(s)) {
            calm(s);
            end_ns = s->now_ns + sim_pace(s, LIVENESS_NS);
            if (s->only_faults)
                s->phase = PHASE_OVER;
        } else if (s->phase == PHASE_LIVENESS && act_settled(s)) {
            s->phase = PHASE_OVER;
        } else if (s->now_ns > end_ns) {
            act_complain(s);
        }
    }
}

static void sum_up(sim *s, sim_result *r)
{
    r->seed = s->seed;
    r->trace = s->trace;
    r->violated = s->violated;
    memcpy(r->invariant, s->invariant, sizeof r->invariant);
    memcpy(r->violation, s->violation, sizeof r->violation);
    r->versions = vstore_newest(s->store);
    r->faults = faults_total(&s->faults);
    r->requests = s->requests;
    r->blocks_retired = vstore_retired(s->store);
    r->virtual_ns = s->now_ns;
    memcpy(r->fault_hits, s->faults.hits, sizeof r->fault_hits);
    memcpy(r->marks, s->marks.counts, sizeof r->marks);
    history_sum_up(s, r);
}

void simulate(uint64_t seed, const sim_options *options, sim_result *result)
{
    sim *s = sim_alloc(sizeof *s);
    s->seed = seed;
    s->dice = options->dice != 0 ? mix(seed ^ mix(options->dice)) : seed;
    s->story = options->story;
    s->only_faults = options->only_faults;
    s->month = options->month;
    s->tape = options->tape;
    if (s->tape != NULL && s->tape->plays)
        s->taken = sim_alloc(s->tape->count * sizeof *s->taken);
    rng_seed(&s->random, seed);
    draw_plan(s, options);
    faults_open(s);
    s->faults.kept = options->kept;
    s->faults.left_out = options->left_out;
    s->faults.kept_count = options->kept_count;
    s->faults.fired = options->fired;
    s->faults.fired_max = options->fired_max;
    s->faults.fired_count = options->fired_count;
    faults_tune(&s->faults, options->thin, options->louder);
    make_genesis(s);
    s->store = vstore_new();
    s->history = history_new();
    people(s);
    for (uint32_t i = 0; i < s->process_count; i++)
        s->processes[i]->left = (options->absent >> i & 1) != 0;
    run(s);
    if (!s->violated && !s->only_faults)
        check_all(s);
    if (s->month != NULL)
        month_end(s);
    memset(result, 0, sizeof *result);
    result->calm = s->phase != PHASE_SAFETY;
    s->phase = PHASE_OVER;
    for (uint32_t i = 0; i < s->process_count; i++)
        process_free(s->processes[i]);
    sum_up(s, result);
    network_free(s);
    history_free(s->history);
    vstore_free(s->store);
    for (uint32_t i = 0; i < GROUPS_HERE_MAX; i++)
        mem_free(s->jobs[i]);
    mem_free(s->heap);
    mem_free(s->taken);
    mem_free(s);
}
