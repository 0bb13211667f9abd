// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* seal: the namespace's end (R10). Sealed is its own key: applying it twice is harmless. */
#include "protocol/intent_draft.h"

#include "base/invariant.h"
#include "base/mutant.h"

intent_verdict intent_seal_apply(const intent *i, const intent_try *t)
{
    const manifest *base = t->base;
    const genesis *g = t->aid->genesis;
    if (base->sealed)
        return INTENT_ALREADY;
    if (!i->seal.force && !MUTANT(seal_unfinished)) {
        uint32_t open = 0;
        view first = {0};
        for (uint32_t k = 0; k < base->producer_count; k++) {
            const producer_entry *e = &base->producers[k];
            if (e->finished || e->forgotten)
                continue;
            if (open++ == 0)
                first = e->id;
        }
        if (open > 0)
            return intent_refuse(t, BW_SEAL_REFUSED,
                                 "%u producer%s not finished, the first is %.*s", open,
                                 open == 1 ? " has" : "s have", VIEW_ARGS(first));
        if (base->finished_producers < g->expected_producers)
            return intent_refuse(t, BW_SEAL_REFUSED,
                                 "%llu of %u expected producers have finished; a forgotten one "
                                 "has not",
                                 (unsigned long long)base->finished_producers,
                                 g->expected_producers);
    }
    manifest_succeed(base, g, NULL, t->aid, t->draft);
    MUST(t->draft->version == base->version + 1);
    MUST(t->draft->next == base->next);
    t->draft->sealed = true;
    return INTENT_CANDIDATE;
}
