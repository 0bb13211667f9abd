// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * The rate of commits of staged batches, one a commit, against the floor that publishes the same
 * bytes: as many manifests, and as many segments where tails were folded, of the same mean sizes.
 */
#include "bench.h"
#include "floor.h"
#include "rig.h"

#include "base/alloc.h"
#include <stdio.h>
#include <string.h>

/* Short turns and many rounds: a disk and a busy machine have slow moments, and both sides must
 * meet them. */
#define TURN_COMMITS 20u
#define ROUNDS_TIMES 12u

typedef struct commit_sides {
    rig rig;
    floor_dir floor;
    uint64_t commits;
    uint8_t *bytes;   /* what the floor writes */
    rig_written last; /* of the last turn of the commits */
    rig_written total;
} commit_sides;

static bw_status run_commits(void *context, double *per_s, bw_error *error)
{
    commit_sides *s = context;
    const rig_written before = rig_wrote(&s->rig);
    const int64_t start = bench_now();
    for (uint64_t i = 0; i < s->commits; i++)
        BW_TRY(rig_publish(&s->rig, 0, 1, error));
    *per_s = (double)s->commits * 1e9 / (double)(bench_now() - start);
    const rig_written after = rig_wrote(&s->rig);
    s->last = (rig_written){.manifests = after.manifests - before.manifests,
                            .manifest_bytes = after.manifest_bytes - before.manifest_bytes,
                            .segments = after.segments - before.segments,
                            .segment_bytes = after.segment_bytes - before.segment_bytes};
    return BW_OK;
}

static bw_status run_floor(void *context, double *per_s, bw_error *error)
{
    commit_sides *s = context;
    const rig_written *w = &s->last;
    const int64_t start = bench_now();
    for (uint64_t i = 0; i < w->manifests; i++)
        BW_TRY(floor_publish(&s->floor, s->bytes, w->manifest_bytes / w->manifests, error));
    for (uint64_t i = 0; i < w->segments; i++)
        BW_TRY(floor_publish(&s->floor, s->bytes, w->segment_bytes / w->segments, error));
    *per_s = (double)w->manifests * 1e9 / (double)(bench_now() - start);
    return BW_OK;
}

static bw_status compare(bench *b, commit_sides *s, const char *name, double limit, bw_error *error)
{
    bench_pair pair;
    BW_TRY(bench_turns(bench_rounds(b, ROUNDS_TIMES), (bench_side){run_commits, s},
                       (bench_side){run_floor, s}, &pair, error));
    char text[48];
    snprintf(text, sizeof text, "%s.floor", name);
    bench_add(b, text, "commits/s", pair.b);
    bench_row *row = bench_add(b, name, "commits/s", pair.a);
    row->has_ratio = true;
    row->ratio = pair.ratio;
    if (limit > 0)
        bench_limit(row, JUDGE_RATIO_MIN, limit);
    const rig_written w = rig_wrote(&s->rig);
    snprintf(text, sizeof text, "%s.bytes", name);
    bench_add(b, text, "B/commit",
              bench_exactly((double)(w.manifest_bytes + w.segment_bytes) / (double)w.manifests));
    return BW_OK;
}

static bw_status add_commits(bench *b, const char *name, const char *parent, bool durable,
                             double limit, bw_error *error)
{
    commit_sides s = {.commits = bench_budget(b, TURN_COMMITS, 2),
                      .floor = {.target = -1, .temporary = -1}};
    char folder[48];
    snprintf(folder, sizeof folder, "%s.floor", name);
    s.bytes = mem_zalloc(object_bytes_max(OBJECT_MANIFEST));
    bw_status status = s.bytes != NULL ? BW_OK : error_set(error, BW_NOMEM, "no memory");
    if (status == BW_OK)
        status = floor_open(parent, folder, durable, &s.floor, error);
    if (status == BW_OK)
        status = rig_open(&s.rig, parent, name, durable, 1, error);
    if (status == BW_OK)
        status = compare(b, &s, name, limit, error);
    rig_close(&s.rig);
    floor_close(&s.floor);
    mem_free(s.bytes);
    return status;
}

bw_status bench_commit(bench *b, bw_error *error)
{
    BW_TRY(add_commits(b, "commit.durable", b->disk, true, 0.8, error));
    BW_TRY(add_commits(b, "commit.plain", b->memory, false, 0.5, error));
    return add_commits(b, "commit.plain.disk", b->disk, false, 0, error);
}
