// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The committing rank of a training job: launches its group, goes over the steps in the place of
 * all its ranks, pins what they agree on, releases older checkpoints; comes back from one of them
 * with another launch, sometimes of another mesh. A rival does the same for the same group. */
#include "trainer.h"

#include "base/alloc.h"
#include "protocol/commit.h"
#include "protocol/handout.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SALT_TIP 300u
#define PATIENCE_NS (5 * NS_PER_S)
#define EARLY_PAUSE_NS (40 * NS_PER_MS)
#define FENCED_PAUSE_NS (12 * NS_PER_S)
#define RIVAL_PAUSE_NS (40 * NS_PER_S)

/* ---- birth and death ---- */

void trainer_walk(process *p, trainer *t, chain_goal goal)
{
    t->walking = true;
    chain_start(t->chain, goal, p->sim->now_ns);
    process_run(p, &chain_machine, t->chain, t->chain);
}

static job *job_of(const process *p)
{
    return p->sim->jobs[p->name[8] - '1'];
}

static void born(process *p)
{
    trainer *t = sim_alloc(sizeof *t);
    p->state = t;
    t->job = job_of(p);
    t->rival = p->name[9] != '\0';
    act_committer(p, &t->chain, &t->commit);
    (void)snprintf(t->launch, sizeof t->launch, "l%u-%u", p->index, p->life);
    memcpy(p->launch, t->launch, sizeof p->launch);
    t->every = (1 + (uint32_t)rng_below(&p->random, 5)) * p->sim->plan.stride;
    t->keep = (1 + (uint32_t)rng_below(&p->random, 3)) * (p->sim->plan.month ? 2 : 1);
    t->in_place = rng_below(&p->random, 4) == 0;
    t->pins_first = rng_below(&p->random, 4) == 0;
    t->pins_left = rng_below(&p->random, p->sim->plan.month ? 2 : 6) == 0
                       ? 3 + (uint32_t)rng_below(&p->random, 20)
                       : 0;
    trainer_walk(p, t, CHAIN_OPEN);
}

static void dead(process *p, bool killed)
{
    trainer *t = p->state;
    if (killed && t->committing && t->makes && !t->again) {
        MARK(p->sim, PIN_IN_DOUBT);
        saved *s = job_find(t->job, &t->making);
        if (s != NULL)
            s->in_doubt = true;
    }
    for (uint32_t d = 0; d < POSITIONS_MAX; d++)
        handout_free(t->handouts[d]);
    commit_free(t->commit);
    chain_free(t->chain);
    mem_free(t);
}

/* ---- the launch ---- */

typedef struct mesh_choice {
    cursor_mode mode;
    uint32_t dp;
} mesh_choice;

/* Sometimes another mesh, where the cursor stands at a boundary of both. */
static void choose_mesh(process *p, trainer *t, const cursor *from)
{
    const uint32_t made_for = p->sim->genesis.dp;
    const mesh_choice choices[] = {{MODE_SAME_BATCH, made_for},
                                   {MODE_SAME_BATCH, 1},
                                   {MODE_SCALE_BATCH, 1},
                                   {MODE_SCALE_BATCH, 2 * made_for}};
    rescale r;
    uint32_t item;
    mesh_choice c = choices[0];
    if (rng_below(&p->random, 3) == 0)
        c = choices[rng_below(&p->random, sizeof choices / sizeof *choices)];
    if (from != NULL) {
        if (rescale_find(c.mode, made_for, c.dp, &r, NULL) != BW_OK ||
            rescale_resume(&r, from, &item, NULL) != BW_OK)
            c = (mesh_choice){from->mode, from->dp};
        MARK_IF(p->sim, LAUNCH_OTHER_MESH, c.mode != from->mode || c.dp != from->dp);
    }
    t->mode = c.mode;
    t->dp = c.dp;
}

static const pin *chain_pin(const group *g, const saved *s)
{
    for (uint32_t k = 0; g != NULL && k < g->pin_count; k++)
        if (g->pins[k].nonce == s->nonce)
            return &g->pins[k];
    return NULL;
}

static bool sweep_at_work(const sim *s)
{
    for (uint32_t i = 0; i < s->process_count; i++)
        if (s->processes[i]->role == &role_sweeper && process_busy(s->processes[i]))
            return true;
    return false;
}

/* The newest checkpoint, or an older one; without any, somewhere. */
static void choose_start(process *p, trainer *t, const group *g)
{
    sim *s = p->sim;
    const job *j = t->job;
    const saved *found[SAVED_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < j->count; i++)
        if (chain_pin(g, &j->saved[i]) != NULL)
            found[count++] = &j->saved[i];
    t->how = LAUNCH_EARLIEST;
    const saved *from = NULL;
    if (count > 0) {
        const uint64_t back = rng_below(&p->random, 3) == 0 ? rng_below(&p->random, count) : 0;
        from = found[count - 1 - back];
        MARK_IF(s, ROLLBACK_OF_JOB, back > 0);
        MARK_IF(s, ROLLBACK_IN_SWEEP, back > 0 && sweep_at_work(s));
    } else if (j->count > 0 && rng_below(&p->random, 4) == 0) {
        from = &j->saved[rng_below(&p->random, j->count)]; /* nobody promised to keep it */
    }
    if (from != NULL) {
        /* What was made meanwhile is stale, at times. */
        const uint64_t life = (uint64_t)p->index << 32 | p->life;
        const bool tip = from->at.item == 0 && sim_draw_below(s, SALT_TIP, life, 6) == 0;
        t->how = tip ? LAUNCH_TIP : LAUNCH_CURSOR;
        t->given = from->at;
        choose_mesh(p, t, &from->at);
        return;
    }
    static const launch_start starts[] = {LAUNCH_EARLIEST, LAUNCH_LATEST, LAUNCH_GROUP};
    t->how = starts[rng_below(&p->random, 3)];
    choose_mesh(p, t, NULL);
    t->given = (cursor){.mode = t->mode, .dp = t->dp};
    memcpy(t->given.uuid, s->genesis.uuid, UUID_BYTES);
}

void trainer_commit(process *p, trainer *t)
{
    sim *s = p->sim;
    t->committing = true;
    t->was_overdue = false;
    t->attempts_from = s->history->attempt_count;
    commit_start(t->commit, &t->intent, view_text(t->launch), s->now_ns, s->now_ns + PATIENCE_NS);
    process_run(p, &commit_machine, t->commit, t->chain);
}

static void begin_launch(process *p, trainer *t)
{
    sim *s = p->sim;
    const group *g = manifest_group(chain_held(t->chain), view_text(t->job->name));
    t->phase = TRAINER_LAUNCHES;
    if (t->intent.launch.name.size > 0) { /* again, by the same call */
        trainer_commit(p, t);
        return;
    }
    choose_start(p, t, g);
    t->intent = (intent){.kind = INTENT_LAUNCH};
    t->intent.launch.name = view_text(t->job->name);
    t->intent.launch.launch = view_text(t->launch);
    t->intent.launch.start = t->how;
    t->intent.launch.cursor = &t->given;
    launch_note *n = history_launch(s->history);
    n->process = p->index;
    n->life = p->life;
    n->start = t->how;
    n->cursor_step = t->given.step;
    n->cursor_item = t->given.item;
    memcpy(n->group, t->job->name, sizeof t->job->name);
    memcpy(n->launch, t->launch, sizeof n->launch);
    n->base_there = g != NULL;
    if (g != NULL) {
        n->base_number = g->launch_number;
        memcpy(n->base_launch, g->launch.data, g->launch.size);
    }
    trainer_commit(p, t);
}

/* Checkpoints that the chain has are kept; the others are no checkpoints; pins of no checkpoint are
 * given back. */
static void reconcile(process *p, trainer *t, const group *g)
{
    sim *s = p->sim;
    job *j = t->job;
    for (uint32_t i = j->count; i > 0; i--) {
        saved *at = &j->saved[i - 1];
        const bool there = chain_pin(g, at) != NULL;
        MARK_IF(s, PIN_DOUBT_WITNESSED, at->in_doubt && there);
        MARK_IF(s, PIN_DOUBT_GONE, at->in_doubt && !there);
        at->in_doubt = false;
        if (there)
            t->live[t->live_count++] = *at;
        else if (rng_below(&p->random, 4) > 0)
            job_drop(j, &(saved){.nonce = at->nonce});
    }
    for (uint32_t i = 0; i < t->live_count / 2; i++) {
        const saved other = t->live[i];
        t->live[i] = t->live[t->live_count - 1 - i];
        t->live[t->live_count - 1 - i] = other;
    }
    t->drop_count = 0;
    for (uint32_t k = 0; k < g->pin_count; k++) {
        saved gone = {.nonce = g->pins[k].nonce};
        if (job_find(j, &gone) != NULL)
            continue;
        memcpy(gone.id, g->pins[k].id.data, g->pins[k].id.size);
        t->dropping[t->drop_count++] = gone;
        MARK(s, PIN_RECONCILED);
    }
}

static bool open_handouts(process *p, trainer *t, const cursor *at)
{
    sim *s = p->sim;
    bw_error error;
    for (uint32_t d = 0; d < t->dp; d++) {
        const position where = {d, 0};
        bw_status status =
            handout_new(chain_genesis(t->chain), where, t->dp, t->mode, &t->handouts[d], &error);
        if (status == BW_OK)
            status = handout_resume(t->handouts[d], chain_held(t->chain), at, &error);
        if (status != BW_OK) {
            sim_violate(s, "G7", "%s cannot go on where its launch began: %s", p->name,
                        error.message);
            return false;
        }
    }
    return true;
}

static void launched(process *p, trainer *t, const commit_report *r)
{
    sim *s = p->sim;
    job *j = t->job;
    const manifest *m = chain_held(t->chain);
    const group *g = manifest_group(m, view_text(j->name));
    check_launched(p, t->launch, r->result.start_step, r->result.start_item);
    if (g == NULL || !view_equal(g->launch, view_text(t->launch))) {
        process_end(p, false); /* another took over already */
        return;
    }
    cursor at = t->given;
    at.step = r->result.start_step;
    at.item = r->result.start_item;
    at.has_nonce &= t->how == LAUNCH_CURSOR;
    story(s, p, "launches %s as %s at step %" PRIu64 ", item %u, dp %u", j->name, t->launch,
          at.step, at.item, t->dp);
    if (!open_handouts(p, t, &at))
        return;
    reconcile(p, t, g);
    if (r->version > j->launch_version) { /* else told late: the ranks are another's already */
        j->launches++;
        j->launch_version = r->version;
        memcpy(j->launch, t->launch, sizeof j->launch);
        j->how = t->how;
        j->given = t->given;
        j->start = at;
        j->rank_died = false;
        j->rank_step = 0;
    }
    t->start_step = at.step;
    t->pinned_step = handout_step(t->handouts[0]);
    t->pinned_item = handout_item(t->handouts[0]);
    t->phase = TRAINER_TRAINS;
    t->idle_ns = s->now_ns;
    p->moved = true;
}

/* ---- ends of commits ---- */

static void refused(process *p, trainer *t, const commit_report *r)
{
    sim *s = p->sim;
    const bool launches = t->intent.kind == INTENT_LAUNCH;
    const uint64_t step = launches ? t->given.step : t->pin.step;
    story(s, p, "is refused: %s", r->error.message);
    if (!r->open_unknown && t->makes && !t->again)
        check_pin_lost(p, t->job->name, t->making.nonce);
    if (r->open_unknown && t->makes)
        t->making.in_doubt = true;
    if (check_refused(p, r->status, t->job->name, t->launch, step)) {
        MARK_IF(s, LAUNCH_FENCED, launches && r->status == BW_FENCED);
        MARK_IF(s, LAUNCH_TRIMMED, launches && r->status == BW_TRIMMED);
        MARK_IF(s, PIN_FENCED, !launches && r->status == BW_FENCED);
        MARK_IF(s, GROUP_GONE, r->status == BW_GROUP_GONE);
        if (r->status == BW_TRIMMED && !launches) {
            train_trimmed(p, t);
            return;
        }
        if (r->status == BW_TRIMMED)
            t->job->count = 0;
        if (r->status == BW_FENCED)
            p->rest_ns = FENCED_PAUSE_NS * s->plan.patience;
        p->left = s->phase == PHASE_LIVENESS && t->rival;
        process_end(p, false);
        return;
    }
    /* A newest pin in the middle of a step, and no checkpoint of it. */
    if (launches && t->how == LAUNCH_GROUP && r->status == BW_CURSOR_INVALID)
        process_end(p, false);
    else if (launches && r->status == BW_BEYOND_END && t->given.step > 0)
        sim_violate(s, "I4", "%s: step %" PRIu64 " was there", p->name, t->given.step);
    else if (act_may_pass(p, r->status, &r->error))
        process_end(p, false);
}

static void commit_over(process *p, trainer *t)
{
    sim *s = p->sim;
    const commit_report *r = commit_reported(t->commit);
    if (r->overdue && !t->was_overdue) {
        t->was_overdue = true;
        MARK(s, OVERDUE);
        if (s->phase == PHASE_SAFETY && rng_below(&p->random, 2) == 0) {
            process_end(p, true); /* its user gives up */
            return;
        }
    }
    if (process_busy(p))
        return;
    t->committing = false;
    p->machine = (machine){0};
    process_count_chain(p);
    if (chain_held(t->chain) != NULL)
        check_proved(p, chain_held(t->chain), false);
    check_ended(p, t->attempts_from, r, true);
    if (r->end == COMMIT_LOST)
        trainer_commit(p, t);
    else if (r->end != COMMIT_DONE)
        refused(p, t, r);
    else if (t->phase == TRAINER_LAUNCHES)
        launched(p, t, r);
    else
        train_pinned(p, t);
    p->moved = true;
}

static void walked(process *p, trainer *t)
{
    sim *s = p->sim;
    bw_error error;
    const bw_status status = chain_result(t->chain, &error);
    t->walking = false;
    process_count_chain(p);
    p->machine = (machine){0};
    if (chain_held(t->chain) != NULL)
        check_proved(p, chain_held(t->chain), status == BW_OK);
    if (status == BW_OK)
        return;
    MARK_IF(s, NOT_READY, status == BW_NOT_READY);
    if (status != BW_NO_NAMESPACE && status != BW_NOT_READY)
        (void)act_may_pass(p, status, &error);
    else if (p->newest_at_start > 0)
        sim_violate(s, "I3", "%s finds no namespace", p->name);
    act_rest(p, EARLY_PAUSE_NS);
}

/* Where jobs follow each other: the next begins when the group of the one before is removed. */
static void begin_job(process *p, trainer *t)
{
    const manifest *m = chain_held(t->chain);
    if (m != NULL && t->phase == TRAINER_WALKS &&
        manifest_group(m, view_text(t->job->name)) == NULL) {
        t->job->over = false;
        t->job->count = 0;
        p->moved = true;
        p->sim->history->jobs++;
        return;
    }
    p->rest_ns = FENCED_PAUSE_NS;
    process_end(p, false);
}

static void advance(process *p)
{
    trainer *t = p->state;
    if (p->timer_ns != TIME_NEVER && !t->committing)
        return;
    if (t->committing) {
        commit_over(p, t);
        return;
    }
    if (process_busy(p))
        return;
    if (t->walking)
        walked(p, t);
    if (p->timer_ns != TIME_NEVER || p->sim->violated)
        return;
    if (t->job->over && p->sim->plan.month && p->sim->phase == PHASE_SAFETY) {
        begin_job(p, t);
    } else if (t->job->over || (t->rival && p->sim->phase == PHASE_LIVENESS)) {
        p->left = true;
        process_end(p, false);
    } else if (t->phase == TRAINER_TRAINS) {
        train(p, t);
    } else if (chain_held(t->chain) == NULL) {
        trainer_walk(p, t, CHAIN_OPEN);
    } else {
        begin_launch(p, t);
    }
}

const role role_trainer = {.name = "trainer",
                           .kind = ROLE_OTHER,
                           .born = born,
                           .dead = dead,
                           .advance = advance,
                           .rest_ns = 700 * NS_PER_MS};

void act_trainers(sim *s)
{
    for (uint32_t i = 0; i < s->plan.groups; i++) {
        char name[24];
        (void)snprintf(name, sizeof name, "trainer %u", i + 1);
        process_birth_at(process_add(s, &role_trainer, name),
                         (int64_t)rng_below(&s->random, (i == 0 ? 2 : 15) * NS_PER_S));
        (void)snprintf(name, sizeof name, "trainer %u′", i + 1);
        if (s->plan.group_rivals)
            process_birth_at(process_add(s, &role_trainer, name),
                             (int64_t)rng_below(&s->random, RIVAL_PAUSE_NS));
    }
}

bool trainer_settled(const sim *s, const process **who)
{
    for (uint32_t i = 0; i < s->process_count; i++) {
        *who = s->processes[i];
        if ((*who)->role == &role_trainer && !(*who)->left && (*who)->name[9] == '\0' &&
            !s->jobs[(*who)->name[8] - '1']->over)
            return false;
    }
    for (uint32_t i = 0; i < s->plan.groups; i++)
        if (s->jobs[i]->over &&
            manifest_group(model_of(s)->last, view_text(s->jobs[i]->name)) != NULL)
            return false;
    return true;
}
