// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What processes were told, against the chain that the store saw. What can be judged at once is;
 * what only the end can tell (lost for good, real time, orphans) is judged in check_all. */
#include "check.h"

#include "network.h"
#include <inttypes.h>
#include <string.h>

/* Where a manifest's commit nonce stands: after head, uuid and version. */
#define NONCE_AT (16u + UUID_BYTES + 8u)

void check_attempted(process *p, const flight *f)
{
    if (f->body->size < NONCE_AT + TOKEN_BYTES)
        return;
    attempt_note *a = history_attempt(p->sim->history);
    a->version = f->object->number;
    memcpy(a->nonce.bytes, f->body->bytes + NONCE_AT, TOKEN_BYTES);
    a->process = p->index;
    a->life = p->life;
}

void check_proved(process *p, const manifest *m, bool newest)
{
    sim *s = p->sim;
    const model *witness = model_of(s);
    if (m->version >= witness->version_count ||
        !hash_equal(&witness->versions[m->version].hash, &m->hash))
        sim_violate(s, "I2", "%s takes a version %" PRIu64 " for proved that is not on the chain",
                    p->name, m->version);
    else if (newest && m->version < p->newest_at_start)
        sim_violate(s, "I3",
                    "%s takes version %" PRIu64 " for the newest, which was %" PRIu64
                    " before it looked",
                    p->name, m->version, p->newest_at_start);
}

void check_missed(process *p, uint64_t version)
{
    sim *s = p->sim;
    if (version <= p->newest_at_start && !vstore_is_retired(s, version))
        sim_violate(s, "I3",
                    "%s finds no version %" PRIu64 ", and %" PRIu64 " was there before it looked",
                    p->name, version, p->newest_at_start);
}

void check_found(process *p, uint64_t version)
{
    if (genesis_block(&p->sim->genesis, version) < p->retired_at_start)
        sim_violate(p->sim, "R8", "%s takes version %" PRIu64 " for proved, which was retired",
                    p->name, version);
}

void check_opened(process *p, uint32_t id, uint32_t epoch, uint64_t seq, uint64_t offset,
                  uint64_t version)
{
    sim *s = p->sim;
    const model_id *m = &model_of(s)->ids[id];
    /* Its own epoch may be over already; no epoch may come back. */
    if (!m->known || epoch > m->epoch)
        sim_violate(s, "R1", "%s was told epoch %u of %c, which is at %u", p->name, epoch,
                    (int)('a' + id), m->epoch);
    if (epoch == m->epoch && (seq != m->opened_seq || offset != m->opened_offset))
        sim_violate(s, "R1",
                    "%s was told that %c stands at seq %" PRIu64 ", offset %" PRIu64
                    ", it stood at %" PRIu64 ", %" PRIu64 " when it was opened",
                    p->name, (int)('a' + id), seq, offset, m->opened_seq, m->opened_offset);
    (void)version;
}

void check_fenced(process *p, uint32_t id, const token128 *token)
{
    const model_id *m = &model_of(p->sim)->ids[id];
    if (!m->known || (token_equal(&m->token, token) && !m->forgotten))
        sim_violate(p->sim, "R7", "%s was told that it is fenced, and nobody took %c over", p->name,
                    (int)('a' + id));
}

void check_acked(process *p, tgb *t, uint64_t step, uint64_t version)
{
    sim *s = p->sim;
    const model *m = model_of(s);
    t->fate = FATE_ACKED;
    t->acked_ns = s->now_ns;
    t->acked_step = step;
    if (step >= m->step_count || m->steps[step].tgb != t)
        sim_violate(s, "I6",
                    "%s was told that its seq %" PRIu64 " is step %" PRIu64 " by version %" PRIu64
                    "; it is not",
                    p->name, t->seq, step, version);
}

void check_lost(process *p, tgb *t)
{
    sim *s = p->sim;
    if (t->fate != FATE_PENDING || t->doubtful)
        return;
    t->fate = FATE_LOST;
    if (t->on_chain)
        sim_violate(s, "I7", "%s was told that its seq %" PRIu64 " is lost; it is step %" PRIu64,
                    p->name, t->seq, t->step);
}

void check_ended(process *p, size_t from, const commit_report *r, bool undoable)
{
    sim *s = p->sim;
    history *h = s->history;
    for (size_t i = from; i < h->attempt_count; i++) {
        attempt_note *a = &h->attempts[i];
        const bool made = r->end == COMMIT_DONE && r->version == a->version;
        const bool unsaid = undoable && vstore_is_retired(s, a->version);
        if (a->process == p->index && a->life == p->life && !made && !unsaid &&
            !(r->open_unknown && token_equal(&r->nonce, &a->nonce)))
            a->lost = true;
        const model *m = model_of(s);
        if (a->lost && a->version < m->version_count &&
            token_equal(&m->versions[a->version].nonce, &a->nonce))
            sim_violate(s, "I7", "%s was told that version %" PRIu64 " is definitely not its own",
                        p->name, a->version);
    }
}

void check_sealed(process *p)
{
    if (!model_of(p->sim)->sealed)
        sim_violate(p->sim, "R10", "%s was told that the namespace is sealed", p->name);
}

void check_finished(process *p, uint32_t id, uint64_t offset)
{
    const model_id *m = &model_of(p->sim)->ids[id];
    if (!m->known || offset > m->offset)
        sim_violate(p->sim, "R10", "%s was told that %c has finished at %" PRIu64, p->name,
                    (int)('a' + id), offset);
}

const tag_range check_tags[TAGS_READ] = {{1, 1}, {3, TAG_ANY}};

static bool is_read(const sim *s, uint64_t step)
{
    const uint64_t tag = model_of(s)->steps[step].tgb->tag;
    return !s->plan.tagged || tag == 1 || tag >= 3;
}

void check_delivered(process *p, const delivery *d)
{
    sim *s = p->sim;
    const model *m = model_of(s);
    s->history->slices++;
    if (d->step >= m->step_count || m->steps[d->step].tgb->nonce != d->nonce)
        sim_violate(s, "I9", "%s hands out step %" PRIu64 ", which is another TGB", p->name,
                    d->step);
    else if (d->item == 0 && !is_read(s, d->step))
        sim_violate(s, "G2", "%s hands out step %" PRIu64 ", which has a tag that nobody wants",
                    p->name, d->step);
}

uint64_t check_next_step(const sim *s, uint64_t step)
{
    step++;
    for (uint32_t i = 0; i < s->plan.skip_count; i++)
        if (s->plan.skips[i][0] <= step && step < s->plan.skips[i][1])
            step = s->plan.skips[i][1];
    return step;
}

uint64_t check_next_read(const sim *s, uint64_t step)
{
    step = check_next_step(s, step);
    while (step < model_of(s)->step_count && !is_read(s, step))
        step = check_next_step(s, step);
    return step;
}

void check_cursor(process *p, uint64_t step, uint32_t item)
{
    sim *s = p->sim;
    const history *h = s->history;
    const model *m = model_of(s);
    size_t i = h->delivery_count;
    while (i > 0 && h->deliveries[i - 1].process != p->index)
        i--;
    if (i == 0 || h->deliveries[i - 1].step >= m->step_count)
        return;
    const delivery *last = &h->deliveries[i - 1];
    const bool whole = last->item + 1 == m->steps[last->step].tgb->items;
    if (step != (whole ? check_next_step(s, last->step) : last->step) ||
        item != (whole ? 0 : last->item + 1))
        sim_violate(s, "I11", "%s saves step %" PRIu64 ", item %u after item %u of step %" PRIu64,
                    p->name, step, item, last->item, last->step);
}

void check_stream_end(process *p, uint64_t step)
{
    sim *s = p->sim;
    const model *m = model_of(s);
    const history *h = s->history;
    for (size_t i = h->delivery_count; i > 0; i--) {
        const delivery *last = &h->deliveries[i - 1];
        if (last->process != p->index || last->life != p->life)
            continue;
        if (check_next_read(s, last->step) < m->step_count)
            sim_violate(s, "G2", "%s ends after step %" PRIu64 " of %zu", p->name, last->step,
                        m->step_count);
        break;
    }
    /* A range that is left out may reach beyond the end. */
    if (!m->sealed || (s->plan.skip_count == 0 ? step != m->step_count : step < m->step_count))
        sim_violate(s, "G2", "%s ends at step %" PRIu64 " of %zu", p->name, step, m->step_count);
}

/* ---- at the end ---- */

/* I3: what was acknowledged before another was even begun comes first. Going back over the steps,
 * the earliest acknowledgement of all later steps is kept. */
static void check_real_time(sim *s, const model *m)
{
    int64_t acked_ns = TIME_NEVER;
    for (size_t k = m->step_count; k > 0; k--) {
        const tgb *t = m->steps[k - 1].tgb;
        if (t->invoked_ns > acked_ns)
            sim_violate(s, "I3", "step %zu was begun after a later one was acknowledged", k - 1);
        if (t->fate == FATE_ACKED && t->acked_ns < acked_ns)
            acked_ns = t->acked_ns;
    }
}

/* I5 and I8 once more, from the steps alone: per producer they tile, and epochs never go back. */
static void check_tiling(sim *s, const model *m)
{
    const tgb *last[IDS_MAX] = {NULL};
    for (size_t k = 0; k < m->step_count; k++) {
        const tgb *t = m->steps[k].tgb, *before = last[t->id];
        last[t->id] = t;
        const uint64_t seq = before != NULL ? before->seq : 0;
        const uint64_t offset = before != NULL ? before->end : 0;
        if (t->seq != seq + 1 || t->start != offset)
            sim_violate(s, "I5", "step %zu: %c goes on at seq %" PRIu64 " after %" PRIu64, k,
                        (int)('a' + t->id), t->seq, seq);
        if (before != NULL && t->epoch < before->epoch)
            sim_violate(s, "I8", "step %zu: %c went back to epoch %u", k, (int)('a' + t->id),
                        t->epoch);
    }
}

static void check_fates(sim *s, const model *m)
{
    for (size_t k = 0; k < m->step_count; k++)
        if (m->steps[k].tgb->fate == FATE_LOST)
            sim_violate(s, "I7", "step %zu was reported as definitely lost", k);
    const history *h = s->history;
    for (size_t i = 0; i < h->tgb_count; i++) {
        const tgb *t = h->tgbs[i];
        if (t->fate == FATE_ACKED &&
            (t->acked_step >= m->step_count || m->steps[t->acked_step].tgb != t))
            sim_violate(s, "I6", "what was acknowledged as step %" PRIu64 " is not there",
                        t->acked_step);
    }
    for (size_t i = 0; i < h->attempt_count; i++) {
        const attempt_note *a = &h->attempts[i];
        if (a->lost && a->version < m->version_count &&
            token_equal(&m->versions[a->version].nonce, &a->nonce))
            sim_violate(s, "I7", "version %" PRIu64 " was reported as definitely not made",
                        a->version);
    }
}

/* I10 and I11: within a life items follow each other; every rank sees the same bytes. */
static void check_deliveries(sim *s, const model *m)
{
    const history *h = s->history;
    const delivery *last[PROCESSES_MAX] = {NULL};
    for (size_t i = 0; i < h->delivery_count; i++) {
        const delivery *d = &h->deliveries[i], *before = last[d->process];
        last[d->process] = d;
        const tgb *t = d->step < m->step_count ? m->steps[d->step].tgb : NULL;
        if (t == NULL || t->nonce != d->nonce) {
            sim_violate(s, "I9", "step %" PRIu64 " was handed out and is another TGB", d->step);
            return;
        }
        if (before == NULL || before->life != d->life || d->begins)
            continue;
        const bool next_item = d->step == before->step && d->item == before->item + 1;
        const bool next_step = d->step == check_next_read(s, before->step) && d->item == 0 &&
                               before->item + 1 == m->steps[before->step].tgb->items;
        if (!next_item && !next_step)
            sim_violate(s, "I11", "item %u of step %" PRIu64 " follows item %u of step %" PRIu64,
                        d->item, d->step, before->item, before->step);
    }
}

static int check_left(void *context, object *o)
{
    sim *s = context;
    if (o->kind == KEY_MANIFEST && o->now != NULL && vstore_is_retired(s, o->number))
        sim_violate(s, "I15", "%s is left in a retired block", o->key.text);
    if (s->plan.groups > 0 && check_unreachable(s, o))
        sim_violate(s, "G9", "%s is left and nobody can reach it", o->key.text);
    return s->violated;
}

void check_all(sim *s)
{
    const model *m = model_of(s);
    check_tiling(s, m);
    check_fates(s, m);
    check_real_time(s, m);
    check_deliveries(s, m);
    check_retained(s);
    (void)vstore_each(s->store, check_left, s);
}
