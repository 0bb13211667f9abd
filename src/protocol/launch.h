// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * launch: the one start of all ranks of a job (docs/protocol.md). The committing rank writes it
 * into the group; the others take it from there. Pure.
 */
#ifndef PROTOCOL_LAUNCH_H
#define PROTOCOL_LAUNCH_H

#include "protocol/intent.h"

/** `c` as a launch of this kind begins with it at this place; cursor_free. BW_CURSOR_INVALID: too
 * many skips. */
bw_status launch_cursor(const cursor *c, launch_start start, uint64_t step, uint32_t item,
                        cursor *out);
bw_status launch_hash(const cursor *c, launch_start start, uint64_t step, uint32_t item,
                      hash128 *hash);
/** The group's newest pin, else its hold. */
void launch_newest(const group *g, uint64_t *step, uint32_t *item);
/**
 * Where the launch that `g` tells of began. LAUNCH_CURSOR compares, all others take.
 * BW_RANKS_DISAGREE: another cursor, or one of another mesh, mode or skips. BW_LAUNCH_REUSED: the
 * launch has pinned since, so that its start is no longer known.
 */
bw_status launch_take(const group *g, launch_start start, const cursor *c, uint64_t *step,
                      uint32_t *item, bw_error *error);

#endif
