// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * From a failing seed to its few faults. Taking a fault away changes everything that comes after
 * it, so a rare failure does not survive many such cuts. Hence in this order:
 *
 *   whole classes of faults are left out while the same invariant still fails;
 *   short runs of other seeds, with the classes that are left, look for the same failure in small;
 *   of the smallest one found, the faults of whole processes and then halves, quarters … are left
 *   out.
 *
 * Every trial is a process of its own, since it may end in an assertion.
 */
#ifndef SIM_SHRINK_H
#define SIM_SHRINK_H

#include "sim.h"

typedef struct shrunk {
    bool failed; /* the seed fails at all */
    char invariant[16];
    char violation[VIOLATION_BYTES];
    size_t before; /* faults of the whole seed */
    uint64_t seed; /* that the rest is about */
    uint32_t versions;
    uint64_t left_out;
    size_t count;   /* faults that are left */
    uint64_t *kept; /* release with mem_free */
    uint32_t trials;
} shrunk;

void shrink(uint64_t seed, double seconds_max, shrunk *out);
/** Tells it on stdout, on a page. */
void shrink_tell(uint64_t seed, const shrunk *s);

#endif
