// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/fold.h"

#include "base/mutant.h"

bool fold_due(const manifest *base, uint32_t tail_cap)
{
    return base->tail.records > 0 && base->tail.bytes.size > tail_cap / 2;
}

bool fold_must(const manifest *base, uint32_t tail_cap)
{
    return base->tail.records > 0 && base->tail.bytes.size > tail_cap;
}

bw_status fold_build(const manifest *base, buf *object, segment_ref *ref)
{
    const uint64_t first = manifest_tail_first(base);
    hash128 terms = {{0}};
    BW_TRY(block_add_terms(&base->tail, first, 0, base->tail.records, &terms));
    hash128 sum_before = base->sum;
    hash_subtract(&sum_before, &terms);
    return segment_encode_block(base->uuid, first, base->tail.records, base->tail.bytes,
                                &sum_before, object, ref);
}

/* A row is a run of references of one level. Levels never rise from left to right, so the last row
 * that is long enough is the one of the lowest level. Answers where it begins, or ref_count. */
static uint32_t last_row(const manifest *base, uint32_t length)
{
    uint32_t found = base->ref_count, begin = 0;
    for (uint32_t i = 0; i < base->ref_count; i++) {
        if (base->refs[i].level != base->refs[begin].level)
            begin = i;
        if (i - begin + 1 >= length && base->refs[begin].level + 1u < SEGMENT_LEVELS_MAX)
            found = begin;
    }
    return found;
}

bool merge_due(const manifest *base)
{
    return last_row(base, INDEX_CHILDREN) < base->ref_count;
}

bool merge_must(const manifest *base)
{
    return last_row(base, 2 * INDEX_CHILDREN) < base->ref_count;
}

uint32_t merge_at(const manifest *base)
{
    return last_row(base, INDEX_CHILDREN);
}

bw_status merge_build(const manifest *base, buf *object, segment_ref *ref)
{
    const uint32_t at = merge_at(base);
    if (at >= base->ref_count)
        return BW_BUG;
    return segment_encode_index(base->uuid, base->refs + at, object, ref);
}

uint32_t fold_refs(const manifest *base, const segment_ref *merged, const segment_ref *folded,
                   segment_ref *out)
{
    uint32_t at = merged != NULL ? merge_at(base) : base->ref_count;
    if (merged != NULL && at > 0 && MUTANT(merge_wrong_place))
        at--;
    uint32_t count = 0;
    for (uint32_t i = 0; i < base->ref_count; i++) {
        if (i == at)
            out[count++] = *merged;
        if (i < at || i >= at + INDEX_CHILDREN)
            out[count++] = base->refs[i];
    }
    if (folded != NULL)
        out[count++] = *folded;
    return count;
}
