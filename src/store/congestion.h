// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * congestion: how many requests a store is given at once. Pure.
 *
 * A window like TCP's, between one and a maximum, where it starts. An answer that says "slow down"
 * halves it; a round of answers without one, in which requests had to wait for it, adds one. A
 * round that took more than twice as long as the quickest did shortens it as well; when that does
 * not make answers quicker it was not the number of requests, and what they take now is the new
 * measure. docs/design/pacing.md.
 */
#ifndef STORE_CONGESTION_H
#define STORE_CONGESTION_H

#include "store/store.h"

#define CONGESTION_SIZES 5u

/** What requests of one kind and size take. */
typedef struct congestion_time {
    double recent_ns, best_ns;
    uint32_t count;
} congestion_time;

typedef struct congestion {
    double window, window_max;
    congestion_time times[STORE_OP_KINDS][CONGESTION_SIZES];
    int64_t cut_ns; /* throttled requests that were sent before say nothing new */

    /* The round, of as many answers as the window has. */
    uint32_t answers, samples, peak;
    double slowness; /* sum of recent over best */
    bool waited;
    bool was_slow; /* the round before */

    /* The last cut by latency, while it is watched. */
    double trial_slowness, trial_window;
    uint32_t trial_rounds;
} congestion;

void congestion_init(congestion *c, uint32_t window_max);
/** How many may be in flight. */
uint32_t congestion_window(const congestion *c);
/** A request is sent; so many are in flight with it. */
void congestion_sent(congestion *c, uint32_t in_flight);
/** A request has to wait. */
void congestion_waits(congestion *c);
/** A request that was sent at `sent_ns` was answered; in flight were so many, with it. */
void congestion_answered(congestion *c, const store_op *op, int64_t sent_ns, int64_t now_ns,
                         uint32_t in_flight);

#endif
