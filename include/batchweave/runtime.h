// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * One runtime owns the executor threads, the memory budget and the log sink. There is no global
 * state; a process may have several. Opening starts no thread: threads start with the first work,
 * block all signals, and end with the runtime. Handles belong to the process that opened them:
 * after fork(), every call in the child is refused with BW_FORKED, and closing them there frees
 * memory only.
 */
#ifndef BATCHWEAVE_RUNTIME_H
#define BATCHWEAVE_RUNTIME_H

#include <batchweave/config.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bw_runtime bw_runtime;

/** "0.1.0" */
const char *bw_version(void);

bw_status bw_runtime_open(const bw_config *config, bw_runtime **runtime, bw_error *error);
/** All spaces must be closed before. NULL is fine. */
void bw_runtime_close(bw_runtime *runtime);

#ifdef __cplusplus
}
#endif
#endif
