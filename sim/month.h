// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * One namespace that lives for days. The people and the faults of a seed, but people take minutes
 * where the network takes milliseconds (`pace`), faults are rare, and nobody seals before the end.
 * At random moments, twice a day, the world stops: what the virtual store holds is written to a
 * folder, and a program proves it (`verify --deep` and the independent checker); each second time
 * everybody has been killed just before. Then the world goes on.
 */
#ifndef SIM_MONTH_H
#define SIM_MONTH_H

#include "sim.h"

typedef struct month {
    uint32_t days;
    const char *verify; /* called with the folder; 0: clean */
    char folder[200];   /* where the store is written to, and left when it is not clean */
    bool is_told;       /* a line for each stop */
    bool tells;         /* everything that happens */

    rng random;
    int64_t stop_ns; /* the next */
    uint64_t stops, clean, killed;
    uint64_t stored_bytes, part_bytes; /* at the end */
    sim_result result;
    uint64_t joins, leaves, jobs, launches, pins;
    uint64_t objects_peak, bytes_peak;
    double seconds;
} month;

/** `days`, `verify` and what is told are set. */
void month_run(month *m, uint64_t seed);
void month_print(const month *m, bool json);

/* ---- for the simulation ---- */
void month_plan(sim *s);
void month_stop(sim *s);
/** Sums up. When all is settled: what is stored is what is kept, and clean. */
void month_end(sim *s);

/* ---- dump.c ---- */

/** Writes all that the store holds below `folder`, a file an object. */
void dump_write(const sim *s, const char *folder);
void dump_remove(const char *folder);
/** Exit code of `program folder`. */
int dump_judge(const char *program, const char *folder);

#endif
