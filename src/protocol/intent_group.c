// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Drafts in which a group changes. */
#include "protocol/intent_draft.h"

#include "base/invariant.h"
#include "base/mutant.h"
#include <string.h>

static void begin(const intent_try *t)
{
    const manifest *base = t->base;
    MUST_OR(base->group_count <= GROUPS_MAX, return );
    manifest_succeed(base, t->aid->genesis, NULL, t->aid, t->draft);
    MUST(t->draft->trim >= base->trim);
    t->draft->trim = base->trim; /* W is about to change */
    if (base->group_count > 0)
        memcpy(t->scratch->groups, base->groups, base->group_count * sizeof *base->groups);
    t->draft->groups = t->scratch->groups;
}

/* trim = max(trim, W), W of what the draft says (docs/protocol.md). */
static void settle_trim(manifest *draft)
{
    const uint64_t w = MUTANT(w_of_newest_pins) ? manifest_frontier(draft) : manifest_w(draft);
    MUST(w <= draft->next);
    MUST(draft->group_count == 0 || w >= draft->trim);
    if (w > draft->trim && !MUTANT(trim_of_base_only))
        draft->trim = w;
}

group *intent_draft_group(const intent_try *t, view name)
{
    group *groups = t->scratch->groups;
    const uint32_t count = t->base->group_count;
    uint32_t at = 0;
    begin(t);
    while (at < count && view_compare(groups[at].name, name) < 0)
        at++;
    if (at == count || !view_equal(groups[at].name, name)) {
        MUST_OR(count < GROUPS_MAX, return NULL);
        memmove(&groups[at + 1], &groups[at], (count - at) * sizeof *groups);
        groups[at] = (group){.name = name};
        t->draft->group_count = count + 1;
    }
    group *g = &groups[at];
    MUST_OR(g->pin_count <= PINS_MAX, return NULL);
    if (g->pin_count > 0)
        memcpy(t->scratch->pins, g->pins, g->pin_count * sizeof *g->pins);
    g->pins = t->scratch->pins;
    return g;
}

void intent_draft_group_done(const intent_try *t, group *g)
{
    /* A group always holds something, and nothing that is gone already. */
    MUST(g->hold >= t->base->trim);
    MUST(g->launch_number > 0);
    MUST(g->pin_count <= PINS_MAX);
    g->last_version = t->draft->version;
    g->last_clock_ms = t->aid->clock_ms;
    settle_trim(t->draft);
}

void intent_draft_without_group(const intent_try *t, const group *gone)
{
    const size_t at = (size_t)(gone - t->base->groups);
    MUST_OR(at < t->base->group_count, return );
    begin(t);
    group *groups = t->scratch->groups;
    memmove(&groups[at], &groups[at + 1], (t->base->group_count - at - 1) * sizeof *groups);
    t->draft->group_count = t->base->group_count - 1;
    settle_trim(t->draft);
}
