// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The janitor: removes the group of a job that is over, in some seeds another one too, and forgets
 * a producer now and then. */
#include "trainer.h"

#include "base/alloc.h"
#include "protocol/commit.h"
#include <string.h>

#define PATIENCE_NS (5 * NS_PER_S)
#define PAUSE_NS (4 * NS_PER_S)

typedef struct janitor {
    chain *chain;
    commit *commit;
    intent intent;
    char launch[NAME_TEXT], name[2];
    bool walking, committing;
    size_t attempts_from;
} janitor;

static void born(process *p)
{
    janitor *o = sim_alloc(sizeof *o);
    p->state = o;
    act_committer(p, &o->chain, &o->commit);
    act_rest(p, 1 + (int64_t)rng_below(&p->random, PAUSE_NS));
}

static void dead(process *p, bool killed)
{
    (void)killed;
    janitor *o = p->state;
    commit_free(o->commit);
    chain_free(o->chain);
    mem_free(o);
}

static const group *choose_group(process *p, const manifest *m)
{
    const sim *s = p->sim;
    for (uint32_t i = 0; i < s->plan.groups; i++) {
        const group *g = manifest_group(m, view_text(s->jobs[i]->name));
        const bool live = s->plan.removes && s->phase == PHASE_SAFETY;
        if (g != NULL &&
            (s->jobs[i]->over || (live && rng_below(&p->random, 6 * s->plan.patience) == 0)))
            return g;
    }
    return NULL;
}

static const producer_entry *choose_producer(process *p, const manifest *m)
{
    const sim *s = p->sim;
    if (!s->plan.forgets || s->phase != PHASE_SAFETY || m->producer_count == 0 ||
        rng_below(&p->random, 4 * s->plan.patience) > 0)
        return NULL;
    return &m->producers[rng_below(&p->random, m->producer_count)];
}

static void act(process *p, janitor *o)
{
    sim *s = p->sim;
    const manifest *m = chain_held(o->chain);
    const group *g = choose_group(p, m);
    const producer_entry *e = g == NULL ? choose_producer(p, m) : NULL;
    if (g == NULL && e == NULL) {
        act_rest(p, 1 + (int64_t)rng_below(&p->random, PAUSE_NS));
        return;
    }
    removal_note *n = history_removal(s->history);
    memset(o->launch, 0, sizeof o->launch);
    if (g != NULL) {
        o->name[0] = (char)g->name.data[0];
        memcpy(o->launch, g->launch.data, g->launch.size);
        o->intent = (intent){.kind = INTENT_GROUP_RM};
        o->intent.group_rm.name = view_text(o->name);
        o->intent.group_rm.launch = view_text(o->launch);
    } else {
        o->name[0] = (char)e->id.data[0];
        o->intent = (intent){.kind = INTENT_FORGET};
        o->intent.forget.id = view_text(o->name);
        o->intent.forget.epoch = e->epoch;
        n->epoch = e->epoch;
    }
    memcpy(n->name, o->name, sizeof o->name);
    memcpy(n->launch, o->launch, sizeof n->launch);
    o->committing = true;
    o->attempts_from = s->history->attempt_count;
    commit_start(o->commit, &o->intent, view_text("janitor"), s->now_ns, s->now_ns + PATIENCE_NS);
    process_run(p, &commit_machine, o->commit, o->chain);
}

static void acted(process *p, janitor *o)
{
    sim *s = p->sim;
    const commit_report *r = commit_reported(o->commit);
    process_count_chain(p);
    check_proved(p, chain_held(o->chain), false);
    check_ended(p, o->attempts_from, r, false);
    const bool removes = o->intent.kind == INTENT_GROUP_RM;
    MARK_IF(s, GROUP_REMOVED, removes && r->end == COMMIT_DONE);
    if (r->end == COMMIT_DONE || r->end == COMMIT_LOST)
        return;
    if (r->status == BW_FENCED && removes)
        (void)check_refused(p, BW_FENCED, o->name, o->launch, 0);
    else if (!(r->status == BW_FENCED || r->status == BW_FINISHED))
        (void)act_may_pass(p, r->status, &r->error);
}

static void advance(process *p)
{
    janitor *o = p->state;
    sim *s = p->sim;
    if (process_busy(p) || p->timer_ns != TIME_NEVER)
        return;
    if (!o->walking && !o->committing) {
        o->walking = true;
        chain_start(o->chain, chain_held(o->chain) != NULL ? CHAIN_NEWEST : CHAIN_OPEN, s->now_ns);
        process_run(p, &chain_machine, o->chain, o->chain);
        return;
    }
    if (o->committing) {
        o->committing = false;
        acted(p, o);
        act_rest(p, 1 + (int64_t)rng_below(&p->random, PAUSE_NS));
        return;
    }
    bw_error error;
    const bw_status status = chain_result(o->chain, &error);
    o->walking = false;
    process_count_chain(p);
    p->machine = (machine){0};
    if (status == BW_OK) {
        check_proved(p, chain_held(o->chain), true);
        act(p, o);
        return;
    }
    if (status != BW_NO_NAMESPACE && status != BW_NOT_READY)
        (void)act_may_pass(p, status, &error);
    act_rest(p, 1 + (int64_t)rng_below(&p->random, PAUSE_NS));
}

const role role_janitor = {.name = "janitor",
                           .kind = ROLE_OTHER,
                           .born = born,
                           .dead = dead,
                           .advance = advance,
                           .rest_ns = NS_PER_S};

void act_janitor(sim *s)
{
    process_birth_at(process_add(s, &role_janitor, "janitor"), 0);
}
