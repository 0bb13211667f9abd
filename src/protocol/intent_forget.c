// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* forget: an operator says that a producer will not come back (R10). Key: id and the epoch seen. */
#include "protocol/intent_draft.h"

#include "base/invariant.h"
#include "base/mutant.h"

intent_verdict intent_forget_apply(intent *i, const intent_try *t)
{
    const view id = i->forget.id;
    const producer_entry *seen;
    if (!intent_find(t, id, &seen))
        return INTENT_NEED_PAGE;
    if (seen == NULL)
        return intent_refuse(t, BW_INVALID, "there is no producer %.*s", VIEW_ARGS(id));
    /* Also who departed: a caller that knows the map alone has not seen the page. */
    if (i->forget.epoch == 0)
        i->forget.epoch = seen->epoch;
    t->result->epoch = seen->epoch;
    t->result->seq = seen->seq;
    t->result->offset = seen->offset;
    if (seen->epoch != i->forget.epoch && !MUTANT(forget_any_epoch))
        return intent_refuse(t, BW_FENCED, "%.*s was opened again, at epoch %u", VIEW_ARGS(id),
                             seen->epoch);
    if (seen->forgotten)
        return INTENT_ALREADY;
    if (seen->finished)
        return intent_refuse(t, BW_FINISHED, "%.*s has finished: there is nothing to forget",
                             VIEW_ARGS(id));
    producer_entry *e;
    if (intent_draft_entry(t, id, seen, &e) != BW_OK)
        return intent_refuse(t, BW_NOMEM, "no memory for a manifest");
    MUST(view_equal(e->id, id));
    MUST(e->epoch == seen->epoch);
    MUST(!e->finished);
    e->forgotten = true;
    e->last_commit = t->draft->version;
    return INTENT_CANDIDATE;
}
