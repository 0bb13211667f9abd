// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * cadence: when to attempt the next commit. One interface, several policies; pure: no clock of its
 * own, no I/O. docs/design/cadence.md has what each of them costs.
 *
 *     naive          at once
 *     fixed:N        N ms after the end of the last attempt
 *     incr           10 ms after it, and 1 ms more from each conflict on
 *     aimd:interval  the paper's sentence as it stands: the interval grows by an addend with each
 *                    success and is halved by a conflict
 *     aimd:rate      what the sentence refers to, TCP's control: the rate does that
 *     dac            the paper's Algorithm 1; dac:P with a conflict budget of P per cent, dac:map
 *                    with the paper's count of producers
 *     turn           one after the other (protocol/turn.h decides; this only has its name)
 */
#ifndef PROTOCOL_CADENCE_H
#define PROTOCOL_CADENCE_H

#include "base/error.h"
#include "base/rng.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum cadence_policy {
    CADENCE_NAIVE,
    CADENCE_FIXED,
    CADENCE_INCR,
    CADENCE_AIMD_INTERVAL,
    CADENCE_AIMD_RATE,
    CADENCE_DAC,
    CADENCE_TURN
} cadence_policy;

typedef struct cadence {
    cadence_policy policy;
    int64_t gap_ns;         /* between two attempts, before jitter */
    int64_t next_ns;        /* no attempt before */
    double fragile_ns;      /* dac: τ, the estimate of the fragile window */
    double conflict_budget; /* dac: −ln(1 − ε) */
    bool counts_map;        /* dac: N is all that the map holds */
} cadence;

/** The names above. BW_INVALID names the choices. */
bw_status cadence_parse(const char *text, cadence *c, bw_error *error);
/** "fixed" for all gaps, "dac" for all budgets. */
const char *cadence_name(const cadence *c);
/** When the next attempt may start, given that something has been staged since `staged_ns`. */
int64_t cadence_due(const cadence *c, int64_t staged_ns);
/** Feed each attempt's end. Throttling is no conflict. */
typedef struct cadence_attempt {
    int64_t now_ns;
    int64_t fragile_ns; /* from the read of the base to the end; 0: there was no create */
    bool conflict;
    uint32_t active; /* producers that may compete (limit_active), and … */
    uint32_t mapped; /* … all that the manifest's map holds */
} cadence_attempt;
void cadence_attempted(cadence *c, const cadence_attempt *attempt, rng *r);

#endif
