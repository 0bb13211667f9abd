// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** A rank as a process of its own would have it: with a runtime and a namespace handle of its own,
 * through the public interface. */
#ifndef BENCH_RANK_H
#define BENCH_RANK_H

#include "bench.h"
#include <batchweave/batchweave.h>

typedef struct rank {
    bw_runtime *runtime;
    bw_space *space;
    bw_consumer *consumer;
} rank;

/** `pairs` as of fill_config; `group` NULL: none. Close it in any case. */
bw_status rank_open(rank *r, const char *url, const char *const *pairs, const char *group,
                    bw_error *error);
void rank_close(rank *r);
/** All items of the next step; released. */
bw_status rank_step(rank *r, bw_error *error);

#endif
