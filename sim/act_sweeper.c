// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Sweepers: at work in every seed, two of them. Where there are groups they run whole passes, of
 * manifests alone only in some lives. */
#include "protocol/reclaim.h"

#include "act.h"
#include "base/alloc.h"
#include "check.h"
#include <stdio.h>

#define PATIENCE_NS (4 * NS_PER_S)
#define PATIENCE_LONG_NS (30 * NS_PER_S)
#define PAUSE_MAX_NS (1200 * NS_PER_MS)
#define CACHE_BYTES 16384u
/* So many that a pass is over within its patience. */
#define THOROUGH_STEPS 60u
#define PAUSE_STORM_NS (200 * NS_PER_MS)
#define LIFE_PASSES 16u /* of a sweeper in a month: the next has other options */

typedef struct sweeper {
    chain *chain;
    sweep *sweep;
    reclaim *reclaim; /* NULL: only manifests */
    bool at_work, dry, thorough;
} sweeper;

static void begin_reclaim(process *p, sweeper *w)
{
    const reclaim_options options = {
        .apply = !w->dry,
        .orphans = w->thorough || rng_below(&p->random, 3) == 0,
        .steps_max = w->thorough ? THOROUGH_STEPS * p->sim->plan.stride
                     : rng_below(&p->random, 3) == 0
                         ? 0
                         : 1 + rng_below(&p->random, 12 * p->sim->plan.stride),
        .blocks_max = w->thorough ? 0 : (uint32_t)rng_below(&p->random, 4),
        .cache_bytes = CACHE_BYTES,
        .backoff_min_ns = NS_PER_MS,
        .backoff_max_ns = 100 * NS_PER_MS,
        .seed = rng_u64(&p->random),
        .clock = &p->clock};
    if (reclaim_new(w->chain, &options, &w->reclaim) != BW_OK)
        sim_defect("no memory");
}

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
    w->thorough = p->sim->phase != PHASE_SAFETY;
    if (p->sim->plan.groups > 0 && (w->thorough || rng_below(&p->random, 6) > 0))
        begin_reclaim(p, w);
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

/* What it asked for last. */
static void mark_death(process *p)
{
    sim *s = p->sim;
    MARK_IF(s, KILLED_AFTER_DATA, p->last_effect == KEY_PART || p->last_effect == KEY_STATE);
    MARK_IF(s, KILLED_AFTER_PAGE, p->last_effect == KEY_PAGE);
    MARK_IF(s, KILLED_AFTER_SEGMENTS, p->last_effect == KEY_SEGMENT);
    MARK_IF(s, KILLED_AFTER_MARKER, p->last_effect == KEY_MARKER);
    MARK_IF(s, KILLED_AFTER_MANIFEST, p->last_effect == KEY_MANIFEST);
}

static void dead(process *p, bool killed)
{
    sweeper *w = p->state;
    MARK_IF(p->sim, SWEEPER_KILLED, killed && w->at_work && half_done(p->sim));
    if (killed && w->at_work && w->reclaim != NULL)
        mark_death(p);
    reclaim_free(w->reclaim);
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
        if (w->reclaim != NULL) {
            reclaim_start(w->reclaim, s->now_ns,
                          s->now_ns + (w->thorough ? PATIENCE_LONG_NS : PATIENCE_NS));
            process_run(p, &reclaim_machine, w->reclaim, w->chain);
            return;
        }
        sweep_start(w->sweep, s->now_ns, s->now_ns + PATIENCE_NS);
        process_run(p, &sweep_machine, w->sweep, w->chain);
        return;
    }
    const bw_status status = w->reclaim != NULL ? reclaim_reported(w->reclaim)->status
                                                : sweep_reported(w->sweep)->status;
    const bw_error *error = w->reclaim != NULL ? &reclaim_reported(w->reclaim)->error
                                               : &sweep_reported(w->sweep)->error;
    w->at_work = false;
    MARK_IF(s, DRY_SWEEP, w->dry && status == BW_OK);
    MARK_IF(s, SWEEP_OVERTAKEN, w->reclaim != NULL && reclaim_reported(w->reclaim)->overtaken);
    process_count_chain(p);
    if (chain_held(w->chain) != NULL)
        check_proved(p, chain_held(w->chain), status == BW_OK);
    s->history->sweeps += status == BW_OK;
    const bool early = status == BW_NO_NAMESPACE || status == BW_NOT_READY;
    if (early && p->newest_at_start > 0)
        sim_violate(s, "I3", "%s finds no namespace", p->name);
    const bool unfit =
        s->phase == PHASE_LIVENESS && (w->dry || (s->plan.groups > 0 && !w->thorough));
    if (unfit || (s->plan.month && rng_below(&p->random, LIFE_PASSES) == 0))
        process_end(p, false);
    else if (early || status == BW_TIMEOUT || act_may_pass(p, status, error))
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
