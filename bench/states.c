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

/** Producer 1 publishes; producer 0 has a state when `bytes` > 0. */
static bw_status open_side(bench *b, const char *name, uint32_t dp, uint32_t slice_bytes,
                           uint32_t bytes, bool own, state_side *s, bw_error *error)
{
    const rig_shape like = {.dp = dp, .slice_bytes = slice_bytes, .state_bytes = bytes};
    s->producer = own ? 0 : 1;
    s->commits = bench_budget(b, TURN_COMMITS, 1);
    BW_TRY(rig_open_shaped(&s->rig, b->disk, name, true, 2, &like, error));
    /* All begin alike: one commit of producer 0, with its state. */
    return rig_publish(&s->rig, 0, 1, error);
}

static bw_status add_cell(bench *b, uint32_t dp, uint32_t kilobytes, bw_error *error)
{
    enum { STATE, DUMMY, NONE, SIDES };
    static const char *const what[SIDES] = {"state", "dummy", "none"};
    state_side sides[SIDES];
    bench_pair pairs[SIDES];
    bw_status status = BW_OK;
    uint32_t opened = 0;
    for (; opened < SIDES && status == BW_OK; opened++) {
        char name[48];
        snprintf(name, sizeof name, "states.%ux%uk.%s", dp, kilobytes, what[opened]);
        status = open_side(b, name, dp, kilobytes << 10, opened == NONE ? 0 : RIG_STATE_MAX,
                           opened == STATE, &sides[opened], error);
    }
    for (uint32_t i = DUMMY; i < SIDES && status == BW_OK; i++) {
        char name[48];
        status = bench_turns(bench_rounds(b, ROUNDS_TIMES), (bench_side){run_side, &sides[STATE]},
                             (bench_side){run_side, &sides[i]}, &pairs[i], error);
        if (status != BW_OK)
            break;
        snprintf(name, sizeof name, "states.%ux%uk.over_%s", dp, kilobytes, what[i]);
        bench_row *row = bench_add(b, name, "us", pairs[i].a);
        row->has_ratio = true;
        row->ratio = pairs[i].ratio;
        bench_limit(row, JUDGE_RATIO_MAX, 1.03);
    }
    while (opened > 0)
        rig_close(&sides[--opened].rig);
    return status;
}

bw_status bench_states(bench *b, bw_error *error)
{
    static const uint32_t slices[] = {8, 32, 128}, kilobytes[] = {10, 100, 1000};
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t k = 0; k < 3; k++)
            BW_TRY(add_cell(b, slices[i], kilobytes[k], error));
    return BW_OK;
}
