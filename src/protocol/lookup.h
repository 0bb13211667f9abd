// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * lookup: from a step to its descriptor, through tail, segments and indexes. Pure but for the
 * segments it asks for.
 */
#ifndef PROTOCOL_LOOKUP_H
#define PROTOCOL_LOOKUP_H

#include "codec/manifest.h"

/** Decoded segments by hash, least recently used out first; owns object bytes. One thread, or its
 * owner's lock. */
typedef struct segment_cache segment_cache;
bw_status segment_cache_new(size_t bytes_max, segment_cache **out);
void segment_cache_free(segment_cache *cache);
const segment *segment_cache_find(segment_cache *cache, const hash128 *hash);
/** Checks the object against `ref` and keeps it; takes over `object` in every case. */
bw_status segment_cache_add(segment_cache *cache, const segment_ref *ref,
                            const uint8_t uuid[UUID_BYTES], uint32_t slices, uint8_t *object,
                            size_t bytes, bw_error *error);

typedef enum lookup_verdict {
    LOOKUP_FOUND,
    LOOKUP_NEED,    /* read `needed` (segment_ref_key), add it to the cache, ask again */
    LOOKUP_TRIMMED, /* below the manifest's first described step */
    LOOKUP_BEYOND,  /* step ≥ next (a sum: step > next) */
    LOOKUP_FAILED   /* sums: out of memory; or a broken invariant */
} lookup_verdict;

/** `out` views into the manifest or the cache: valid until the cache changes. `needed` is scratch
 * unless LOOKUP_NEED. */
lookup_verdict lookup_step(const manifest *m, segment_cache *cache, uint64_t step, descriptor *out,
                           segment_ref *needed);
/** The references from the top down to the segment of level 0 that holds `step`, swept ≤ step < the
 * tail's first: `depth` of them. LOOKUP_NEED or LOOKUP_FOUND. */
lookup_verdict lookup_path(const manifest *m, segment_cache *cache, uint64_t step,
                           segment_ref path[SEGMENT_LEVELS_MAX], uint32_t *depth,
                           const segment **leaf);
/** The sum before `step`, first described step ≤ step ≤ next. */
lookup_verdict lookup_sum(const manifest *m, segment_cache *cache, uint64_t step, hash128 *sum,
                          segment_ref *needed);

#endif
