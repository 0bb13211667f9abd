// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Eight processes that publish into one namespace with the cadence off, so that each tries whenever
 * it has something, against one process with as many batches. All that was acknowledged must be
 * there in the end, once.
 */
#include "fill.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RIVALS 8u
#define ITEM_BYTES 4096u

static bw_status put_batches(bw_producer *producer, uint64_t batches, bw_error *error)
{
    static uint8_t bytes[ITEM_BYTES];
    const struct iovec piece = {bytes, sizeof bytes};
    for (uint64_t k = 1; k <= batches; k++) {
        bw_batch *batch = NULL;
        BW_TRY(bw_batch_new(producer, 1, &batch, error));
        bw_status status = bw_batch_item(batch, 0, 0, 0, &piece, 1, error);
        if (status == BW_OK)
            status = bw_producer_put(producer, batch, k, NULL, 0, k, BW_FOREVER, error);
        if (status != BW_OK) {
            bw_batch_free(batch);
            return status;
        }
    }
    return bw_producer_finish(producer, BW_FOREVER, error);
}

static bw_status publish(const char *url, const char *id, uint64_t batches, bw_error *error)
{
    const char *const pairs[] = {"mode",  "write",  "durable", "false", "policy",
                                 "naive", "events", "0",       NULL};
    bw_config *config = NULL;
    bw_runtime *runtime = NULL;
    bw_space *space = NULL;
    bw_producer *producer = NULL;
    BW_TRY(fill_config(pairs, &config, error));
    bw_status status = bw_runtime_open(NULL, &runtime, error);
    if (status == BW_OK)
        status = bw_space_open(runtime, url, config, BW_FOREVER, &space, error);
    if (status == BW_OK)
        status = bw_producer_open(space, id, config, BW_FOREVER, &producer, error);
    if (status == BW_OK)
        status = put_batches(producer, batches, error);
    if (producer != NULL) {
        const bw_status closed = bw_producer_close(producer, BW_FOREVER, NULL);
        status = status == BW_OK ? closed : status;
    }
    bw_space_close(space);
    bw_runtime_close(runtime);
    bw_config_free(config);
    return status;
}

static void publish_and_exit(const char *url, uint32_t index, uint64_t batches)
{
    char id[8];
    bw_error *error = bw_error_new();
    snprintf(id, sizeof id, "p%" PRIu32, index);
    const bw_status status = publish(url, id, batches, error);
    if (status != BW_OK)
        fprintf(stderr, "bw-bench: rival %s: %s: %s\n", id, bw_status_name(status),
                bw_error_message(error));
    _exit(status == BW_OK ? 0 : 1);
}

typedef struct rival_side {
    bench *bench;
    uint32_t processes;
    uint64_t batches; /* of all of them */
    uint32_t turns;
} rival_side;

static bw_status make_space(rival_side *s, char *url, bw_error *error)
{
    char name[32];
    bw_runtime *runtime = NULL;
    bw_config *config = NULL;
    const char *const pairs[] = {"dp", "1", "items", "1", "durable", "false", NULL};
    snprintf(name, sizeof name, "rivals.%" PRIu32 ".%" PRIu32, s->processes, s->turns++);
    BW_TRY(fill_url(s->bench->memory, name, url, error));
    BW_TRY(fill_config(pairs, &config, error));
    bw_status status = bw_runtime_open(NULL, &runtime, error);
    if (status == BW_OK)
        status = bw_space_init(runtime, url, config, error);
    bw_runtime_close(runtime);
    bw_config_free(config);
    return status;
}

static bw_status run_side(void *context, double *per_s, bw_error *error)
{
    rival_side *s = context;
    char url[BENCH_PATH_MAX];
    pid_t children[RIVALS];
    bool good = true;
    uint64_t steps = 0;
    BW_TRY(make_space(s, url, error));
    const int64_t start = bench_now();
    for (uint32_t i = 0; i < s->processes; i++) {
        children[i] = fork();
        if (children[i] == 0)
            publish_and_exit(url, i, s->batches / s->processes);
        good = good && children[i] > 0;
    }
    for (uint32_t i = 0; i < s->processes; i++) {
        int ended = 1;
        if (children[i] > 0)
            good = waitpid(children[i], &ended, 0) == children[i] && ended == 0 && good;
    }
    *per_s = (double)s->batches * 1e9 / (double)(bench_now() - start);
    if (!good)
        return error_set(error, BW_CHILD_FAILED, "a process that published ended with an error");
    BW_TRY(fill_count_steps(url, &steps, error));
    if (steps != s->batches)
        return error_set(error, BW_BUG,
                         "%" PRIu64 " batches were acknowledged, %" PRIu64 " steps are there",
                         s->batches, steps);
    return BW_OK;
}

bw_status bench_rivals(bench *b, bw_error *error)
{
    const uint64_t batches = bench_budget(b, 4000, 2 * RIVALS);
    rival_side eight = {.bench = b, .processes = RIVALS, .batches = batches};
    rival_side one = {.bench = b, .processes = 1, .batches = batches};
    bench_pair pair;
    BW_TRY(bench_turns(bench_rounds(b, 1), (bench_side){run_side, &eight},
                       (bench_side){run_side, &one}, &pair, error));
    bench_add(b, "rivals.one", "batches/s", pair.b);
    bench_row *row = bench_add(b, "rivals.eight", "batches/s", pair.a);
    row->has_ratio = true;
    row->ratio = pair.ratio;
    bench_limit(row, JUDGE_RATIO_MIN, 0.5);
    return BW_OK;
}
