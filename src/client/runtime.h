// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** runtime: what all handles of a process share: executor, byte budget, log sink, randomness, and
 * the mark of its process. */
#ifndef CLIENT_RUNTIME_H
#define CLIENT_RUNTIME_H

#include "base/log.h"
#include "base/rng.h"
#include "client/budget.h"
#include "client/executor.h"
#include "codec/manifest.h"
#include <batchweave/runtime.h>

typedef struct runtime_options {
    uint32_t threads;
    uint64_t memory_bytes;
    log_level log;
} runtime_options;

struct bw_runtime {
    runtime_options options;
    log_sink log;
    executor *executor;
    budget *budget;
    /* A page that the kernel wipes in a forked child: knowing the process costs a load, not a call
     * of getpid. */
    uint8_t *mark;
    bool mark_wiped; /* false: the kernel cannot, and `pid` is compared */
    int pid;
    atomic_uint spaces;
    lock lock;
    rng rng; /* under lock */
};

bw_status runtime_open(const runtime_options *options, bw_runtime **out, bw_error *error);
/** In a forked child: frees memory only. */
void runtime_close(bw_runtime *runtime);
/** False in a process that inherited the runtime by fork. Any thread. */
bool runtime_is_ours(const bw_runtime *runtime);
/** BW_FORKED with its message, or BW_OK. */
bw_status runtime_check_process(const bw_runtime *runtime, bw_error *error);
uint64_t runtime_random(bw_runtime *runtime);
void runtime_token(bw_runtime *runtime, token128 *token);

#endif
