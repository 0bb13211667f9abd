// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** A complete, sealed namespace made through the public interface, for whoever reads. */
#ifndef BENCH_FILL_H
#define BENCH_FILL_H

#include "bench.h"
#include <batchweave/batchweave.h>

typedef struct fill_plan {
    uint32_t dp;
    uint32_t items; /* of a slice */
    uint32_t item_bytes;
    uint64_t steps;
} fill_plan;

/** "file://" parent "/" name into `url` (BENCH_PATH_MAX). */
bw_status fill_url(const char *parent, const char *name, char *url, bw_error *error);
/** A namespace by such properties, with nothing in it. */
bw_status fill_init(bw_runtime *runtime, const char *url, const char *const *pairs,
                    bw_error *error);
bw_status fill_space(bw_runtime *runtime, const char *url, const fill_plan *plan, bw_error *error);
/** Steps more, by one more producer, in a namespace that is there. */
bw_status fill_more(const char *url, const fill_plan *plan, bw_error *error);

/** One batch of the plan, its `step`-th, every item of the same `bytes`. */
bw_status fill_put(bw_producer *producer, const fill_plan *plan, uint64_t step,
                   const uint8_t *bytes, bw_error *error);

/** The steps of the namespace by its own report. */
bw_status fill_count_steps(const char *url, uint64_t *steps, bw_error *error);

/** Properties as name, value, name, value, …, NULL. */
bw_status fill_config(const char *const *pairs, bw_config **config, bw_error *error);

#endif
