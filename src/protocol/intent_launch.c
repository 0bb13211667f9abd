// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* launch: a group is registered or resumed (docs/protocol.md). Key: name and launch. And its end:
 * group rm. */
#include "protocol/intent_draft.h"

#include "base/invariant.h"
#include "base/mutant.h"
#include "protocol/launch.h"
#include <string.h>

typedef struct start {
    uint64_t step;
    uint32_t item;
    hash128 hash;
} start;

static intent_verdict begun(const intent_try *t, const start *s)
{
    MUST(s->step <= t->base->next);
    t->result->start_step = s->step;
    t->result->start_item = s->item;
    return INTENT_ALREADY;
}

/* Our launch is there: by a try of ours whose reply was lost, or by an earlier call. */
static intent_verdict already(const intent *i, const intent_try *t, const group *g)
{
    start s = {0};
    MUST(view_equal(g->launch, i->launch.launch));
    MUST(i->launch.cursor != NULL);
    const bw_status status =
        launch_take(g, i->launch.start, i->launch.cursor, &s.step, &s.item, &t->result->error);
    if (status != BW_OK) {
        t->result->status = status == BW_RANKS_DISAGREE ? BW_LAUNCH_REUSED : status;
        t->result->error.code = t->result->status;
        return INTENT_REFUSED;
    }
    return begun(t, &s);
}

/* Where it begins, as the base has it. INTENT_CANDIDATE: there. */
static intent_verdict resolve(const intent *i, const intent_try *t, const group *g, start *s)
{
    const manifest *base = t->base;
    const cursor *c = i->launch.cursor;
    MUST_OR(c != NULL, return intent_refuse(t, BW_BUG, "a launch without a cursor"));
    MUST(base->trim <= base->next);
    *s = (start){.step = base->trim};
    switch (i->launch.start) {
    case LAUNCH_CURSOR:
        s->step = c->step;
        s->item = c->item;
        break;
    case LAUNCH_LATEST:
        s->step = base->next;
        break;
    case LAUNCH_TIP:
        if (c->item > 0)
            return intent_refuse(t, BW_CURSOR_INVALID,
                                 "the cursor stands at item %u of step %llu: a job skips to the "
                                 "tip only from a step's beginning",
                                 c->item, (unsigned long long)c->step);
        s->step = c->step > base->next || MUTANT(tip_stays) ? c->step : base->next;
        break;
    case LAUNCH_GROUP:
        if (g != NULL)
            launch_newest(g, &s->step, &s->item);
        MUST(g == NULL || s->step >= base->trim);
        break;
    case LAUNCH_EARLIEST:
        break;
    }
    if (s->step < base->trim && !MUTANT(launch_below_trim))
        return intent_refuse(t, BW_TRIMMED, "step %llu is no longer retained: the first is %llu",
                             (unsigned long long)s->step, (unsigned long long)base->trim);
    if (s->step > base->next)
        return intent_refuse(t, BW_BEYOND_END, "step %llu lies beyond the next step, %llu",
                             (unsigned long long)s->step, (unsigned long long)base->next);
    const bw_status status = launch_hash(c, i->launch.start, s->step, s->item, &s->hash);
    return status == BW_OK ? INTENT_CANDIDATE
                           : intent_refuse(t, status, "the cursor cannot be hashed");
}

/* A pin in the middle of a step counts items of its own mesh: another cursor would mean others. */
static bool same_items(const group *g, const start *s)
{
    MUST(g->pin_count <= PINS_MAX);
    if (s->item == 0)
        return true;
    for (uint32_t k = 0; k < g->pin_count; k++)
        if (g->pins[k].step == s->step && g->pins[k].item == s->item &&
            hash_equal(&g->pins[k].cursor_hash, &s->hash))
            return true;
    return false;
}

static intent_verdict candidate(const intent *i, const intent_try *t, const group *seen,
                                const start *s)
{
    if (seen == NULL && t->base->group_count >= GROUPS_MAX)
        return intent_refuse(t, BW_PINS_FULL, "the namespace has %u groups, no more are possible",
                             GROUPS_MAX);
    group *g = intent_draft_group(t, i->launch.name);
    MUST_OR(g != NULL, return intent_refuse(t, BW_BUG, "no draft of a group"));
    MUST((g->launch_number == 0) == (seen == NULL));
    MUST(i->launch.number > g->launch_number);
    g->launch = i->launch.launch;
    g->launch_number = i->launch.number;
    if (!MUTANT(launch_without_hold) || g->pin_count == 0) {
        g->hold = s->step;
        g->pinned = false;
    }
    g->cursor_hash = s->hash;
    intent_draft_group_done(t, g);
    MUST(t->draft->trim <= s->step || MUTANT(launch_below_trim) || MUTANT(launch_without_hold));
    (void)begun(t, s);
    return INTENT_CANDIDATE;
}

/* Whom this call is to succeed. The number alone would not do: it begins again once a group was
 * removed, and a call that slept over that would fence a job that it never saw. */
static void fix(intent *i, const group *seen)
{
    i->launch.number = seen != NULL ? seen->launch_number + 1 : 1;
    i->launch.seen_size = 0;
    if (seen == NULL)
        return;
    MUST(seen->launch.size > 0);
    MUST_OR(seen->launch.size <= LAUNCH_MAX, return );
    i->launch.seen_size = (uint8_t)seen->launch.size;
    memcpy(i->launch.seen, seen->launch.data, seen->launch.size);
}

static bool fixed_at(const intent *i, const group *seen)
{
    const view fenced = view_of(i->launch.seen, i->launch.seen_size);
    MUST(i->launch.seen_size <= LAUNCH_MAX);
    if (seen == NULL)
        return i->launch.seen_size == 0;
    return seen->launch_number + 1 == i->launch.number &&
           (view_equal(seen->launch, fenced) || MUTANT(launch_number_alone));
}

intent_verdict intent_launch_apply(intent *i, const intent_try *t)
{
    if (!name_is_valid(i->launch.name))
        return intent_refuse(t, BW_INVALID, "\"%.*s\" is no name of a group",
                             VIEW_ARGS(i->launch.name));
    if (i->launch.launch.size == 0 || i->launch.launch.size > LAUNCH_MAX)
        return intent_refuse(t, BW_INVALID, "a launch id has 1 to %u bytes, not %zu", LAUNCH_MAX,
                             i->launch.launch.size);
    const group *seen = manifest_group(t->base, i->launch.name);
    /* Also where it is ours: who succeeds it by the next base is not to be fenced by it. */
    if (i->launch.number == 0 || MUTANT(launch_number_refixed))
        fix(i, seen);
    if (seen != NULL && view_equal(seen->launch, i->launch.launch))
        return already(i, t, seen);
    if (!fixed_at(i, seen))
        return seen == NULL ? intent_refuse(t, BW_GROUP_GONE, "group %.*s was removed meanwhile",
                                            VIEW_ARGS(i->launch.name))
                            : intent_refuse(t, BW_FENCED,
                                            "group %.*s was resumed by launch %.*s, number %llu",
                                            VIEW_ARGS(i->launch.name), VIEW_ARGS(seen->launch),
                                            (unsigned long long)seen->launch_number);
    MUST(seen == NULL || i->launch.number > seen->launch_number || i->launch.number == 0);
    if (i->launch.number == 0)
        return intent_refuse(t, BW_TOO_LARGE, "group %.*s was launched too often",
                             VIEW_ARGS(i->launch.name));
    start s;
    const intent_verdict verdict = resolve(i, t, seen, &s);
    if (verdict != INTENT_CANDIDATE)
        return verdict;
    if (i->launch.start == LAUNCH_GROUP && seen != NULL && !same_items(seen, &s))
        return intent_refuse(t, BW_CURSOR_INVALID,
                             "the newest pin of %.*s stands at item %u of step %llu of another "
                             "mesh: give the cursor of its checkpoint",
                             VIEW_ARGS(i->launch.name), s.item, (unsigned long long)s.step);
    return candidate(i, t, seen, &s);
}

intent_verdict intent_group_rm_apply(const intent *i, const intent_try *t)
{
    const group *seen = manifest_group(t->base, i->group_rm.name);
    if (seen == NULL)
        return INTENT_ALREADY;
    if (!view_equal(seen->launch, i->group_rm.launch) && !MUTANT(group_rm_of_any_launch))
        return intent_refuse(t, BW_FENCED, "group %.*s was resumed by another launch since",
                             VIEW_ARGS(i->group_rm.name));
    intent_draft_without_group(t, seen);
    MUST(t->draft->group_count + 1 == t->base->group_count);
    MUST(manifest_group(t->draft, i->group_rm.name) == NULL);
    return INTENT_CANDIDATE;
}
