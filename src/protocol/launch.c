// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/launch.h"

#include "base/invariant.h"
#include "base/mutant.h"

bw_status launch_cursor(const cursor *c, launch_start start, uint64_t step, uint32_t item,
                        cursor *out)
{
    MUST(step <= NUMBER_MAX);
    MUST(start != LAUNCH_TIP || item == 0);
    BW_TRY(cursor_copy(out, c));
    out->step = step;
    out->item = item;
    if (start != LAUNCH_TIP || step <= c->step || MUTANT(tip_leaves_no_range))
        return BW_OK;
    const bw_status status = cursor_skip(out, c->step, step);
    MUST(status != BW_OK || out->skip_count > 0);
    if (status != BW_OK)
        cursor_free(out);
    return status;
}

bw_status launch_hash(const cursor *c, launch_start start, uint64_t step, uint32_t item,
                      hash128 *hash)
{
    cursor at;
    MUST(hash != NULL);
    BW_TRY(launch_cursor(c, start, step, item, &at));
    const bw_status status = cursor_hash(&at, hash);
    cursor_free(&at);
    return status;
}

void launch_newest(const group *g, uint64_t *step, uint32_t *item)
{
    MUST(g->pin_count <= PINS_MAX);
    MUST(g->hold <= NUMBER_MAX);
    *step = g->hold;
    *item = 0;
    const pin *newest = NULL;
    for (uint32_t k = 0; k < g->pin_count; k++) {
        const pin *p = &g->pins[k];
        if (newest == NULL || p->step > newest->step ||
            (p->step == newest->step && p->item > newest->item))
            newest = p;
    }
    if (newest == NULL)
        return;
    *step = newest->step;
    *item = newest->item;
}

/* Does the launch begin at this place? */
static bool begins(const group *g, launch_start start, const cursor *c, uint64_t step,
                   uint32_t item, bw_status *status)
{
    hash128 hash;
    MUST(g->launch.size > 0);
    if (start == LAUNCH_TIP && (item > 0 || step < c->step))
        return false; /* it went forward, to a step's beginning */
    if (*status == BW_OK)
        *status = launch_hash(c, start, step, item, &hash);
    return *status == BW_OK &&
           (hash_equal(&hash, &g->cursor_hash) || MUTANT(launch_takes_any_cursor));
}

/* The hash proves it: the hold, unless it moved, a pin that it was resumed from, or one that was
 * made where it began. */
static bool find(const group *g, launch_start start, const cursor *c, uint64_t *step,
                 uint32_t *item, bw_status *status)
{
    MUST(*status == BW_OK);
    MUST(g->hold <= NUMBER_MAX);
    *step = g->hold;
    *item = 0;
    if (begins(g, start, c, g->hold, 0, status))
        return true;
    for (uint32_t k = 0; k < g->pin_count; k++) {
        *step = g->pins[k].step;
        *item = g->pins[k].item;
        if (begins(g, start, c, *step, *item, status))
            return true;
    }
    return false;
}

bw_status launch_take(const group *g, launch_start start, const cursor *c, uint64_t *step,
                      uint32_t *item, bw_error *error)
{
    bw_status status = BW_OK;
    MUST_OR(c != NULL, return error_set(error, BW_BUG, "a launch without a cursor"));
    MUST(c->step <= NUMBER_MAX);
    MUST(g->launch.size > 0);
    if (start == LAUNCH_CURSOR) {
        *step = c->step;
        *item = c->item;
        if (begins(g, start, c, *step, *item, &status))
            return BW_OK;
    } else if (find(g, start, c, step, item, &status)) {
        return BW_OK;
    }
    if (status != BW_OK)
        return error_set(error, status, "the cursor cannot be hashed");
    if (start != LAUNCH_CURSOR && g->pinned)
        return error_set(error, BW_LAUNCH_REUSED,
                         "launch %.*s has pinned checkpoints since it began: a restart is another "
                         "launch and needs another id, or the cursor of its checkpoint",
                         (int)g->launch.size, (const char *)g->launch.data);
    if (start != LAUNCH_CURSOR || g->pinned)
        return error_set(
            error, BW_RANKS_DISAGREE,
            "launch %.*s began with a cursor of another place, dp, mode, skips or tags",
            (int)g->launch.size, (const char *)g->launch.data);
    return error_set(error, BW_RANKS_DISAGREE,
                     "launch %.*s began at step %llu; this cursor is at step %llu, item %u (or of "
                     "another dp, mode, skips or tags)",
                     (int)g->launch.size, (const char *)g->launch.data, (unsigned long long)g->hold,
                     (unsigned long long)c->step, c->item);
}
