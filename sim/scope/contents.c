// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "contents.h"

#include "arena.h"
#include "base/alloc.h"
#include "protocol/intent.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDEX_SLOTS (1u << 22)

typedef struct segment_note {
    hash128 hash;
    uint8_t *bytes;
    size_t size;
} segment_note;

static struct {
    genesis genesis;
    hash128 genesis_hash;
    buf genesis_object;
    content **manifests; /* from 1 */
    uint32_t count, capacity;
    uint32_t *index;
    segment_note *segments; /* from 1 */
    uint32_t segment_count, segment_capacity;
} all;

const genesis *contents_genesis(void)
{
    return &all.genesis;
}

view contents_genesis_object(void)
{
    return view_of(all.genesis_object.data, all.genesis_object.size);
}

const content *contents_at(uint32_t number)
{
    if (number == 0 || number > all.count)
        scope_defect("a manifest that nobody made");
    return all.manifests[number - 1];
}

uint32_t contents_count(void)
{
    return all.count;
}

static uint32_t *slot_of(const hash128 *hash)
{
    uint64_t at;
    memcpy(&at, hash->bytes, sizeof at);
    at %= INDEX_SLOTS;
    while (all.index[at] != 0 && !hash_equal(&all.manifests[all.index[at] - 1]->hash, hash))
        at = (at + 1) % INDEX_SLOTS;
    return &all.index[at];
}

uint32_t contents_find(const hash128 *hash)
{
    return *slot_of(hash);
}

/* ---- the judge ---- */

static void fault(content *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fault(content *c, const char *format, ...)
{
    va_list args;
    if (c->fault[0] != '\0')
        return;
    va_start(args, format);
    (void)vsnprintf(c->fault, sizeof c->fault, format, args);
    va_end(args);
}

static uint32_t id_of(view id)
{
    return id.size == 1 && id.data[0] >= 'a' && id.data[0] < 'a' + (int)IDS
               ? (uint32_t)(id.data[0] - 'a')
               : IDS;
}

static void add_step(content *c, const descriptor *d)
{
    const uint32_t id = id_of(d->id);
    if (id == IDS || c->step_count == STEPS_MAX) {
        fault(c, "I4: a step of nobody, or one too many");
        return;
    }
    id_note *e = &c->ids[id];
    if (!e->known || d->record.epoch != e->epoch)
        fault(c, "I8: step %u is of epoch %u of %c, which is at %u", c->step_count, d->record.epoch,
              'a' + (int)id, e->epoch);
    if (d->record.seq != e->seq + 1 || d->record.start != e->offset)
        fault(c, "I5: step %u: %c goes on at seq %" PRIu64 ", it stood at %" PRIu64, c->step_count,
              'a' + (int)id, d->record.seq, e->seq);
    e->seq = d->record.seq;
    e->offset = d->record.end;
    hash128 term;
    if (descriptor_term(c->step_count, d, &term) != BW_OK)
        scope_defect("no memory for a hash");
    hash_add(&c->sum, &term);
    c->steps[c->step_count++] = (step_note){.id = id,
                                            .epoch = d->record.epoch,
                                            .seq = d->record.seq,
                                            .start = d->record.start,
                                            .end = d->record.end,
                                            .nonce = d->record.nonce};
}

static bool same_step(const step_note *s, const descriptor *d)
{
    return s->id == id_of(d->id) && s->epoch == d->record.epoch && s->seq == d->record.seq &&
           s->start == d->record.start && s->end == d->record.end && s->nonce == d->record.nonce;
}

static void judge_steps(content *c, const manifest *m)
{
    const uint64_t first = manifest_tail_first(m), old = c->step_count;
    if (m->next < old || first > old) {
        fault(c, "I4: next goes from %" PRIu64 " to %" PRIu64, old, m->next);
        return;
    }
    for (uint32_t k = 0; k < m->tail.records; k++) {
        descriptor d;
        block_descriptor(&m->tail, k, &d);
        if (first + k >= old)
            add_step(c, &d);
        else if (!same_step(&c->steps[first + k], &d))
            fault(c, "I4: step %" PRIu64 " has another TGB", first + k);
    }
    if (!hash_equal(&m->sum, &c->sum))
        fault(c, "I18: a wrong sum");
}

/* A segment must hold the very steps that it stands for. */
static uint32_t judge_ref(content *c, const segment_ref *ref)
{
    segment s;
    bw_error error;
    uint32_t number = 0;
    for (uint32_t i = 0; i < all.segment_count && number == 0; i++)
        if (hash_equal(&all.segments[i].hash, &ref->hash))
            number = i + 1;
    if (number == 0)
        return 0;
    const segment_note *note = &all.segments[number - 1];
    if (segment_open(view_of(note->bytes, note->size), ref, all.genesis.uuid, 1, &s, &error) !=
            BW_OK ||
        s.level != 0 || s.last >= c->step_count) {
        fault(c, "I1: a reference to what is no segment of these steps");
        return number;
    }
    for (uint32_t k = 0; k < s.block.records; k++) {
        descriptor d;
        block_descriptor(&s.block, k, &d);
        if (!same_step(&c->steps[s.first + k], &d))
            fault(c, "I4: a segment has another TGB for step %" PRIu64, s.first + k);
    }
    return number;
}

static void judge_opening(content *c, id_note *e, const producer_entry *now, bool published,
                          bool was_sealed)
{
    const uint32_t was = e->known ? e->epoch : 0;
    if (now->epoch != was + 1 || now->epoch > EPOCHS_MAX)
        fault(c, "I8: %c goes from epoch %u to %u", (int)now->id.data[0], was, now->epoch);
    if (published)
        fault(c, "I8: it opens and publishes");
    if (e->finished)
        fault(c, "R10: %c has finished and is opened", (int)now->id.data[0]);
    if (was_sealed)
        fault(c, "R10: an open in a sealed namespace");
    e->known = true;
    e->epoch = now->epoch;
    e->token = now->token;
    if (now->epoch <= EPOCHS_MAX)
        e->opened[now->epoch] = e->seq;
}

static void judge_producers(content *c, const manifest *m, bool published, bool was_sealed)
{
    bool seen[IDS] = {false};
    for (uint32_t i = 0; i < m->producer_count; i++) {
        const producer_entry *now = &m->producers[i];
        const uint32_t id = id_of(now->id);
        if (id == IDS) {
            fault(c, "I5: a producer that nobody is");
            return;
        }
        id_note *e = &c->ids[id];
        seen[id] = true;
        if (!e->known || !token_equal(&e->token, &now->token))
            judge_opening(c, e, now, published, was_sealed);
        if (now->epoch != e->epoch || now->seq != e->seq || now->offset != e->offset)
            fault(c, "I5: %c is at epoch %u, seq %" PRIu64 ", its steps say %u, %" PRIu64,
                  'a' + (int)id, now->epoch, now->seq, e->epoch, e->seq);
        if (now->finished != e->finished) {
            if (!now->finished || was_sealed)
                fault(c, "R10: %c finishes in a sealed namespace, or no longer has", 'a' + (int)id);
            e->finished = now->finished;
            c->finished++;
        }
    }
    for (uint32_t id = 0; id < IDS; id++)
        if (c->ids[id].known && !seen[id])
            fault(c, "I5: %c is gone", 'a' + (int)id);
}

static void judge_totals(content *c, const manifest *m, bool was_sealed)
{
    const bool all_finished = c->finished >= all.genesis.expected_producers;
    if (m->finished_producers != c->finished)
        fault(c, "I18: wrong totals");
    if (m->trim != 0 || m->swept != 0 || m->group_count != 0 || m->has_page)
        fault(c, "I13: it trims what nobody may trim");
    if (was_sealed && !m->sealed)
        fault(c, "R10: it is no longer sealed");
    if (m->sealed != (was_sealed || all_finished))
        fault(c, "R10: %u of %u have finished, and it is%s sealed", c->finished,
              all.genesis.expected_producers, m->sealed ? "" : " not");
    c->sealed = m->sealed;
}

static void judge(content *c, const manifest *m)
{
    c->nonce = m->nonce;
    if (m->version == 0 || m->version > VERSIONS_MAX) {
        fault(c, "scope: version %" PRIu64 " is beyond the search", m->version);
        return;
    }
    c->version = (uint32_t)m->version;
    if (m->version == 1) {
        if (!hash_equal(&m->previous, &all.genesis_hash))
            fault(c, "I2: it does not follow genesis");
    } else {
        c->base = contents_find(&m->previous);
        if (c->base == 0 || contents_at(c->base)->version + 1 != c->version) {
            fault(c, "I2: it follows no manifest of the version before");
            return;
        }
        const content *b = contents_at(c->base);
        memcpy(c->chain, b->chain, sizeof c->chain);
        c->step_count = b->step_count;
        memcpy(c->steps, b->steps, sizeof c->steps);
        memcpy(c->ids, b->ids, sizeof c->ids);
        c->sum = b->sum;
        c->sealed = b->sealed;
        c->finished = b->finished;
    }
    const bool was_sealed = c->sealed;
    const uint32_t old = c->step_count;
    judge_steps(c, m);
    if (was_sealed && c->step_count > old)
        fault(c, "R10: it publishes in a sealed namespace");
    judge_producers(c, m, c->step_count > old, was_sealed);
    judge_totals(c, m, was_sealed);
    if (m->ref_count > REFS_MAX)
        fault(c, "scope: too many references");
    for (uint32_t i = 0; i < m->ref_count && i < REFS_MAX; i++)
        c->refs[c->ref_count++] = judge_ref(c, &m->refs[i]);
}

uint32_t contents_add(const uint8_t *bytes, size_t size)
{
    hash128 hash;
    bw_error error;
    manifest *m;
    if (hash_bytes(bytes, size, &hash) != BW_OK)
        scope_defect("no memory for a hash");
    uint32_t *slot = slot_of(&hash);
    if (*slot != 0)
        return *slot;
    if (all.count + 1 >= INDEX_SLOTS / 2)
        scope_defect("too many manifests");
    content *c = scope_alloc(sizeof *c);
    c->bytes = scope_alloc(size);
    memcpy(c->bytes, bytes, size);
    c->size = size;
    c->hash = hash;
    uint8_t *copy = mem_dup(bytes, size);
    if (copy != NULL &&
        manifest_decode(copy, size, genesis_slices(&all.genesis), &m, &error) == BW_OK) {
        judge(c, m);
        manifest_unref(m);
    } else {
        mem_free(copy);
        fault(c, "I1: it cannot be read");
    }
    if (all.count == all.capacity) {
        all.capacity = all.capacity > 0 ? 2 * all.capacity : 1024;
        all.manifests = realloc(all.manifests, all.capacity * sizeof *all.manifests);
        if (all.manifests == NULL)
            scope_defect("no memory");
    }
    all.manifests[all.count++] = c;
    *slot = all.count;
    if (c->version > 0)
        c->chain[c->version] = all.count;
    return all.count;
}

uint32_t segments_add(const uint8_t *bytes, size_t size)
{
    hash128 hash;
    if (hash_bytes(bytes, size, &hash) != BW_OK)
        scope_defect("no memory for a hash");
    for (uint32_t i = 0; i < all.segment_count; i++)
        if (hash_equal(&all.segments[i].hash, &hash))
            return i + 1;
    if (all.segment_count == all.segment_capacity) {
        all.segment_capacity = all.segment_capacity > 0 ? 2 * all.segment_capacity : 64;
        all.segments = realloc(all.segments, all.segment_capacity * sizeof *all.segments);
        if (all.segments == NULL)
            scope_defect("no memory");
    }
    segment_note *s = &all.segments[all.segment_count++];
    *s = (segment_note){.hash = hash, .bytes = scope_alloc(size), .size = size};
    memcpy(s->bytes, bytes, size);
    return all.segment_count;
}

uint32_t segments_count(void)
{
    return all.segment_count;
}

void contents_found(const genesis *g)
{
    manifest draft;
    buf first;
    const intent_aid aid = {.genesis = &all.genesis, .nonce = {{1}}, .clock_ms = 1};
    all.genesis = *g;
    all.index = scope_alloc(INDEX_SLOTS * sizeof *all.index);
    buf_init(&all.genesis_object, object_bytes_max(OBJECT_GENESIS));
    buf_init(&first, object_bytes_max(OBJECT_MANIFEST));
    if (genesis_encode(g, &all.genesis_object) != BW_OK ||
        hash_bytes(all.genesis_object.data, all.genesis_object.size, &all.genesis_hash) != BW_OK)
        scope_defect("a genesis that cannot be");
    manifest_succeed(NULL, &all.genesis, &all.genesis_hash, &aid, &draft);
    if (manifest_encode(&draft, &first) != BW_OK || contents_add(first.data, first.size) != 1 ||
        contents_at(1)->fault[0] != '\0')
        scope_defect("a first version that cannot be");
    buf_free(&first);
}
