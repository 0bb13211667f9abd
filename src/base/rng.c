// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

/* splitmix64: spreads a seed over the state, so that near seeds give far streams and no seed gives
 * the all-zero state that xoshiro cannot leave. */
static uint64_t splitmix(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void rng_seed(rng *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        r->state[i] = splitmix(&seed);
}

int rng_seed_system(rng *r)
{
    uint64_t seeds[4];
    size_t have = 0;
    while (have < sizeof seeds) {
        const ssize_t got = getrandom((uint8_t *)seeds + have, sizeof seeds - have, 0);
        if (got > 0)
            have += (size_t)got;
        else if (got < 0 && errno != EINTR)
            return -1;
    }
    memcpy(r->state, seeds, sizeof seeds);
    r->state[0] |= 1; /* never all zero */
    return 0;
}

void rng_split(rng *r, uint64_t label, rng *stream)
{
    uint64_t mixed = label;
    rng_seed(stream, rng_u64(r) ^ splitmix(&mixed));
}

static uint64_t rotate(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

uint64_t rng_u64(rng *r)
{
    uint64_t *s = r->state;
    const uint64_t result = rotate(s[1] * 5, 7) * 9;
    const uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t rng_below(rng *r, uint64_t bound)
{
    if (bound <= 1)
        return 0;
    /* Numbers of just enough bits, drawn again while too large: fewer than two draws on average. */
    const uint64_t mask = UINT64_MAX >> __builtin_clzll(bound - 1);
    uint64_t value;
    do
        value = rng_u64(r) & mask;
    while (value >= bound);
    return value;
}

void rng_bytes(rng *r, void *bytes, size_t size)
{
    uint8_t *at = bytes;
    while (size > 0) {
        const uint64_t value = rng_u64(r);
        const size_t take = size < 8 ? size : 8;
        for (size_t i = 0; i < take; i++)
            at[i] = (uint8_t)(value >> (8 * i));
        at += take;
        size -= take;
    }
}
