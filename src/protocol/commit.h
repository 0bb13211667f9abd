// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * commit: brings one intent to one outcome (R1, R3 – R8).
 *
 * It owns nothing of the chain but uses it: base = the held proved manifest; candidate; create;
 * marker; and every way back from a lost race, a lost reply or a retired name. One handle, one
 * commit, one outcome at a time. While it runs nobody else may walk the chain.
 *
 * The outcome is told in commit_reported as soon as it is decided. The machine may run on a little
 * for what lies off the critical path (a segment for the next commit, the hint): a driver may
 * acknowledge when `end` says so, but starts the next commit only when commit_may_start says so.
 *
 * For crash tests the driver calls fault_point: "created" when the create of a manifest was
 * answered CREATED, before it gives that reply to the machine; "before-ack" when `end` became
 * COMMIT_DONE, before it tells anybody.
 */
#ifndef PROTOCOL_COMMIT_H
#define PROTOCOL_COMMIT_H

#include "base/log.h"
#include "base/rng.h"
#include "protocol/chain.h"
#include "protocol/intent.h"

typedef struct commit commit;

typedef struct commit_options {
    int64_t backoff_min_ns, backoff_max_ns; /* full jitter, for UNKNOWN, RETRY, lost races */
    uint32_t conflict_retries; /* lost races before it gives the cadence a say (COMMIT_LOST); 0 =
                                  try until the deadline */
    uint64_t seed;             /* from the system, outside of tests: commit nonces come from it */
    const clock_source *clock; /* wall clock only: advisory field */
    const log_sink *log;
} commit_options;

/** Opens the chain by itself when nothing is held yet. */
bw_status commit_new(chain *c, const commit_options *options, commit **out);
void commit_free(commit *c);

/** Nothing runs but perhaps puts of a hint or of segments, which no commit waits for. */
bool commit_may_start(const commit *c);
/** A segment for the next commit is under way: to begin before it is there wastes it. */
bool commit_puts_segment(const commit *c);
/** Starts, when it may. The intent is the caller's until the end. `deadline_ns` on the
 * driver's clock. */
void commit_start(commit *c, intent *i, view committer, int64_t now_ns, int64_t deadline_ns);
/** The owner has just looked for a newer base: the next start does not look again. */
void commit_trust_base(commit *c);
extern const machine_type commit_machine;

typedef enum commit_end {
    COMMIT_RUNNING,
    COMMIT_DONE,    /* ours, closed and proved; chain_held is that manifest or a later proved one */
    COMMIT_LOST,    /* definitely not made: ask again when the cadence allows */
    COMMIT_REFUSED, /* by a proved base: status tells */
    COMMIT_FAILED   /* store error or deadline; nothing may still land unless `open_unknown` */
} commit_end;

typedef struct commit_report {
    commit_end end;
    bw_status status;     /* BW_OK when DONE */
    intent_result result; /* of the try that decided. DONE: `already` + `published` descriptors are
                             on the chain, the published ones from `first_step` on; the first of
                             those already there, when none was published, is at `first_step` too
                             (COMMIT_STEP_UNKNOWN when it has left the tail) */
    uint64_t version;     /* DONE: version that made it, or of the witness */
    bool overdue;         /* the deadline passed, or the store failed, with an attempt open: report
                             BW_UNKNOWN with version and nonce, and keep driving */
    bool open_unknown;    /* REFUSED (fenced) or FAILED (store unsafe, chain blocked, UNKNOWN): what
                             became of an attempt of ours is UNKNOWN: it did not fail */
    uint64_t open_version; /* of the open or last attempt */
    token128 nonce;        /* of the open or last attempt */
    uint32_t attempts, conflicts;
    int64_t fragile_ns; /* from the read of the base, or from the start where nothing was read, to
                           the close of the attempt: what cadences estimate */
    int64_t create_ns;  /* what the last create took */
    bw_error error;
} commit_report;
#define COMMIT_STEP_UNKNOWN UINT64_MAX
const commit_report *commit_reported(const commit *c);

/** For stats and for coverage of the rare states. */
typedef struct commit_counts {
    uint64_t created;         /* closed as ours by CREATED and the marker */
    uint64_t exists_ours;     /* a lost reply: EXISTS was us */
    uint64_t exists_other;    /* a lost race */
    uint64_t unknown, resent; /* replies UNKNOWN; creates repeated with the same bytes */
    uint64_t marker_after_created, marker_after_exists; /* our name was in a retired block */
    uint64_t witness_made, witness_lost, witness_fenced;
    uint64_t folds, merges;                 /* in commits made */
    uint64_t fold_waits, merge_waits;       /* commits that had to wait for the object */
    uint64_t manifest_bytes, segment_bytes; /* of commits made; of puts answered OK */
} commit_counts;
const commit_counts *commit_counted(const commit *c);

#endif
