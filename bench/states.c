// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * What the resume state of a producer costs in a commit: the paper's experiment. One side commits a
 * state of 256 bytes with each batch. The dummy carries as many bytes of another producer, which
 * never change: what it takes to have them in each manifest, and no more. The third has none.
 */
#include "bench.h"
#include "rig.h"

#include <stdio.h>

#define TURN_COMMITS 5u
#define ROUNDS_TIMES 32u
/* The same behind a network: PUTs of 20 ms, one commit a turn. */
#define NETWORK_ROUNDS_TIMES 6u
static const delay_medians network = {.read_ms = 10, .write_ms = 20};

typedef struct state_side {
    rig rig;
    uint32_t producer; /* who publishes */
    uint64_t commits;
} state_side;

static bw_status run_side(void *context, double *us, bw_error *error)
{
    state_side *s = context;
    const int64_t start = bench_now();
    for (uint64_t i = 0; i < s->commits; i++)
        BW_TRY(rig_publish(&s->rig, s->producer, 1, error));
    *us = (double)(bench_now() - start) / 1e3 / (double)s->commits;
    return BW_OK;
}

enum { STATE, DUMMY, NONE, SIDES };
static const char *const what[SIDES] = {"state", "dummy", "none"};

/** Producer 1 publishes; producer 0 has a state unless it is NONE. STATE: producer 0 publishes. */
static bw_status open_side(bench *b, const char *prefix, rig_shape like, uint32_t which,
                           state_side *s, bw_error *error)
{
    char name[64];
    const bool far = like.latency.write_ms > 0;
    snprintf(name, sizeof name, "%s.%s", prefix, what[which]);
    like.state_bytes = which == NONE ? 0 : RIG_STATE_MAX;
    s->producer = which == STATE ? 0 : 1;
    s->commits = far ? 1 : bench_budget(b, TURN_COMMITS, 1);
    BW_TRY(rig_open_shaped(&s->rig, far ? b->memory : b->disk, name, !far, 2, &like, error));
    /* All begin alike: one commit of producer 0, with its state. */
    return rig_publish(&s->rig, 0, 1, error);
}

static void add_row(bench *b, const char *prefix, uint32_t which, const bench_pair *pair,
                    double limit)
{
    char name[48];
    snprintf(name, sizeof name, "%s.over_%s", prefix, what[which]);
    bench_row *row = bench_add(b, name, "us", pair->a);
    row->has_ratio = true;
    row->ratio = pair->ratio;
    bench_limit(row, JUDGE_RATIO_MAX, limit);
}

static bw_status add_cell(bench *b, uint32_t dp, uint32_t kilobytes, bw_error *error)
{
    const rig_shape like = {.dp = dp, .slice_bytes = kilobytes << 10};
    char prefix[32];
    state_side sides[SIDES];
    bench_pair pair;
    bw_status status = BW_OK;
    uint32_t opened = 0;
    snprintf(prefix, sizeof prefix, "states.%ux%uk", dp, kilobytes);
    for (; opened < SIDES && status == BW_OK; opened++)
        status = open_side(b, prefix, like, opened, &sides[opened], error);
    for (uint32_t i = DUMMY; i < SIDES && status == BW_OK; i++) {
        status = bench_turns(bench_rounds(b, ROUNDS_TIMES), (bench_side){run_side, &sides[STATE]},
                             (bench_side){run_side, &sides[i]}, &pair, error);
        if (status == BW_OK)
            add_row(b, prefix, i, &pair, 1.03);
    }
    while (opened > 0)
        rig_close(&sides[--opened].rig);
    return status;
}

/** A pair has rigs of its own: the n-th request of both takes equally long, so that not chance but
 * the state makes the difference. */
static bw_status add_network_pair(bench *b, const rig_shape *like, const char *prefix,
                                  uint32_t which, bw_error *error)
{
    const uint32_t both[2] = {STATE, which};
    char pair_prefix[48];
    state_side sides[2];
    bench_pair pair;
    bw_status status = BW_OK;
    uint32_t opened = 0;
    snprintf(pair_prefix, sizeof pair_prefix, "%s.%u", prefix, which);
    for (; opened < 2 && status == BW_OK; opened++)
        status = open_side(b, pair_prefix, *like, both[opened], &sides[opened], error);
    if (status == BW_OK)
        status =
            bench_turns(bench_rounds(b, NETWORK_ROUNDS_TIMES), (bench_side){run_side, &sides[0]},
                        (bench_side){run_side, &sides[1]}, &pair, error);
    if (status == BW_OK)
        add_row(b, prefix, which, &pair, 1.01);
    while (opened > 0)
        rig_close(&sides[--opened].rig);
    return status;
}

static bw_status add_network_cell(bench *b, uint32_t dp, uint32_t kilobytes, bw_error *error)
{
    const rig_shape like = {.dp = dp, .slice_bytes = kilobytes << 10, .latency = network};
    char prefix[32];
    snprintf(prefix, sizeof prefix, "states.put20.%ux%uk", dp, kilobytes);
    for (uint32_t which = DUMMY; which < SIDES; which++)
        BW_TRY(add_network_pair(b, &like, prefix, which, error));
    return BW_OK;
}

bw_status bench_states(bench *b, bw_error *error)
{
    static const uint32_t slices[] = {8, 32, 128}, kilobytes[] = {10, 100, 1000};
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t k = 0; k < 3; k++)
            BW_TRY(add_cell(b, slices[i], kilobytes[k], error));
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t k = 0; k < 3; k++)
            BW_TRY(add_network_cell(b, slices[i], kilobytes[k], error));
    return BW_OK;
}
