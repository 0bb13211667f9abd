// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/intent.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "protocol/intent_draft.h"
#include <string.h>

bw_status intent_scratch_new(intent_scratch **out)
{
    intent_scratch *scratch = mem_zalloc(sizeof *scratch);
    if (scratch == NULL)
        return BW_NOMEM;
    buf_init(&scratch->tail, object_bytes_max(OBJECT_MANIFEST));
    *out = scratch;
    return BW_OK;
}

void intent_scratch_free(intent_scratch *scratch)
{
    if (scratch == NULL)
        return;
    mem_free(scratch->producers);
    mem_free(scratch->refs);
    buf_free(&scratch->tail);
    mem_free(scratch);
}

intent_verdict intent_refuse(const intent_try *t, bw_status status, const char *format, ...)
{
    va_list args;
    MUST(status != BW_OK);
    va_start(args, format);
    (void)error_vset(&t->result->error, status, format, args);
    va_end(args);
    t->result->status = status;
    return INTENT_REFUSED;
}

intent_verdict intent_apply(intent *i, const manifest *base, const intent_aid *aid,
                            intent_scratch *scratch, manifest *draft, intent_result *result)
{
    memset(result, 0, sizeof *result);
    const intent_try t = {
        .base = base, .aid = aid, .scratch = scratch, .draft = draft, .result = result};
    MUST_OR(base != NULL, return intent_refuse(&t, BW_BUG, "no base"));
    MUST(aid->genesis != NULL);
    switch (i->kind) {
    case INTENT_OPEN:
        return intent_open_apply(i, &t);
    case INTENT_PUBLISH:
        return intent_publish_apply(i, &t);
    case INTENT_SEAL:
        return intent_seal_apply(i, &t);
    case INTENT_LAUNCH:
        return intent_launch_apply(i, &t);
    case INTENT_PIN:
        return intent_pin_apply(i, &t);
    case INTENT_GROUP_RM:
        return intent_group_rm_apply(i, &t);
    case INTENT_FORGET:
        return intent_forget_apply(i, &t);
    case INTENT_SWEPT:
        return intent_swept_apply(i, &t);
    case INTENT_KINDS:
        break;
    }
    return intent_refuse(&t, BW_BUG, "an intent of an unknown kind");
}

/* An encoded block without records: five zero fields. */
static const uint8_t empty_block[20];

void manifest_succeed(const manifest *base, const genesis *g, const hash128 *genesis_hash,
                      const intent_aid *aid, manifest *draft)
{
    memset(draft, 0, sizeof *draft);
    memcpy(draft->uuid, g->uuid, UUID_BYTES);
    draft->nonce = aid->nonce;
    draft->clock_ms = aid->clock_ms;
    draft->committer = aid->committer;
    if (base == NULL) {
        MUST_OR(genesis_hash != NULL, return );
        draft->version = 1;
        // cppcheck-suppress nullPointer ; MUST_OR leaves
        draft->previous = *genesis_hash;
        draft->tail.bytes = view_of(empty_block, sizeof empty_block);
        return;
    }
    MUST(memcmp(base->uuid, g->uuid, UUID_BYTES) == 0);
    MUST(base->version < NUMBER_MAX);
    draft->version = base->version + 1;
    draft->previous = base->hash;
    draft->next = base->next;
    const uint64_t w = manifest_w(base);
    draft->trim = w > base->trim ? w : base->trim;
    MUST(draft->trim >= base->trim);
    MUST(draft->trim <= draft->next);
    MUST(base->swept <= draft->trim);
    MUST(base->swept_bytes <= base->committed_bytes);
    draft->swept = base->swept;
    draft->sealed = base->sealed;
    draft->has_page = base->has_page;
    draft->committed_bytes = base->committed_bytes;
    draft->swept_bytes = base->swept_bytes;
    draft->finished_producers = base->finished_producers;
    draft->sum = base->sum;
    draft->turn = aid->turn_member ? aid->committer : base->turn;
    draft->page = base->page;
    draft->ref_count = base->ref_count;
    draft->refs = base->refs;
    draft->tail = base->tail;
    draft->producer_count = base->producer_count;
    draft->producers = base->producers;
    draft->group_count = base->group_count;
    draft->groups = base->groups;
}

bool intent_find(const intent_try *t, view id, const producer_entry **entry)
{
    MUST(id.size > 0);
    *entry = manifest_producer(t->base, id);
    if (*entry != NULL || !t->base->has_page)
        return true;
    if (t->aid->page == NULL)
        return false;
    *entry = page_producer(t->aid->page, id);
    return true;
}

/* Room for the base's map and one more. */
static bw_status room(const intent_try *t)
{
    intent_scratch *scratch = t->scratch;
    void *producers = scratch->producers;
    if (mem_grow(&producers, &scratch->producer_capacity, (size_t)t->base->producer_count + 1,
                 sizeof *scratch->producers) != 0)
        return BW_NOMEM;
    scratch->producers = producers;
    return BW_OK;
}

bw_status intent_draft_producers(const intent_try *t)
{
    const manifest *base = t->base;
    manifest_succeed(base, t->aid->genesis, NULL, t->aid, t->draft);
    BW_TRY(room(t));
    MUST_OR(t->scratch->producer_capacity > base->producer_count, return BW_BUG);
    MUST(t->draft->producer_count == base->producer_count);
    if (base->producer_count > 0)
        memcpy(t->scratch->producers, base->producers,
               base->producer_count * sizeof *base->producers);
    t->draft->producers = t->scratch->producers;
    return BW_OK;
}

bw_status intent_draft_entry(const intent_try *t, view id, const producer_entry *from,
                             producer_entry **entry)
{
    const manifest *base = t->base;
    intent_scratch *scratch = t->scratch;
    MUST_OR(base->producer_count < UINT32_MAX, return BW_BUG);
    manifest_succeed(base, t->aid->genesis, NULL, t->aid, t->draft);
    BW_TRY(room(t));

    uint32_t at = 0, high = base->producer_count;
    while (at < high) {
        const uint32_t middle = at + (high - at) / 2;
        if (view_compare(base->producers[middle].id, id) < 0)
            at = middle + 1;
        else
            high = middle;
    }
    MUST(at <= base->producer_count);
    const bool there = at < base->producer_count && view_equal(base->producers[at].id, id);
    producer_entry *out = scratch->producers;
    if (base->producer_count > 0) {
        memcpy(out, base->producers, at * sizeof *out);
        memcpy(out + at + (there ? 0 : 1), base->producers + at,
               (base->producer_count - at) * sizeof *out);
    }
    if (!there) {
        if (from != NULL)
            out[at] = *from;
        else
            memset(&out[at], 0, sizeof out[at]);
        out[at].id = id;
    }
    t->draft->producers = out;
    t->draft->producer_count = base->producer_count + (there ? 0 : 1);
    MUST(view_equal(out[at].id, id));
    MUST(at == 0 || view_compare(out[at - 1].id, id) < 0);
    MUST(at + 1 == t->draft->producer_count || view_compare(id, out[at + 1].id) < 0);
    *entry = &out[at];
    return BW_OK;
}
