// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/hedging.h"

#include <string.h>

/* Second requests are at most this share of the reads, and not more than a few in a row. */
#define SHARE 0.03
#define TOKENS_MAX 8.0
/* Halved when it weighs so much: a change of the store is seen within as many reads. */
#define WEIGHT_MAX 512.0f
#define WEIGHT_MIN 64.0f /* fewer say nothing about one in twenty */
#define QUANTILE 0.95f
#define MEDIAN 0.5f
/* One in twenty is always later than the quantile; where all take about as long, nothing is won by
 * asking again. */
#define MEDIANS 1.5
/* Reads late of late: four in a row say that the store has become slow, and it takes some hundred
 * in time to forget that; by then the quantile is what it takes now. In quiet, one in twenty being
 * late, it is below 0.2. */
#define LATE_WEIGHT (1.0 / 16)
#define IN_TIME_WEIGHT (1.0 / 64)
#define LATE_MAX 0.25

#define BUCKET_MIN_NS 16384 /* 2^14 */
#define OCTAVE_MIN 14
#define STEPS 8u /* of an octave */

#define KIB 1024u
#define MIB (1024u * 1024u)

void hedging_init(hedging *h)
{
    memset(h, 0, sizeof *h);
}

uint32_t hedging_class(const store_op *op)
{
    /* A second request has a buffer of its own, and takes a share of the bandwidth. */
    static const uint64_t bytes_max[] = {64 * KIB, MIB, 8 * MIB};
    if (op->kind == STORE_GET)
        return 0;
    for (uint32_t i = 0; i < sizeof bytes_max / sizeof bytes_max[0]; i++) {
        if (op->kind == STORE_READ && op->length <= bytes_max[i])
            return i + 1;
    }
    return HEDGING_NEVER;
}

/* ---- durations ---- */

static uint32_t bucket_of(int64_t duration_ns)
{
    if (duration_ns < BUCKET_MIN_NS)
        return 0;
    const uint64_t value = (uint64_t)duration_ns;
    const uint32_t octave = 63u - (uint32_t)__builtin_clzll(value);
    const uint32_t step = (uint32_t)(value >> (octave - 3)) & (STEPS - 1);
    const uint32_t bucket = (octave - OCTAVE_MIN) * STEPS + step;
    return bucket < HEDGING_BUCKETS ? bucket : HEDGING_BUCKETS - 1;
}

/* Where the next bucket begins. */
static int64_t bucket_end_ns(uint32_t bucket)
{
    const uint32_t next = bucket + 1;
    const int64_t octave = (int64_t)1 << (next / STEPS + OCTAVE_MIN);
    return octave + octave / (int64_t)STEPS * (int64_t)(next % STEPS);
}

static void add_time(hedging_times *t, int64_t duration_ns)
{
    t->buckets[bucket_of(duration_ns)] += 1;
    t->weight += 1;
    if (t->weight < WEIGHT_MAX)
        return;
    t->weight = 0;
    for (uint32_t i = 0; i < HEDGING_BUCKETS; i++) {
        t->buckets[i] *= 0.5f;
        t->weight += t->buckets[i];
    }
}

static int64_t quantile_ns(const hedging_times *t, float share)
{
    float left = t->weight * share;
    uint32_t bucket = 0;
    while (bucket < HEDGING_BUCKETS - 1 && left > t->buckets[bucket]) {
        left -= t->buckets[bucket];
        bucket++;
    }
    return bucket_end_ns(bucket);
}

/* ---- reads ---- */

/* 0: too little is known. */
static int64_t patience_ns(const hedging_times *t)
{
    if (t->weight < WEIGHT_MIN)
        return 0;
    const int64_t quantile = quantile_ns(t, QUANTILE);
    const int64_t medians = (int64_t)(MEDIANS * (double)quantile_ns(t, MEDIAN));
    return quantile > medians ? quantile : medians;
}

int64_t hedging_began(hedging *h, uint32_t class)
{
    h->tokens = h->tokens + SHARE < TOKENS_MAX ? h->tokens + SHARE : TOKENS_MAX;
    int64_t patience = patience_ns(&h->times[class]);
    /* What is seldom read stands for the start of much else: it is waited for as long as for what
     * is larger. */
    for (uint32_t larger = class + 1; patience == 0 && larger < HEDGING_CLASSES; larger++)
        patience = patience_ns(&h->times[larger]);
    return patience > 0 ? patience : TIME_NEVER;
}

bool hedging_is_due(hedging *h)
{
    h->late += (1 - h->late) * LATE_WEIGHT;
    if (h->tokens < 1 || h->late > LATE_MAX)
        return false;
    h->tokens -= 1;
    return true;
}

void hedging_ended(hedging *h, uint32_t class, int64_t duration_ns, bool was_late)
{
    if (!was_late)
        h->late -= h->late * IN_TIME_WEIGHT;
    add_time(&h->times[class], duration_ns);
}

void hedging_throttled(hedging *h)
{
    h->tokens = 0;
}
