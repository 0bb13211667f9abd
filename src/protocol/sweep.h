// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * sweep: deletes what is provably dead. Built now: the manifest half (R8): whole blocks in
 * ascending order, marker first, ghosts again on each pass. Steps, each only after the one before:
 * proved newest manifest v → highest marker → create the next block's marker (UNKNOWN is repeated)
 * → delete the block's names → … → list what lies in retired blocks and delete it again. Never the
 * block of v, the block before it, or a later one. Restartable; safe when several run.
 */
#ifndef PROTOCOL_SWEEP_H
#define PROTOCOL_SWEEP_H

#include "protocol/chain.h"

typedef struct sweep sweep;
typedef struct sweep_options {
    bool apply;          /* false: only say what would be done */
    uint32_t blocks_max; /* of one pass; 0 = no limit */
    int64_t backoff_min_ns, backoff_max_ns;
    uint64_t seed;
} sweep_options;

bw_status sweep_new(chain *c, const sweep_options *options, sweep **out);
void sweep_free(sweep *s);
void sweep_start(sweep *s, int64_t now_ns, int64_t deadline_ns);
extern const machine_type sweep_machine;

typedef struct sweep_report {
    bw_status status;
    uint64_t newest;         /* the proved newest version it acted on */
    uint64_t blocks_retired; /* by this pass (or that would be) */
    uint64_t blocks_total;   /* retired blocks in all */
    uint64_t manifests_deleted, ghosts_deleted;
    bw_error error;
} sweep_report;
const sweep_report *sweep_reported(const sweep *s);

#endif
