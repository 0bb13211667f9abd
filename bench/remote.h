// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** A batchweave-teststore of its own, as a store behind HTTP, for what is measured against one. */
#ifndef BENCH_REMOTE_H
#define BENCH_REMOTE_H

#include "bench.h"
#include <sys/types.h>

#define REMOTE_BUCKET "bench"

typedef struct remote {
    pid_t process;
    uint32_t port;
} remote;

/** Stop it in any case. */
bw_status remote_start(remote *r, const char *program, bw_error *error);
void remote_stop(remote *r);

#endif
