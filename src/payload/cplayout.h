// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * How a sequence is cut over C context-parallel positions, and how slices that were cut for C
 * become those of another C.
 *
 * `contiguous`: the sequence falls into C equal chunks, position c has chunk c. `headtail`: it
 * falls into 2·C, position c has chunk c and then chunk 2·C − 1 − c, so that causal attention costs
 * every position the same. Head-tail slices are not byte ranges of each other: to go from C to C/2
 * four chunks of two slices are interleaved, so only payloads with a declared sequence axis can be
 * remapped.
 */
#ifndef PAYLOAD_CPLAYOUT_H
#define PAYLOAD_CPLAYOUT_H

#include "base/buf.h"
#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cp_layout { CP_CONTIGUOUS, CP_HEADTAIL } cp_layout;

/** "contiguous" or "headtail". */
bool cp_layout_find(const char *name, cp_layout *layout);
/** Whether a sequence can be cut so; cp ≥ 1. */
bool cp_layout_fits(cp_layout layout, uint64_t sequence, uint32_t cp);

/** `length` elements of the sequence, from element `from` of what position `rank` holds. */
typedef struct cp_piece {
    uint32_t rank;
    uint64_t from, length;
} cp_piece;

/**
 * The pieces, by the old cut, of what position `rank` of `cp` holds, in its order. A walk:
 *
 *     cp_walk_begin(&w, layout, sequence, old_cp, cp, rank);
 *     while (cp_walk_next(&w, &piece))
 */
typedef struct cp_walk {
    cp_layout layout;
    uint64_t chunk, sequence; /* chunk: of the old cut */
    uint32_t old_cp;
    uint64_t at[2], end[2]; /* the runs of the whole sequence that are left */
} cp_walk;

/** BW_MESH_MISMATCH when the sequence cannot be cut by either. */
bw_status cp_walk_begin(cp_walk *w, cp_layout layout, uint64_t sequence, uint32_t old_cp,
                        uint32_t cp, uint32_t rank, bw_error *error);
bool cp_walk_next(cp_walk *w, cp_piece *piece);

/**
 * The metadata key of an item by which a tensor declares its sequence axis:
 * `batchweave.axis.<tensor>` = `1`. Tensors without one are the same in every slice.
 */
#define CP_AXIS_KEY "batchweave.axis."

/**
 * Appends to `out` the safetensors item that position `rank` of `cp` has, made from the items of
 * all `old_cp` positions. Tensors that declare an axis are cut anew along it, others are copied and
 * must be equal in all. BW_CORRUPT for items that are none or do not fit each other,
 * BW_MESH_MISMATCH for a sequence that cannot be cut so.
 */
typedef struct cp_item {
    const void *bytes;
    size_t size;
} cp_item;
bw_status cp_remap(cp_layout layout, const cp_item *items, uint32_t old_cp, uint32_t cp,
                   uint32_t rank, buf *out, bw_error *error);

#endif
