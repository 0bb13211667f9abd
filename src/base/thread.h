// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Locks, conditions on the monotonic clock, and threads that block all signals (POSIX threads: the
 * sanitizers know them).
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <batchweave/status.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct lock {
    pthread_mutex_t mutex;
} lock;

typedef struct condition {
    pthread_cond_t cond; /* CLOCK_MONOTONIC by attribute */
} condition;

bw_status lock_init(lock *l);
void lock_destroy(lock *l);
void lock_acquire(lock *l);
/** False, and at once, while another thread has it: or had it when this process was forked. */
bool lock_try(lock *l);
void lock_release(lock *l);

bw_status condition_init(condition *c);
void condition_destroy(condition *c);
void condition_signal(condition *c);
void condition_broadcast(condition *c);
void condition_wait(condition *c, lock *l);
/** false when `deadline_ns` (monotonic, TIME_NEVER = none) passed. Spurious wakes happen: loop. */
bool condition_wait_until(condition *c, lock *l, int64_t deadline_ns);

/** Starts a joinable thread with all signals blocked; `name` ≤ 15 characters. BW_OK or BW_NOMEM. */
bw_status thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *context);
/** The calling thread takes no core from one that runs, where it may ask for that: for work that is
 * ahead of time, beside threads that it is done for. */
void thread_stand_back(void);

#endif
