// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** A shell command whose standard output is read: preprocessing in any language. */
#ifndef INPUT_CHILDPROC_H
#define INPUT_CHILDPROC_H

#include <batchweave/error.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct childproc {
    pid_t pid; /* also its process group; 0 once it was waited for */
    int out;   /* the read end of its standard output */
} childproc;

/**
 * Starts `/bin/sh -c command` in a process group of its own, with BATCHWEAVE_OFFSET,
 * BATCHWEAVE_SHARD ("i/n") and the caller's environment; standard input is empty, standard error
 * the caller's.
 */
bw_status childproc_start(childproc *child, const char *command, uint64_t offset, uint32_t shard,
                          uint32_t shards, bw_error *error);
/** Waits for the end; BW_CHILD_FAILED unless it exited with 0. `tick` as in bytestream. */
bw_status childproc_wait(childproc *child, int (*tick)(void *), void *context, bw_error *error);
/**
 * Ends the group (SIGTERM, SIGKILL a second later) and releases everything. Also after
 * childproc_wait.
 */
void childproc_stop(childproc *child);

#endif
