// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* publish and finish: the next TGBs of a producer (R3, R7, R10). Key: token and seq. */
#include "protocol/intent_draft.h"
#include "protocol/limit.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "base/mutant.h"
#include <string.h>

/* A commit may exceed the soft cap of the tail by this much of its own; the rest goes next time. */
#define OWN_BYTES_MAX ((size_t)1 << 20)
/* How many of `descriptors` the base has. They are contiguous; false when they do not continue the
 * entry. */
static bool count_already(const intent *i, const producer_entry *e, uint32_t *already)
{
    const uint32_t count = i->publish.count;
    *already = 0;
    if (count == 0)
        return true;
    MUST(i->publish.descriptors != NULL);
    const uint64_t first = i->publish.descriptors[0].record.seq;
    if (first > e->seq + 1)
        return false;
    const uint64_t had = e->seq + 1 - first;
    *already = had < count ? (uint32_t)had : count;
    if (*already > 0 && MUTANT(publish_drops_nothing))
        *already = 0;
    MUST(*already <= count);
    if (*already == count)
        return true;
    uint64_t seq = e->seq, offset = e->offset;
    for (uint32_t k = *already; k < count; k++) {
        const descriptor *d = &i->publish.descriptors[k];
        if (d->record.seq != seq + 1 || d->record.start != offset || d->record.end < offset ||
            d->record.epoch != e->epoch || !view_equal(d->id, e->id))
            return false;
        seq++;
        offset = d->record.end;
    }
    return true;
}

/* Which limit it is, and what holds it. */
static intent_verdict blocked(const intent_try *t, const descriptor *d)
{
    char text[LIMIT_TEXT_BYTES];
    keeper k;
    const genesis *g = t->aid->genesis;
    const limit_kind kind = limit_reached(g, t->base, d->shape.total_bytes, &k);
    MUST(kind != LIMIT_NONE);
    MUST(t->base->group_count > 0);
    return intent_refuse(t, BW_BLOCKED, "%.*s stands at %s", VIEW_ARGS(d->id),
                         limit_tell(g, t->base, kind, &k, text));
}

/* How many of the `left` descriptors this candidate takes, by the caps of block, commit and
 * manifest. */
static uint32_t cap_room(const intent_try *t, const descriptor *d, uint32_t left)
{
    const bool folds = t->aid->durable_fold != NULL;
    const uint32_t records = folds ? 0 : t->base->tail.records;
    const size_t size = t->base->object_bytes - (folds ? t->base->tail.bytes.size : 0);
    MUST(records <= BLOCK_RECORDS_MAX);
    MUST(size <= t->base->object_bytes);
    /* What else a publish may add: a longer resume state, references, names. */
    const size_t extra = STATE_INLINE_MAX + 4 * REFERENCE_BYTES + 4 * NAME_MAX_BYTES;
    const size_t cap = object_bytes_max(OBJECT_MANIFEST);
    const size_t room = size + extra < cap ? cap - size - extra : 0;
    size_t bytes = 0;
    uint32_t taken = 0;
    while (taken < left && records + taken < BLOCK_RECORDS_MAX) {
        MUST(descriptor_bytes_max(&d[taken]) <= OWN_BYTES_MAX); /* one goes at any rate */
        bytes += descriptor_bytes_max(&d[taken]);
        if (bytes > room || bytes > OWN_BYTES_MAX)
            break;
        taken++;
    }
    MUST(taken <= left);
    return taken;
}

/* The new tail, references, sum and totals. */
static bw_status append(const intent_try *t, const descriptor *d, uint32_t count)
{
    const manifest *base = t->base;
    manifest *draft = t->draft;
    intent_scratch *scratch = t->scratch;
    const segment_ref *folded = t->aid->durable_fold, *merged = t->aid->durable_merge;

    MUST_OR(count > 0, return BW_BUG);
    MUST(folded == NULL || folded->last + 1 == base->next);
    if (count > NUMBER_MAX - base->next || d[count - 1].record.seq > NUMBER_MAX)
        return BW_TOO_LARGE;
    buf_reset(&scratch->tail);
    BW_TRY(block_encode(folded != NULL ? NULL : &base->tail, 0, d, count, &scratch->tail));
    draft->tail = (block){.bytes = view_of(scratch->tail.data, scratch->tail.size),
                          .records = (folded != NULL ? 0 : base->tail.records) + count};
    if (folded != NULL || merged != NULL) {
        void *refs = scratch->refs;
        if (mem_grow(&refs, &scratch->ref_capacity, (size_t)base->ref_count + 1,
                     sizeof *scratch->refs) != 0)
            return BW_NOMEM;
        scratch->refs = refs;
        draft->refs = scratch->refs;
        draft->ref_count = fold_refs(base, merged, folded, scratch->refs);
        MUST(draft->ref_count <= base->ref_count + 1);
    }
    for (uint32_t k = 0; k < count; k++) {
        hash128 term;
        BW_TRY(descriptor_term(base->next + k, &d[k], &term));
        if (!MUTANT(publish_without_sum))
            hash_add(&draft->sum, &term);
        if (d[k].shape.total_bytes > UINT64_MAX - draft->committed_bytes)
            return BW_TOO_LARGE;
        draft->committed_bytes += d[k].shape.total_bytes;
    }
    draft->next = base->next + count;
    MUST(draft->tail.records >= count);
    MUST(manifest_tail_first(draft) <= base->next);
    MUST(draft->committed_bytes >= base->committed_bytes);
    return BW_OK;
}

static void advance_entry(const intent *i, const intent_try *t, producer_entry *e, uint32_t last)
{
    const descriptor *d = &i->publish.descriptors[last];
    if (MUTANT(publish_keeps_entry))
        return;
    MUST(d->record.seq > e->seq);
    MUST(d->record.end >= e->offset);
    MUST(d->record.epoch == e->epoch);
    e->seq = d->record.seq + (MUTANT(publish_wrong_seq) ? 1u : 0u);
    e->offset = MUTANT(publish_wrong_offset) ? d->record.start : d->record.end;
    e->last_publish = t->draft->version;
    if (last > 0 && MUTANT(publish_state_late))
        last--;
    const view state = i->publish.states != NULL ? i->publish.states[last] : view_text("");
    e->state_is_object = state.data == NULL && i->publish.state_refs != NULL;
    e->state = state;
    memset(&e->state_ref, 0, sizeof e->state_ref);
    if (e->state_is_object) {
        e->state = view_of(NULL, 0);
        e->state_ref = i->publish.state_refs[last];
    }
}

static void finish_entry(const intent_try *t, producer_entry *e)
{
    MUST(!e->finished);
    MUST(!e->forgotten);
    e->finished = true;
    t->draft->finished_producers++;
    const uint32_t expected = t->aid->genesis->expected_producers;
    const uint64_t short_of = MUTANT(expected_off_by_one) ? 1 : 0;
    if (expected > 0 && t->draft->finished_producers + short_of >= expected &&
        !MUTANT(finish_without_seal))
        t->draft->sealed = true;
}

/* R7 and R10 on an entry that is not where the intent wants it. INTENT_CANDIDATE: go on. */
static intent_verdict judge(const intent_try *t, const producer_entry *e, uint32_t left)
{
    if (e->forgotten)
        return intent_refuse(t, BW_FENCED, "%.*s was forgotten by an operator", VIEW_ARGS(e->id));
    if (e->finished)
        return intent_refuse(t, BW_FINISHED, "%.*s has finished; %u batches are not published",
                             VIEW_ARGS(e->id), left);
    if (t->base->sealed && !MUTANT(sealed_publish))
        return intent_refuse(t, BW_SEALED,
                             "the namespace was sealed at step %llu; %u batches are not published",
                             (unsigned long long)t->base->next, left);
    return INTENT_CANDIDATE;
}

static intent_verdict candidate(const intent *i, const intent_try *t, uint32_t already,
                                uint32_t count)
{
    producer_entry *e;
    bw_status status = intent_draft_entry(t, i->publish.id, NULL, &e);
    if (status == BW_OK && count > 0)
        status = append(t, i->publish.descriptors + already, count);
    if (status != BW_OK)
        return intent_refuse(t, status, "the next manifest cannot be built");
    MUST(token_equal(&e->token, &i->publish.token));
    MUST(already + count <= i->publish.count);
    if (count > 0)
        advance_entry(i, t, e, already + count - 1);
    e->last_commit = t->draft->version;
    e->slot_ms = i->publish.slot_ms;
    if (i->publish.finish && already + count == i->publish.count)
        finish_entry(t, e);
    t->result->first_step = t->base->next;
    t->result->published = count;
    t->result->seq = e->seq;
    t->result->offset = e->offset;
    return INTENT_CANDIDATE;
}

intent_verdict intent_publish_apply(const intent *i, const intent_try *t)
{
    const producer_entry *e;
    if (!intent_find(t, i->publish.id, &e))
        return INTENT_NEED_PAGE;
    if (e == NULL || (!token_equal(&e->token, &i->publish.token) && !MUTANT(fence_skipped)))
        return intent_refuse(t, BW_FENCED, "%.*s was taken over by a newer incarnation",
                             VIEW_ARGS(i->publish.id));
    intent_result *result = t->result;
    result->epoch = e->epoch;
    result->seq = e->seq;
    result->offset = e->offset;
    if (!count_already(i, e, &result->already))
        return intent_refuse(t, BW_BUG, "the batches do not continue %.*s at seq %llu, offset %llu",
                             VIEW_ARGS(e->id), (unsigned long long)e->seq,
                             (unsigned long long)e->offset);
    MUST(result->already <= i->publish.count);
    const uint32_t left = i->publish.count - result->already;
    if (left == 0 && (!i->publish.finish || e->finished))
        return INTENT_ALREADY;
    const intent_verdict verdict = judge(t, e, left);
    if (verdict != INTENT_CANDIDATE)
        return verdict;

    const descriptor *rest = i->publish.descriptors + result->already;
    const uint32_t allowed = limit_room(t->aid->genesis, t->base, rest, left);
    MUST(allowed <= left);
    if (left > 0 && allowed == 0)
        return blocked(t, rest);
    const segment_ref *fold = t->aid->durable_fold;
    if (fold != NULL &&
        (fold->first != manifest_tail_first(t->base) || fold->last + 1 != t->base->next))
        return intent_refuse(t, BW_BUG, "a fold of another tail");
    if (left > 0 && fold == NULL && fold_must(t->base, t->aid->genesis->tail_cap))
        return INTENT_NEED_FOLD;
    if (left > 0 && t->aid->durable_merge == NULL && merge_must(t->base))
        return INTENT_NEED_MERGE;
    const uint32_t count = cap_room(t, rest, allowed);
    MUST(count <= allowed);
    if (left > 0 && count == 0)
        return intent_refuse(t, BW_MANIFEST_FULL, "the manifest has %zu bytes of at most %zu",
                             t->base->object_bytes, object_bytes_max(OBJECT_MANIFEST));
    return candidate(i, t, result->already, count);
}
