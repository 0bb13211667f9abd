// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Exact counts of requests by verb and status, and of bytes. Each thread has its own; a request is
 * counted before the first byte of its answer leaves, so whoever has the answer finds it counted.
 */
#ifndef TESTSTORE_COUNTING_H
#define TESTSTORE_COUNTING_H

#include "faults.h"
#include <stdatomic.h>

#define STATUS_COUNT 600u

typedef _Atomic uint64_t tally;

typedef struct counting {
    tally by_status[VERB_COUNT][STATUS_COUNT];
    tally lost[VERB_COUNT];      /* whose answer did not leave completely */
    tally bytes_in[VERB_COUNT];  /* of bodies */
    tally bytes_out[VERB_COUNT]; /* of bodies, handed to the kernel */
    tally connections;
    tally late_pending, late_applied;
} counting;

static inline void count(tally *t, uint64_t by)
{
    atomic_fetch_add_explicit(t, by, memory_order_relaxed);
}

static inline void uncount(tally *t, uint64_t by)
{
    atomic_fetch_sub_explicit(t, by, memory_order_relaxed);
}

/** How many at once, and the most since the last reset; of the whole server. */
typedef struct gauge {
    tally now, most;
} gauge;

void gauge_up(gauge *g);
void gauge_down(gauge *g);
void gauge_reset(gauge *g);

void counting_reset(counting *c);
/** The sum of `threads` of them, as JSON; the caller's reference. */
json_t *counting_report(counting *const *all, size_t threads);

#endif
