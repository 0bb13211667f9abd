// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* swept: the parts below a step are gone, and with them what described them (docs/protocol.md).
 * Key: the step. Departed producers of whom nothing is left move to the page in the same commit. */
#include "protocol/intent_draft.h"

#include "base/invariant.h"
#include "base/mutant.h"
#include <string.h>

/* References that end below the step leave; without any, so do the tail's records below it. */
static bw_status drop_descriptors(const intent_try *t, uint64_t step)
{
    const manifest *base = t->base;
    manifest *draft = t->draft;
    uint32_t gone = 0;
    const uint64_t below = MUTANT(swept_drops_too_much) ? step + 1 : step;
    while (gone < base->ref_count && base->refs[gone].last < below)
        gone++;
    MUST(step > base->swept);
    draft->refs = base->refs + gone;
    draft->ref_count = base->ref_count - gone;
    const uint64_t tail_first = manifest_tail_first(base);
    if (draft->ref_count > 0 || step <= tail_first)
        return BW_OK;
    MUST_OR(step <= base->next, return BW_BUG);
    const uint32_t from = (uint32_t)(step - tail_first);
    MUST_OR(from <= base->tail.records, return BW_BUG);
    buf *tail = &t->scratch->tail;
    buf_reset(tail);
    BW_TRY(block_encode(&base->tail, from, NULL, 0, tail));
    draft->tail =
        (block){.bytes = view_of(tail->data, tail->size), .records = base->tail.records - from};
    return BW_OK;
}

static bool same_entry(const producer_entry *a, const producer_entry *b)
{
    return a->epoch == b->epoch && token_equal(&a->token, &b->token) && a->seq == b->seq &&
           a->finished == b->finished && a->forgotten == b->forgotten;
}

static bool departed(const producer_entry *e)
{
    return (e->finished || e->forgotten) && (e->swept_seq == e->seq || MUTANT(page_moves_unswept));
}

/* Was the page made from the page and the entries that the base has, for enough of them? Who has
 * come back since stays. */
static bool page_fits(const intent *i, const intent_try *t)
{
    const manifest *base = t->base;
    const page *p = i->swept.page;
    MUST_OR(p == NULL || i->swept.page_ref != NULL, return false);
    MUST(p == NULL || p->count == i->swept.page_ref->entries);
    const bool next =
        p != NULL && (i->swept.page_ref->version == base->version + 1 || MUTANT(page_of_any_base));
    if (!next || base->has_page != (i->swept.page_base != NULL) ||
        (base->has_page && !hash_equal(&base->page.hash, i->swept.page_base)))
        return false;
    uint32_t moves = 0;
    for (uint32_t k = 0; k < t->draft->producer_count; k++) {
        const producer_entry *e = &t->draft->producers[k];
        const producer_entry *moved = page_producer(p, e->id);
        /* An older entry of an id that was opened again may lie there, too: it is looked up last.
         */
        if (moved == NULL || !same_entry(moved, e))
            continue;
        /* On the page it must say that all is swept, too: orphans are judged by it. */
        if (!departed(e) || !departed(moved))
            return false;
        moves++;
    }
    return moves >= t->aid->genesis->page_min || MUTANT(page_min_ignored);
}

static uint32_t move_to_page(const intent *i, producer_entry *entries, uint32_t count)
{
    uint32_t left = 0;
    for (uint32_t k = 0; k < count; k++) {
        const producer_entry *moved = page_producer(i->swept.page, entries[k].id);
        MUST(moved == NULL || moved->epoch <= entries[k].epoch);
        if (moved == NULL || !same_entry(moved, &entries[k]))
            entries[left++] = entries[k];
    }
    MUST(left <= count);
    return left;
}

/* What is swept of whom. False: the sweep is of another history. */
static bool advance(const intent *i, const intent_try *t)
{
    producer_entry *entries = t->draft->producers;
    uint32_t at = 0;
    for (uint32_t k = 0; k < i->swept.producer_count; k++) {
        const swept_producer *s = &i->swept.producers[k];
        while (at < t->draft->producer_count && view_compare(entries[at].id, s->id) < 0)
            at++;
        if (at == t->draft->producer_count || !view_equal(entries[at].id, s->id))
            return false;
        producer_entry *e = &entries[at];
        if (s->seq < e->swept_seq || s->seq > e->seq || s->offset < e->swept_offset ||
            s->offset > e->offset)
            return false;
        MUST(k == 0 || view_compare(s[-1].id, s->id) < 0);
        if (MUTANT(swept_entries_forgotten))
            continue;
        e->swept_seq = s->seq;
        e->swept_offset = s->offset;
    }
    return true;
}

intent_verdict intent_swept_apply(const intent *i, const intent_try *t)
{
    const manifest *base = t->base;
    manifest *draft = t->draft;
    t->result->swept = base->swept;
    if (base->swept >= i->swept.step)
        return INTENT_ALREADY;
    if (base->swept != i->swept.from && !MUTANT(swept_from_anywhere))
        return intent_refuse(t, BW_FENCED, "another sweep went on to step %llu",
                             (unsigned long long)base->swept);
    if (i->swept.step > base->trim || i->swept.bytes > base->committed_bytes - base->swept_bytes)
        return intent_refuse(t, BW_BUG, "a sweep to step %llu, the trim step being %llu",
                             (unsigned long long)i->swept.step, (unsigned long long)base->trim);
    bw_status status = intent_draft_producers(t);
    if (status == BW_OK)
        status = drop_descriptors(t, i->swept.step);
    if (status != BW_OK)
        return intent_refuse(t, status, "the next manifest cannot be built");
    if (!advance(i, t))
        return intent_refuse(t, BW_BUG, "a sweep of batches that no producer published");
    MUST(i->swept.step <= draft->trim);
    MUST(i->swept.step > base->swept);
    draft->swept = i->swept.step;
    if (!MUTANT(swept_bytes_forgotten))
        draft->swept_bytes += i->swept.bytes;
    if (page_fits(i, t)) {
        draft->producer_count = move_to_page(i, draft->producers, draft->producer_count);
        draft->has_page = true;
        draft->page = *i->swept.page_ref;
        MUST(draft->page.version == draft->version);
    }
    MUST(draft->swept_bytes <= draft->committed_bytes);
    return INTENT_CANDIDATE;
}
