// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * commit: brings one intent to one outcome (R1, R3 – R8).
 *
 * It owns nothing of the chain but uses it: base = the held proved manifest; candidate; create;
 * marker; and every way back from a lost race, a lost reply or a retired name. One handle, one
 * commit, one outcome at a time.
 */
#ifndef PROTOCOL_COMMIT_H
#define PROTOCOL_COMMIT_H

#include "base/log.h"
#include "base/rng.h"
#include "protocol/chain.h"
#include "protocol/intent.h"

typedef struct commit commit;

typedef struct commit_options {
    int64_t backoff_min_ns, backoff_max_ns; /* full jitter, for UNKNOWN, RETRY */
    uint32_t conflict_retries; /* lost races before it gives the cadence a say (COMMIT_LOST); 0 =
                                  try until the deadline */
    uint64_t seed;
    const clock_source *clock; /* wall clock only: advisory field */
    const log_sink *log;
} commit_options;

bw_status commit_new(chain *c, const commit_options *options, commit **out);
void commit_free(commit *c);

/** Starts; none may be running. The intent is the caller's until the end. `deadline_ns` on the
 * driver's clock. */
void commit_start(commit *c, intent *i, view committer, int64_t now_ns, int64_t deadline_ns);
extern const machine_type commit_machine;

typedef enum commit_end {
    COMMIT_RUNNING,
    COMMIT_DONE, /* ours, closed and proved; chain_held is that manifest or a later proved one */
    COMMIT_LOST, /* definitely not made; the chain is caught up; ask again when the cadence allows
                  */
    COMMIT_REFUSED, /* by a proved base: status tells */
    COMMIT_FAILED   /* before anything was left open: store error, deadline (nothing may still land)
                     */
} commit_end;

typedef struct commit_report {
    commit_end end;
    bw_status status;     /* BW_OK when DONE */
    intent_result result; /* of the try that decided */
    uint64_t version;     /* DONE: version that made it, or of the witness */
    bool overdue; /* the deadline passed with an attempt open: report BW_UNKNOWN with version and
                     nonce, and keep driving */
    bool open_unknown; /* REFUSED (fenced): an attempt of ours is still open: its descriptors are
                          UNKNOWN, not failed */
    token128 nonce;    /* of the open or last attempt */
    uint32_t attempts, conflicts;
    int64_t fragile_ns; /* from the read of the base to the close of the attempt: what cadences
                           estimate */
    bw_error error;
} commit_report;
const commit_report *commit_reported(const commit *c);

/** Rare states, for coverage: own EXISTS, unknown closed as ours / as lost, marker met after
 * CREATED / EXISTS, witness made / lost, fold raced, late fold … */
typedef struct commit_counts {
    uint64_t created, exists_ours, exists_other, unknown, resent, marker_after_created,
        marker_after_exists, witness_made, witness_lost, folds, merges, manifest_bytes,
        segment_bytes;
} commit_counts;
const commit_counts *commit_counted(const commit *c);

#endif
