// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Producers that publish while others read: a thread and a handle each, as separate processes have
 * them. */
#ifndef BENCH_SUPPLY_H
#define BENCH_SUPPLY_H

#include "fill.h"

#define SUPPLY_MAX 8u

typedef struct supply supply;

/** Starts `count` ≤ SUPPLY_MAX producers that share the plan's steps evenly; each stages at most
 * `staged` batches that are not committed. */
bw_status supply_start(bw_runtime *runtime, const char *url, const fill_plan *plan, uint32_t count,
                       uint32_t staged, supply **started, bw_error *error);
/** Waits until all have finished, or ends them where they stand; then frees it. The first failure.
 * NULL is fine. */
bw_status supply_end(supply *s, bool wait, bw_error *error);

#endif
