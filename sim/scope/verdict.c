// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict.h"

#include "arena.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char violation[256];

void verdict_begin(void)
{
    violation[0] = '\0';
}

bool violated(void)
{
    return violation[0] != '\0';
}

const char *world_violation(void)
{
    return violation;
}

void violate(const char *format, ...)
{
    va_list args;
    if (violated())
        return;
    va_start(args, format);
    (void)vsnprintf(violation, sizeof violation, format, args);
    va_end(args);
}

static uint32_t block_of(uint32_t version)
{
    return version / contents_genesis()->block_size;
}

static bool on_chain(const world *w, uint32_t number)
{
    const content *c = contents_at(number), *head = contents_at(w->head);
    return c->version > 0 && c->version <= head->version && head->chain[c->version] == number;
}

static bool has_batch(const content *c, uint64_t nonce)
{
    for (uint32_t i = 0; i < c->step_count; i++)
        if (c->steps[i].nonce == nonce)
            return true;
    return false;
}

/* ---- the store ---- */

/* Batches of those who were told that they are definitely not published. */
static void check_denied(const world *w, const content *c)
{
    for (uint32_t p = 0; p < PROCESSES; p++) {
        if (w->local[p] == 0)
            continue;
        const actor_face *f = locals_face(w->local[p]);
        if (!f->denied)
            continue;
        for (uint64_t seq = f->acked + 1; seq <= world_planned()->commits[f->id]; seq++)
            if (has_batch(c, batch_nonce(f->id, f->life, seq)))
                violate("I7: batch %u of %c was reported as definitely not published, and is",
                        (unsigned)seq, 'a' + f->id);
    }
}

void verdict_extended(const world *w, uint32_t number)
{
    const content *c = contents_at(number);
    if (c->fault[0] != '\0')
        violate("%s", c->fault);
    if (c->base != w->head)
        violate("I2: version %u does not follow the one before it", c->version);
    if ((w->markers & 1u << block_of(c->version)) != 0)
        violate("I16: version %u is made in a retired block", c->version);
    for (uint32_t i = 0; i < LOST_MAX; i++)
        if (w->lost[i] == number)
            violate("I7: version %u was reported as definitely not made, and is", c->version);
    for (uint32_t i = 0; i < c->ref_count; i++) {
        bool there = false;
        for (uint32_t k = 0; k < SEGMENTS_MAX; k++)
            there |= c->refs[i] != 0 && w->segments[k] == c->refs[i];
        if (!there)
            violate("I1: version %u refers to a segment that is not stored", c->version);
    }
    check_denied(w, c);
}

void verdict_ghost(const world *w, uint32_t number)
{
    const content *c = contents_at(number);
    if ((w->markers & 1u << block_of(c->version)) == 0)
        violate("I16: version %u has another content, and its block is not retired", c->version);
}

void verdict_marked(const world *w, uint32_t retired)
{
    if (retired > 0 && (w->markers & 1u << (retired - 1)) == 0)
        violate("I17: block %u is retired before the one below it", retired);
    if (retired + 1 >= block_of(contents_at(w->head)->version))
        violate("R8: block %u is retired, and the newest version is %u", retired,
                contents_at(w->head)->version);
}

void verdict_deleted(const world *w, uint32_t version)
{
    if ((w->markers & 1u << block_of(version)) == 0)
        violate("R8: version %u is deleted, and its block has no marker", version);
}

/* ---- what processes are told ---- */

static void judge_held(const world *w, const actor_face *f)
{
    if (f->held != 0 && !on_chain(w, f->held))
        violate("R8: what it takes for proved is not on the chain: version %u",
                contents_at(f->held)->version);
}

static void judge_opened(const world *w, const actor_face *f, const told *t)
{
    const id_note *e = &contents_at(w->head)->ids[f->id];
    if (t->a > EPOCHS_MAX || !e->known || e->epoch < t->a)
        violate("R1: an open is told epoch %u, and the chain is at %u", t->a, e->epoch);
    else if (e->opened[t->a] != t->b)
        violate("R1: an open is told seq %u, and its epoch began at %u", t->b,
                (unsigned)e->opened[t->a]);
}

static void judge_acked(const world *w, const actor_face *f, const told *t)
{
    const content *head = contents_at(w->head);
    if (t->b > world_planned()->commits[f->id]) {
        violate("I6: it was told of batches that it never staged");
        return;
    }
    for (uint64_t seq = 1; seq <= t->b; seq++) {
        bool there = false;
        for (uint32_t life = 1; life < 2 * LIVES && !there; life++)
            there = has_batch(head, batch_nonce(f->id, life, seq));
        if (!there)
            violate("I6: batch %u of %c is acknowledged, and is not on the chain", (unsigned)seq,
                    'a' + f->id);
    }
}

static void judge_refused(const world *w, const actor_face *f, const told *t)
{
    const content *head = contents_at(w->head);
    const id_note *e = &head->ids[f->id];
    if (t->a == BW_FENCED && f->epoch > 0 && e->epoch <= f->epoch)
        violate("R7: %c is told FENCED at epoch %u, and the chain is at %u", 'a' + f->id, f->epoch,
                e->epoch);
    if (t->a == BW_FENCED && f->epoch == 0 && !e->known)
        violate("R7: an open of %c is told FENCED, and nobody else opened it", 'a' + f->id);
    if (t->a == BW_FINISHED && !e->finished)
        violate("R10: %c is told FINISHED, and has not", 'a' + f->id);
    if (t->a == BW_SEALED && !head->sealed)
        violate("R10: %c is told SEALED, and it is not", 'a' + f->id);
    if (t->a != BW_FENCED && t->a != BW_FINISHED && t->a != BW_SEALED)
        violate("G10: %c is refused: %s", 'a' + f->id, bw_status_name((bw_status)t->a));
    if (t->b != 0)
        check_denied(w, head);
}

/* A failure that may pass is explained by a fault; any other by nothing. */
static void judge_failed(const actor_face *f, const told *t)
{
    const bw_status status = (bw_status)t->a;
    const bool passes = status == BW_IO || status == BW_UNKNOWN;
    if (status != BW_OK && (!passes || !f->troubled))
        violate("G10: a process fails: %s", bw_status_name(status));
}

static void judge_lost(world *w, uint32_t number)
{
    const content *c = contents_at(number);
    if (on_chain(w, number)) {
        violate("I7: version %u is reported as definitely not made, and is", c->version);
    } else if (c->version > contents_at(w->head)->version) {
        uint32_t at = 0;
        while (at < LOST_MAX && w->lost[at] != 0 && w->lost[at] < number)
            at++;
        if (at < LOST_MAX && w->lost[at] == number)
            return;
        if (w->lost[LOST_MAX - 1] != 0)
            scope_defect("too many lost attempts");
        memmove(w->lost + at + 1, w->lost + at, (LOST_MAX - 1 - at) * sizeof w->lost[0]);
        w->lost[at] = number;
    }
}

static void judge_told(world *w, const actor_face *f, const told *t)
{
    switch (t->kind) {
    case TOLD_OPENED:
        judge_opened(w, f, t);
        break;
    case TOLD_ACKED:
        judge_acked(w, f, t);
        break;
    case TOLD_REBUILT:
        violate("R6: another candidate is made while the one for version %u is open",
                contents_at(t->b)->version);
        break;
    case TOLD_MADE:
        if (!on_chain(w, t->a))
            violate("I6: version %u is taken for made, and is not", contents_at(t->a)->version);
        break;
    case TOLD_LOST:
        judge_lost(w, t->a);
        break;
    case TOLD_REFUSED:
        judge_refused(w, f, t);
        break;
    default:
        judge_failed(f, t);
    }
}

void verdict_answered(world *w, uint32_t process, const answer *a)
{
    const told *heard;
    uint32_t count;
    w->local[process] = locals_answer(w->local[process], a, &heard, &count);
    const actor_face *f = locals_face(w->local[process]);
    judge_held(w, f);
    for (uint32_t i = 0; i < count && !violated(); i++)
        judge_told(w, f, &heard[i]);
}

void verdict_settle(world *w)
{
    const uint32_t version = contents_at(w->head)->version;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < LOST_MAX; i++) {
        const uint32_t number = w->lost[i];
        w->lost[i] = 0;
        if (number != 0 && contents_at(number)->version > version)
            w->lost[kept++] = number;
    }
}

/* ---- the end ---- */

bool world_judge_end(const world *w)
{
    const content *head = contents_at(w->head);
    const world_plan *plan = world_planned();
    verdict_begin();
    for (uint32_t p = 0; p < PROCESSES; p++)
        if (w->local[p] != 0 && locals_face(w->local[p])->end == ACTOR_RUNS)
            violate("G11: a process waits for ever");
    for (uint32_t id = 0; id < plan->producers; id++)
        if (head->ids[id].seq != plan->commits[id] || !head->ids[id].finished)
            violate("G11: %c has staged %u batches, %u are on the chain", 'a' + (int)id,
                    plan->commits[id], (unsigned)head->ids[id].seq);
    if (!head->sealed)
        violate("G11: all have finished, and it is not sealed");
    if (!violated() && plan->sweepers > 0)
        world_sweep_calmly(w);
    return !violated();
}
