// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** segments: the cache of folded descriptors that all threads of a space share, and descriptors
 * copied out of it. */
#ifndef CLIENT_SEGMENTS_H
#define CLIENT_SEGMENTS_H

#include "base/thread.h"
#include "protocol/handout.h"
#include "store/store.h"

typedef struct segments {
    lock lock;
    segment_cache *cache; /* under lock */
} segments;

/** One step's descriptor with memory of its own. Its views point into itself: not to be copied by
 * assignment. */
typedef struct step_entry {
    uint64_t step;
    descriptor descriptor;
    uint8_t id[NAME_MAX_BYTES];
    uint8_t side[INLINE_BYTES_MAX];
} step_entry;

bw_status segments_init(segments *s, size_t bytes_max);
void segments_destroy(segments *s);
/** FOUND: `out` is filled. NEED: load `needed`, ask again. */
lookup_verdict segments_find(segments *s, const manifest *m, uint64_t step, step_entry *out,
                             segment_ref *needed);
/** Reads and checks one segment; `on` has nothing else in flight. BW_NOT_FOUND, BW_CORRUPT, or what
 * the store says. */
bw_status segments_load(segments *s, store *on, const genesis *g, const segment_ref *ref,
                        bw_error *error);
/** Loads whatever `step` needs, in the caller's thread: BW_OK, BW_TRIMMED (not described),
 * BW_BEYOND_END, or as above. */
bw_status segments_get(segments *s, store *on, const genesis *g, const manifest *m, uint64_t step,
                       step_entry *out, bw_error *error);
/** handout_way by what is cached. */
void segments_way(segments *s, const manifest *m, cursor *c);
void step_entry_set(step_entry *out, uint64_t step, const descriptor *d);

#endif
