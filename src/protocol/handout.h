// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** handout: which bytes a rank reads next. Mesh, position, order and cursor; pure
 * (docs/protocol.md). */
#ifndef PROTOCOL_HANDOUT_H
#define PROTOCOL_HANDOUT_H

#include "codec/cursor.h"
#include "protocol/chain.h"
#include "protocol/rescale.h"

typedef struct position {
    uint32_t d, c;
} position;

/** rank = ((pp·DP + d)·CP + c)·TP + tp. BW_MESH_MISMATCH when world ≠ DP·CP·TP·PP, naming all;
 * BW_INVALID when rank ≥ world. */
typedef struct mesh {
    uint32_t dp, cp, tp, pp;
} mesh;
bw_status mesh_position(const mesh *m, uint32_t rank, uint32_t world, position *out,
                        bw_error *error);

typedef struct handout handout;

/** `p` in the job's mesh, job_dp × cp. BW_MESH_MISMATCH says what is legal. */
bw_status handout_new(const genesis *g, position p, uint32_t job_dp, cursor_mode mode,
                      handout **out, bw_error *error);
void handout_free(handout *h);

typedef enum start_kind { START_EARLIEST, START_LATEST, START_STEP } start_kind;
/** Resolves a start on a proved manifest. BW_TRIMMED, BW_BEYOND_END. */
bw_status handout_start(handout *h, const manifest *m, start_kind kind, uint64_t step,
                        bw_error *error);
/** Goes on from a cursor, of this mesh and mode or another: BW_CURSOR_FOREIGN, BW_MESH_MISMATCH,
 * BW_CURSOR_INVALID (no boundary of both: names the nearest), BW_TRIMMED, BW_BEYOND_END;
 * BW_UNSUPPORTED: with tags, when several steps are one training step. Its nonce
 * is checked by handout_check_nonce, once the descriptor is at hand. */
bw_status handout_resume(handout *h, const manifest *m, const cursor *c, bw_error *error);
/** The step whose nonce the cursor names and must match, when that step is still described; false
 * when nothing is to be checked. */
bool handout_nonce_step(const handout *h, const manifest *m, uint64_t *step);
bw_status handout_check_nonce(handout *h, uint64_t step, uint64_t nonce, bw_error *error);

/** What to fetch for one step: a slice, whole. */
typedef struct fetch_plan {
    uint64_t step;
    uint32_t slice;
    bool needs_footer; /* FORM_FOOTER: read the footer at `footer`, then handout_place */
    place where;       /* of the slice, when needs_footer is false */
    place footer;
    view id; /* of the producer: points into the descriptor */
    record record;
    shape shape;
} fetch_plan;
/** How many slices a rank reads of each step. */
uint32_t handout_reads(const handout *h);
/** Plans the `nth` of the slices of `step` (prefetch may ask for any step ≥ the cursor's). `d` is
 * that step's descriptor. BW_CURSOR_INVALID when the cursor stands at an item that this step does
 * not have; BW_MESH_MISMATCH when its items cannot be shared by the ranks. */
bw_status handout_plan(const handout *h, uint64_t step, uint32_t nth, const descriptor *d,
                       fetch_plan *plan, bw_error *error);
bw_status handout_place(const handout *h, const footer *f, fetch_plan *plan, bw_error *error);

/** The next item to hand out, as the cursor counts. */
uint64_t handout_step(const handout *h);
uint32_t handout_item(const handout *h);
/** The step that it is read from: another one when several steps are one training step. */
uint64_t handout_reading(const handout *h);
/** Its tag says that no rank of the job reads it; asked of steps from handout_step on. */
bool handout_passes(const handout *h, uint64_t step, uint64_t tag);
/** All steps before `step` that were not handed out are passed. The cursor stays where it is until
 * the next item, so that it is the same on a rank that does not know it yet. */
void handout_reach(handout *h, uint64_t step);
/** The step that this rank reads after `step`: prefetch walks with it. */
uint64_t handout_after(const handout *h, uint64_t step);
/** The last step of the training step in which this rank reads `step`: none of them is handed out
 * before all are committed. */
uint64_t handout_last(const handout *h, uint64_t step);
/** Items of one rank in a step whose slices have `items`. */
uint32_t handout_items(const handout *h, uint32_t items);
/** Where the next item is, in slices of `items` items: in which of those it reads, and which. */
void handout_pick(const handout *h, uint32_t items, uint32_t *nth, uint32_t *item);
/** One item of the current step, whose slices have `items` items, nonce of its TGB, was handed out.
 */
void handout_advance(handout *h, uint32_t items, uint64_t nonce);
/** End of stream: a proved manifest is sealed, and the steps left are no whole training step. */
bool handout_at_end(const handout *h, const manifest *m);
/** `version`: of a manifest that describes the next step, best in its tail; else the newest. */
bw_status handout_cursor(const handout *h, uint64_t version, cursor *out);
/** Writes into `c` what leads to its next step in `m`, whose version it names, as far as `cache`
 * knows it. */
void handout_way(const manifest *m, segment_cache *cache, cursor *c);
/** Where an open of the chain begins that is to go on from `c`. */
void handout_resume_point(const cursor *c, resume_point *out);

#endif
