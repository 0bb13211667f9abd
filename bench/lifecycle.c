// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * The paper's lifecycle experiment with batches of a hundredth of its size: 1,010 steps, a
 * checkpoint each 10, max_lag 80; once without deleting, then with, and with more to keep. The
 * bound is G8's (docs/guarantees.md): what pins keep, what producers may be ahead, what a sweep has
 * still to delete, what is staged; times 1.10, which is also for all the metadata.
 */
#include "run_life.h"

#include "base/alloc.h"
#include <stdio.h>
#include <sys/statvfs.h>

#define LIFE_SLACK 1.10
#define LIFE_DP 8u
#define MIB 1048576.0
#define MIB_TEXT "MiB"
#define ROOM_WANTED (1ull << 30) /* nearly thrice what lies there when nothing is deleted */

typedef struct life_case {
    const char *name;
    bool reclaim;
    uint32_t keep;
    bool second; /* a slower job beside the first, half of max_lag behind it */
} life_case;

static const life_case cases[] = {
    {"none", false, 1, false},
    {"keep_1", true, 1, false},
    {"keep_3", true, 3, false},
    {"two_groups", true, 1, true},
};
#define CASE_COUNT (sizeof cases / sizeof cases[0])

static life plan_of(const bench *b, const life_case *c)
{
    /* 34.85 GiB in 1,010 steps, a hundredth of it, over 8 ranks. Quick: the same with small
     * numbers. */
    const uint64_t interval = bench_budget(b, 10, 4);
    const uint64_t max_lag = bench_budget(b, 80, 16);
    return (life){
        .plan = {.dp = b->quick ? 2 : LIFE_DP,
                 .items = 1,
                 .item_bytes = (uint32_t)bench_budget(b, 46312, 65536),
                 .steps = bench_budget(b, 1010, 60)},
        .producers = 2,
        .staged = (uint32_t)bench_budget(b, 4, 2),
        .max_lag = max_lag,
        .block_size = (uint32_t)bench_budget(b, 64, 16),
        .sample_interval = bench_budget(b, 5, 1),
        .reclaim = c->reclaim,
        .jobs = {{.group = "train", .interval = interval, .keep = c->keep},
                 {.group = "eval", .interval = 2 * interval, .keep = 2, .behind = max_lag / 2}},
        .job_count = c->second ? 2 : 1,
    };
}

/** Bytes are the same anywhere; memory is quicker, where there is enough of it. */
static const char *folder_of(const bench *b)
{
    struct statvfs room;
    if (statvfs(b->memory, &room) == 0 && (uint64_t)room.f_bavail * room.f_frsize >= ROOM_WANTED)
        return b->memory;
    return b->disk;
}

/** Steps whose data may lie there at once. */
static uint64_t window_of(const life *l)
{
    uint64_t pinned = 0, interval = 0;
    for (uint32_t k = 0; k < l->job_count; k++) {
        const life_job *job = &l->jobs[k];
        const uint64_t span = (job->keep - 1) * job->interval;
        pinned = span > pinned ? span : pinned;
        interval = job->interval > interval ? job->interval : interval;
    }
    return pinned + interval + l->max_lag + (uint64_t)l->producers * l->staged;
}

static bw_status run_case(bench *b, const life_case *c, double *samples, double *unbounded,
                          double *metadata, bw_error *error)
{
    const life l = plan_of(b, c);
    const double steps = (double)l.plan.steps;
    const double step_bytes = (double)l.plan.dp * l.plan.items * l.plan.item_bytes;
    const double window = (double)window_of(&l);
    life_bytes most;
    char name[48];
    BW_TRY(life_run(&l, folder_of(b), c->name, samples, &most, error));
    for (uint64_t k = 0; k < l.plan.steps; k++)
        samples[k] /= MIB;
    snprintf(name, sizeof name, "lifecycle.%s.peak", c->name);
    bench_row *row = bench_add(b, name, MIB_TEXT, bench_exactly(most.all / MIB));
    bench_series(row, samples, l.plan.steps);
    if (most.all - most.data > *metadata)
        *metadata = most.all - most.data;
    if (!c->reclaim) {
        *unbounded = most.all;
        return BW_OK;
    }
    row->has_ratio = true;
    row->ratio = bench_exactly(most.all / (window * step_bytes));
    bench_count_limit(row, JUDGE_RATIO_MAX, LIFE_SLACK);
    snprintf(name, sizeof name, "lifecycle.%s.saved", c->name);
    row = bench_add(b, name, "%", bench_exactly(100 * (1 - most.all / *unbounded)));
    bench_count_limit(row, JUDGE_VALUE_MIN, 100 * (1 - LIFE_SLACK * window / steps));
    return BW_OK;
}

bw_status bench_lifecycle(bench *b, bw_error *error)
{
    double unbounded = 0, metadata = 0;
    double *samples = mem_array(bench_budget(b, 1010, 60), sizeof *samples);
    if (samples == NULL)
        return error_set(error, BW_NOMEM, "no memory for samples");
    bw_status status = BW_OK;
    for (size_t k = 0; status == BW_OK && k < CASE_COUNT; k++)
        status = run_case(b, &cases[k], samples, &unbounded, &metadata, error);
    mem_free(samples);
    BW_TRY(status);
    bench_add(b, "lifecycle.metadata", MIB_TEXT, bench_exactly(metadata / MIB));
    return BW_OK;
}
