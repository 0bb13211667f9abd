// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** A batchweave-teststore of its own, as a store behind HTTP, for what is measured against one. */
#ifndef BENCH_REMOTE_H
#define BENCH_REMOTE_H

#include "bench.h"
#include "store_s3/s3_store.h"
#include <sys/types.h>

#define REMOTE_BUCKET "bench"

typedef struct remote {
    pid_t process;
    uint32_t port;
} remote;

/** Stop it in any case. */
bw_status remote_start(remote *r, const char *program, bw_error *error);
void remote_stop(remote *r);

/** A handle on the bucket, below any decorator. */
bw_status remote_store(const remote *r, s3_sign_body sign_body, store **out, bw_error *error);
/** Of the namespace `name`; `settings` of the scope store, as "hedge=false&…", or "". */
#define REMOTE_URL_BYTES 512u
void remote_url(const remote *r, const char *name, const char *settings,
                char url[REMOTE_URL_BYTES]);

/** Rules, latency, bandwidth …, as JSON (docs/design/teststore.md). */
bw_status remote_configure(const remote *r, const char *settings, bw_error *error);

/** By the server's own counters. */
#define REMOTE_RULES_MAX 8u
typedef struct remote_counts {
    uint64_t reads;                     /* GET and HEAD */
    uint64_t read_bytes, written_bytes; /* of bodies */
    uint64_t matched[REMOTE_RULES_MAX]; /* requests by the rules that are set, in their order */
} remote_counts;
bw_status remote_count(const remote *r, remote_counts *out, bw_error *error);

#endif
