// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The life of a namespace in fast motion: producers at their limit, jobs that pin, sweeps behind
 * them, and again and again the bytes that lie there. */
#ifndef BENCH_RUN_LIFE_H
#define BENCH_RUN_LIFE_H

#include "fill.h"

#define LIFE_JOBS_MAX 2u
#define LIFE_KEEP_MAX 8u

/** A training job: a group of its own. */
typedef struct life_job {
    const char *group;
    uint64_t interval; /* steps between checkpoints */
    uint32_t keep;     /* newest checkpoints that stay pinned, ≤ LIFE_KEEP_MAX */
    uint64_t behind;   /* steps that it trails behind the first job */
} life_job;

typedef struct life {
    fill_plan plan;
    uint32_t producers, staged; /* batches that each has put and not committed, at most */
    uint64_t max_lag;
    uint32_t block_size;
    uint64_t sample_interval; /* steps between listings, which are the dear part; one more before
                                 each checkpoint */
    bool reclaim;             /* a pass of the sweep behind each pin */
    life_job jobs[LIFE_JOBS_MAX];
    uint32_t job_count;
} life;

typedef struct life_bytes {
    double all, data; /* everything, and what lies beneath data/ */
} life_bytes;

/**
 * Makes the namespace `name` in `folder`, lives the whole plan there and removes it. `samples`: for
 * each step of the first job, the most that a listing showed, so far as there was one. `most`: of
 * all listings. A rule that does not hold (trim, max_lag) is BW_BUG.
 */
bw_status life_run(const life *l, const char *folder, const char *name, double *samples,
                   life_bytes *most, bw_error *error);

#endif
