// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * reclaim: one pass that gives back what no group can reach any more (docs/protocol.md). Each step
 * only after the one before:
 *
 *   proved newest manifest → delete the parts of steps [swept, trim), every delete answered
 *   → commit `swept`, and the page of departed producers with it → delete the segments below
 *   → retire manifest blocks (sweep.h) → list, and delete what is proved an orphan
 *
 * Restartable, safe when several run: whoever dies in between leaves the manifest saying less than
 * is gone, never more.
 */
#ifndef PROTOCOL_RECLAIM_H
#define PROTOCOL_RECLAIM_H

#include "protocol/commit.h"
#include "protocol/sweep.h"

typedef struct reclaim reclaim;
typedef struct reclaim_options {
    bool apply;          /* false: only say what would be done */
    bool orphans;        /* list the store for what no manifest names */
    bool manifests_only; /* neither data nor orphans */
    uint64_t steps_max;  /* of one pass; 0 = no limit */
    uint32_t blocks_max; /* of one pass; 0 = no limit */
    size_t cache_bytes;  /* of segments */
    int64_t backoff_min_ns, backoff_max_ns;
    uint64_t seed;
    const clock_source *clock; /* wall clock only: advisory field */
    const log_sink *log;
} reclaim_options;

bw_status reclaim_new(chain *c, const reclaim_options *options, reclaim **out);
void reclaim_free(reclaim *r);
/** `deadline_ns`: of what fails or is contended, and moved on by each delete that was answered; a
 * pass of which something comes ends by itself. */
void reclaim_start(reclaim *r, int64_t now_ns, int64_t deadline_ns);
extern const machine_type reclaim_machine;

#define RECLAIM_STAGED_MAX 16u
/** What a producer that may come back has staged and not published: nobody else may delete it. */
typedef struct reclaim_staged {
    char producer[NAME_MAX_BYTES + 1];
    uint64_t objects, bytes;
} reclaim_staged;

typedef struct reclaim_report {
    bw_status status;
    uint64_t newest, trim, swept; /* of the proved manifest it acted on */
    uint64_t swept_to;            /* what the chain says, or would, after this pass */
    uint64_t steps, bytes;        /* whose parts it deleted */
    uint64_t names_deleted;       /* parts and states asked for; some may never have been there */
    uint64_t segments_deleted;
    uint32_t moved; /* producers to the page */
    uint64_t orphans_deleted, orphan_bytes;
    uint64_t strangers; /* listed data of producers that the chain never named: left alone */
    reclaim_staged staged[RECLAIM_STAGED_MAX]; /* as listed; of more producers there is the sum */
    uint32_t staged_count;
    uint64_t staged_objects, staged_bytes;
    bool overtaken; /* another sweep went on meanwhile: this pass ended early */
    sweep_report manifests;
    bw_error error;
} reclaim_report;
const reclaim_report *reclaim_reported(const reclaim *r);

#endif
