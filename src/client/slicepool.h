// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * slice_pool: the slices of a rank that nobody holds, kept for its next reads, so that a step costs
 * no allocation once as many are there as are ever held at once.
 *
 * What is kept is the slice with its rows, a few hundred bytes; never the bytes of a batch.
 * Counted: each slice taken holds it, because items outlive their consumer. Any thread.
 */
#ifndef CLIENT_SLICEPOOL_H
#define CLIENT_SLICEPOOL_H

#include "client/slice.h"

/** Keeps up to `slices_max`. */
bw_status slice_pool_new(uint32_t slices_max, slice_pool **out);
/** Keeps nothing from now on; freed with the last slice. NULL is fine. */
void slice_pool_close(slice_pool *pool);
/** A slice with room for `items` and zeros elsewhere; NULL when out of memory. `pool` NULL: one
 * that is freed when given. */
slice *slice_pool_take(slice_pool *pool, uint32_t items);
void slice_pool_give(slice *s);

#endif
