// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Many seeds, on as many processes as there are processors. A seed whose process dies (an
 * assertion, a sanitizer) counts as a violation like any other. */
#ifndef SIM_CAMPAIGN_H
#define SIM_CAMPAIGN_H

#include "sim.h"

#define VIOLATIONS_KEPT 64u

typedef struct found {
    uint64_t seed;
    char invariant[16];
    char text[VIOLATION_BYTES];
} found;

typedef struct campaign {
    uint64_t from, seeds;
    uint32_t jobs;
    bool stop_at_first;
    double seconds_max; /* no seed begins after so long; 0: no limit */
    uint32_t versions;  /* 0: as the seed plans */

    /* results */
    uint64_t done, violations;
    uint32_t found_count;
    found found[VIOLATIONS_KEPT];
    uint64_t versions_total, steps, commits, faults, requests, slices, blocks, rollbacks, sweeps;
    double virtual_hours, seconds;
    uint64_t versions_median, faults_median;
    uint64_t marks[MARK_COUNT], fault_hits[FAULT_CLASSES];
    uint64_t trace;   /* of all seeds together, in any order */
    uint64_t reached; /* of the mutant that is on */
} campaign;

void campaign_run(campaign *c);
double campaign_clock(void);

#endif
