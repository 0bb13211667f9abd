// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* pin: checkpoints that a group keeps and those it gives back, in one commit (docs/protocol.md).
 * Key of each: group, launch, id and nonce. */
#include "protocol/intent_draft.h"

#include "base/invariant.h"
#include "base/mutant.h"
#include <string.h>

static const pin *find(const group *g, view id)
{
    MUST(g->pin_count <= PINS_MAX);
    for (uint32_t k = 0; k < g->pin_count; k++)
        if (view_equal(g->pins[k].id, id))
            return &g->pins[k];
    return NULL;
}

static bool same_place(const pin *a, const pin *b)
{
    return a->step == b->step && a->item == b->item && hash_equal(&a->cursor_hash, &b->cursor_hash);
}

/* The pin that a release means; an id used anew since is another pin. */
static bool releases(const intent *i, const pin *p)
{
    MUST_OR(i->pin.release_count == 0 || i->pin.releases != NULL, return false);
    for (uint32_t k = 0; k < i->pin.release_count; k++) {
        const pin_key *key = &i->pin.releases[k];
        if (view_equal(key->id, p->id) && (key->nonce == p->nonce || MUTANT(release_by_id)))
            return true;
    }
    return false;
}

/* INTENT_CANDIDATE: to be added, or there since an earlier launch and the hold is to move up to it.
 * INTENT_ALREADY: there. What the same commit releases is gone before: a checkpoint that is
 * overwritten in place keeps its id. */
static intent_verdict judge_pin(const intent *i, const intent_try *t, const group *g)
{
    const pin *wanted = i->pin.pin;
    const manifest *base = t->base;
    MUST(base->trim <= base->next);
    if (wanted == NULL)
        return INTENT_ALREADY;
    if (wanted->id.size == 0 || wanted->id.size > PIN_ID_MAX)
        return intent_refuse(t, BW_INVALID, "a pin's id has 1 to %u bytes, not %zu", PIN_ID_MAX,
                             wanted->id.size);
    if (releases(i, wanted))
        return intent_refuse(t, BW_INVALID, "pin %.*s is made and released at once",
                             VIEW_ARGS(wanted->id));
    const pin *there = find(g, wanted->id);
    if (there != NULL && !releases(i, there)) {
        if (same_place(there, wanted))
            return wanted->step > g->hold && !MUTANT(same_pin_leaves_hold) ? INTENT_CANDIDATE
                                                                           : INTENT_ALREADY;
        return intent_refuse(
            t, BW_PIN_EXISTS, "pin %.*s of group %.*s is at step %llu, item %u; release it first",
            VIEW_ARGS(there->id), VIEW_ARGS(g->name), (unsigned long long)there->step, there->item);
    }
    if (wanted->step < base->trim && !MUTANT(pin_below_trim))
        return intent_refuse(t, BW_TRIMMED, "step %llu is no longer retained: the first is %llu",
                             (unsigned long long)wanted->step, (unsigned long long)base->trim);
    if (wanted->step > base->next && !MUTANT(pin_beyond_end))
        return intent_refuse(t, BW_BEYOND_END, "step %llu lies beyond the next step, %llu",
                             (unsigned long long)wanted->step, (unsigned long long)base->next);
    return INTENT_CANDIDATE;
}

static void add(group *g, const pin *wanted)
{
    uint32_t at = g->pin_count;
    MUST_OR(g->pin_count < PINS_MAX, return );
    MUST(wanted->id.size > 0);
    while (at > 0 && view_compare(wanted->id, g->pins[at - 1].id) < 0) {
        g->pins[at] = g->pins[at - 1];
        at--;
    }
    g->pins[at] = *wanted;
    g->pin_count++;
    MUST(at == 0 || view_compare(g->pins[at - 1].id, wanted->id) < 0);
    MUST(at + 1 == g->pin_count || view_compare(wanted->id, g->pins[at + 1].id) < 0);
}

/* From a pin at or above the hold on its launch keeps what it needs by it: the hold moves up. It is
 * never given up, since what pins are left may all be of a life that was rolled back (T15). */
static void raise_hold(group *g, const pin *made)
{
    if ((made->step < g->hold && !MUTANT(hold_follows_any_pin)) || MUTANT(hold_not_raised))
        return;
    MUST(made->step >= g->hold || MUTANT(hold_follows_any_pin));
    g->hold = made->step;
    g->pinned = true;
}

/* Without what `i` releases: how many pins that were. */
static uint32_t drop(group *g, const intent *i)
{
    uint32_t left = 0;
    MUST(g->pin_count <= PINS_MAX);
    for (uint32_t k = 0; k < g->pin_count; k++) {
        const pin *p = &g->pins[k];
        if (!releases(i, p))
            g->pins[left++] = *p;
        else if (MUTANT(release_moves_hold) && p->step > g->hold)
            g->hold = p->step;
    }
    MUST(left <= g->pin_count);
    const uint32_t gone = g->pin_count - left;
    g->pin_count = left;
    return gone;
}

intent_verdict intent_pin_apply(const intent *i, const intent_try *t)
{
    const group *seen = manifest_group(t->base, i->pin.group);
    if (seen == NULL)
        return intent_refuse(t, BW_GROUP_GONE, "there is no group %.*s", VIEW_ARGS(i->pin.group));
    if (!view_equal(seen->launch, i->pin.launch) && !MUTANT(pin_of_any_launch))
        return intent_refuse(t, BW_FENCED, "group %.*s was resumed by launch %.*s",
                             VIEW_ARGS(seen->name), VIEW_ARGS(seen->launch));
    const intent_verdict verdict = judge_pin(i, t, seen);
    if (verdict == INTENT_REFUSED)
        return verdict;
    group *g = intent_draft_group(t, i->pin.group);
    MUST_OR(g != NULL, return intent_refuse(t, BW_BUG, "no draft of a group"));
    MUST(g->launch_number == seen->launch_number);
    const uint32_t gone = drop(g, i);
    if (verdict == INTENT_ALREADY && gone == 0)
        return INTENT_ALREADY;
    if (verdict == INTENT_CANDIDATE && find(g, i->pin.pin->id) == NULL) {
        if (g->pin_count == PINS_MAX)
            return intent_refuse(t, BW_PINS_FULL, "group %.*s has %u pins, no more are possible",
                                 VIEW_ARGS(seen->name), g->pin_count);
        add(g, i->pin.pin);
    }
    if (verdict == INTENT_CANDIDATE)
        raise_hold(g, i->pin.pin);
    intent_draft_group_done(t, g);
    MUST(t->draft->group_count == t->base->group_count);
    MUST(g->hold >= seen->hold || MUTANT(hold_follows_any_pin));
    return INTENT_CANDIDATE;
}
