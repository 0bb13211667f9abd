// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "check.h"
#include "network.h"
#include "tape.h"
#include <stdio.h>
#include <string.h>

#define WHERE_INDEX_SHIFT 48
#define WHERE_LIFE_SHIFT 32
#define WALL_BEGIN_MS 1700000000000
#define SKEW_MS 86400000u

enum salt { SALT_SKEW = 200, SALT_REST };

static int64_t virtual_now(void *context)
{
    const process *p = context;
    return p->sim->now_ns;
}

/* Wrong by up to a day whenever the fault says so. */
static int64_t virtual_wall(void *context)
{
    process *p = context;
    const uint64_t where = process_where(p, p->requests);
    if (fault_fires(p->sim, FAULT_CLOCK, where)) {
        p->skew_ms = (int64_t)sim_draw_below(p->sim, SALT_SKEW, where, (uint64_t)SKEW_MS * 2) -
                     (int64_t)SKEW_MS;
        fault_hit(p->sim, FAULT_CLOCK);
    }
    return WALL_BEGIN_MS + p->skew_ms + p->sim->now_ns / NS_PER_MS;
}

process *process_add(sim *s, const role *r, const char *name)
{
    if (s->process_count == PROCESSES_MAX)
        sim_defect("too many processes");
    process *p = sim_alloc(sizeof *p);
    p->sim = s;
    p->index = s->process_count;
    p->role = r;
    p->timer_ns = p->wake_ns = TIME_NEVER;
    p->clock = (clock_source){virtual_now, virtual_wall, p};
    (void)snprintf(p->name, sizeof p->name, "%s", name);
    s->processes[s->process_count++] = p;
    return p;
}

void process_free(process *p)
{
    if (p->alive)
        process_end(p, true);
    if (p->role->forget != NULL)
        p->role->forget(p);
    mem_free(p->keeps);
    mem_free(p);
}

uint64_t process_where(const process *p, uint32_t ordinal)
{
    return (uint64_t)p->index << WHERE_INDEX_SHIFT | (uint64_t)p->life << WHERE_LIFE_SHIFT |
           ordinal;
}

void process_birth_at(process *p, int64_t at_ns)
{
    sim_schedule(p->sim, at_ns, EVENT_BIRTH, NULL, p);
}

void process_birth(process *p)
{
    if (p->alive || p->left)
        return;
    p->alive = true;
    p->life++;
    p->doomed = false;
    p->requests = p->boundaries = 0;
    p->frozen_until_ns = 0;
    p->timer_ns = p->wake_ns = TIME_NEVER;
    p->machine = (machine){0};
    p->chain = NULL;
    p->counted = (chain_counts){0};
    p->denied_until_ns = p->throttled_until_ns = 0;
    memset(p->damaged, 0, sizeof p->damaged);
    p->bad_object = NULL;
    p->searched = p->opens = 0;
    p->blocked_until_ns = 0;
    p->last_effect = KEY_FOREIGN;
    /* Of this life alone: what others do changes nothing. */
    rng_seed(&p->random, sim_draw(p->sim, SALT_REST, process_where(p, UINT32_MAX)));
    trace_add(p->sim, p->index, p->life);
    story(p->sim, p, "starts");
    p->role->born(p);
    process_pump(p);
}

void process_end(process *p, bool killed)
{
    if (!p->alive)
        return;
    if (p->chain != NULL)
        process_count_chain(p);
    p->role->dead(p, killed);
    p->alive = p->doomed = false;
    p->opens = 0;
    p->state = NULL;
    p->chain = NULL;
    p->machine = (machine){0};
    trace_add(p->sim, p->index << 1 | (uint32_t)killed, p->life);
    story(p->sim, p, killed ? "is killed" : "ends");
    const int64_t rest_ns = p->rest_ns > 0 ? p->rest_ns : p->role->rest_ns;
    p->rest_ns = 0;
    if (p->sim->phase != PHASE_OVER && !p->left)
        process_birth_at(
            p, p->sim->now_ns + 1 +
                   sim_pace(p->sim, (int64_t)sim_draw_below(p->sim, SALT_REST, process_where(p, 0),
                                                            (uint64_t)rest_ns)));
}

void process_doom(process *p)
{
    p->doomed = true;
}

void process_boundary(process *p)
{
    sim *s = p->sim;
    if (!p->alive || p->doomed)
        return;
    const uint64_t where = process_where(p, p->boundaries++);
    if (!(s->tape != NULL ? tape_kills(p, where) : fault_fires(s, FAULT_KILL, where)))
        return;
    fault_hit(s, FAULT_KILL);
    p->doomed = true;
}

bool process_is_frozen(const process *p)
{
    return p->frozen_until_ns > p->sim->now_ns;
}

void process_freeze(process *p, int64_t until_ns)
{
    p->frozen_until_ns = until_ns;
    sim_schedule(p->sim, until_ns, EVENT_WAKE, NULL, p);
}

void process_run(process *p, const machine_type *type, void *self, chain *c)
{
    p->machine = (machine){type, self};
    p->chain = c;
    p->newest_at_start = vstore_newest(p->sim->store);
    p->retired_at_start = vstore_retired(p->sim->store);
    p->moved = true;
}

bool process_busy(const process *p)
{
    return p->machine.self != NULL && p->machine.type->running(p->machine.self);
}

static void schedule_wake(process *p)
{
    int64_t due = p->timer_ns;
    if (p->machine.self != NULL) {
        const int64_t machine_due = p->machine.type->due(p->machine.self);
        due = machine_due < due ? machine_due : due;
    }
    if (due == TIME_NEVER || due >= p->wake_ns)
        return;
    p->wake_ns = due;
    sim_schedule(p->sim, due, EVENT_WAKE, NULL, p);
}

void process_pump(process *p)
{
    machine_request request;
    p->moved = true;
    while (p->moved && p->alive && !p->doomed && !p->sim->violated) {
        p->moved = false;
        while (!process_is_frozen(p) && !p->doomed && p->machine.self != NULL &&
               p->machine.type->next(p->machine.self, &request))
            network_send(p, &request, false, 0, 0);
        if (p->doomed || process_is_frozen(p))
            break;
        p->role->advance(p);
    }
    bw_error broken;
    if (invariant_taken(&broken))
        sim_violate(p->sim, "MUST", "%s: %s", p->name, broken.message);
    if (p->doomed && p->alive)
        process_end(p, true);
    else if (p->alive && !process_is_frozen(p))
        schedule_wake(p);
}

void process_count_chain(process *p)
{
    sim *s = p->sim;
    const chain_counts *now = chain_counted(p->chain), *old = &p->counted;
    MARK_IF(s, REOPEN, now->reopens > old->reopens);
    MARK_IF(s, REOPEN_TWICE, now->reopens > old->reopens + 1);
    MARK_IF(s, GAP_CHECKED, now->skipped_checks > old->skipped_checks);
    MARK_IF(s, RESUMED, now->resumed > old->resumed);
    MARK_IF(s, RESUME_HINTED, now->resume_hinted > old->resume_hinted);
    MARK_IF(s, RESUME_LATER, now->resume_later > old->resume_later);
    MARK_IF(s, RESUME_WAY, now->resume_ways > old->resume_ways);
    MARK_IF(s, RESUME_GONE, now->resume_absent > old->resume_absent);
    MARK_IF(s, RESUME_RETIRED, now->resume_retired > old->resume_retired);
    MARK_IF(s, RESUME_ELSEWHERE, now->resume_elsewhere > old->resume_elsewhere);
    MARK_IF(s, RESUME_AHEAD, now->resume_ahead > old->resume_ahead);
    p->counted = *now;
}

static damaged *find_damaged(process *p, const object *o)
{
    for (uint32_t i = 0; i < DAMAGED_KEPT; i++)
        if (p->damaged[i].object == o)
            return &p->damaged[i];
    return NULL;
}

void process_note_read(process *p, const object *o, bool spoilt)
{
    damaged *d = find_damaged(p, o);
    if (d == NULL && spoilt) {
        d = &p->damaged[p->damaged_next++ % DAMAGED_KEPT];
        *d = (damaged){.object = o};
    }
    if (spoilt)
        d->in_row++;
    else if (d != NULL)
        *d = (damaged){0};
}

uint32_t process_damaged(const process *p, const object *o)
{
    for (uint32_t i = 0; i < DAMAGED_KEPT; i++)
        if (p->damaged[i].object == o)
            return p->damaged[i].in_row;
    return 0;
}
