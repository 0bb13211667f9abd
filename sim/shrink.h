// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * From a failing seed to its few faults. Taking a fault away changes everything that comes after
 * it, so a rare failure does not survive many such cuts. Hence the same failure is looked for in
 * small first, with the plan and the swarm of the seed that showed it and *other dice*:
 *
 *   in ever longer runs, from a few versions on, until one fails;
 *   then with whole classes of faults and whole processes left out;
 *   then for the run with the fewest faults, and with faults made rarer.
 *
 * Of the best run dice and schedule are kept (tape.h), and faults are left out: all of one class,
 * all of one process, then from the end of time backwards, halves first, single ones last, since
 * the later a fault, the less hangs on it.
 */
#ifndef SIM_SHRINK_H
#define SIM_SHRINK_H

#include "trial.h"

typedef struct shrunk {
    bool failed; /* the seed fails at all */
    char invariant[16];
    size_t before; /* faults of the whole seed */
    double seconds;
    uint32_t trials;
    trial *best; /* what is left */
} shrunk;

void shrink(uint64_t seed, double seconds_max, shrunk *out);
void shrunk_free(shrunk *s);
/** Tells it on stdout, on a page. */
void shrink_tell(uint64_t seed, const shrunk *s);

#endif
