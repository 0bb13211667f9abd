// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A trainer at work: goes over the steps in the place of all ranks of its job, pins what they agree
 * on, releases older checkpoints. */
#include "trainer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WORK_NS (60 * NS_PER_MS)
#define STARVED_NS (200 * NS_PER_MS)
#define STRIDES_AT_ONCE 3u

static void note_releases(sim *s, const trainer *t)
{
    for (uint32_t k = 0; k < t->drop_count; k++) {
        release_note *n = history_release(s->history);
        memcpy(n->launch, t->launch, sizeof n->launch);
        memcpy(n->id, t->dropping[k].id, sizeof n->id);
        n->nonce = t->dropping[k].nonce;
    }
}

/* So long that something is wrong. */
static int64_t starved_ns(const sim *s)
{
    return sim_pace(s, STARVED_NS) * s->plan.patience;
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
    trainer_commit(p, t);
}

static void drop(trainer *t, uint32_t k)
{
    if (t->drop_count < PINS_MAX)
        t->dropping[t->drop_count++] = t->live[k];
}

/* Where the job stands: it has nothing else to keep its place. */
static bool is_newest(const trainer *t, uint32_t k)
{
    return t->live[k].at.step == t->pinned_step && t->live[k].at.item == t->pinned_item;
}

/* Nothing comes: perhaps what is kept leaves no room. The furthest back goes; rarely all go. */
static void make_room(process *p, trainer *t)
{
    const sim *s = p->sim;
    if (t->live_count > 1 && s->now_ns >= t->idle_ns + 2 * starved_ns(s)) {
        uint32_t least = PINS_MAX;
        for (uint32_t k = 0; k < t->live_count; k++)
            if (!is_newest(t, k) &&
                (least == PINS_MAX || t->live[k].at.step < t->live[least].at.step))
                least = k;
        if (least < PINS_MAX)
            drop(t, least);
    } else if (t->live_count > 0 && rng_below(&p->random, 200 * s->plan.patience) == 0) {
        for (uint32_t k = 0; k < t->live_count; k++)
            drop(t, k);
    }
}

static void make_pin(trainer *t, const saved *from)
{
    t->pin = (pin){.id = view_text(from->id),
                   .nonce = from->nonce,
                   .step = from->at.step,
                   .item = from->at.item};
    if (cursor_hash(&from->at, &t->pin.cursor_hash) != BW_OK)
        sim_defect("no memory");
    t->makes = true;
    t->again = false;
}

/* Notes what is asked for. */
static void ask_for(sim *s, trainer *t, const saved *new)
{
    make_pin(t, new);
    pin_note *n = history_pin(s->history);
    memcpy(n->group, t->job->name, sizeof t->job->name);
    memcpy(n->launch, t->launch, sizeof n->launch);
    memcpy(n->id, new->id, sizeof n->id);
    n->nonce = new->nonce;
    n->step = t->pin.step;
    n->item = t->pin.item;
    n->hash = t->pin.cursor_hash;
    job_add(t->job, new);
}

/* The job came back from an older checkpoint and is as far as it was once: the file is there, the
 * pin too. */
static bool ask_again(process *p, trainer *t)
{
    sim *s = p->sim;
    const saved *new = &t->making;
    uint32_t k = 0;
    hash128 hash, old;
    while (k < t->live_count && strcmp(t->live[k].id, new->id) != 0)
        k++;
    if (t->in_place || k == t->live_count || rng_below(&p->random, 2) == 0)
        return false;
    if (cursor_hash(&t->live[k].at, &old) != BW_OK || cursor_hash(&new->at, &hash) != BW_OK)
        sim_defect("no memory");
    if (!hash_equal(&hash, &old))
        return false;
    t->making = t->live[k];
    t->live_count--;
    memmove(&t->live[k], &t->live[k + 1], (t->live_count - k) * sizeof *t->live);
    make_pin(t, &t->making);
    t->again = true;
    for (size_t i = 0; i < s->history->pin_count; i++) {
        pin_note *n = &s->history->pins[i];
        if (n->nonce == t->making.nonce && strcmp(n->group, t->job->name) == 0)
            memcpy(n->again, t->launch, sizeof n->again);
    }
    MARK(s, PINNED_AGAIN);
    return true;
}

/* The cursor that all ranks agree on. */
static void save(process *p, trainer *t)
{
    sim *s = p->sim;
    saved *new = &t->making;
    *new = (saved){.nonce = rng_u64(&p->random)};
    for (uint32_t d = t->dp; d > 0; d--) {
        cursor c;
        if (handout_cursor(t->handouts[d - 1], chain_held(t->chain)->version, &c) != BW_OK)
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
    if (!ask_again(p, t))
        ask_for(s, t, new);
    /* What it replaces, and what is too old. */
    const uint32_t keep = t->in_place ? 1 : t->keep;
    for (uint32_t k = 0; k < t->live_count; k++)
        if (strcmp(t->live[k].id, new->id) == 0 || k + keep <= t->live_count)
            drop(t, k);
}

/* A checkpoint from before this launch is worth keeping after all: nobody promised to. */
static bool save_old(process *p, trainer *t)
{
    job *j = t->job;
    if (j->count == 0 || p->sim->phase != PHASE_SAFETY || rng_below(&p->random, 24) > 0)
        return false;
    const saved *old = &j->saved[rng_below(&p->random, j->count)];
    if (old->at.step >= t->start_step)
        return false;
    t->making = *old;
    t->making.nonce = rng_u64(&p->random);
    (void)snprintf(t->making.id, sizeof t->making.id, "o%u.%u", (unsigned)old->at.step,
                   old->at.item);
    for (uint32_t k = 0; k < t->live_count; k++)
        if (strcmp(t->live[k].id, t->making.id) == 0)
            return false;
    ask_for(p->sim, t, &t->making);
    MARK(p->sim, PIN_OF_OLD);
    return true;
}

static bool is_dropped(const trainer *t, const saved *s)
{
    for (uint32_t k = 0; k < t->drop_count; k++)
        if (t->dropping[k].nonce == s->nonce)
            return true;
    return false;
}

void train_pinned(process *p, trainer *t)
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
    if (t->making.at.step >= t->pinned_step) {
        t->pinned_step = t->making.at.step;
        t->pinned_item = t->making.at.item;
    }
    t->makes = false;
    story(s, p, "has pin %s at step %" PRIu64 ", item %u", t->making.id, t->pin.step, t->pin.item);
    if (t->pins_left > 0 && --t->pins_left == 0 && t->job->name[0] == 'y' &&
        s->phase == PHASE_SAFETY) {
        t->job->over = true;
        p->left = !s->plan.month;
        process_end(p, false);
    }
}

/* Its launch keeps what comes after its beginning; an older checkpoint is not promised. */
void train_trimmed(process *p, trainer *t)
{
    if (t->pin.step >= t->start_step)
        sim_violate(p->sim, "G7", "%s: a pin of a launch that holds its steps is trimmed", p->name);
    MARK(p->sim, PIN_TRIMMED);
    job_drop(t->job, &t->making);
    t->makes = false;
    t->drop_count = 0;
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
    const uint32_t item = handout_item(t->handouts[0]);
    bool kept = t->live_count == 0;
    for (uint32_t k = 0; k < t->live_count; k++)
        kept |= is_newest(t, k);
    const bool moved = step != t->pinned_step || item != t->pinned_item || !kept;
    return moved && p->sim->now_ns >= t->idle_ns + starved_ns(p->sim);
}

void train(process *p, trainer *t)
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
    const bool old = t->drop_count == 0 && !pins && save_old(p, t);
    if (t->drop_count > 0 || pins || old) {
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
        t->poll_ns = s->now_ns + 1 + sim_pace(s, (int64_t)rng_below(&p->random, 2 * WORK_NS));
        trainer_walk(p, t, CHAIN_NEWEST);
        return;
    }
    act_rest(p, 1 + (int64_t)rng_below(&p->random, WORK_NS));
}
