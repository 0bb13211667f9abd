// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    uint64_t from = 1, seeds = 1;
    bool story = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--from") == 0 && i + 1 < argc)
            from = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc)
            seeds = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--story") == 0)
            story = true;
    }
    uint64_t bad = 0;
    for (uint64_t seed = from; seed < from + seeds; seed++) {
        sim_result r;
        simulate(seed, &(sim_options){.story = story}, &r);
        printf("seed %" PRIu64 ": %" PRIu64 " versions, %" PRIu64 " steps, %" PRIu64
               " faults, %" PRIu64 " requests, %" PRIu64 " slices, %" PRIu64 " blocks, %.1f s, "
               "%016" PRIx64 " %s %s\n",
               seed, r.versions, r.steps, r.faults, r.requests, r.slices, r.blocks_retired,
               (double)r.virtual_ns / 1e9, r.trace, r.violated ? r.invariant : "ok", r.violation);
        bad += r.violated;
    }
    return bad > 0;
}
