// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * What a commit costs behind a short and behind a long history, and the exact bytes of a commit in
 * a busy namespace.
 */
#include "bench.h"
#include "floor.h"
#include "rig.h"

#include "base/alloc.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* One fold cycle, so that every round meets every length of the tail. */
#define CYCLE_COMMITS RIG_FOLD_BATCHES
/* So many folds make an index: every number of references to segments is met, on both sides. */
#define MEASURED_CYCLES INDEX_CHILDREN
#define SHORT_STEPS 1000u
#define LONG_STEPS 1000000u
#define BUSY_PRODUCERS 32u

/* What a floor writes: as much as any manifest takes here. */
static const uint8_t zeros[64u << 10];

typedef struct history_side {
    const char *name;
    uint64_t steps;
    uint32_t batch;   /* of a commit of the preload */
    uint64_t commits; /* of a cycle */
    double *samples;
    size_t *sizes; /* of the manifests of this cycle */
    rig rig;
    floor_dir floor;
    uint64_t measured, measured_bytes;
} history_side;

/* Medians of the cycles; the first cycle does not count. */
typedef struct history_pair {
    double brief[BENCH_ROUNDS_MAX + 1], lasting[BENCH_ROUNDS_MAX + 1];
    double ratio[BENCH_ROUNDS_MAX + 1];
} history_pair;

static bw_status one_commit(history_side *s, uint64_t i, bw_error *error)
{
    const int64_t start = bench_now();
    BW_TRY(rig_publish(&s->rig, 0, 1, error));
    s->samples[i] = (double)(bench_now() - start) / 1e3;
    s->sizes[i] = chain_held(s->rig.chain)->object_bytes;
    if (s->sizes[i] > sizeof zeros)
        return error_set(error, BW_BUG, "a manifest of %zu bytes", s->sizes[i]);
    s->measured++;
    s->measured_bytes += s->sizes[i];
    return BW_OK;
}

/** The size of the commit before, published with the fewest calls. */
static bw_status one_floor(history_side *s, uint64_t i, bw_error *error)
{
    const int64_t start = bench_now();
    BW_TRY(floor_publish(&s->floor, zeros, s->sizes[i], error));
    s->samples[i] = (double)(bench_now() - start) / 1e3;
    return BW_OK;
}

/** The two sides in turns of one, A B B A, for one cycle; medians into samples `round` of `out`. */
static bw_status run_cycle(bw_status (*one)(history_side *, uint64_t, bw_error *),
                           history_side *brief, history_side *lasting, history_pair *out,
                           uint32_t round, bw_error *error)
{
    for (uint64_t i = 0; i < brief->commits; i++) {
        BW_TRY(one(i % 2 == 0 ? brief : lasting, i, error));
        BW_TRY(one(i % 2 == 0 ? lasting : brief, i, error));
    }
    out->brief[round] = bench_spread_of(brief->samples, brief->commits).median;
    out->lasting[round] = bench_spread_of(lasting->samples, lasting->commits).median;
    out->ratio[round] = out->lasting[round] / out->brief[round];
    return BW_OK;
}

static bw_status history_open(history_side *s, const bench *b, bw_error *error)
{
    s->commits = bench_budget(b, CYCLE_COMMITS, 4);
    s->samples = mem_array(s->commits, sizeof *s->samples);
    s->sizes = mem_array(s->commits, sizeof *s->sizes);
    if (s->samples == NULL || s->sizes == NULL)
        return error_set(error, BW_NOMEM, "no memory for samples");
    char name[32];
    snprintf(name, sizeof name, "%s-floor", s->name);
    BW_TRY(floor_open(b->memory, name, false, &s->floor, error));
    BW_TRY(rig_open(&s->rig, b->memory, s->name, false, 1, error));
    return rig_preload(&s->rig, s->steps, s->batch, error);
}

static void history_close(history_side *s)
{
    rig_close(&s->rig);
    floor_close(&s->floor);
    mem_free(s->samples);
    mem_free(s->sizes);
}

static bench_row *add_row(bench *b, const history_side *s, const char *what, const char *unit,
                          bench_spread value)
{
    char name[48];
    snprintf(name, sizeof name, "history.%s.%s", s->name, what);
    return bench_add(b, name, unit, value);
}

/** The rows of both sides; the one of the long history, with the ratio. */
static bench_row *add_pair(bench *b, const history_side *brief, const history_side *lasting,
                           const char *what, history_pair *pair, uint32_t rounds)
{
    add_row(b, brief, what, "us", bench_spread_of(pair->brief + 1, rounds));
    bench_row *row = add_row(b, lasting, what, "us", bench_spread_of(pair->lasting + 1, rounds));
    row->has_ratio = true;
    row->ratio = bench_spread_of(pair->ratio + 1, rounds);
    return row;
}

static double bytes_of_commit(const history_side *s)
{
    return (double)s->measured_bytes / (double)s->measured;
}

static bw_status measure(bench *b, history_side *brief, history_side *lasting, double limit,
                         bw_error *error)
{
    const uint32_t rounds = b->quick ? 1 : MEASURED_CYCLES;
    history_pair commits, floors;
    BW_TRY(history_open(brief, b, error));
    BW_TRY(history_open(lasting, b, error));
    for (uint32_t round = 0; round <= rounds; round++) {
        BW_TRY(run_cycle(one_commit, brief, lasting, &commits, round, error));
        BW_TRY(run_cycle(one_floor, brief, lasting, &floors, round, error));
    }
    add_row(b, brief, "manifest", "B/commit", bench_exactly(bytes_of_commit(brief)));
    add_row(b, lasting, "manifest", "B/commit", bench_exactly(bytes_of_commit(lasting)));
    add_pair(b, brief, lasting, "floor_p50", &floors, rounds);
    bench_row *row = add_pair(b, brief, lasting, "commit_p50", &commits, rounds);
    if (limit > 0)
        bench_limit(row, JUDGE_RATIO_MAX, limit);
    return BW_OK;
}

/** A long history beside a short one made in the same way. */
static bw_status compare(bench *b, history_side *brief, history_side *lasting, double limit,
                         bw_error *error)
{
    brief->floor = lasting->floor = (floor_dir){.target = -1, .temporary = -1};
    const bw_status status = measure(b, brief, lasting, limit, error);
    history_close(brief);
    history_close(lasting);
    return status;
}

bw_status bench_history(bench *b, bw_error *error)
{
    const uint64_t steps = bench_budget(b, LONG_STEPS, SHORT_STEPS);
    history_side brief = {.name = "1e3", .steps = SHORT_STEPS, .batch = RIG_BATCH_MAX};
    history_side lasting = {.name = "1e6", .steps = steps, .batch = RIG_BATCH_MAX};
    BW_TRY(compare(b, &brief, &lasting, 1.05, error));
    /* The same as a run leaves it that commits every batch alone: two hundred times as many
     * segments, and references to their indexes. */
    history_side brief_ones = {.name = "1e3_ones", .steps = SHORT_STEPS, .batch = RIG_FOLD_BATCHES};
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
