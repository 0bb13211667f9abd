// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What is to happen later, in one thread: a heap by time. A timer lies in its owner. */
#ifndef TESTSTORE_TIMERS_H
#define TESTSTORE_TIMERS_H

#include <stddef.h>
#include <stdint.h>

typedef struct timer {
    int64_t at_ns;
    size_t place; /* in the heap, from 1; 0: not armed */
    void (*fire)(struct timer *t);
} timer;

typedef struct timers {
    timer **heap;
    size_t count, capacity;
} timers;

void timers_free(timers *t);
/** Arms, or moves. */
void timer_arm(timers *t, timer *one, int64_t at_ns);
void timer_disarm(timers *t, timer *one);
/** Fires what is due. */
void timers_run(timers *t, int64_t now_ns);
/** INT64_MAX when nothing is armed. */
int64_t timers_next_ns(const timers *t);

#endif
