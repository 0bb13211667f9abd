// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The clock of a pacing: events in the order of their time, and what happens to processes. */
#include "pacing_inner.h"

#include "base/alloc.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

#define TEN_MINUTES_NS (600 * NS_PER_S)
#define AWAY_MIN_NS (20 * NS_PER_S)
#define AWAY_MAX_NS (300 * NS_PER_S)
#define PAUSE_MIN_NS (NS_PER_S / 2)
#define PAUSE_MAX_NS (11 * NS_PER_S / 2)
#define START_NS_EACH (300 * NS_PER_MS) /* producers do not all begin at once */

const pacing_case pacing_cases[] = {
    {.name = "base", .text = "nothing happens"},
    {.name = "uneven",
     .text = "the fastest producer makes ten times as much as the slowest",
     .spread = 10},
    {.name = "heavy", .text = "a request in a hundred takes ten times as long", .heavy = true},
    {.name = "kills",
     .text = "a quarter of the producers is killed in ten minutes, and comes back",
     .killed_percent = 25},
    {.name = "mass",
     .text = "a quarter of the producers, neighbours, is killed at once",
     .mass = true},
    {.name = "pauses",
     .text = "each process stands still for seconds every minute",
     .pause_ns = 60 * NS_PER_S},
    {.name = "pins",
     .text = "a pin every 5 s, a sweep's commit every 30 s",
     .pin_ns = 5 * NS_PER_S,
     .sweep_ns = 30 * NS_PER_S},
    {.name = "mixed",
     .text = "all of them",
     .spread = 10,
     .heavy = true,
     .killed_percent = 25,
     .pause_ns = 300 * NS_PER_S,
     .pin_ns = 30 * NS_PER_S,
     .sweep_ns = 60 * NS_PER_S},
    {.name = "paper",
     .text = "the paper's loop: a producer makes batches, 74 ms each, and commits in turns",
     .serial = true,
     .batch_ns = 74 * NS_PER_MS},
};
const size_t pacing_case_count = sizeof pacing_cases / sizeof *pacing_cases;

const pacing_case *pacing_case_named(const char *name)
{
    for (size_t i = 0; i < pacing_case_count; i++)
        if (strcmp(pacing_cases[i].name, name) == 0)
            return &pacing_cases[i];
    return NULL;
}

pacing_plan pacing_plan_usual(const char *policy, uint32_t producers)
{
    return (pacing_plan){.policy = policy,
                         .scene = &pacing_cases[0],
                         .producers = producers,
                         .warmup_ns = 120 * NS_PER_S,
                         .span_ns = TEN_MINUTES_NS,
                         .seed = 1,
                         .get_ns = 30 * NS_PER_MS,
                         .put_ns = 60 * NS_PER_MS,
                         .sigma = 0.15,
                         .batch_ns = 237 * NS_PER_MS};
}

void pacing_defect(pacing *p, const char *format, ...)
{
    va_list args;
    if (p->status != BW_OK)
        return;
    va_start(args, format);
    p->status = error_vset(&p->error, BW_BUG, format, args);
    va_end(args);
}

bool pacing_counts(const pacing *p)
{
    return p->now_ns >= p->plan->warmup_ns;
}

/* ---- the heap ---- */

static bool before(const event *a, const event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

void pacing_event(pacing *p, int64_t at_ns, event_kind kind, pacing_process *process, flight *f)
{
    void *events = p->events;
    if (mem_grow(&events, &p->event_capacity, p->event_count + 1, sizeof *p->events) != 0) {
        pacing_defect(p, "no memory for events");
        return;
    }
    p->events = events;
    const event e = {.at_ns = at_ns,
                     .order = p->order++,
                     .kind = kind,
                     .process = process->index,
                     .life = process->life,
                     .flight = f};
    size_t at = p->event_count++;
    for (; at > 0 && before(&e, &p->events[(at - 1) / 2]); at = (at - 1) / 2)
        p->events[at] = p->events[(at - 1) / 2];
    p->events[at] = e;
}

static event take(pacing *p)
{
    const event first = p->events[0];
    const event last = p->events[--p->event_count];
    size_t at = 0;
    for (size_t child = 1; child < p->event_count; child = 2 * at + 1) {
        if (child + 1 < p->event_count && before(&p->events[child + 1], &p->events[child]))
            child++;
        if (!before(&p->events[child], &last))
            break;
        p->events[at] = p->events[child];
        at = child;
    }
    if (p->event_count > 0)
        p->events[at] = last;
    return first;
}

/* ---- what happens to processes ---- */

static int64_t between(rng *r, int64_t least, int64_t most)
{
    return least + (int64_t)rng_below(r, (uint64_t)(most - least) + 1);
}

/* Time to the next of events that come at random, `mean_ns` apart. */
static int64_t exponential(rng *r, double mean_ns)
{
    const double u = ((double)rng_below(r, 1u << 30) + 1) / (1u << 30);
    return (int64_t)(-log(u) * mean_ns) + 1;
}

static void plan_kill(pacing *p, pacing_process *x)
{
    if (x->role != ROLE_PRODUCER || p->plan->scene->killed_percent == 0)
        return;
    const double mean_ns = TEN_MINUTES_NS * 100.0 / p->plan->scene->killed_percent;
    pacing_event(p, p->now_ns + exponential(&p->random, mean_ns), EVENT_KILL, x, NULL);
}

static void plan_pause(pacing *p, pacing_process *x)
{
    if (p->plan->scene->pause_ns > 0)
        pacing_event(p, p->now_ns + exponential(&p->random, (double)p->plan->scene->pause_ns),
                     EVENT_FREEZE, x, NULL);
}

static void kill(pacing *p, pacing_process *x)
{
    if (!x->alive)
        return;
    process_kill(x);
    p->report->kills += pacing_counts(p);
    pacing_event(p, p->now_ns + between(&p->random, AWAY_MIN_NS, AWAY_MAX_NS), EVENT_BACK, x, NULL);
}

static void kill_neighbours(pacing *p)
{
    const uint32_t count = p->plan->producers / 4;
    const uint32_t first = (uint32_t)rng_below(&p->random, p->plan->producers - count + 1);
    for (uint32_t i = 0; i < count; i++)
        kill(p, &p->processes[first + i]);
}

static void freeze(pacing *p, pacing_process *x)
{
    x->frozen_until_ns = p->now_ns + between(&p->random, PAUSE_MIN_NS, PAUSE_MAX_NS);
    p->report->pauses += pacing_counts(p);
    plan_pause(p, x);
}

static void land(pacing *p, flight *f)
{
    mem_free(f->found.bytes);
    f->found = (stored){0};
    f->next = p->spare;
    p->spare = f;
}

/* Log-normal: most requests take about the median, few take much longer. */
static int64_t latency(pacing *p, int64_t median_ns)
{
    const double u = ((double)rng_below(&p->random, 1u << 30) + 1) / (1u << 30);
    const double angle = (double)rng_below(&p->random, 1u << 30) * (2 * M_PI / (1u << 30));
    double ns = (double)median_ns * exp(p->plan->sigma * sqrt(-2 * log(u)) * cos(angle));
    if (p->plan->scene->heavy && rng_below(&p->random, 100) == 0)
        ns *= 10;
    return (int64_t)ns + 2;
}

static bool is_read(const flight *f)
{
    return f->request.kind == STORE_GET || f->request.kind == STORE_HEAD;
}

/* A read sees what is there in the middle of its time, a write takes effect at its end. */
void pacing_send(pacing *p, pacing_process *x, const machine_request *request)
{
    flight *f = p->spare;
    if (f != NULL)
        p->spare = f->next;
    else
        f = mem_zalloc(sizeof *f);
    if (f == NULL) {
        pacing_defect(p, "no memory for a request");
        return;
    }
    f->request = *request;
    f->sent_ns = p->now_ns;
    const bool read = is_read(f);
    const int64_t took_ns = latency(p, read ? p->plan->get_ns : p->plan->put_ns);
    if (pacing_counts(p))
        *(read ? &p->report->reads : &p->report->puts) += 1;
    pacing_event(p, p->now_ns + (read ? took_ns / 2 : took_ns), EVENT_APPLY, x, f);
}

/* What a request does, it does whether its process stands still or not. A killed process's does
 * nothing more. */
static void apply(pacing *p, pacing_process *x, const event *e)
{
    flight *f = e->flight;
    if (e->life != x->life) {
        land(p, f);
        return;
    }
    if (is_read(f)) {
        f->outcome = pacing_store_look(&p->store, &f->request, &f->found);
        pacing_event(p, p->now_ns + (p->now_ns - f->sent_ns), EVENT_REPLY, x, f);
        return;
    }
    f->outcome = pacing_store_write(&p->store, &f->request);
    if (f->request.kind == STORE_CREATE)
        process_created(x, &f->request, f->outcome);
    pacing_event(p, p->now_ns, EVENT_REPLY, x, f);
}

static void happen(pacing *p, const event *e)
{
    pacing_process *x = &p->processes[e->process];
    const bool his = e->kind == EVENT_REPLY || e->kind == EVENT_WAKE;
    if (his && e->life == x->life && x->frozen_until_ns > p->now_ns) {
        if (e->kind == EVENT_WAKE && e->at_ns == x->wake_ns)
            x->wake_ns = x->frozen_until_ns;
        pacing_event(p, x->frozen_until_ns, e->kind, x, e->flight);
        return;
    }
    switch (e->kind) {
    case EVENT_APPLY:
        apply(p, x, e);
        break;
    case EVENT_REPLY:
        if (e->life == x->life)
            process_reply(x, e->flight);
        land(p, e->flight);
        break;
    case EVENT_WAKE:
        if (e->life == x->life && e->at_ns == x->wake_ns)
            process_tick(x);
        break;
    case EVENT_KILL:
        kill(p, x);
        plan_kill(p, x);
        break;
    case EVENT_BACK:
        process_back(x);
        break;
    case EVENT_FREEZE:
        freeze(p, x);
        break;
    default:
        kill_neighbours(p);
    }
}

/* ---- a run ---- */

static void begin_all(pacing *p)
{
    const pacing_plan *plan = p->plan;
    for (uint32_t i = 0; i < p->process_count && p->status == BW_OK; i++) {
        pacing_process *x = &p->processes[i];
        process_begin(p, i, i < plan->producers ? ROLE_PRODUCER : ROLE_GUEST);
        x->wake_ns = between(&p->random, 0, START_NS_EACH * plan->producers);
        pacing_event(p, x->wake_ns, EVENT_WAKE, x, NULL);
        plan_kill(p, x);
        plan_pause(p, x);
    }
    if (plan->scene->mass)
        pacing_event(p, plan->warmup_ns + plan->span_ns / 4, EVENT_MASS, &p->processes[0], NULL);
}

static void end_all(pacing *p)
{
    for (uint32_t i = 0; p->processes != NULL && i < p->process_count; i++) {
        if (p->processes[i].ready_count > p->report->staged_most)
            p->report->staged_most = p->processes[i].ready_count;
        process_end(&p->processes[i]);
    }
    for (size_t i = 0; i < p->event_count; i++)
        if (p->events[i].flight != NULL)
            land(p, p->events[i].flight);
    for (flight *f = p->spare, *next; f != NULL; f = next) {
        next = f->next;
        mem_free(f);
    }
    mem_free(p->events);
    mem_free(p->processes);
    pacing_store_free(&p->store);
}

/* What was counted is what the chain says. */
static void check_steps(pacing *p)
{
    uint64_t steps = 0;
    if (p->status != BW_OK)
        return;
    p->status = pacing_store_steps(&p->store, &p->genesis, &steps, &p->error);
    if (p->status == BW_OK && steps != p->shown)
        pacing_defect(p, "the chain has %llu steps, and %llu were counted",
                      (unsigned long long)steps, (unsigned long long)p->shown);
}

static bool is_sound(const pacing_plan *plan)
{
    cadence c;
    return cadence_parse(plan->policy, &c, NULL) == BW_OK && plan->scene != NULL &&
           plan->producers > 0 && plan->producers <= PACING_PRODUCERS_MAX && plan->get_ns > 0 &&
           plan->put_ns > 0 && plan->batch_ns > 0 && plan->span_ns > 0 && plan->warmup_ns >= 0;
}

bw_status pacing_run(const pacing_plan *plan, pacing_report *report, bw_error *error)
{
    if (!is_sound(plan))
        return error_set(error, BW_INVALID, "no such cadence, or a plan out of bounds");
    *report = (pacing_report){.seconds = (double)plan->span_ns / NS_PER_S};
    pacing *p = mem_zalloc(sizeof *p);
    if (p == NULL)
        return error_set(error, BW_NOMEM, "no memory");
    if (!plan->unshared)
        pacing_share_begin(&p->store);
    p->plan = plan;
    p->report = report;
    p->run_of = UINT32_MAX;
    rng_seed(&p->random, plan->seed);
    p->process_count = plan->producers + (plan->scene->pin_ns > 0) + (plan->scene->sweep_ns > 0);
    p->processes = mem_array(p->process_count, sizeof *p->processes);
    if (p->processes == NULL)
        pacing_defect(p, "no memory for processes");
    else
        p->status = pacing_store_begin(&p->store, &p->genesis, &p->error);
    if (p->status == BW_OK)
        begin_all(p);
    while (p->status == BW_OK && p->event_count > 0) {
        const event e = take(p);
        if (e.at_ns >= plan->warmup_ns + plan->span_ns) {
            if (e.flight != NULL)
                land(p, e.flight);
            break;
        }
        p->now_ns = e.at_ns;
        happen(p, &e);
    }
    check_steps(p);
    const bw_status status = p->status;
    if (status != BW_OK)
        error_copy(error, &p->error);
    end_all(p);
    pacing_share_end();
    mem_free(p);
    return status;
}
