// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Randomness enters through this: an integer generator that a seed reproduces (xoshiro256**). One
 * thread. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct rng {
    uint64_t state[4];
} rng;

/** The same seed gives the same numbers for ever, on every machine. */
void rng_seed(rng *r, uint64_t seed);
/** Seeds from the kernel (getrandom); 0 on success, -1 when the kernel has none. */
int rng_seed_system(rng *r);
/** An independent stream split off `r` by a label. */
void rng_split(rng *r, uint64_t label, rng *stream);
uint64_t rng_u64(rng *r);
/** Uniform in [0, bound), without bias; bound ≥ 1. */
uint64_t rng_below(rng *r, uint64_t bound);
void rng_bytes(rng *r, void *bytes, size_t size);

#endif
