// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * rescale: how a job of dp data-parallel positions reads a namespace made for D (docs/protocol.md).
 * Pure arithmetic.
 *
 *   same_batch   dp = D/k: a rank reads k slices of each step, item 0 of each, then item 1, …
 *                dp = kD:  k ranks share a slice and are dealt its items in turn; k divides M
 *   scale_batch  dp = D/k: a step is k training steps, slice after slice
 *                dp = kD:  k steps are one training step; a rank reads one of them
 */
#ifndef PROTOCOL_RESCALE_H
#define PROTOCOL_RESCALE_H

#include "codec/cursor.h"

typedef struct rescale {
    cursor_mode mode;
    uint32_t made_for, dp; /* D, and the job's */
    uint32_t reads;        /* slices that a rank reads of one step */
    uint32_t shares;       /* ranks that share a slice's items */
    uint32_t strides;      /* steps that are one training step */
} rescale;

/** BW_MESH_MISMATCH says what was expected, given and would be legal. */
bw_status rescale_find(cursor_mode mode, uint32_t made_for, uint32_t dp, rescale *out,
                       bw_error *error);
/** The row of the mesh whose slice is the `nth` of those that position `d` of the job reads. */
uint32_t rescale_row(const rescale *r, uint32_t d, uint32_t nth);
/** Which of the `strides` steps of a training step position `d` reads. */
uint32_t rescale_phase(const rescale *r, uint32_t d);
/** Items that one rank hands out of a step whose slices have `items`; 0: they cannot be shared. */
uint32_t rescale_items(const rescale *r, uint32_t items);
/** Where its `i`-th item of a step is: in which of the slices it reads, and which item of that. */
void rescale_item(const rescale *r, uint32_t d, uint32_t items, uint32_t i, uint32_t *nth,
                  uint32_t *item);
/** The item at which a job of `r` goes on behind this cursor of perhaps another mesh or mode.
 * BW_CURSOR_INVALID: no boundary of both; names the nearest legal items. */
bw_status rescale_resume(const rescale *r, const cursor *c, uint32_t *item, bw_error *error);

const char *cursor_mode_name(cursor_mode mode);

#endif
