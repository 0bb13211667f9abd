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

#define PATIENCE_NS (5 * NS_PER_S)
#define EARLY_PAUSE_NS (40 * NS_PER_MS)
#define WORK_NS (60 * NS_PER_MS)
#define STARVED_NS (200 * NS_PER_MS)
#define FENCED_PAUSE_NS (12 * NS_PER_S)
#define RIVAL_PAUSE_NS (40 * NS_PER_S)
#define POSITIONS_MAX 4u
#define STRIDES_AT_ONCE 3u
#define OLD_MAX 8u

typedef enum trainer_phase { TRAINER_WALKS, TRAINER_LAUNCHES, TRAINER_TRAINS } trainer_phase;

typedef struct trainer {
    trainer_phase phase;
    job *job;
    bool rival;
    chain *chain;
    commit *commit;
    intent intent;
    bool committing, walking, was_overdue;
    size_t attempts_from;
    char launch[NAME_TEXT];
    launch_start how;
    cursor given; /* or the template of its mesh */
    uint32_t dp;
    cursor_mode mode;
    handout *handouts[POSITIONS_MAX]; /* one for each row of the job's mesh */
    uint32_t every, keep;
    uint64_t pinned_step; /* of the newest pin, or where it began */
    uint32_t pinned_item;
    bool pins_first; /* at once, where its launch began */
    bool in_place;   /* checkpoints are overwritten: one id for all */
    int64_t idle_ns, poll_ns;
    saved live[PINS_MAX]; /* in the order in which they were made */
    uint32_t live_count;
    saved making;
    bool makes;
    pin pin;
    pin_key keys[PINS_MAX];
    saved dropping[PINS_MAX];
    uint32_t drop_count;
    uint32_t pins_left; /* until the job is over */
} trainer;

static void note_releases(sim *s, const trainer *t)
{
    for (uint32_t k = 0; k < t->drop_count; k++) {
        release_note *n = history_release(s->history);
        memcpy(n->launch, t->launch, sizeof n->launch);
        memcpy(n->id, t->dropping[k].id, sizeof n->id);
        n->nonce = t->dropping[k].nonce;
    }
}

/* ---- birth and death ---- */

static void begin_walk(process *p, trainer *t, chain_goal goal)
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
    const commit_options options = {.backoff_min_ns = NS_PER_MS,
                                    .backoff_max_ns = 200 * NS_PER_MS,
                                    .seed = rng_u64(&p->random),
                                    .clock = &p->clock};
    if (chain_new(rng_u64(&p->random), NULL, &t->chain) != BW_OK ||
        commit_new(t->chain, &options, &t->commit) != BW_OK)
        sim_defect("no memory");
    (void)snprintf(t->launch, sizeof t->launch, "l%u-%u", p->index, p->life);
    t->every = 1 + (uint32_t)rng_below(&p->random, 5);
    t->keep = 1 + (uint32_t)rng_below(&p->random, 3);
    t->in_place = rng_below(&p->random, 4) == 0;
    t->pins_first = rng_below(&p->random, 4) == 0;
    t->pins_left = rng_below(&p->random, 6) == 0 ? 3 + (uint32_t)rng_below(&p->random, 20) : 0;
    begin_walk(p, t, CHAIN_OPEN);
}

static void dead(process *p, bool killed)
{
    trainer *t = p->state;
    if (killed && t->committing && t->makes) {
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
        MARK_IF(s, ROLLBACK_IN_SWEEP, back > 0 && sweep_at_work(s));
    } else if (j->count > 0 && rng_below(&p->random, 4) == 0) {
        from = &j->saved[rng_below(&p->random, j->count)]; /* nobody promised to keep it */
    }
    if (from != NULL) {
        t->how = LAUNCH_CURSOR;
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

static void begin_commit(process *p, trainer *t)
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
        begin_commit(p, t);
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
    begin_commit(p, t);
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
    t->pinned_step = handout_step(t->handouts[0]);
    t->pinned_item = handout_item(t->handouts[0]);
    t->phase = TRAINER_TRAINS;
    t->idle_ns = s->now_ns;
    p->moved = true;
}

/* ---- pins ---- */

static void begin_pin(process *p, trainer *t)
{
    sim *s = p->sim;
    t->intent = (intent){.kind = INTENT_PIN};
    t->intent.pin.group = view_text(t->job->name);
    t->intent.pin.launch = view_text(t->launch);
    t->intent.pin.pin = t->makes ? &t->pin : NULL;
    for (uint32_t k = 0; k < t->drop_count; k++)
        t->keys[k] = (pin_key){view_text(t->dropping[k].id), t->dropping[k].nonce};
    t->intent.pin.releases = t->keys;
    t->intent.pin.release_count = t->drop_count;
    note_releases(s, t);
    story(s, p, "asks for a pin at step %" PRIu64 ", %u releases", t->pin.step, t->drop_count);
    begin_commit(p, t);
}

static void drop(trainer *t, uint32_t k)
{
    if (t->drop_count < PINS_MAX)
        t->dropping[t->drop_count++] = t->live[k];
}

/* Nothing comes: perhaps what is kept leaves no room. The oldest checkpoint goes; rarely all go. */
static void make_room(process *p, trainer *t)
{
    const sim *s = p->sim;
    if (t->live_count > 1 && s->now_ns >= t->idle_ns + 2 * STARVED_NS) {
        drop(t, 0);
    } else if (t->live_count > 0 && rng_below(&p->random, 200) == 0) {
        for (uint32_t k = 0; k < t->live_count; k++)
            drop(t, k);
    }
}

/* The cursor that all ranks agree on. */
static void save(process *p, trainer *t)
{
    sim *s = p->sim;
    saved *new = &t->making;
    *new = (saved){.nonce = rng_u64(&p->random)};
    for (uint32_t d = t->dp; d > 0; d--) {
        cursor c;
        if (handout_cursor(t->handouts[d - 1], chain_held(t->chain), &c) != BW_OK)
            sim_defect("a cursor that cannot be");
        c.version = 0;
        if (d < t->dp && (c.step != new->at.step || c.item != new->at.item))
            sim_violate(s, "I11",
                        "%s: the ranks of one job stand at steps %" PRIu64 " and %" PRIu64, p->name,
                        c.step, new->at.step);
        new->at = c;
        cursor_free(&c);
    }
    new->at.skips = NULL;
    new->at.skip_count = 0;
    if (t->in_place)
        (void)snprintf(new->id, sizeof new->id, "last");
    else
        (void)snprintf(new->id, sizeof new->id, "c%" PRIu64 ".%u", new->at.step, new->at.item);
    t->pin = (pin){
        .id = view_text(new->id), .nonce = new->nonce, .step = new->at.step, .item = new->at.item};
    if (cursor_hash(&new->at, &t->pin.cursor_hash) != BW_OK)
        sim_defect("no memory");
    pin_note *n = history_pin(s->history);
    memcpy(n->group, t->job->name, sizeof t->job->name);
    memcpy(n->launch, t->launch, sizeof n->launch);
    memcpy(n->id, new->id, sizeof n->id);
    n->nonce = new->nonce;
    n->step = t->pin.step;
    n->item = t->pin.item;
    n->hash = t->pin.cursor_hash;
    t->makes = true;
    job_add(t->job, new);
    /* What it replaces, and what is too old. */
    const uint32_t keep = t->in_place ? 1 : t->keep;
    for (uint32_t k = 0; k < t->live_count; k++)
        if (strcmp(t->live[k].id, new->id) == 0 || k + keep <= t->live_count)
            drop(t, k);
}

static bool is_dropped(const trainer *t, const saved *s)
{
    for (uint32_t k = 0; k < t->drop_count; k++)
        if (t->dropping[k].nonce == s->nonce)
            return true;
    return false;
}

static void pinned(process *p, trainer *t)
{
    sim *s = p->sim;
    uint32_t left = 0;
    for (uint32_t k = 0; k < t->live_count; k++)
        if (!is_dropped(t, &t->live[k]))
            t->live[left++] = t->live[k];
    t->live_count = left;
    for (uint32_t k = 0; k < t->drop_count; k++)
        if (rng_below(&p->random, 3) > 0) /* sometimes the file is forgotten */
            job_drop(t->job, &t->dropping[k]);
    t->drop_count = 0;
    if (!t->makes)
        return;
    check_pinned(p, t->job->name, t->making.nonce);
    t->live[t->live_count++] = t->making;
    t->pinned_step = t->making.at.step;
    t->pinned_item = t->making.at.item;
    t->makes = false;
    story(s, p, "has pin %s at step %" PRIu64 ", item %u", t->making.id, t->pin.step, t->pin.item);
    if (t->pins_left > 0 && --t->pins_left == 0 && t->job->name[0] == 'y' &&
        s->phase == PHASE_SAFETY) {
        t->job->over = true;
        p->left = true;
        process_end(p, false);
    }
}

/* ---- ends of commits ---- */

static void refused(process *p, trainer *t, const commit_report *r)
{
    sim *s = p->sim;
    const bool launches = t->intent.kind == INTENT_LAUNCH;
    const uint64_t step = launches ? t->given.step : t->pin.step;
    story(s, p, "is refused: %s", r->error.message);
    if (!r->open_unknown && t->makes)
        check_pin_lost(p, t->job->name, t->making.nonce);
    if (r->open_unknown && t->makes)
        t->making.in_doubt = true;
    if (check_refused(p, r->status, t->job->name, t->launch, step)) {
        MARK_IF(s, LAUNCH_FENCED, launches && r->status == BW_FENCED);
        MARK_IF(s, LAUNCH_TRIMMED, launches && r->status == BW_TRIMMED);
        MARK_IF(s, PIN_FENCED, !launches && r->status == BW_FENCED);
        MARK_IF(s, GROUP_GONE, r->status == BW_GROUP_GONE);
        if (r->status == BW_TRIMMED && !launches)
            sim_violate(s, "G7", "%s: a pin of a launch that holds its steps is trimmed", p->name);
        if (r->status == BW_TRIMMED)
            t->job->count = 0;
        if (r->status == BW_FENCED)
            p->rest_ns = FENCED_PAUSE_NS;
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
    check_ended(p, t->attempts_from, r->end == COMMIT_DONE ? r->version : 0,
                r->open_unknown ? &r->nonce : NULL);
    if (r->end == COMMIT_LOST)
        begin_commit(p, t);
    else if (r->end != COMMIT_DONE)
        refused(p, t, r);
    else if (t->phase == TRAINER_LAUNCHES)
        launched(p, t, r);
    else
        pinned(p, t);
    p->moved = true;
}

/* ---- training ---- */

/* How far the job may go: what is committed, and what its rank has read. */
static uint64_t horizon(const trainer *t)
{
    const uint64_t next = chain_held(t->chain)->next;
    return t->job->has_rank && t->job->rank_step < next ? t->job->rank_step : next;
}

static uint32_t items_of(const sim *s, uint64_t step)
{
    return model_of(s)->steps[step].tgb->items;
}

/* One item of each rank, or where steps are shared out a whole training step. False: not all of it
 * is there. */
static bool train_once(const sim *s, trainer *t)
{
    for (uint32_t d = 0; d < t->dp; d++)
        if (handout_last(t->handouts[d], handout_reading(t->handouts[d])) >= horizon(t))
            return false;
    for (uint32_t d = 0; d < t->dp; d++) {
        handout *h = t->handouts[d];
        const uint64_t before = handout_step(h);
        do {
            const uint64_t reads = handout_reading(h);
            handout_advance(h, items_of(s, reads), model_of(s)->steps[reads].tgb->nonce);
        } while (t->mode == MODE_SCALE_BATCH && handout_step(h) == before);
    }
    return true;
}

static bool wants_pin(const process *p, const trainer *t)
{
    const uint64_t step = handout_step(t->handouts[0]);
    if (step >= t->pinned_step + t->every)
        return true;
    if (t->pins_first)
        return true;
    const bool moved = step != t->pinned_step || handout_item(t->handouts[0]) != t->pinned_item;
    return moved && p->sim->now_ns >= t->idle_ns + STARVED_NS;
}

static void train(process *p, trainer *t)
{
    sim *s = p->sim;
    /* Mostly a zombie learns it by its next pin; with no rank to follow it there is none. */
    const group *g = manifest_group(chain_held(t->chain), view_text(t->job->name));
    const bool lost = g == NULL || !view_equal(g->launch, view_text(t->launch));
    if (t->job->rank_died || (lost && s->phase == PHASE_LIVENESS)) {
        process_end(p, false); /* all ranks start again */
        return;
    }
    uint64_t strides = 1 + rng_below(&p->random, STRIDES_AT_ONCE);
    while (strides > 0 && train_once(s, t)) {
        strides--;
        t->idle_ns = s->now_ns;
    }
    const bool pins = wants_pin(p, t);
    if (t->drop_count == 0 && !pins)
        make_room(p, t);
    if (t->drop_count > 0 || pins) {
        if (pins)
            save(p, t);
        t->pins_first = false;
        begin_pin(p, t);
        return;
    }
    if (s->phase == PHASE_LIVENESS && !t->rival && horizon(t) == chain_held(t->chain)->next &&
        handout_at_end(t->handouts[0], chain_held(t->chain)) &&
        handout_step(t->handouts[0]) == t->pinned_step) {
        p->left = true;
        process_end(p, false);
        return;
    }
    if (t->poll_ns <= s->now_ns) {
        t->poll_ns = s->now_ns + 1 + (int64_t)rng_below(&p->random, 2 * WORK_NS);
        begin_walk(p, t, CHAIN_NEWEST);
        return;
    }
    act_rest(p, 1 + (int64_t)rng_below(&p->random, WORK_NS));
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
    if (t->job->over || (t->rival && p->sim->phase == PHASE_LIVENESS)) {
        p->left = true;
        process_end(p, false);
    } else if (t->phase == TRAINER_TRAINS) {
        train(p, t);
    } else if (chain_held(t->chain) == NULL) {
        begin_walk(p, t, CHAIN_OPEN);
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
