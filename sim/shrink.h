// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** From a failing seed to its few faults: whole classes first, then the single ones, each left out
 * while the same invariant still fails. Every trial is a process of its own. */
#ifndef SIM_SHRINK_H
#define SIM_SHRINK_H

#include "sim.h"

typedef struct shrunk {
    bool failed; /* the seed fails at all */
    char invariant[16];
    char violation[VIOLATION_BYTES];
    size_t before;  /* faults of the whole seed */
    size_t count;   /* that are left */
    uint64_t *kept; /* release with mem_free */
    uint32_t trials;
} shrunk;

void shrink(uint64_t seed, double seconds_max, shrunk *out);
/** Tells the seed with these faults only, on stdout, on a page. */
void shrink_tell(uint64_t seed, const shrunk *s);

#endif
