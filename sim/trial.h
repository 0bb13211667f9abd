// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Trials: a setting run once, or with other dice until it fails. Each in a process of its own,
 * since it may end in an assertion.
 */
#ifndef SIM_TRIAL_H
#define SIM_TRIAL_H

#include "sim.h"
#include <sys/types.h>

#define FAULTS_MAX 65536u

/** What is run: a seed's plan, the dice, and what may happen. */
typedef struct setting {
    uint64_t seed, dice;
    uint32_t versions, absent, thin;
    uint64_t left_out, louder;
    bool only_faults;
    tape *tape; /* recorded, or played; NULL: none */
} setting;

typedef struct trial {
    setting setting;
    sim_result result;
    bool ended;     /* false: its process died */
    double seconds; /* of a processor */
    size_t fired_count;
    uint64_t fired[FAULTS_MAX]; /* the faults that happened, in the order of time, and long waits */
} trial;

trial *trial_new(void);
void trial_free(trial *t);
/** An empty tape that a trial can record on. */
tape *trial_tape(void);
void trial_tape_free(tape *t);
void trial_copy(trial *to, const trial *from);
/** Runs `s` with the faults in `kept` (any order), or with all that are drawn when it is NULL.
 * `story` also tells it on stdout. */
void trial_run(const setting *s, const uint64_t *kept, size_t count, bool story, trial *t);
/** The same in two steps: another may run meanwhile. */
pid_t trial_begin(const setting *s, const uint64_t *kept, size_t count, bool story, trial *t);
void trial_end(pid_t pid, trial *t);
bool trial_fails(const trial *t, const char *invariant);
/** Changes a copy of the best setting, as `r` has it. */
typedef void (*trial_change)(setting *s, const trial *best, rng *r);
/** Runs changed settings with other dice, on two processes, for so many seconds of each: whenever
 * one breaks `invariant` with fewer faults than `best`, it is the best. `*count` counts trials. */
void trial_search(trial_change change, const char *invariant, double seconds, trial *best,
                  uint32_t *count);

#endif
