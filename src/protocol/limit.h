// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * limit: max_lag and max_bytes (docs/protocol.md, Limits). They bind once there is a group;
 * producers stand at them, and nothing is dropped. Pure.
 */
#ifndef PROTOCOL_LIMIT_H
#define PROTOCOL_LIMIT_H

#include "codec/manifest.h"

/** Producers that are there: neither finished nor forgotten, their last commit at most 8 rounds of
 * the map old; at least one. */
uint32_t limit_active(const manifest *base);
/** How many of the `count` descriptors from `d` on a producer may publish on this base: its share
 * of the room among the active ones, at least one when the room has place for it. */
uint32_t limit_room(const genesis *g, const manifest *base, const descriptor *d, uint32_t count);

typedef enum limit_kind {
    LIMIT_NONE,
    LIMIT_LAG,   /* max_lag, behind the frontier */
    LIMIT_BYTES, /* max_bytes, behind what a group keeps */
    LIMIT_SWEEP  /* max_bytes, behind what no group keeps and no sweep has deleted */
} limit_kind;
/** The limit that a next TGB of so many bytes would pass. `k`: what holds it, of LAG and BYTES. */
limit_kind limit_reached(const genesis *g, const manifest *base, uint64_t bytes, keeper *k);

#define LIMIT_TEXT_BYTES 384u
/** "max_lag, 500: group train has pin step-1000 at step 1000 …" */
const char *limit_tell(const genesis *g, const manifest *base, limit_kind kind, const keeper *k,
                       char text[LIMIT_TEXT_BYTES]);

#endif
