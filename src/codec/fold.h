// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Folding the tail into a segment and merging segments into an index (docs/format.md section 15):
 * pure functions of a base manifest, so that rivals write equal bytes under equal names.
 *
 * "due" says that a candidate may, "must" that a publish has to. The object built must be durable
 * before the candidate that references it is created.
 */
#ifndef CODEC_FOLD_H
#define CODEC_FOLD_H

#include "codec/manifest.h"

/** The tail exceeds half the cap. */
bool fold_due(const manifest *base, uint32_t tail_cap);
/** The tail exceeds the cap. */
bool fold_must(const manifest *base, uint32_t tail_cap);
/** The whole tail of `base` (not empty) as a segment of level 0: appends the object to `object` and
 * fills its reference. Its bytes and its hash depend on the tail only. */
bw_status fold_build(const manifest *base, buf *object, segment_ref *ref);

/** INDEX_CHILDREN references of one level stand in a row. */
bool merge_due(const manifest *base);
/** Twice as many do. */
bool merge_must(const manifest *base);
/** Where the references to be merged begin in `base->refs`: the oldest INDEX_CHILDREN of the lowest
 * level that is due. Only when merge_due. */
uint32_t merge_at(const manifest *base);
/** The index segment of those references. Only when merge_due. */
bw_status merge_build(const manifest *base, buf *object, segment_ref *ref);

/** The references of a candidate on `base`: its own, those at merge_at replaced by `merged` (NULL:
 * no merge), then `folded` (NULL: no fold). `out` has room for base->ref_count + 1; returns their
 * count. */
uint32_t fold_refs(const manifest *base, const segment_ref *merged, const segment_ref *folded,
                   segment_ref *out);

#endif
