// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/polling.h"

#include "base/clock.h"

#define INTERVAL_MIN_NS (2 * NS_PER_MS)
#define INTERVAL_MAX_LOCAL_NS (100 * NS_PER_MS)
#define INTERVAL_MAX_NS NS_PER_S

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

void polling_init(polling *p, int64_t now_ns)
{
    *p = (polling){.last_new_ns = now_ns};
}

void polling_learn(polling *p, uint64_t versions, int64_t now_ns)
{
    const int64_t sample_ns = (now_ns - p->last_new_ns) / (int64_t)versions;
    p->gap_ns += (sample_ns - p->gap_ns) / 4;
    p->last_new_ns = now_ns;
}

int64_t polling_floor_ns(uint32_t ranks, uint32_t here)
{
    return (int64_t)ranks * POLLING_NS_A_RANK / (here > 0 ? here : 1);
}

int64_t polling_interval_ns(const polling *p, bool local, int64_t floor_ns, int64_t now_ns)
{
    const int64_t silence_ns = now_ns - p->last_new_ns;
    const int64_t wanted_ns = p->gap_ns / 4 > silence_ns / 16 ? p->gap_ns / 4 : silence_ns / 16;
    if (local)
        return clamp(wanted_ns, INTERVAL_MIN_NS, INTERVAL_MAX_LOCAL_NS);
    const int64_t interval_ns = clamp(wanted_ns, INTERVAL_MIN_NS, INTERVAL_MAX_NS);
    return interval_ns > floor_ns ? interval_ns : floor_ns;
}

int64_t polling_jitter_ns(int64_t interval_ns, rng *random)
{
    return interval_ns * 3 / 4 + (int64_t)rng_below(random, (uint64_t)(interval_ns / 2) + 1);
}
