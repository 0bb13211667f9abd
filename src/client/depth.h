// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * depth: how many steps to read ahead where no number was set. Pure: times come in, a number goes
 * out.
 *
 * A window is refilled when half of it is used up; what is asked for then is there one latency
 * later, and until then the other half must last. So half of it is what the trainer uses up in one
 * latency, and one step more.
 *
 * The latency rises at once and falls by an eighth of the way with each read: of slow reads that
 * come now and then, the next must not be met unprepared. The trainer's time is a mean, since steps
 * are often taken in bursts; what it waited is not part of it, or a window that is too small would
 * look large enough.
 */
#ifndef CLIENT_DEPTH_H
#define CLIENT_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

#define DEPTH_FIRST 8u /* while nothing is known */
#define DEPTH_MAX 64u  /* a longer window is for who asks for it */

typedef struct depth {
    int64_t latency_ns;
    int64_t step_ns;
    bool knows_step;
} depth;

/** One read took so long. */
void depth_read(depth *d, int64_t latency_ns);
/** The trainer took so long from one step to the next, without waits. */
void depth_step(depth *d, int64_t step_ns);
/** DEPTH_FIRST, or an even number in [4, DEPTH_MAX]. */
uint32_t depth_steps(const depth *d);

#endif
