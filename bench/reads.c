// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * What ranks ask of an object store, counted by the store: requests for data for each step of each
 * rank, all reads with those of the chain, and all bytes read over those that training was handed.
 * Ranks are read one after the other, each from a process's state of its own. No read is asked for
 * twice: what late ones cost is in the group tail.
 */
#include "fill.h"
#include "rank.h"
#include "remote.h"

#include <inttypes.h>
#include <stdio.h>

#define RANKS 4u
#define ITEMS 4u
#define ITEM_BYTES 25600u /* slices of 100 KiB, the least that the figure is promised for */

static bw_status fill(const char *url, const fill_plan *plan, bw_error *error)
{
    bw_runtime *runtime = NULL;
    BW_TRY(bw_runtime_open(NULL, &runtime, error));
    const bw_status status = fill_space(runtime, url, plan, error);
    bw_runtime_close(runtime);
    return status;
}

static bw_status read_all(const char *url, uint32_t d, uint64_t steps, bw_error *error)
{
    char place[16];
    rank r;
    (void)snprintf(place, sizeof place, "%" PRIu32, d);
    const char *const pairs[] = {"d", place, "c", "0", NULL};
    bw_status status = rank_open(&r, url, pairs, NULL, error);
    for (uint64_t step = 0; step < steps && status == BW_OK; step++)
        status = rank_step(&r, error);
    rank_close(&r);
    return status;
}

static bw_status count(bench *b, const remote *r, bw_error *error)
{
    const fill_plan plan = {
        .dp = RANKS, .items = ITEMS, .item_bytes = ITEM_BYTES, .steps = bench_budget(b, 200, 100)};
    remote_counts c = {0};
    char url[REMOTE_URL_BYTES];
    remote_url(r, "reads", "hedge=false", url);
    BW_TRY(fill(url, &plan, error));
    BW_TRY(
        remote_configure(r,
                         "{\"reset\":\"counters\",\"rules\":[{\"name\":\"data\",\"verb\":\"get\","
                         "\"key\":\"reads/data/*\"}]}",
                         error));
    for (uint32_t d = 0; d < RANKS; d++)
        BW_TRY(read_all(url, d, plan.steps, error));
    BW_TRY(remote_count(r, &c, error));
    const double rank_steps = (double)(RANKS * plan.steps);
    const double payload = rank_steps * ITEMS * ITEM_BYTES;
    bench_limit(bench_add(b, "reads.per_rank_step", "requests",
                          bench_exactly((double)c.matched[0] / rank_steps)),
                JUDGE_VALUE_MAX, 1);
    bench_add(b, "reads.per_rank_step.all", "requests",
              bench_exactly((double)c.reads / rank_steps));
    bench_limit(bench_add(b, "reads.bytes_per_payload", "B/B",
                          bench_exactly((double)c.read_bytes / payload)),
                JUDGE_VALUE_MAX, 1.005);
    return BW_OK;
}

bw_status bench_reads(bench *b, bw_error *error)
{
    remote r;
    bw_status status = remote_start(&r, b->teststore, error);
    if (status == BW_OK)
        status = count(b, &r, error);
    remote_stop(&r);
    return status;
}
