// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "fill.h"

#include "base/alloc.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bw_status fill_url(const char *parent, const char *name, char *url, bw_error *error)
{
    const int size = snprintf(url, BENCH_PATH_MAX, "file://%s/%s", parent, name);
    if (size < 0 || (size_t)size >= BENCH_PATH_MAX)
        return error_set(error, BW_TOO_LARGE, "the path %s/%s is too long", parent, name);
    return BW_OK;
}

bw_status fill_config(const char *const *pairs, bw_config **config, bw_error *error)
{
    bw_config *made = bw_config_new();
    if (made == NULL)
        return error_set(error, BW_NOMEM, "no memory for a configuration");
    for (; *pairs != NULL; pairs += 2) {
        const bw_status status = bw_config_set(made, pairs[0], pairs[1], error);
        if (status != BW_OK) {
            bw_config_free(made);
            return status;
        }
    }
    *config = made;
    return BW_OK;
}

bw_status fill_init(bw_runtime *runtime, const char *url, const char *const *pairs, bw_error *error)
{
    bw_config *config = NULL;
    BW_TRY(fill_config(pairs, &config, error));
    const bw_status status = bw_space_init(runtime, url, config, error);
    bw_config_free(config);
    return status;
}

static bw_status init_space(bw_runtime *runtime, const char *url, const fill_plan *plan,
                            bw_error *error)
{
    char dp[16], items[16];
    snprintf(dp, sizeof dp, "%" PRIu32, plan->dp);
    snprintf(items, sizeof items, "%" PRIu32, plan->items);
    const char *const pairs[] = {"dp", dp,        "items", items, "producers",
                                 "1",  "durable", "false", NULL};
    return fill_init(runtime, url, pairs, error);
}

bw_status fill_put(bw_producer *producer, const fill_plan *plan, uint64_t step,
                   const uint8_t *bytes, bw_error *error)
{
    bw_batch *batch = NULL;
    BW_TRY(bw_batch_new(producer, plan->items, &batch, error));
    /* struct iovec serves reads and writes, so its pointer is not const. */
    const struct iovec piece = {(void *)(uintptr_t)bytes, plan->item_bytes};
    bw_status status = BW_OK;
    for (uint32_t d = 0; d < plan->dp && status == BW_OK; d++)
        for (uint32_t i = 0; i < plan->items && status == BW_OK; i++)
            status = bw_batch_item(batch, d, 0, i, &piece, 1, error);
    if (status == BW_OK)
        status = bw_producer_put(producer, batch, step + 1, NULL, 0, step, BW_FOREVER, error);
    if (status != BW_OK)
        bw_batch_free(batch);
    return status;
}

static bw_status drop_events(bw_producer *producer, bw_error *error)
{
    for (;;) {
        bw_event *event = NULL;
        const bw_status status = bw_producer_event(producer, 0, &event, error);
        if (status == BW_TIMEOUT)
            return BW_OK;
        BW_TRY(status);
        bw_event_free(event);
    }
}

static bw_status put_all(bw_producer *producer, const fill_plan *plan, bw_error *error)
{
    uint8_t *bytes = mem_alloc(plan->item_bytes);
    if (bytes == NULL)
        return error_set(error, BW_NOMEM, "no memory for an item");
    memset(bytes, 0x5a, plan->item_bytes);
    bw_status status = BW_OK;
    for (uint64_t step = 0; step < plan->steps && status == BW_OK; step++) {
        status = fill_put(producer, plan, step, bytes, error);
        if (status == BW_OK)
            status = drop_events(producer, error);
    }
    if (status == BW_OK)
        status = bw_producer_finish(producer, BW_FOREVER, error);
    /* After close nothing reads the item any more. */
    const bw_status closed = bw_producer_close(producer, status == BW_OK ? BW_FOREVER : 0,
                                               status == BW_OK ? error : NULL);
    mem_free(bytes);
    return status != BW_OK ? status : closed;
}

/** Opens the namespace for one producer and publishes the plan's steps. */
static bw_status publish_plan(bw_runtime *runtime, const char *url, const char *id,
                              const fill_plan *plan, bw_error *error)
{
    const char *const pairs[] = {"mode", "write", "durable", "false", "policy", "naive", NULL};
    bw_config *config = NULL;
    BW_TRY(fill_config(pairs, &config, error));
    bw_space *space = NULL;
    bw_producer *producer = NULL;
    bw_status status = bw_space_open(runtime, url, config, BW_FOREVER, &space, error);
    if (status == BW_OK)
        status = bw_producer_open(space, id, config, BW_FOREVER, &producer, error);
    if (status == BW_OK)
        status = put_all(producer, plan, error);
    bw_space_close(space);
    bw_config_free(config);
    return status;
}

bw_status fill_space(bw_runtime *runtime, const char *url, const fill_plan *plan, bw_error *error)
{
    BW_TRY(init_space(runtime, url, plan, error));
    return publish_plan(runtime, url, "p0", plan, error);
}

bw_status fill_more(const char *url, const fill_plan *plan, bw_error *error)
{
    bw_runtime *runtime = NULL;
    BW_TRY(bw_runtime_open(NULL, &runtime, error));
    const bw_status status = publish_plan(runtime, url, "more", plan, error);
    bw_runtime_close(runtime);
    return status;
}

static int find_steps(void *context, const char *json)
{
    uint64_t *steps = context;
    const char *at = strstr(json, "\"next_step\":");
    if (at != NULL)
        *steps = strtoull(strchr(at, ':') + 1, NULL, 10);
    return 0;
}

bw_status fill_count_steps(const char *url, uint64_t *steps, bw_error *error)
{
    bw_runtime *runtime = NULL;
    bw_space *space = NULL;
    bw_status status = bw_runtime_open(NULL, &runtime, error);
    if (status == BW_OK)
        status = bw_space_open(runtime, url, NULL, BW_FOREVER, &space, error);
    if (status == BW_OK)
        status = bw_space_report(space, "info", NULL, find_steps, steps, error);
    bw_space_close(space);
    bw_runtime_close(runtime);
    return status;
}
