// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * What a restarted rank waits for: from opening a namespace of 10^5 steps, near whose end its
 * cursor stands, to its first item. On a local store round trips are next to nothing, so this is
 * what is added to them. How many there are is counted by tests (rounds, restart).
 */
#include "fill.h"
#include "rig.h"

#include <inttypes.h>
#include <stdio.h>

#define STEPS 100000u
#define PRELOAD_COMMIT RIG_FOLD_BATCHES
#define LAST_STEPS 40u /* real ones: the rest of the history is descriptors only */
#define BACK_STEPS 30u

typedef struct restart_side {
    const char *url;
    char start[24];  /* where the cursor is made */
    bw_cursor *from; /* NULL: it is not made yet */
} restart_side;

/* `saved` (may be NULL): the cursor behind the first item. */
static bw_status open_and_take(bw_runtime *runtime, const restart_side *s, bw_cursor **saved,
                               bw_error *error)
{
    const char *const pairs[] = {"d", "0", "c", "0", "start", s->start, NULL};
    bw_config *config = NULL;
    bw_space *space = NULL;
    bw_consumer *consumer = NULL;
    bw_item *item = NULL;
    BW_TRY(fill_config(pairs, &config, error));
    bw_status status = bw_space_resume(runtime, s->url, NULL, s->from, BW_FOREVER, &space, error);
    if (status == BW_OK)
        status = bw_consumer_open(space, NULL, config, s->from, BW_FOREVER, &consumer, error);
    if (status == BW_OK)
        status = bw_consumer_next(consumer, BW_FOREVER, &item, error);
    if (status == BW_OK && saved != NULL)
        status = bw_consumer_cursor(consumer, saved, error);
    bw_item_release(item);
    bw_consumer_close(consumer);
    bw_space_close(space);
    bw_config_free(config);
    return status;
}

static bw_status run_side(void *context, double *ms, bw_error *error)
{
    bw_runtime *runtime = NULL;
    const int64_t start = bench_now();
    bw_status status = bw_runtime_open(NULL, &runtime, error);
    if (status == BW_OK)
        status = open_and_take(runtime, context, NULL, error);
    bw_runtime_close(runtime);
    *ms = (double)(bench_now() - start) / 1e6;
    return status;
}

static bw_status save_cursor(restart_side *s, bw_error *error)
{
    bw_runtime *runtime = NULL;
    bw_status status = bw_runtime_open(NULL, &runtime, error);
    if (status == BW_OK)
        status = open_and_take(runtime, s, &s->from, error);
    bw_runtime_close(runtime);
    return status;
}

bw_status bench_restart(bench *b, bw_error *error)
{
    const uint64_t steps = bench_budget(b, STEPS, 200);
    const fill_plan last = {.dp = RIG_DP, .items = 2, .item_bytes = 4096, .steps = LAST_STEPS};
    char url[BENCH_PATH_MAX];
    restart_side side = {.url = url};
    rig r;
    bench_spread ms = {0};
    bw_status status = rig_open(&r, b->memory, "restart", false, 1, error);
    if (status == BW_OK)
        status = rig_preload(&r, steps - LAST_STEPS, PRELOAD_COMMIT, error);
    rig_close(&r);
    if (status == BW_OK)
        status = fill_url(b->memory, "restart", url, error);
    if (status == BW_OK)
        status = fill_more(url, &last, error);
    BW_TRY(status);
    snprintf(side.start, sizeof side.start, "%" PRIu64, steps - BACK_STEPS);
    status = save_cursor(&side, error);
    if (status == BW_OK)
        status = bench_alone(bench_rounds(b, 4), (bench_side){run_side, &side}, &ms, error);
    bw_cursor_free(side.from);
    BW_TRY(status);
    bench_limit(bench_add(b, "restart.first_item", "ms", ms), JUDGE_VALUE_MAX, 50);
    return bench_restart_trips(b, error);
}
