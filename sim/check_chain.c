// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The chain as it grows. Each version is judged against the one before it and against what the
 * producers made, with numbers of our own: nothing is believed because a manifest says so. */
#include "check.h"

#include "base/alloc.h"
#include <inttypes.h>
#include <string.h>

void model_free(model *m)
{
    if (m->has_page)
        page_free(&m->page);
    blob_unref(m->page_object);
    mem_free(m->versions);
    mem_free(m->steps);
    mem_free(m->segments);
    manifest_unref(m->last);
    mem_free(m);
}

const model *model_of(const sim *s)
{
    return s->history->model;
}

uint32_t check_id(view id)
{
    const bool ours = id.size == 1 && id.data[0] >= 'a' && id.data[0] < 'a' + (int)IDS_MAX;
    return ours ? (uint32_t)(id.data[0] - 'a') : IDS_MAX;
}

void check_founded(sim *s, const object *o)
{
    model *m = s->history->model;
    genesis g;
    if (genesis_decode(view_of(o->now->bytes, o->now->size), &g, NULL) != BW_OK) {
        sim_violate(s, "I1", "a genesis that cannot be read");
        return;
    }
    memcpy(s->genesis.uuid, g.uuid, UUID_BYTES);
    m->founded = hash_bytes(o->now->bytes, o->now->size, &m->genesis_hash) == BW_OK;
}

/* ---- references and segments ---- */

static bool same_ref(const segment_ref *a, const segment_ref *b)
{
    return a->first == b->first && a->last == b->last && a->level == b->level &&
           a->bytes == b->bytes && hash_equal(&a->hash, &b->hash) &&
           hash_equal(&a->sum_before, &b->sum_before);
}

static bool had_ref(const manifest *m, const segment_ref *ref)
{
    for (uint32_t i = 0; m != NULL && i < m->ref_count; i++)
        if (same_ref(&m->refs[i], ref))
            return true;
    return false;
}

static bool same_descriptor(const tgb *t, const descriptor *d)
{
    return d->record.nonce == t->nonce && d->record.start == t->start && d->record.end == t->end &&
           d->record.seq == t->seq && d->record.epoch == t->epoch && check_id(d->id) == t->id &&
           d->shape.items == t->items && d->shape.parts == t->parts &&
           d->shape.total_bytes == t->total_bytes;
}

static void check_leaf(sim *s, const model *m, const segment_ref *ref, const segment *g)
{
    for (uint32_t k = 0; k < g->block.records; k++) {
        descriptor d;
        block_descriptor(&g->block, k, &d);
        if (ref->first + k >= m->step_count || !same_descriptor(m->steps[ref->first + k].tgb, &d))
            sim_violate(s, "I4", "a segment has another TGB at step %" PRIu64, ref->first + k);
    }
}

static void check_index(sim *s, const manifest *before, const segment *g)
{
    for (uint32_t k = 0; k < INDEX_CHILDREN; k++)
        if (!had_ref(before, &g->children[k]))
            sim_violate(s, "I4", "an index refers to a segment that was not on the chain");
    MARK(s, MERGE);
    MARK_IF(s, INDEX_OF_INDEXES, g->level >= 2);
}

/* A reference that the version before did not have: its object must be there already. */
static void check_ref(sim *s, const model *m, const segment_ref *ref)
{
    object_key key;
    segment seen;
    segment_ref_key(ref, &key);
    const object *o = vstore_object(s->store, &key, vstore_key_hash(key.text));
    if (o->now == NULL) {
        sim_violate(s, "I1", "%s is referred to and not there", key.text);
        return;
    }
    if (segment_open(view_of(o->now->bytes, o->now->size), ref, s->genesis.uuid,
                     genesis_slices(&s->genesis), &seen, NULL) != BW_OK) {
        sim_violate(s, "I1", "%s is not what refers to it", key.text);
        return;
    }
    if (ref->first >= m->step_count ||
        !hash_equal(&ref->sum_before, &m->steps[ref->first].sum_before))
        sim_violate(s, "I18", "the sum before step %" PRIu64 " is wrong", ref->first);
    if (seen.level == 0)
        check_leaf(s, m, ref, &seen);
    else
        check_index(s, m->last, &seen);
    MARK_IF(s, FOLD, seen.level == 0);
}

/* ---- steps ---- */

static bool is_durable(const tgb *t)
{
    for (uint32_t i = 0; i < t->parts; i++)
        if (t->objects[i] == NULL || t->objects[i]->now == NULL ||
            !blob_equal(t->objects[i]->now, t->contents[i]))
            return false;
    return t->state_object == NULL || t->state_object->now != NULL;
}

static void add_step(sim *s, model *m, const descriptor *d, uint64_t version)
{
    tgb *t = history_find(s->history, d->record.nonce);
    if (t == NULL || !same_descriptor(t, d)) {
        sim_violate(s, "I5", "step %zu is no TGB that anybody made", m->step_count);
        return;
    }
    if (!is_durable(t))
        sim_violate(s, "I1", "step %zu is on the chain and not all of it is stored", m->step_count);
    if (t->fate == FATE_LOST)
        sim_violate(s, "I7", "step %zu was reported as definitely lost", m->step_count);
    model_id *id = &m->ids[t->id];
    if (!id->known || t->epoch != id->epoch)
        sim_violate(s, "I8", "step %zu is of epoch %u of %c, which is at %u", m->step_count,
                    t->epoch, (int)('a' + t->id), id->epoch);
    if (t->seq != id->seq + 1 || t->start != id->offset)
        sim_violate(s, "I5",
                    "step %zu: %c goes on at seq %" PRIu64 ", offset %" PRIu64 ", it stood at "
                    "%" PRIu64 ", %" PRIu64,
                    m->step_count, (int)('a' + t->id), t->seq, t->start, id->seq, id->offset);
    if (id->forgotten)
        sim_violate(s, "R10", "step %zu is of %c, which was forgotten", m->step_count,
                    (int)('a' + t->id));
    id->seq = t->seq;
    id->offset = t->end;
    t->on_chain = true;
    t->step = m->step_count;
    for (uint32_t i = 0; i < s->process_count; i++)
        MARK_IF(s, ZOMBIE_LANDED_BEFORE, i != t->process && s->processes[i]->opens == t->id + 1);
    void *steps = m->steps;
    if (mem_grow(&steps, &m->step_capacity, m->step_count + 2, sizeof *m->steps) != 0)
        sim_defect("no memory");
    m->steps = steps;
    hash128 term;
    if (descriptor_term(m->step_count, d, &term) != BW_OK)
        sim_defect("no memory");
    m->steps[m->step_count++] = (model_step){.tgb = t, .version = version, .sum_before = m->sum};
    hash_add(&m->sum, &term);
    m->steps[m->step_count].sum_before = m->sum; /* one beyond: of a reference that begins there */
    m->committed_bytes += t->total_bytes;
}

static void check_tail(sim *s, model *m, const manifest *now)
{
    const uint64_t first = manifest_tail_first(now), old = m->step_count;
    if (now->next < old || first > old) {
        sim_violate(s, "I4", "version %" PRIu64 ": next went from %" PRIu64 " to %" PRIu64,
                    now->version, old, now->next);
        return;
    }
    for (uint32_t k = 0; k < now->tail.records && !s->violated; k++) {
        descriptor d;
        block_descriptor(&now->tail, k, &d);
        if (first + k >= old)
            add_step(s, m, &d, now->version);
        else if (!same_descriptor(m->steps[first + k].tgb, &d))
            sim_violate(s, "I4", "step %" PRIu64 " has another TGB in version %" PRIu64, first + k,
                        now->version);
    }
    if (!s->violated && !hash_equal(&now->sum, &m->sum))
        sim_violate(s, "I18", "version %" PRIu64 " has a wrong sum", now->version);
}

/* ---- producers ---- */

static void mark_rivals(sim *s, uint32_t id, uint64_t version, const token128 *token)
{
    const history *h = s->history;
    const open_note *opener = history_open_find(h, token);
    for (size_t i = h->attempt_count; i > 0 && h->attempts[i - 1].version + 4 > version; i--) {
        const attempt_note *a = &h->attempts[i - 1];
        const process *p = s->processes[a->process];
        const bool other = opener == NULL || opener->process != a->process;
        MARK_IF(s, FENCE_ON_ZOMBIE,
                a->version == version && other && p->role->kind == ROLE_PRODUCER &&
                    p->name[9] == (char)('a' + (int)id));
    }
}

/* The entry of an id that was opened in this version: the incarnation before is over. */
static void check_opening(sim *s, model *m, model_id *id, const producer_entry *e, uint64_t steps,
                          uint64_t version)
{
    const open_note *o = history_open_find(s->history, &e->token);
    if (o == NULL || o->id != check_id(e->id))
        sim_violate(s, "I8", "version %" PRIu64 " opens %c for nobody", version,
                    (int)e->id.data[0]);
    else if (o->base_epoch != UINT32_MAX && e->epoch != o->base_epoch + 1)
        sim_violate(s, "R1", "%c is opened at epoch %u by a call that saw %u", (int)e->id.data[0],
                    e->epoch, o->base_epoch);
    else if (id->finished && !o->reopen)
        sim_violate(s, "R10", "%c has finished and is opened", (int)e->id.data[0]);
    mark_rivals(s, check_id(e->id), version, &e->token);
    if (e->epoch != id->epoch + 1)
        sim_violate(s, "I8", "%c went from epoch %u to %u", (int)e->id.data[0], id->epoch,
                    e->epoch);
    if (steps > 0)
        sim_violate(s, "I8", "version %" PRIu64 " opens and publishes", version);
    if (m->sealed)
        sim_violate(s, "R10", "version %" PRIu64 " opens in a sealed namespace", version);
    MARK_IF(s, OPEN_FROM_PAGE,
            m->has_page && page_producer(&m->page, e->id) != NULL &&
                manifest_producer(m->last, e->id) == NULL);
    if (id->finished) {
        m->finished--;
        MARK(s, REOPENED);
    }
    id->finished = id->forgotten = false;
    id->known = true;
    id->epoch = e->epoch;
    id->token = e->token;
    id->opened_version = version;
    id->opened_offset = e->offset;
    id->opened_seq = e->seq;
    m->opens++;
}

static void check_forgotten(sim *s, model_id *id, const producer_entry *e)
{
    const history *h = s->history;
    bool asked = false;
    if (e->forgotten == id->forgotten)
        return;
    for (size_t i = 0; i < h->removal_count; i++)
        asked |= view_equal(e->id, view_text(h->removals[i].name)) &&
                 h->removals[i].epoch == e->epoch && h->removals[i].launch[0] == '\0';
    if (!asked || id->finished)
        sim_violate(s, "R10", "%c is forgotten at epoch %u, or no longer", (int)e->id.data[0],
                    e->epoch);
    id->forgotten = true;
    MARK(s, FORGOTTEN);
}

static void check_producers(sim *s, model *m, const manifest *now, uint64_t steps)
{
    bool seen[IDS_MAX] = {false};
    for (uint32_t k = 0; k < now->producer_count && !s->violated; k++) {
        const producer_entry *e = &now->producers[k];
        const uint32_t index = check_id(e->id);
        if (index == IDS_MAX) {
            sim_violate(s, "I5", "a producer that nobody is");
            return;
        }
        model_id *id = &m->ids[index];
        seen[index] = true;
        if (!id->known || !token_equal(&id->token, &e->token))
            check_opening(s, m, id, e, steps, now->version);
        if (e->epoch != id->epoch || e->seq != id->seq || e->offset != id->offset)
            sim_violate(s, "I5",
                        "version %" PRIu64 ": %c is at epoch %u, seq %" PRIu64 ", offset %" PRIu64
                        ", its steps say %u, %" PRIu64 ", %" PRIu64,
                        now->version, (int)e->id.data[0], e->epoch, e->seq, e->offset, id->epoch,
                        id->seq, id->offset);
        if (e->swept_seq != id->swept_seq || e->swept_offset != id->swept_offset)
            sim_violate(s, "I18",
                        "version %" PRIu64 ": %c is swept to seq %" PRIu64 ", not %" PRIu64,
                        now->version, (int)e->id.data[0], e->swept_seq, id->swept_seq);
        check_forgotten(s, id, e);
        if (e->finished && !id->finished) {
            if (m->sealed)
                sim_violate(s, "R10", "%c finishes in a sealed namespace", (int)e->id.data[0]);
            id->finished = true;
            m->finished++;
        } else if (!e->finished && id->finished) {
            sim_violate(s, "R10", "%c is no longer finished", (int)e->id.data[0]);
        }
    }
    for (uint32_t i = 0; i < IDS_MAX; i++)
        if (m->ids[i].known && !seen[i] && !check_on_page(s, m, now, i))
            sim_violate(s, "I5", "%c is gone from version %" PRIu64, (int)('a' + i), now->version);
}

static void check_totals(sim *s, model *m, const manifest *now)
{
    const uint32_t expected = s->genesis.expected_producers;
    if (now->committed_bytes != m->committed_bytes || now->finished_producers != m->finished)
        sim_violate(s, "I18", "version %" PRIu64 " has wrong totals", now->version);
    if (m->sealed && !now->sealed)
        sim_violate(s, "R10", "version %" PRIu64 " is no longer sealed", now->version);
    if (expected > 0 && m->finished >= expected && !now->sealed)
        sim_violate(s, "R10",
                    "all %u producers have finished in version %" PRIu64 ", which is not sealed",
                    expected, now->version);
    if (now->sealed && !m->sealed) {
        const bool by_finish = expected > 0 && m->finished >= expected;
        for (uint32_t i = 0; i < IDS_MAX && !by_finish && !s->history->forced; i++)
            if (m->ids[i].known && !m->ids[i].finished && !m->ids[i].forgotten)
                sim_violate(s, "R10", "version %" PRIu64 " is sealed, %c has not finished",
                            now->version, (int)('a' + i));
        if (!by_finish && !s->history->forced && m->finished < expected)
            sim_violate(s, "R10", "sealed with %" PRIu64 " of %u finished", m->finished, expected);
        m->sealed = true;
        m->sealed_ns = s->now_ns;
        MARK_IF(s, FINISH_SEALED, expected > 0 && m->finished >= expected);
    }
}

static bool is_active(const producer_entry *e)
{
    return !e->finished && !e->forgotten;
}

/* The turn moves to who publishes, if it is one of those whose last commits are young: rule 1 of
 * docs/design/cadence.md. */
static void check_turn(sim *s, const manifest *last, const manifest *now, uint64_t steps)
{
    const producer_entry *own = last != NULL ? manifest_producer(last, now->committer) : NULL;
    const bool publishes =
        last != NULL && (steps > 0 || now->finished_producers > last->finished_producers);
    bool moves = s->plan.turns && publishes && own != NULL && is_active(own);
    uint64_t rank = 1;
    for (uint32_t k = 0; moves && k < last->producer_count; k++)
        rank += is_active(&last->producers[k]) && last->producers[k].last_commit > own->last_commit;
    moves = moves && last->version - own->last_commit <= 2 * rank + 8;
    if (!view_equal(now->turn, moves ? now->committer : last != NULL ? last->turn : (view){0}))
        sim_violate(s, "TURN", "version %" PRIu64 ": the turn is not whose it has to be",
                    now->version);
}

/* What was reported as definitely not made is made. Only who has seen the version before tries to
 * make this one; check_fates looks at all at the end. */
static void check_not_lost(sim *s, const model *m, const manifest *now)
{
    const history *h = s->history;
    for (size_t i = h->attempt_count; i > m->attempts; i--) {
        const attempt_note *a = &h->attempts[i - 1];
        if (a->lost && a->version == now->version && token_equal(&a->nonce, &now->nonce))
            sim_violate(s, "I7", "version %" PRIu64 " was reported as definitely not made",
                        now->version);
    }
}

static manifest *read_manifest(sim *s, const object *o)
{
    manifest *now = NULL;
    bw_error error;
    uint8_t *copy = mem_dup(o->now->bytes, o->now->size);
    if (copy == NULL)
        sim_defect("no memory");
    const bw_status status =
        manifest_decode(copy, o->now->size, genesis_slices(&s->genesis), &now, &error);
    if (status != BW_OK) {
        mem_free(copy);
        sim_violate(s, "I1", "version %" PRIu64 ": %s", o->number, error.message);
    }
    return now;
}

void check_extended(sim *s, const object *o)
{
    model *m = s->history->model;
    manifest *now = read_manifest(s, o);
    if (now == NULL)
        return;
    const hash128 *previous = o->number == 1 ? &m->genesis_hash : &m->versions[o->number - 1].hash;
    if (!m->founded || now->version != o->number ||
        memcmp(now->uuid, s->genesis.uuid, UUID_BYTES) != 0 ||
        !hash_equal(&now->previous, previous))
        sim_violate(s, "I2", "version %" PRIu64 " does not follow the one before it", o->number);
    check_not_lost(s, m, now);
    const uint64_t old_steps = m->step_count;
    const bool was_sealed = m->sealed;
    if (!s->violated)
        check_tail(s, m, now);
    for (uint32_t i = 0; i < now->ref_count && !s->violated; i++)
        if (!had_ref(m->last, &now->refs[i]))
            check_ref(s, m, &now->refs[i]);
    const uint64_t steps = m->step_count - old_steps;
    if (was_sealed && steps > 0)
        sim_violate(s, "R10", "version %" PRIu64 " publishes in a sealed namespace", o->number);
    m->publishes += steps > 0;
    if (!s->violated)
        check_groups(s, m, now, steps);
    if (!s->violated)
        check_producers(s, m, now, steps);
    if (!s->violated)
        check_totals(s, m, now);
    if (!s->violated)
        check_turn(s, m->last, now, steps);
    void *versions = m->versions;
    if (mem_grow(&versions, &m->version_capacity, (size_t)o->number + 1, sizeof *m->versions) != 0)
        sim_defect("no memory");
    m->versions = versions;
    m->versions[o->number] = (model_version){.hash = now->hash,
                                             .nonce = now->nonce,
                                             .next = now->next,
                                             .made_ns = s->now_ns,
                                             .sealed = now->sealed};
    m->version_count = (size_t)o->number + 1;
    story(s, NULL, "version %" PRIu64 ": steps %" PRIu64 " … %" PRIu64 "%s", o->number, old_steps,
          now->next, now->sealed ? ", sealed" : "");
    manifest_unref(m->last);
    m->last = now;
    m->attempts = s->history->attempt_count;
}
