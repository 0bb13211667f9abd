// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Objects beside the manifest: folded tails and indexes that a candidate may refer to once our own
 * put of them was answered OK, the page that it must have read, and the hint. */
#include "protocol/commit_state.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "base/mutant.h"
#include "codec/small.h"
#include "protocol/read.h"
#include <string.h>

/* Whoever makes such a version writes the hint: at most one hint for so many versions, whoever
 * commits. */
#define HINT_EVERY 32u

const segment_ref *commit_durable_fold(const commit *c, const manifest *base)
{
    const put_slot *slot = &c->fold;
    const bool same = hash_equal(&slot->base, &base->hash) ||
                      (slot->state == PUT_DURABLE && MUTANT(fold_of_another_tail));
    return slot->state == PUT_DURABLE && same ? &slot->ref : NULL;
}

/* Steps never change on the chain, so first, last and level say which references an index of a
 * proved base replaces. */
static bool slot_merges(const put_slot *slot, const manifest *base)
{
    if (slot->state == PUT_NONE || !merge_due(base))
        return false;
    MUST(merge_at(base) + INDEX_CHILDREN <= base->ref_count);
    const segment_ref *oldest = &base->refs[merge_at(base)];
    return slot->ref.first == oldest->first && slot->ref.level == oldest->level + 1 &&
           slot->ref.last == oldest[INDEX_CHILDREN - 1].last;
}

const segment_ref *commit_durable_merge(const commit *c, const manifest *base)
{
    const put_slot *slot = &c->merge;
    MUST(base != NULL);
    const bool durable =
        slot->state == PUT_DURABLE || (slot->state == PUT_ASKED && MUTANT(merge_not_durable));
    return durable && slot_merges(slot, base) ? &slot->ref : NULL;
}

static void ask_put(commit *c, put_slot *slot, bool must)
{
    MUST(slot->state == PUT_NONE);
    MUST(slot->object.size > 0);
    MUST(slot->ref.first <= slot->ref.last);
    slot->state = PUT_ASKED;
    slot->must = must;
    (void)ask_add(&c->asks, slot == &c->fold ? COMMIT_ASK_FOLD : COMMIT_ASK_MERGE, STORE_PUT, 0);
}

/* Builds while nothing of the slot is in flight. */
static bw_status build_fold(commit *c, const manifest *m)
{
    MUST_OR(c->fold.state != PUT_ASKED, return BW_BUG);
    MUST(m->tail.records > 0);
    c->fold.state = PUT_NONE;
    buf_reset(&c->fold.object);
    c->fold.base = m->hash;
    const bw_status status = fold_build(m, &c->fold.object, &c->fold.ref);
    MUST(status != BW_OK || c->fold.ref.last + 1 == m->next);
    return status;
}

static bw_status build_merge(commit *c, const manifest *base)
{
    MUST_OR(c->merge.state != PUT_ASKED, return BW_BUG);
    MUST(base->ref_count >= INDEX_CHILDREN);
    c->merge.state = PUT_NONE;
    buf_reset(&c->merge.object);
    const bw_status status = merge_build(base, &c->merge.object, &c->merge.ref);
    MUST(status != BW_OK || c->merge.ref.level > 0);
    return status;
}

/* Beside the create: the fold of the candidate itself, which is the next base if it wins, and the
 * index of the base's references, which stay as they are until somebody merges them. A failure here
 * costs nothing but the chance. */
void commit_put_early(commit *c)
{
    const manifest *base = chain_held(c->chain);
    const genesis *g = chain_genesis(c->chain);
    /* In a crowd the next base is hardly ever ours: its segment would be litter. */
    const manifest *next = c->attempt.next;
    MUST_OR(next != NULL, return );
    MUST(next->version == base->version + 1);
    MUST(c->attempt.open);
    if (c->crowd == 0 && c->fold.state != PUT_ASKED && fold_due(next, g->tail_cap) &&
        build_fold(c, next) == BW_OK)
        ask_put(c, &c->fold, false);
    if (c->merge.state != PUT_ASKED && merge_due(base) && !slot_merges(&c->merge, base) &&
        build_merge(c, base) == BW_OK)
        ask_put(c, &c->merge, false);
}

void commit_need_fold(commit *c)
{
    const manifest *base = chain_held(c->chain);
    MUST(!c->attempt.open);
    MUST(base->tail.records > 0);
    c->state = STATE_FOLD;
    c->counts.fold_waits++;
    if (c->fold.state == PUT_ASKED)
        return; /* an earlier one is in flight: its answer brings us back */
    const bw_status status = build_fold(c, base);
    if (status != BW_OK) {
        commit_fail(c, COMMIT_FAILED, status, "the tail cannot be folded");
        return;
    }
    ask_put(c, &c->fold, true);
    if (MUTANT(fold_not_durable)) {
        c->fold.state = PUT_DURABLE;
        commit_consider(c);
    }
}

void commit_need_merge(commit *c)
{
    const manifest *base = chain_held(c->chain);
    MUST(!c->attempt.open);
    MUST(merge_due(base));
    c->state = STATE_MERGE;
    c->counts.merge_waits++;
    if (c->merge.state == PUT_ASKED) {
        c->merge.must = slot_merges(&c->merge, base);
        return;
    }
    const bw_status status = build_merge(c, base);
    if (status != BW_OK) {
        commit_fail(c, COMMIT_FAILED, status, "the references cannot be merged");
        return;
    }
    ask_put(c, &c->merge, true);
}

void commit_put_answered(commit *c, ask *a, put_slot *slot, machine_reply *reply)
{
    MUST(slot->state == PUT_ASKED);
    MUST(slot->object.size > 0);
    const bool waiting = c->state == (slot == &c->fold ? STATE_FOLD : STATE_MERGE);
    if (reply->outcome == STORE_OK || MUTANT(fold_failed_durable)) {
        slot->state = PUT_DURABLE;
        c->counts.segment_bytes += slot->object.size;
        ask_done(&c->asks, a);
    } else if (waiting && slot->must) {
        commit_again(c, a, reply);
        if (c->state == STATE_IDLE)
            slot->state = PUT_NONE;
        return;
    } else {
        slot->state = PUT_NONE;
        ask_done(&c->asks, a);
    }
    if (waiting)
        commit_consider(c);
}

/* Whatever its name: the hash is of all that it says. */
const page *commit_page(const commit *c, const manifest *base)
{
    const bool same =
        base->has_page && c->has_page && hash_equal(&c->page_of.hash, &base->page.hash);
    return same ? &c->page : NULL;
}

void commit_need_page(commit *c)
{
    MUST(chain_held(c->chain)->has_page);
    MUST(c->state != STATE_PAGE);
    if (c->has_page)
        page_free(&c->page);
    mem_free(c->page_object);
    c->page_object = NULL;
    c->has_page = false;
    c->page_of = chain_held(c->chain)->page;
    c->refetched = false;
    c->state = STATE_PAGE;
    (void)ask_add(&c->asks, COMMIT_ASK_PAGE, STORE_GET, 0);
}

void commit_page_read(commit *c, ask *a, machine_reply *reply)
{
    const bool answer =
        reply->outcome == STORE_OK || reply->outcome == STORE_NOT_FOUND || reply_damaged(reply);
    if (!answer) {
        commit_again(c, a, reply);
        return;
    }
    bw_error error;
    object_key key;
    MUST(c->state == STATE_PAGE);
    MUST(!c->has_page);
    bw_status status = page_read(reply, &c->page_of, &c->page, &c->page_object, &error);
    c->has_page = status == BW_OK;
    if (status != BW_OK && reply->outcome != STORE_NOT_FOUND && !c->refetched) {
        c->refetched = true;
        ask_rest(&c->asks, a, c->now_ns);
        return;
    }
    ask_done(&c->asks, a);
    if (status == BW_OK && c->attempt.open) {
        commit_witness(c);
    } else if (status == BW_OK) {
        commit_consider(c);
    } else if (reply->outcome == STORE_NOT_FOUND && c->page_missing != c->page_of.version) {
        /* A sweep may have replaced it: look at a newer manifest. */
        c->page_missing = c->page_of.version;
        commit_walk(c, c->attempt.open ? CHAIN_REOPEN : CHAIN_NEWEST);
    } else {
        key_page(&key, c->page_of.version, c->page_of.nonce);
        c->report.open_unknown = c->attempt.open;
        error_copy(&c->report.error, &error);
        error_set_key(&c->report.error, key.text);
        commit_end_with(c, COMMIT_FAILED, status);
    }
}

/* Its bytes may not be changed then. */
static bool hint_is_under_way(const commit *c)
{
    MUST(c->asks.used <= COMMIT_ASKS);
    for (uint32_t i = 0; i < c->asks.used; i++)
        if (c->slots[i].state != ASK_FREE && c->slots[i].role == COMMIT_ASK_HINT)
            return true;
    return false;
}

void commit_put_hint(commit *c, uint64_t version)
{
    MUST(version > 0);
    if (version % HINT_EVERY != 0 || hint_is_under_way(c))
        return;
    MUST(c->state == STATE_IDLE);
    buf_reset(&c->hint);
    if (hint_encode(chain_genesis(c->chain)->uuid, version, &c->hint) == BW_OK)
        (void)ask_add(&c->asks, COMMIT_ASK_HINT, STORE_PUT, version);
}
