// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/hist.h"

#include <string.h>

/*
 * Values below 2·SUB are their own bucket. Above, each power of two is cut into SUB equal buckets,
 * so a bucket is at most 1/SUB of its values wide. 1,024 buckets reach 2^36 ns (68 s); what is
 * longer lands in the last one, which answers with the maximum.
 */
#define SUB_BITS 5
#define SUB (1u << SUB_BITS)

static uint32_t bucket_of(uint64_t value)
{
    if (value < SUB)
        return (uint32_t)value;
    const uint32_t exponent = 63u - (uint32_t)__builtin_clzll(value);
    const uint32_t group = exponent - SUB_BITS + 1;
    const uint32_t index = group * SUB + (uint32_t)(value >> (exponent - SUB_BITS)) - SUB;
    return index < HIST_BUCKETS ? index : HIST_BUCKETS - 1;
}

/* The largest value of a bucket. */
static int64_t bucket_last(uint32_t index)
{
    if (index < SUB)
        return index;
    const uint32_t shift = index / SUB - 1;
    return (((int64_t)(index % SUB) + SUB + 1) << shift) - 1;
}

void hist_reset(hist *h)
{
    memset(h, 0, sizeof *h);
}

void hist_add(hist *h, int64_t value_ns)
{
    if (value_ns < 0)
        value_ns = 0;
    h->count++;
    if (value_ns > h->max)
        h->max = value_ns;
    h->buckets[bucket_of((uint64_t)value_ns)]++;
}

int64_t hist_quantile(const hist *h, uint32_t per_mille)
{
    if (h->count == 0)
        return 0;
    /* The rank ⌈count · q⌉, without overflow. */
    const uint64_t q = per_mille < 1000 ? per_mille : 1000;
    uint64_t rank = h->count / 1000 * q + (h->count % 1000 * q + 999) / 1000;
    if (rank == 0)
        rank = 1;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < HIST_BUCKETS - 1; i++) {
        seen += h->buckets[i];
        if (seen >= rank) {
            const int64_t last = bucket_last(i);
            return last < h->max ? last : h->max;
        }
    }
    return h->max;
}
