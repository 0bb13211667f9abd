// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * From a failing seed to its few faults. Taking a fault away changes everything that comes after
 * it, so a rare failure does not survive many such cuts. Hence the same failure is looked for in
 * small first, with the plan and the swarm of the seed that showed it and *other dice*: in short
 * runs, with some classes of faults left out and others more frequent, and without some processes.
 * One that fails with fewer faults than the best so far is the best, and the next ones are changed
 * from that.
 *
 * Of the best run dice and schedule are kept (tape.h), and faults and long waits are left out: all
 * of one class, all of one process, then from the end of time backwards, halves first, single ones
 * last, since the later a fault, the less hangs on it. Two trials run side by side.
 *
 * Time is the processor's: a busy machine takes longer for it, and ends as well.
 */
#ifndef SIM_SHRINK_H
#define SIM_SHRINK_H

#include "trial.h"

typedef struct shrunk {
    bool failed; /* the seed fails at all */
    char invariant[16];
    size_t before;  /* faults of the whole seed */
    double seconds; /* of each of two processors */
    uint32_t trials;
    trial *best; /* what is left */
} shrunk;

/** Within so many seconds of each of two processors. */
void shrink(uint64_t seed, double seconds_max, shrunk *out);
void shrunk_free(shrunk *s);
/** The faults, and the waits of more than 0.3 s, that are left. */
void shrunk_count(const trial *t, size_t *fault_count, size_t *wait_count);
/** Tells it on stdout, on a page. */
void shrink_tell(uint64_t seed, const shrunk *s);

#endif
