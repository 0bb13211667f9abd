// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/rescale.h"

#include "base/invariant.h"
#include "base/mutant.h"

const char *cursor_mode_name(cursor_mode mode)
{
    return mode == MODE_SAME_BATCH ? "same_batch" : "scale_batch";
}

bw_status rescale_find(cursor_mode mode, uint32_t made_for, uint32_t dp, rescale *out,
                       bw_error *error)
{
    MUST_OR(made_for > 0, return BW_BUG);
    *out = (rescale){
        .mode = mode, .made_for = made_for, .dp = dp, .reads = 1, .shares = 1, .strides = 1};
    if (dp == 0 || (made_for % dp != 0 && dp % made_for != 0))
        return error_set(error, BW_MESH_MISMATCH,
                         "the namespace has dp %u, the job dp %u; legal here: what divides %u, or "
                         "a multiple of it",
                         made_for, dp, made_for);
    if (dp <= made_for)
        out->reads = made_for / dp;
    else if (mode == MODE_SAME_BATCH)
        out->shares = dp / made_for;
    else
        out->strides = dp / made_for;
    MUST(out->reads == 1 || (out->shares == 1 && out->strides == 1));
    return BW_OK;
}

uint32_t rescale_row(const rescale *r, uint32_t d, uint32_t nth)
{
    MUST(d < r->dp);
    MUST(nth < r->reads);
    if (r->strides > 1)
        return d % r->made_for;
    if (r->mode == MODE_SCALE_BATCH)
        return nth * r->dp + d;
    const uint32_t row = r->reads > 1 ? d * r->reads + nth : d / r->shares;
    return MUTANT(rescale_row_off_by_one) ? (row + 1) % r->made_for : row;
}

uint32_t rescale_phase(const rescale *r, uint32_t d)
{
    MUST(d < r->dp);
    const uint32_t phase = r->strides > 1 ? d / r->made_for : 0;
    MUST(phase < r->strides);
    return phase;
}

uint32_t rescale_items(const rescale *r, uint32_t items)
{
    MUST(items > 0);
    MUST(r->shares > 0);
    return items % r->shares != 0 ? 0 : items / r->shares * r->reads;
}

void rescale_item(const rescale *r, uint32_t d, uint32_t items, uint32_t i, uint32_t *nth,
                  uint32_t *item)
{
    MUST(i < rescale_items(r, items));
    if (r->mode == MODE_SCALE_BATCH || MUTANT(rescale_slice_major)) {
        *nth = i / items;
        *item = i % items;
    } else {
        *nth = i % r->reads;
        *item = i / r->reads * r->shares + d % r->shares;
    }
    MUST(*nth < r->reads);
    MUST(*item < items);
}

/* Under same_batch: how many of the items of a rank of that job are one item of every slice of the
 * namespace, or one item of a rank is that many items of every slice. */
static bool progress(const rescale *r, uint64_t item, uint64_t *of_each)
{
    MUST(r->mode == MODE_SAME_BATCH);
    MUST(r->reads > 0);
    *of_each = item / r->reads * r->shares;
    return item % r->reads == 0;
}

static bool converts(const rescale *from, const rescale *to, uint64_t item, uint64_t *out)
{
    uint64_t of_each;
    if (!progress(from, item, &of_each) || of_each % to->shares != 0)
        return false;
    *out = of_each / to->shares * to->reads;
    MUST(*out <= UINT32_MAX || of_each > 0);
    MUST(to->shares == 1 || to->reads == 1);
    return true;
}

static bw_status no_boundary(const rescale *from, const rescale *to, const cursor *c,
                             bw_error *error)
{
    uint64_t below = c->item, above = c->item, ignored;
    while (below > 0 && !converts(from, to, below, &ignored))
        below--;
    while (!converts(from, to, above, &ignored))
        above++;
    MUST(below < c->item);
    MUST(above > c->item);
    return error_set(error, BW_CURSOR_INVALID,
                     "item %u of step %llu of dp %u is no boundary for dp %u; the nearest are item "
                     "%llu and item %llu",
                     c->item, (unsigned long long)c->step, c->dp, to->dp, (unsigned long long)below,
                     (unsigned long long)above);
}

bw_status rescale_resume(const rescale *r, const cursor *c, uint32_t *item, bw_error *error)
{
    rescale from;
    uint64_t there = 0;
    *item = 0;
    const bw_status status = rescale_find(c->mode, r->made_for, c->dp, &from, error);
    if (status != BW_OK)
        return status;
    MUST(from.made_for == r->made_for);
    if (c->item == 0)
        return BW_OK;
    const bool same = c->mode == r->mode && c->dp == r->dp;
    if (!same && (c->mode == MODE_SCALE_BATCH || r->mode == MODE_SCALE_BATCH))
        return error_set(error, BW_CURSOR_INVALID,
                         "item %u of step %llu, %s, dp %u: to or from scale_batch a job changes "
                         "only at a step's beginning; the nearest are item 0 of steps %llu and "
                         "%llu",
                         c->item, (unsigned long long)c->step, cursor_mode_name(c->mode), c->dp,
                         (unsigned long long)c->step, (unsigned long long)c->step + from.strides);
    if (same)
        there = c->item;
    else if (!converts(&from, r, c->item, &there))
        return no_boundary(&from, r, c, error);
    MUST_OR(there <= UINT32_MAX, return BW_BUG);
    *item = (uint32_t)there;
    return BW_OK;
}
