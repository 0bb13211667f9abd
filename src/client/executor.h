// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * executor: the runtime's pool of threads for bulk work (uploads, slice reads, segment reads).
 *
 * Jobs are intrusive and belong to their submitter, who bounds how many there can be (prefetch
 * depth, staged batches); a submit therefore neither allocates nor fails nor waits. Threads block
 * all signals. A job keeps its thread while it waits for the store: where that is a network's round
 * trip, there is a thread for each job that would wait for one (executor_widen).
 */
#ifndef CLIENT_EXECUTOR_H
#define CLIENT_EXECUTOR_H

#include "base/clock.h"
#include "base/thread.h"

#define EXECUTOR_THREADS_MAX 64u

typedef struct executor executor;

typedef struct job {
    /** `worker`: index of the thread that runs it, below EXECUTOR_THREADS_MAX. The job is its
     * owner's again as soon as this is called. */
    void (*run)(struct job *j, uint32_t worker);
    struct job *next; /* the executor's */
    int64_t due_ns;
} job;

/** Of up to so many threads. */
bw_status executor_new(uint32_t threads, executor **out);
/** No job may be queued. NULL is fine. */
void executor_free(executor *e);
/** Starts a thread unless one runs; BW_NOMEM when it cannot. Before the first submit. More are
 * started as jobs find none idle. */
bw_status executor_start(executor *e);
/** From now on up to EXECUTOR_THREADS_MAX. */
void executor_widen(executor *e);

void executor_submit(executor *e, job *j);
/** Not before `due_ns` (monotonic). */
void executor_submit_at(executor *e, job *j, int64_t due_ns);
/** Takes a job out of the queue: true when it will not run; false when it runs, has run, or was
 * never submitted. */
bool executor_cancel(executor *e, job *j);

#endif
