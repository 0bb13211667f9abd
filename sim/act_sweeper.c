// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Sweepers of manifests: at work in every seed, two of them. */
#include "protocol/sweep.h"

#include "act.h"
#include "base/alloc.h"
#include "check.h"
#include <stdio.h>

#define PATIENCE_NS (4 * NS_PER_S)
#define PAUSE_MAX_NS (1200 * NS_PER_MS)
#define PAUSE_STORM_NS (200 * NS_PER_MS)

typedef struct sweeper {
    chain *chain;
    sweep *sweep;
    bool at_work, dry;
} sweeper;

static void born(process *p)
{
    sweeper *w = sim_alloc(sizeof *w);
    p->state = w;
    w->dry = p->sim->phase == PHASE_SAFETY && rng_below(&p->random, 8) == 0;
    const sweep_options options = {.apply = !w->dry,
                                   .blocks_max = (uint32_t)rng_below(&p->random, 4),
                                   .backoff_min_ns = NS_PER_MS,
                                   .backoff_max_ns = 100 * NS_PER_MS,
                                   .seed = rng_u64(&p->random)};
    if (chain_new(rng_u64(&p->random), NULL, &w->chain) != BW_OK ||
        sweep_new(w->chain, &options, &w->sweep) != BW_OK)
        sim_defect("no memory");
    act_rest(p, 1 + (int64_t)rng_below(&p->random, PAUSE_MAX_NS));
}

/* Between the marker and the last of its deletes? */
static bool half_done(const sim *s)
{
    const uint64_t retired = vstore_retired(s->store);
    const object *o =
        retired > 0 ? vstore_manifest(s->store, retired * s->genesis.block_size - 1) : NULL;
    return o != NULL && o->now != NULL && !check_is_ghost(s, o);
}

static void dead(process *p, bool killed)
{
    sweeper *w = p->state;
    MARK_IF(p->sim, SWEEPER_KILLED, killed && w->at_work && half_done(p->sim));
    sweep_free(w->sweep);
    chain_free(w->chain);
    mem_free(w);
}

static void advance(process *p)
{
    sweeper *w = p->state;
    sim *s = p->sim;
    if (process_busy(p) || p->timer_ns != TIME_NEVER)
        return;
    if (!w->at_work) {
        w->at_work = true;
        sweep_start(w->sweep, s->now_ns, s->now_ns + PATIENCE_NS);
        process_run(p, &sweep_machine, w->sweep, w->chain);
        return;
    }
    const sweep_report *r = sweep_reported(w->sweep);
    w->at_work = false;
    MARK_IF(s, DRY_SWEEP, w->dry && r->status == BW_OK);
    process_count_chain(p);
    if (chain_held(w->chain) != NULL)
        check_proved(p, chain_held(w->chain), r->status == BW_OK);
    s->history->sweeps += r->status == BW_OK;
    const bool early = r->status == BW_NO_NAMESPACE || r->status == BW_NOT_READY;
    if (early && p->newest_at_start > 0)
        sim_violate(s, "I3", "%s finds no namespace", p->name);
    if (w->dry && s->phase == PHASE_LIVENESS)
        process_end(p, false);
    else if (early || act_may_pass(p, r->status, &r->error))
        act_rest(p,
                 1 + (int64_t)rng_below(&p->random, s->plan.storm ? PAUSE_STORM_NS : PAUSE_MAX_NS));
}

const role role_sweeper = {.name = "sweeper",
                           .kind = ROLE_SWEEPER,
                           .born = born,
                           .dead = dead,
                           .advance = advance,
                           .rest_ns = NS_PER_S};

void act_sweeper(sim *s, uint32_t index)
{
    char name[24];
    (void)snprintf(name, sizeof name, "sweeper %u", index + 1);
    process_birth_at(process_add(s, &role_sweeper, name), 0);
}
