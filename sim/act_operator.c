// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The operator seals, and opens and follows the chain to look at it; late openers do the same from
 * whatever hint they get. */
#include "act.h"

#include "base/alloc.h"
#include "check.h"
#include "protocol/commit.h"
#include <stdio.h>

#define PATIENCE_NS (5 * NS_PER_S)
#define LOOKS_MAX 40u
#define PAUSE_MAX_NS (60 * NS_PER_MS)
#define PAUSE_LONG_NS (6 * NS_PER_S)

/* ---- those who look ---- */

typedef struct looker {
    chain *chain;
    bool walking;
    chain_goal goal;
    uint32_t looks;
    uint64_t retired; /* when the walk began */
    uint64_t last;    /* the version held before */
} looker;

static void looker_born(process *p)
{
    looker *l = sim_alloc(sizeof *l);
    p->state = l;
    l->looks = 1 + (uint32_t)rng_below(&p->random, LOOKS_MAX);
    if (chain_new(rng_u64(&p->random), NULL, &l->chain) != BW_OK)
        sim_defect("no memory");
    act_rest(p, 1 + (int64_t)rng_below(&p->random, 10 * PAUSE_MAX_NS));
}

static void looker_dead(process *p, bool killed)
{
    (void)killed;
    looker *l = p->state;
    chain_free(l->chain);
    mem_free(l);
}

static void look(process *p, looker *l)
{
    const bool has = chain_held(l->chain) != NULL;
    l->goal = !has ? CHAIN_OPEN : rng_below(&p->random, 4) == 0 ? CHAIN_NEWEST : CHAIN_POLL;
    l->walking = true;
    l->retired = vstore_retired(p->sim->store);
    l->last = has ? chain_held(l->chain)->version : 0;
    p->searched = 0;
    chain_start(l->chain, l->goal, p->sim->now_ns);
    process_run(p, &chain_machine, l->chain, l->chain);
}

static void looked(process *p, looker *l)
{
    sim *s = p->sim;
    bw_error error;
    const bw_status status = chain_result(l->chain, &error);
    const chain_counts *c = chain_counted(l->chain);
    const bool cold = l->goal == CHAIN_OPEN && p->searched > 60;
    MARK_IF(s, FOLLOWED_FAR,
            l->last > 0 && chain_held(l->chain) != NULL &&
                chain_held(l->chain)->version > l->last + 60);
    MARK_IF(s, COLD_OPEN, cold && status == BW_OK);
    MARK_IF(s, COLD_OPEN_DELETING,
            cold && status == BW_OK && vstore_retired(s->store) > l->retired);
    MARK_IF(s, QUIET_MARKER,
            l->goal == CHAIN_POLL && c->reopens > p->counted.reopens &&
                c->ghosts_met == p->counted.ghosts_met);
    process_count_chain(p);
    const manifest *m = chain_held(l->chain);
    if (m != NULL) {
        check_proved(p, m, status == BW_OK && chain_is_newest(l->chain));
        if (m->version < l->last)
            sim_violate(s, "I3", "%s went back from version %llu to %llu", p->name,
                        (unsigned long long)l->last, (unsigned long long)m->version);
    }
    const bool early = status == BW_NO_NAMESPACE || status == BW_NOT_READY;
    MARK_IF(s, NOT_READY, status == BW_NOT_READY);
    if (early && p->newest_at_start > 0)
        sim_violate(s, "I3", "%s finds no namespace", p->name);
    else if (status == BW_TRIMMED && check_trimmed(p, l->last > 0 ? m->next : 0))
        l->looks = 1; /* its old place is swept: it opens anew */
    else if (!early)
        (void)act_may_pass(p, status, &error);
}

static void looker_advance(process *p)
{
    looker *l = p->state;
    if (process_busy(p) || p->timer_ns != TIME_NEVER)
        return;
    if (!l->walking) {
        look(p, l);
        return;
    }
    looked(p, l);
    l->walking = false;
    if (l->looks-- == 1) {
        process_end(p, false);
        return;
    }
    const bool away = rng_below(&p->random, 8) == 0;
    act_rest(p, 1 + (int64_t)rng_below(&p->random, away ? PAUSE_LONG_NS : PAUSE_MAX_NS));
}

const role role_opener = {.name = "reader",
                          .kind = ROLE_READER,
                          .born = looker_born,
                          .dead = looker_dead,
                          .advance = looker_advance,
                          .rest_ns = 500 * NS_PER_MS};

void act_opener(sim *s, uint32_t index)
{
    char name[24];
    (void)snprintf(name, sizeof name, "reader %u", index + 1);
    process_birth_at(process_add(s, &role_opener, name), 0);
}

/* ---- the one who seals ---- */

typedef struct sealer {
    chain *chain;
    commit *commit;
    intent intent;
    bool sealing, may_be_sealed; /* everybody had finished when it began */
    uint64_t opens;              /* when it began */
    size_t attempts_from;
} sealer;

#define SEAL_PAUSE_NS (15 * NS_PER_S)

static void operator_born(process *p)
{
    sealer *o = sim_alloc(sizeof *o);
    p->state = o;
    act_committer(p, &o->chain, &o->commit);
    act_rest(p, 1 + (int64_t)rng_below(&p->random, SEAL_PAUSE_NS));
}

static void operator_dead(process *p, bool killed)
{
    (void)killed;
    sealer *o = p->state;
    commit_free(o->commit);
    chain_free(o->chain);
    mem_free(o);
}

static bool all_finished(const sim *s)
{
    const model *m = model_of(s);
    for (uint32_t i = 0; i < IDS_MAX; i++)
        if (m->ids[i].known && !m->ids[i].finished && !m->ids[i].forgotten)
            return false;
    return true;
}

static void seal(process *p, sealer *o)
{
    sim *s = p->sim;
    const bool last = s->phase == PHASE_LIVENESS && act_all_left(s);
    const bool force = last || (s->plan.seals_early && rng_below(&p->random, 3) == 0);
    o->intent = (intent){.kind = INTENT_SEAL, .seal = {.force = force}};
    o->sealing = true;
    s->history->forced |= force;
    o->may_be_sealed = s->plan.expected == 0 && all_finished(s);
    o->opens = model_of(s)->opens;
    o->attempts_from = s->history->attempt_count;
    commit_start(o->commit, &o->intent, view_text("operator"), s->now_ns, s->now_ns + PATIENCE_NS);
    process_run(p, &commit_machine, o->commit, o->chain);
}

static void sealed(process *p, sealer *o)
{
    sim *s = p->sim;
    const commit_report *r = commit_reported(o->commit);
    process_count_chain(p);
    if (chain_held(o->chain) != NULL)
        check_proved(p, chain_held(o->chain), false);
    check_ended(p, o->attempts_from, r, false);
    MARK_IF(s, SEAL_REFUSED, r->status == BW_SEAL_REFUSED);
    MARK_IF(s, SEAL_FORCED, r->end == COMMIT_DONE && o->intent.seal.force);
    const bool early = r->status == BW_NO_NAMESPACE || r->status == BW_NOT_READY;
    if (r->end == COMMIT_DONE)
        check_sealed(p);
    else if (r->status == BW_SEAL_REFUSED && o->may_be_sealed && model_of(s)->opens == o->opens)
        sim_violate(s, "R10", "a seal was refused and everybody has finished");
    else if (r->status != BW_SEAL_REFUSED && !early && r->end != COMMIT_LOST)
        (void)act_may_pass(p, r->status, &r->error);
}

static void operator_advance(process *p)
{
    sealer *o = p->state;
    sim *s = p->sim;
    if (process_busy(p) || p->timer_ns != TIME_NEVER)
        return;
    if (o->sealing) {
        sealed(p, o);
        o->sealing = false;
    }
    if (s->violated)
        return;
    if (model_of(s)->sealed && s->phase == PHASE_LIVENESS) {
        p->left = true;
        process_end(p, false);
    } else if (s->phase == PHASE_SAFETY && (p->machine.self != NULL || s->plan.month)) {
        p->machine = (machine){0};
        act_rest(p, 1 + (int64_t)rng_below(&p->random, SEAL_PAUSE_NS));
    } else if (s->phase == PHASE_LIVENESS && !act_all_left(s)) {
        act_rest(p, 100 * NS_PER_MS);
    } else {
        seal(p, o);
    }
}

const role role_operator = {.name = "operator",
                            .kind = ROLE_OTHER,
                            .born = operator_born,
                            .dead = operator_dead,
                            .advance = operator_advance,
                            .rest_ns = 2 * NS_PER_S};

void act_operator(sim *s)
{
    process_birth_at(process_add(s, &role_operator, "operator"), 0);
}
