// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * hedging: when a read that has not been answered yet is worth a second request. Pure.
 *
 * It is, once it is later than 95 % of the reads like it of late and than one and a half times the
 * median of them, if the budget has a request left, and unless many reads are late: then the store
 * is slow, and a second request would be as slow. docs/design/pacing.md.
 */
#ifndef STORE_HEDGING_H
#define STORE_HEDGING_H

#include "store/store.h"

/* Kinds and sizes that take about as long; a whole object's size is not known beforehand. */
#define HEDGING_CLASSES 4u
#define HEDGING_NEVER UINT32_MAX

/** Durations from 16 µs to a minute, an eighth of an octave each. */
#define HEDGING_BUCKETS 176u

/** The last few hundred durations, the older the less. */
typedef struct hedging_times {
    float buckets[HEDGING_BUCKETS];
    float weight;
} hedging_times;

typedef struct hedging {
    hedging_times times[HEDGING_CLASSES];
    double tokens; /* second requests that may be sent */
    double late;   /* how many reads have been late of late, 0 to 1 */
} hedging;

void hedging_init(hedging *h);
/** HEDGING_NEVER: not of those that are asked for twice. */
uint32_t hedging_class(const store_op *op);
/** A read begins: how long it is waited for before it is late; TIME_NEVER when that is not known
 * yet. */
int64_t hedging_began(hedging *h, uint32_t class);
/** A read has become late, once for each: true when a second request is to be sent. */
bool hedging_is_due(hedging *h);
/** A read was answered, or is not waited for any longer, after `duration_ns`. `was_late`:
 * hedging_is_due was asked. */
void hedging_ended(hedging *h, uint32_t class, int64_t duration_ns, bool was_late);
/** The store wants fewer requests. */
void hedging_throttled(hedging *h);

#endif
