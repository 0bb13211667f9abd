// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * What a trainer waits for an item that is there: the call of the public interface, from outside.
 * The trainer's step is played by a pause, in which the prefetch catches up.
 */
#include "fill.h"

#include "base/alloc.h"
#include "base/clock.h"
#include <time.h>

#define NEXT_ITEM_BYTES 4096u
/* Half of the window, so that every item of a burst has been fetched before. */
#define NEXT_BURST 4u
#define NEXT_WINDOW "8"
#define NEXT_PAUSE_NS (2 * NS_PER_MS)

typedef struct next_side {
    bw_consumer *consumer;
    uint64_t bursts;
    double *samples;
    double p99[BENCH_ROUNDS_MAX + 1];
    uint32_t turns;
} next_side;

static bw_status take_one(bw_consumer *consumer, double *us, bw_error *error)
{
    bw_item *item = NULL;
    const int64_t start = bench_now();
    const bw_status status = bw_consumer_next(consumer, BW_FOREVER, &item, error);
    *us = (double)(bench_now() - start) / 1e3;
    if (status == BW_OK)
        bw_item_release(item);
    return status;
}

static bw_status run_next(void *context, double *us, bw_error *error)
{
    next_side *s = context;
    const struct timespec pause = {.tv_nsec = NEXT_PAUSE_NS};
    const uint64_t count = s->bursts * NEXT_BURST;
    for (uint64_t i = 0; i < count; i++) {
        if (i % NEXT_BURST == 0)
            nanosleep(&pause, NULL);
        BW_TRY(take_one(s->consumer, &s->samples[i], error));
    }
    *us = bench_spread_of(s->samples, count).median;
    s->p99[s->turns++] = s->samples[count * 99 / 100]; /* sorted by now */
    return BW_OK;
}

static bw_status measure(bench *b, bw_space *space, next_side *s, bw_error *error)
{
    const char *const pairs[] = {"d", "0", "c", "0", "prefetch", NEXT_WINDOW, NULL};
    bw_config *config = NULL;
    BW_TRY(fill_config(pairs, &config, error));
    bw_status status = bw_consumer_open(space, NULL, config, NULL, BW_FOREVER, &s->consumer, error);
    bw_config_free(config);
    bench_spread p50 = {0};
    if (status == BW_OK)
        status = bench_alone(b->rounds, (bench_side){run_next, s}, &p50, error);
    bw_consumer_close(s->consumer);
    BW_TRY(status);
    bench_limit(bench_add(b, "next.prefetched.p50", "us", p50), JUDGE_VALUE_MAX, 2);
    bench_add(b, "next.prefetched.p99", "us", bench_spread_of(s->p99 + 1, s->turns - 1));
    return BW_OK;
}

bw_status bench_next(bench *b, bw_error *error)
{
    next_side s = {.bursts = bench_budget(b, 300, 4)};
    const fill_plan plan = {.dp = 1,
                            .items = 1,
                            .item_bytes = NEXT_ITEM_BYTES,
                            .steps = (b->rounds + 1) * s.bursts * NEXT_BURST};
    char url[BENCH_PATH_MAX];
    BW_TRY(fill_url(b->memory, "next", url, error));
    bw_runtime *runtime = NULL;
    bw_space *space = NULL;
    s.samples = mem_array(s.bursts * NEXT_BURST, sizeof *s.samples);
    bw_status status = s.samples != NULL ? BW_OK : error_set(error, BW_NOMEM, "no memory");
    if (status == BW_OK)
        status = bw_runtime_open(NULL, &runtime, error);
    if (status == BW_OK)
        status = fill_space(runtime, url, &plan, error);
    if (status == BW_OK)
        status = bw_space_open(runtime, url, NULL, BW_FOREVER, &space, error);
    if (status == BW_OK)
        status = measure(b, space, &s, error);
    bw_space_close(space);
    bw_runtime_close(runtime);
    mem_free(s.samples);
    return status;
}
