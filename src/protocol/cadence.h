// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** cadence: when to attempt the next commit (DESIGN 9). One interface; `naive` and `fixed:N` are
 * built, others join here. */
#ifndef PROTOCOL_CADENCE_H
#define PROTOCOL_CADENCE_H

#include "base/error.h"
#include "base/rng.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum cadence_policy { CADENCE_NAIVE, CADENCE_FIXED } cadence_policy;

typedef struct cadence {
    cadence_policy policy;
    int64_t gap_ns;
    int64_t next_ns; /* no attempt before */
} cadence;

/** "naive", "fixed:100" (milliseconds). BW_INVALID names the choices. */
bw_status cadence_parse(const char *text, cadence *c, bw_error *error);
/** When the next attempt may start, given that something has been staged since `staged_ns`. */
int64_t cadence_due(const cadence *c, int64_t staged_ns);
/** Feed each attempt's end. */
typedef struct cadence_attempt {
    int64_t now_ns;
    int64_t fragile_ns;
    bool conflict;
} cadence_attempt;
void cadence_attempted(cadence *c, const cadence_attempt *attempt, rng *r);

#endif
