// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* open: a new incarnation of a producer id (R1). Key: the token, one a call. */
#include "protocol/intent_draft.h"

#include "base/invariant.h"
#include "base/mutant.h"

#include <string.h>

/* A producer may open only where its publishes will fit: a manifest too large is refused before
 * anything is staged. */
#define OPEN_HEADROOM_BYTES ((1u << 20) + (64u << 10))

static void tell(const intent_try *t, const producer_entry *e)
{
    t->result->epoch = e->epoch;
    t->result->seq = e->seq;
    t->result->offset = e->offset;
}

/* Refuses, or INTENT_CANDIDATE: may be opened on this base. */
static intent_verdict judge(const intent *i, const intent_try *t, const producer_entry *e)
{
    const uint32_t epoch = e != NULL ? e->epoch : 0;
    MUST(i->open.epoch > 0);
    if (MUTANT(open_epoch_compared_wrongly) ? epoch > i->open.epoch : epoch >= i->open.epoch)
        return intent_refuse(t, BW_FENCED, "%.*s was opened by another at epoch %u",
                             VIEW_ARGS(i->open.id), epoch);
    if (e != NULL && e->finished && !i->open.reopen && !MUTANT(finished_opens))
        return intent_refuse(t, BW_FINISHED, "%.*s has finished at offset %llu", VIEW_ARGS(e->id),
                             (unsigned long long)e->offset);
    if (t->base->sealed && !MUTANT(sealed_open))
        return intent_refuse(t, BW_SEALED, "the namespace was sealed at step %llu",
                             (unsigned long long)t->base->next);
    if (t->base->object_bytes + OPEN_HEADROOM_BYTES > object_bytes_max(OBJECT_MANIFEST))
        return intent_refuse(t, BW_MANIFEST_FULL, "the manifest has %zu bytes of at most %zu",
                             t->base->object_bytes, object_bytes_max(OBJECT_MANIFEST));
    return INTENT_CANDIDATE;
}

intent_verdict intent_open_apply(intent *i, const intent_try *t)
{
    if (!name_is_valid(i->open.id))
        return intent_refuse(t, BW_INVALID, "\"%.*s\" is no name of a producer",
                             VIEW_ARGS(i->open.id));
    const producer_entry *seen;
    if (!intent_find(t, i->open.id, &seen))
        return INTENT_NEED_PAGE;
    if (seen != NULL) {
        tell(t, seen);
        if (token_equal(&seen->token, &i->open.token))
            return INTENT_ALREADY;
        if (seen->epoch == UINT32_MAX)
            return intent_refuse(t, BW_TOO_LARGE, "%.*s was opened too often", VIEW_ARGS(seen->id));
    }
    if (i->open.epoch == 0 || MUTANT(open_epoch_refixed))
        i->open.epoch = seen != NULL ? seen->epoch + 1 : 1;
    const intent_verdict verdict = judge(i, t, seen);
    if (verdict != INTENT_CANDIDATE)
        return verdict;

    producer_entry *e;
    if (intent_draft_entry(t, i->open.id, seen, &e) != BW_OK)
        return intent_refuse(t, BW_NOMEM, "no memory for a manifest");
    MUST(view_equal(e->id, i->open.id));
    MUST(seen == NULL || i->open.epoch > seen->epoch);
    if (e->finished) {
        if (t->draft->finished_producers == 0)
            return intent_refuse(t, BW_BUG, "a finished producer that the total does not count");
        t->draft->finished_producers--;
    }
    e->finished = e->forgotten = false;
    if (!MUTANT(open_keeps_epoch) || e->epoch == 0)
        e->epoch = i->open.epoch;
    if (MUTANT(open_resets_seq))
        e->seq = 0;
    e->token = i->open.token;
    e->last_commit = t->draft->version;
    MUST(e->last_publish < e->last_commit);
    tell(t, e);
    return INTENT_CANDIDATE;
}
