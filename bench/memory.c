// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Resident memory of a process with 128 ranks and one budget, of whom every tenth is slow: its
 * window is full and stays so, while the others go on. A process of its own, so that its peak is
 * its own.
 */
#include "fill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANKS 128u
#define SLOW_EVERY 10u
#define SLOW_PACE 8u /* a slow rank takes a step in so many */
#define ITEM_BYTES (64u << 10)
#define BUDGET_BYTES (128u << 20)
#define BUDGET_TEXT "128MiB"
#define WINDOW_TEXT "32" /* times ranks and bytes: twice the budget */

/** "VmHWM:   12345 kB" of this process. */
static uint64_t peak_bytes(void)
{
    char line[256];
    uint64_t kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            kilobytes = strtoull(line + 6, NULL, 10);
    if (file != NULL)
        fclose(file);
    return kilobytes << 10;
}

static bw_status take(bw_consumer *rank, bw_error *error)
{
    bw_item *item = NULL;
    BW_TRY(bw_consumer_next(rank, BW_FOREVER, &item, error));
    bw_item_release(item);
    return BW_OK;
}

static bw_status open_rank(bw_space *space, uint32_t d, bw_consumer **rank, bw_error *error)
{
    char text[16];
    bw_config *config = NULL;
    snprintf(text, sizeof text, "%u", d);
    const char *const pairs[] = {"d", text, "c", "0", "prefetch", WINDOW_TEXT, NULL};
    BW_TRY(fill_config(pairs, &config, error));
    const bw_status status = bw_consumer_open(space, NULL, config, NULL, BW_FOREVER, rank, error);
    bw_config_free(config);
    return status;
}

static bw_status read_steps(bw_space *space, uint64_t steps, bw_error *error)
{
    static bw_consumer *ranks[RANKS];
    bw_status status = BW_OK;
    for (uint32_t d = 0; d < RANKS && status == BW_OK; d++)
        status = open_rank(space, d, &ranks[d], error);
    for (uint64_t step = 0; step < steps && status == BW_OK; step++)
        for (uint32_t d = 0; d < RANKS && status == BW_OK; d++)
            if (d % SLOW_EVERY != 0 || step % SLOW_PACE == 0)
                status = take(ranks[d], error);
    for (uint32_t d = 0; d < RANKS; d++)
        bw_consumer_close(ranks[d]);
    return status;
}

typedef struct memory_job {
    const char *url;
    const fill_plan *plan;
    int out; /* a pipe that the peak goes into */
} memory_job;

static bw_status read_as_job(const memory_job *j, bw_error *error)
{
    const char *const pairs[] = {"memory", BUDGET_TEXT, NULL};
    bw_config *config = NULL;
    bw_runtime *runtime = NULL;
    bw_space *space = NULL;
    BW_TRY(fill_config(pairs, &config, error));
    bw_status status = bw_runtime_open(config, &runtime, error);
    if (status == BW_OK)
        status = bw_space_open(runtime, j->url, NULL, BW_FOREVER, &space, error);
    if (status == BW_OK)
        status = read_steps(space, j->plan->steps, error);
    bw_space_close(space);
    bw_runtime_close(runtime);
    bw_config_free(config);
    const uint64_t peak = peak_bytes();
    if (status == BW_OK && write(j->out, &peak, sizeof peak) != (ssize_t)sizeof peak)
        status = bench_failed(error, "a pipe");
    return status;
}

static bw_status fill_as_job(const memory_job *j, bw_error *error)
{
    bw_runtime *runtime = NULL;
    BW_TRY(bw_runtime_open(NULL, &runtime, error));
    const bw_status status = fill_space(runtime, j->url, j->plan, error);
    bw_runtime_close(runtime);
    return status;
}

/** In a process of its own, which inherits next to nothing: the bench itself only waits. */
static bw_status in_child(bw_status (*work)(const memory_job *j, bw_error *error),
                          const memory_job *j, bw_error *error)
{
    int ended = 1;
    const pid_t child = fork();
    if (child == 0) {
        const bw_status status = work(j, error);
        if (status != BW_OK)
            fprintf(stderr, "bw-bench: %s\n", bw_error_message(error));
        _exit(status == BW_OK ? 0 : 1);
    }
    if (child < 0 || waitpid(child, &ended, 0) != child || ended != 0)
        return error_set(error, BW_CHILD_FAILED, "a process of the bench ended with an error");
    return BW_OK;
}

bw_status bench_memory(bench *b, bw_error *error)
{
    const fill_plan plan = {
        .dp = RANKS, .items = 1, .item_bytes = ITEM_BYTES, .steps = bench_budget(b, 64, 2)};
    char url[BENCH_PATH_MAX];
    int ends[2];
    uint64_t peak = 0;
    BW_TRY(fill_url(b->memory, "memory", url, error));
    if (pipe(ends) != 0)
        return bench_failed(error, "a pipe");
    const memory_job j = {url, &plan, ends[1]};
    bw_status status = in_child(fill_as_job, &j, error);
    if (status == BW_OK)
        status = in_child(read_as_job, &j, error);
    if (status == BW_OK && read(ends[0], &peak, sizeof peak) != (ssize_t)sizeof peak)
        status = bench_failed(error, "a pipe");
    close(ends[0]);
    close(ends[1]);
    BW_TRY(status);
    bench_limit(bench_add(b, "memory.per_budget", "B/B",
                          bench_exactly((double)peak / (double)BUDGET_BYTES)),
                JUDGE_VALUE_MAX, 1.1);
    return BW_OK;
}
