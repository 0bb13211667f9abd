// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * chain: follows the sequence of manifests and lets nothing out that is not *proved*
 * (docs/protocol.md).
 *
 * Proved: content read (or our create answered CREATED) and, after that, the marker of its block
 * read as absent. Proved newest: v+1 answered 404 and, after that, the marker of v+1's block read
 * as absent. Every walk below ends with such a check before its result may be looked at.
 */
#ifndef PROTOCOL_CHAIN_H
#define PROTOCOL_CHAIN_H

#include "base/log.h"
#include "base/rng.h"
#include "codec/cursor.h"
#include "protocol/lookup.h"
#include "protocol/machine.h"

typedef enum chain_goal {
    CHAIN_OPEN, /* genesis and a proved newest manifest, from nothing: hint, else search; no LIST.
                   After chain_resume: perhaps an older one, proved */
    CHAIN_POLL, /* is there anything newer? A run of at most run_max versions, proved; a 404 ends it
                   (its marker is read every 16th time) */
    CHAIN_NEWEST, /* catch up to a proved newest manifest */
    CHAIN_REOPEN  /* like OPEN with genesis known: above the highest marker (R8), after a marker was
                     met */
} chain_goal;

typedef struct chain chain;

/** `seed` for jitter. */
bw_status chain_new(uint64_t seed, const log_sink *log, chain **out);
void chain_free(chain *c);
/** For those who care where the chain is and not what lies between, committers and sweepers:
 * versions may be skipped without finding the old sum at the old place. A reader must not use it.
 * commit_new and sweep_new call it. */
void chain_forgive_gaps(chain *c);

/** Where a reader goes on, by its cursor (handout_resume_point). */
typedef struct resume_point {
    uint64_t version; /* that is likely to describe `step`; may be wrong. 0: none */
    uint64_t step;    /* to be read first */
    uint64_t before;  /* whose nonce is compared; `step` when none is */
    uint32_t way_count;
    segment_ref way[WAY_MAX]; /* the cursor's */
} resume_point;
/** An open from nothing reads that version beside genesis and hint, and a few that follow it. The
 * first that describes the step, else the hinted one if it does, is proved and held, and is not
 * said to be the newest; what leads to both steps is read beside its marker, into `cache`, which
 * must outlive the open. Else it changes nothing (docs/design/restart.md).
 */
void chain_resume(chain *c, const resume_point *at, segment_cache *cache);
/** Starts a walk; none may be running. On success or failure the chain keeps the last proved
 * manifest. */
void chain_start(chain *c, chain_goal goal, int64_t now_ns);
/** A walk of one question: is `version`, above the held one, there? If so it is proved and held;
 * what lies between is skipped. Only for those who forgive gaps, and hold something. */
void chain_look(chain *c, uint64_t version, int64_t now_ns);
extern const machine_type chain_machine;

/** How the last walk ended: BW_OK; BW_NO_NAMESPACE, BW_NOT_READY, BW_CHAIN_BLOCKED (key in error),
 * BW_CORRUPT, BW_WRONG_NAMESPACE, BW_TRIMMED (a reader that skipped versions cannot prove its old
 * place any more), BW_CURSOR_REWRITTEN (sums differ: another history), BW_STORE_UNSAFE (a manifest
 * that was on the chain is gone), BW_FORMAT, BW_IO, BW_DENIED … */
bw_status chain_result(const chain *c, bw_error *error);
const genesis *chain_genesis(const chain *c); /* NULL before it was read */
/** Hash of genesis' object: the previous hash of version 1. */
const hash128 *chain_genesis_hash(const chain *c);
/** The newest proved manifest, borrowed until the next call that changes the chain; manifest_ref to
 * keep. NULL before an open succeeded. */
manifest *chain_held(const chain *c);
/** True when the last walk proved that `held` is the newest. */
bool chain_is_newest(const chain *c);
/** Gives the chain a manifest that its owner proved (a commit). Takes a reference. */
void chain_adopt(chain *c, manifest *m);
/** Counters for stats and coverage: retired markers met, ghosts discarded, reopens, versions read,
 * polls; opens that began with a version which describes a resume point's step, of those by the
 * hint, by a version behind the cursor's, and that met a marker; and in which nothing lay at its
 * version or soon behind, or nothing with the step, or that was ahead of the hint; segments of ways
 * that were read. */
typedef struct chain_counts {
    uint64_t versions_read, polls, markers_read, ghosts_met, reopens, skipped_checks;
    uint64_t resumed, resume_hinted, resume_later, resume_retired;
    uint64_t resume_absent, resume_elsewhere, resume_ahead, resume_ways;
} chain_counts;
const chain_counts *chain_counted(const chain *c);

#endif
