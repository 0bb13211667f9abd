// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** A loop over libcurl's multi interface and nothing else: what requests cost at least. */
#ifndef BENCH_BARE_HTTP_H
#define BENCH_BARE_HTTP_H

#include "bench.h"

#define BARE_DEPTH_MAX 64u

typedef struct bare_plan {
    const char *url; /* of one object */
    bool puts;       /* else it gets the first `bytes` */
    size_t bytes;
    uint32_t depth; /* in flight, ≤ BARE_DEPTH_MAX */
    uint64_t requests;
} bare_plan;

typedef struct bare_http bare_http;

bw_status bare_new(const bare_plan *plan, bare_http **out, bw_error *error);
void bare_free(bare_http *h); /* NULL is fine */
/** All requests, connections kept from run to run. */
bw_status bare_run(bare_http *h, bw_error *error);

#endif
