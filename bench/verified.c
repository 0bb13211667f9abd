// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Delivery of cached files with the check of every byte and without, the reader touching what it
 * gets as a copy to a device would. The checks run in the executor's threads: with a free core they
 * cost the reader nothing.
 */
#include "fill.h"

#include "base/alloc.h"
#include <string.h>

#define ITEM_BYTES (1u << 20)
#define ITEMS 4u

typedef struct verified_side {
    bw_space *space;
    const char *verify;
    uint64_t steps;
    uint8_t *device;
} verified_side;

static bw_status read_all(verified_side *s, bw_consumer *consumer, bw_error *error)
{
    for (uint64_t i = 0; i < s->steps * ITEMS; i++) {
        bw_item *item = NULL;
        const void *data;
        size_t size;
        BW_TRY(bw_consumer_next(consumer, BW_FOREVER, &item, error));
        bw_item_view(item, &data, &size);
        memcpy(s->device, data, size);
        bw_item_release(item);
    }
    return BW_OK;
}

static bw_status run_side(void *context, double *gb_per_s, bw_error *error)
{
    verified_side *s = context;
    const char *const pairs[] = {"d", "0", "c", "0", "verify", s->verify, NULL};
    bw_config *config = NULL;
    bw_consumer *consumer = NULL;
    BW_TRY(fill_config(pairs, &config, error));
    const int64_t start = bench_now();
    bw_status status = bw_consumer_open(s->space, NULL, config, NULL, BW_FOREVER, &consumer, error);
    bw_config_free(config);
    if (status == BW_OK)
        status = read_all(s, consumer, error);
    *gb_per_s = (double)(s->steps * ITEMS * ITEM_BYTES) / (double)(bench_now() - start);
    bw_consumer_close(consumer);
    return status;
}

static bw_status compare(bench *b, bw_space *space, uint64_t steps, bw_error *error)
{
    verified_side with = {.space = space, .verify = "true", .steps = steps};
    verified_side without = {.space = space, .verify = "false", .steps = steps};
    bench_pair pair;
    with.device = without.device = mem_alloc(ITEM_BYTES);
    if (with.device == NULL)
        return error_set(error, BW_NOMEM, "no memory");
    const bw_status status = bench_turns(bench_rounds(b, 2), (bench_side){run_side, &with},
                                         (bench_side){run_side, &without}, &pair, error);
    mem_free(with.device);
    BW_TRY(status);
    bench_add(b, "verified.without", "GB/s", pair.b);
    bench_row *row = bench_add(b, "verified.with", "GB/s", pair.a);
    row->has_ratio = true;
    row->ratio = pair.ratio;
    bench_limit(row, JUDGE_RATIO_MIN, 0.9);
    return BW_OK;
}

bw_status bench_verified(bench *b, bw_error *error)
{
    const fill_plan plan = {
        .dp = 1, .items = ITEMS, .item_bytes = ITEM_BYTES, .steps = bench_budget(b, 64, 2)};
    char url[BENCH_PATH_MAX];
    bw_runtime *runtime = NULL;
    bw_space *space = NULL;
    BW_TRY(fill_url(b->memory, "verified", url, error));
    bw_status status = bw_runtime_open(NULL, &runtime, error);
    if (status == BW_OK)
        status = fill_space(runtime, url, &plan, error);
    if (status == BW_OK)
        status = bw_space_open(runtime, url, NULL, BW_FOREVER, &space, error);
    if (status == BW_OK)
        status = compare(b, space, plan.steps, error);
    bw_space_close(space);
    bw_runtime_close(runtime);
    return status;
}
