// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** stage: which uploads are done, and the contiguous done prefix that may be published (R2). Pure;
 * owner's lock. */
#ifndef PROTOCOL_STAGE_H
#define PROTOCOL_STAGE_H

#include "codec/manifest.h"

typedef struct stage stage;
/** `seq`, `offset`: where the chain says the producer stands. */
bw_status stage_new(uint64_t seq, uint64_t offset, uint32_t batches_max, uint64_t bytes_max,
                    stage **out);
void stage_free(stage *s);

/** Room for a batch of `bytes`? Also true for a single larger one when nothing is staged. */
bool stage_has_room(const stage *s, uint64_t bytes);
/** Adds the next batch (its upload begins); sets record.seq, record.start. BW_INVALID when
 * end_offset is before the last one. Descriptor and state are copied. */
bw_status stage_add(stage *s, const descriptor *d, uint64_t end_offset, view state,
                    const state_ref *state_object, uint64_t token, uint64_t *seq, bw_error *error);
/** Its upload is complete. */
void stage_done(stage *s, uint64_t seq);
/** The contiguous done prefix, as arrays for an intent; valid until the stage changes. At most
 * `max`. */
uint32_t stage_ready(stage *s, uint32_t max, const descriptor **descriptors, const view **states,
                     const state_ref **state_refs);
/** The first `count` are on the chain, at steps first_step …; calls back for each (token, step),
 * then drops them. */
void stage_published(stage *s, uint32_t count, uint64_t first_step,
                     void (*each)(void *context, uint64_t token, uint64_t step), void *context);
uint32_t stage_batches(const stage *s); /* staged and not published */
uint64_t stage_bytes(const stage *s);
uint64_t stage_last_seq(const stage *s);
uint64_t stage_published_seq(const stage *s);
uint64_t stage_end_offset(const stage *s);

#endif
