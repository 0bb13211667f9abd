// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Bytes are counted by walking the directory, by whoever trains: while it counts it pins nothing,
 * so the limits that hold then are those of one state of the groups. In a real run minutes lie
 * between two checkpoints; here the trainer waits before each one until the producers stand at
 * their limit and the sweep is done. So the most that can lie there does, on any machine.
 */
#include "run_life.h"

#include "base/alloc.h"
#include "supply.h"
#include <ftw.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define RANKS_MAX 16u
#define SETTLE_NS 60000000000ll
#define LOOK_NS 1000000l
#define ID_BYTES 32u

typedef struct trainer {
    const life_job *job;
    bw_space *space;
    bw_consumer *ranks[RANKS_MAX];
    uint64_t step;                /* the next one */
    uint64_t pins[LIFE_KEEP_MAX]; /* steps, oldest first; none: the group holds step 0 */
    uint32_t pin_count;
} trainer;

typedef struct run_state {
    const life *l;
    char folder[BENCH_PATH_MAX];
    trainer trainers[LIFE_JOBS_MAX];
    double *samples;
    life_bytes most;
} run_state;

/* ---- counting ---- */

static life_bytes counted; /* nftw has no context */
static size_t root_length;

static int count_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)where;
    /* What a sweep deletes meanwhile is FTW_NS. */
    if (kind != FTW_F)
        return 0;
    counted.all += (double)status->st_size;
    if (strncmp(path + root_length, "/data/", 6) == 0)
        counted.data += (double)status->st_size;
    return 0;
}

static bw_status take_sample(run_state *s, bw_error *error)
{
    counted = (life_bytes){0};
    root_length = strlen(s->folder);
    if (nftw(s->folder, count_one, 32, FTW_PHYS) != 0)
        return bench_failed(error, s->folder);
    const uint64_t step = s->trainers[0].step;
    double *sample = &s->samples[step == 0 ? 0 : step - 1];
    if (counted.all > *sample)
        *sample = counted.all;
    if (counted.all > s->most.all)
        s->most = counted;
    return BW_OK;
}

/* ---- what the chain should say ---- */

static uint64_t oldest_kept(const trainer *t)
{
    return t->pin_count == 0 ? 0 : t->pins[0];
}

static uint64_t newest_kept(const trainer *t)
{
    return t->pin_count == 0 ? 0 : t->pins[t->pin_count - 1];
}

static uint64_t least(const run_state *s, uint64_t (*of)(const trainer *t))
{
    uint64_t step = UINT64_MAX;
    for (uint32_t k = 0; k < s->l->job_count; k++)
        if (of(&s->trainers[k]) < step)
            step = of(&s->trainers[k]);
    return step;
}

typedef struct stand {
    uint64_t next, trim, swept;
} stand;

static int read_stand(void *context, const char *line)
{
    stand *at = context;
    json_error_t where;
    json_t *info = json_loads(line, 0, &where);
    at->next = (uint64_t)json_integer_value(json_object_get(info, "next_step"));
    at->trim = (uint64_t)json_integer_value(json_object_get(info, "trim_step"));
    at->swept = (uint64_t)json_integer_value(json_object_get(info, "swept_step"));
    json_decref(info);
    return 0;
}

/** Until the producers stand at their limit and the sweep is done. */
static bw_status settle(run_state *s, bw_error *error)
{
    const life *l = s->l;
    const uint64_t kept = least(s, oldest_kept);
    const uint64_t limit = least(s, newest_kept) + l->max_lag;
    const uint64_t next = limit < l->plan.steps ? limit : l->plan.steps;
    const int64_t until = bench_now() + SETTLE_NS;
    for (;;) {
        stand at = {0};
        BW_TRY(bw_space_report(s->trainers[0].space, "info", NULL, read_stand, &at, error));
        if (at.next > limit)
            return error_set(error, BW_BUG, "next step %" PRIu64 " is beyond the limit, %" PRIu64,
                             at.next, limit);
        if (at.trim != kept)
            return error_set(error, BW_BUG, "trim step %" PRIu64 ", but pins keep %" PRIu64,
                             at.trim, kept);
        if (at.next == next && (!l->reclaim || at.swept == kept))
            return BW_OK;
        if (bench_now() > until)
            return error_set(error, BW_TIMEOUT,
                             "the producers came to step %" PRIu64 " of %" PRIu64
                             ", the sweep to %" PRIu64 " of %" PRIu64,
                             at.next, next, at.swept, kept);
        const struct timespec pause = {.tv_nsec = LOOK_NS};
        nanosleep(&pause, NULL);
    }
}

/* ---- training ---- */

static bw_status pin(trainer *t, bw_error *error)
{
    const bool full = t->pin_count == t->job->keep;
    char id[ID_BYTES], old[ID_BYTES];
    bw_cursor *cursor = NULL;
    snprintf(id, sizeof id, "step-%" PRIu64, t->step);
    snprintf(old, sizeof old, "step-%" PRIu64, oldest_kept(t));
    const char *const release[] = {old};
    BW_TRY(bw_consumer_cursor(t->ranks[0], &cursor, error));
    const bw_status status =
        bw_consumer_pin(t->ranks[0], id, cursor, release, full, SETTLE_NS, error);
    bw_cursor_free(cursor);
    BW_TRY(status);
    if (full)
        memmove(t->pins, t->pins + 1, --t->pin_count * sizeof *t->pins);
    t->pins[t->pin_count++] = t->step;
    return BW_OK;
}

static bw_status train_step(run_state *s, trainer *t, bw_error *error)
{
    for (uint32_t r = 0; r < s->l->plan.dp; r++) {
        bw_item *item = NULL;
        for (uint32_t k = 0; k < s->l->plan.items; k++) {
            BW_TRY(bw_consumer_next(t->ranks[r], SETTLE_NS, &item, error));
            bw_item_release(item);
        }
    }
    t->step++;
    if (t->step % t->job->interval == 0) {
        BW_TRY(settle(s, error));
        BW_TRY(take_sample(s, error));
        BW_TRY(pin(t, error));
    }
    return t->step % s->l->sample_interval == 0 ? take_sample(s, error) : BW_OK;
}

static bw_status train(run_state *s, bw_error *error)
{
    const life *l = s->l;
    bool over = false;
    for (uint64_t round = 0; !over; round++) {
        over = true;
        for (uint32_t k = 0; k < l->job_count; k++) {
            trainer *t = &s->trainers[k];
            if (t->step == l->plan.steps)
                continue;
            over = false;
            if (round >= t->job->behind)
                BW_TRY(train_step(s, t, error));
        }
    }
    return BW_OK;
}

/* ---- begin and end ---- */

static bw_status open_rank(trainer *t, uint32_t rank, uint32_t world, bw_error *error)
{
    char own[16], all[16];
    snprintf(own, sizeof own, "%" PRIu32, rank);
    snprintf(all, sizeof all, "%" PRIu32, world);
    const char *const pairs[] = {"rank", own, "world", all, "launch", "one", NULL};
    bw_config *config = NULL;
    BW_TRY(fill_config(pairs, &config, error));
    const bw_status status =
        bw_consumer_open(t->space, t->job->group, config, NULL, SETTLE_NS, &t->ranks[rank], error);
    bw_config_free(config);
    return status;
}

static bw_status open_trainer(trainer *t, const life *l, bw_runtime *runtime, const char *url,
                              bw_error *error)
{
    const char *const pairs[] = {
        "mode", "write", "durable", "false", "reclaim", l->reclaim ? "true" : "false", NULL};
    bw_config *config = NULL;
    BW_TRY(fill_config(pairs, &config, error));
    bw_status status = bw_space_open(runtime, url, config, BW_FOREVER, &t->space, error);
    bw_config_free(config);
    for (uint32_t r = 0; status == BW_OK && r < l->plan.dp; r++)
        status = open_rank(t, r, l->plan.dp, error);
    return status;
}

static void close_trainer(trainer *t)
{
    for (uint32_t r = 0; r < RANKS_MAX; r++)
        bw_consumer_close(t->ranks[r]);
    bw_space_close(t->space);
}

static bw_status init_space(const life *l, bw_runtime *runtime, const char *url, bw_error *error)
{
    char dp[16], items[16], producers[16], max_lag[24], block_size[16];
    snprintf(dp, sizeof dp, "%" PRIu32, l->plan.dp);
    snprintf(items, sizeof items, "%" PRIu32, l->plan.items);
    snprintf(producers, sizeof producers, "%" PRIu32, l->producers);
    snprintf(max_lag, sizeof max_lag, "%" PRIu64, l->max_lag);
    snprintf(block_size, sizeof block_size, "%" PRIu32, l->block_size);
    const char *const pairs[] = {"dp",      dp,        "items", items,        "producers",
                                 producers, "max_lag", max_lag, "block_size", block_size,
                                 "durable", "false",   NULL};
    bw_config *config = NULL;
    BW_TRY(fill_config(pairs, &config, error));
    const bw_status status = bw_space_init(runtime, url, config, error);
    bw_config_free(config);
    return status;
}

/** Groups register first: without one no limit holds. */
static bw_status live(run_state *s, bw_runtime *runtime, const char *url, bw_error *error)
{
    const life *l = s->l;
    supply *made = NULL;
    bw_status status = init_space(l, runtime, url, error);
    for (uint32_t k = 0; status == BW_OK && k < l->job_count; k++) {
        s->trainers[k].job = &l->jobs[k];
        status = open_trainer(&s->trainers[k], l, runtime, url, error);
    }
    if (status == BW_OK)
        status = supply_start(runtime, url, &l->plan, l->producers, l->staged, &made, error);
    if (status == BW_OK)
        status = train(s, error);
    const bw_status ended = supply_end(made, status == BW_OK, status == BW_OK ? error : NULL);
    for (uint32_t k = 0; k < l->job_count; k++)
        close_trainer(&s->trainers[k]);
    return status != BW_OK ? status : ended;
}

bw_status life_run(const life *l, const char *folder, const char *name, double *samples,
                   life_bytes *most, bw_error *error)
{
    run_state s = {.l = l, .samples = samples};
    char url[BENCH_PATH_MAX];
    bw_runtime *runtime = NULL;
    memset(samples, 0, l->plan.steps * sizeof *samples);
    BW_TRY(bench_make_dir(folder, name, s.folder, error));
    BW_TRY(fill_url(folder, name, url, error));
    BW_TRY(bw_runtime_open(NULL, &runtime, error));
    const bw_status status = live(&s, runtime, url, error);
    bw_runtime_close(runtime);
    bench_remove_dir(s.folder);
    *most = s.most;
    return status;
}
