// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * What a commit costs behind a short and behind a long history, and the exact bytes of a commit in
 * a busy namespace.
 */
#include "bench.h"
#include "rig.h"

#include "base/alloc.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* One fold cycle, so that every turn meets every length of the tail. */
#define CYCLE_COMMITS RIG_FOLD_BATCHES
#define SHORT_STEPS 1000u
#define LONG_STEPS 1000000u
#define BUSY_PRODUCERS 32u

typedef struct history_side {
    const bench *bench;
    const char *name;
    uint64_t steps;
    uint32_t batch; /* of a commit of the preload */
    bool renew;     /* a new namespace for each turn, so that its history stays short */
    uint32_t renewed;
    uint64_t commits; /* of a turn */
    double *samples;
    rig rig;
    uint64_t measured, measured_bytes;
} history_side;

static bw_status renew(history_side *s, bw_error *error)
{
    /* The old one is not removed before the end: its pages, still warm, would serve one side only.
     */
    char name[32];
    snprintf(name, sizeof name, "%s-%u", s->name, s->renewed++);
    rig_close(&s->rig);
    BW_TRY(rig_open(&s->rig, s->bench->memory, name, false, 1, error));
    return rig_preload(&s->rig, s->steps, s->batch, error);
}

static bw_status run_history(void *context, double *us, bw_error *error)
{
    history_side *s = context;
    if (s->renew)
        BW_TRY(renew(s, error));
    const rig_written before = rig_wrote(&s->rig);
    for (uint64_t i = 0; i < s->commits; i++) {
        const int64_t start = bench_now();
        BW_TRY(rig_publish(&s->rig, 0, 1, error));
        s->samples[i] = (double)(bench_now() - start) / 1e3;
    }
    *us = bench_spread_of(s->samples, s->commits).median;
    const rig_written after = rig_wrote(&s->rig);
    s->measured += after.manifests - before.manifests;
    s->measured_bytes += after.manifest_bytes - before.manifest_bytes;
    return BW_OK;
}

static bw_status history_open(history_side *s, const bench *b, bw_error *error)
{
    s->bench = b;
    s->commits = bench_budget(b, CYCLE_COMMITS, 4);
    s->samples = mem_array(s->commits, sizeof *s->samples);
    if (s->samples == NULL)
        return error_set(error, BW_NOMEM, "no memory for samples");
    return s->renew ? BW_OK : renew(s, error);
}

static void history_close(history_side *s)
{
    rig_close(&s->rig);
    mem_free(s->samples);
}

static bench_row *add_side(bench *b, const history_side *s, bench_spread us)
{
    char name[48];
    snprintf(name, sizeof name, "history.%s.manifest", s->name);
    bench_add(b, name, "B/commit", bench_exactly((double)s->measured_bytes / (double)s->measured));
    snprintf(name, sizeof name, "history.%s.commit_p50", s->name);
    return bench_add(b, name, "us", us);
}

/** A long history beside a short one made in the same way. */
static bw_status compare(bench *b, history_side *brief, history_side *lasting, double limit,
                         bw_error *error)
{
    bench_pair pair;
    bw_status status = history_open(brief, b, error);
    if (status == BW_OK)
        status = history_open(lasting, b, error);
    if (status == BW_OK)
        status = bench_turns(b, (bench_side){run_history, lasting},
                             (bench_side){run_history, brief}, &pair, error);
    if (status == BW_OK) {
        add_side(b, brief, pair.b);
        bench_row *row = add_side(b, lasting, pair.a);
        row->has_ratio = true;
        row->ratio = pair.ratio;
        if (limit > 0)
            bench_limit(row, JUDGE_RATIO_MAX, limit);
    }
    history_close(brief);
    history_close(lasting);
    return status;
}

bw_status bench_history(bench *b, bw_error *error)
{
    const uint64_t steps = bench_budget(b, LONG_STEPS, SHORT_STEPS);
    history_side brief = {
        .name = "1e3", .steps = SHORT_STEPS, .batch = RIG_BATCH_MAX, .renew = true};
    history_side lasting = {.name = "1e6", .steps = steps, .batch = RIG_BATCH_MAX};
    BW_TRY(compare(b, &brief, &lasting, 1.05, error));
    /* The same as a run leaves it that commits every batch alone: two hundred times as many
     * segments, and references to their indexes. */
    history_side brief_ones = {
        .name = "1e3_ones", .steps = SHORT_STEPS, .batch = RIG_FOLD_BATCHES, .renew = true};
    history_side lasting_ones = {.name = "1e6_ones", .steps = steps, .batch = RIG_FOLD_BATCHES};
    return compare(b, &brief_ones, &lasting_ones, 0, error);
}

/* ---- bytes of a commit with many producers ---- */

/** Size of the manifest of the newest version, as the file system tells it. */
static bw_status newest_manifest_bytes(const rig *r, double *bytes, bw_error *error)
{
    char path[BENCH_PATH_MAX + KEY_BYTES];
    object_key key;
    key_manifest(&key, chain_held(r->chain)->version);
    snprintf(path, sizeof path, "%s/%s", r->path, key.text);
    struct stat status;
    if (stat(path, &status) != 0)
        return bench_failed(error, path);
    *bytes = (double)status.st_size;
    return BW_OK;
}

static bw_status measure_busy(rig *r, double *sizes, uint64_t commits, bw_error *error)
{
    for (uint64_t i = 0; i < commits; i++) {
        BW_TRY(rig_publish(r, (uint32_t)(i % BUSY_PRODUCERS), 1, error));
        BW_TRY(newest_manifest_bytes(r, &sizes[i], error));
    }
    return BW_OK;
}

static void add_busy(bench *b, double *sizes, uint64_t commits)
{
    double sum = 0;
    for (uint64_t i = 0; i < commits; i++)
        sum += sizes[i];
    const bench_spread spread = bench_spread_of(sizes, commits);
    const bench_spread mean = {
        .median = sum / (double)commits, .min = spread.min, .max = spread.max};
    bench_limit(bench_add(b, "manifest.32_producers.mean", "B/commit", mean), JUDGE_VALUE_MAX,
                12288);
    bench_limit(bench_add(b, "manifest.32_producers.max", "B/commit", bench_exactly(spread.max)),
                JUDGE_VALUE_MAX, 12288);
}

bw_status bench_manifest(bench *b, bw_error *error)
{
    const uint64_t commits = bench_budget(b, 20 * CYCLE_COMMITS, 8);
    rig r = {0};
    double *sizes = mem_array(commits, sizeof *sizes);
    bw_status status = sizes != NULL ? BW_OK : error_set(error, BW_NOMEM, "no memory for sizes");
    if (status == BW_OK)
        status = rig_open(&r, b->memory, "busy", false, BUSY_PRODUCERS, error);
    if (status == BW_OK)
        status = measure_busy(&r, sizes, commits, error);
    if (status == BW_OK)
        add_busy(b, sizes, commits);
    rig_close(&r);
    mem_free(sizes);
    return status;
}
