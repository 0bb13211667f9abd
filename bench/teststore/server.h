// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Threads that each run their connections on an epoll of their own; thread 0 also accepts, and
 * deals the connections out in turn.
 */
#ifndef TESTSTORE_SERVER_H
#define TESTSTORE_SERVER_H

#include "counting.h"
#include "exchange.h"
#include "timers.h"
#include <pthread.h>

#define THREADS_MAX 64u

typedef struct worker {
    struct server *server;
    pthread_t thread;
    int epoll, wake, alarm;
    int64_t alarm_ns; /* what the alarm is set to */
    timers timers;
    counting *counting;
    rng random;
    struct connection *connections; /* a list; other threads add to it under the lock */
    pthread_mutex_t lock;
} worker;

typedef struct server {
    settings settings;
    objects *objects;
    faults *faults;
    int listener;
    unsigned port;
    worker workers[THREADS_MAX];
    counting *countings[THREADS_MAX];
    size_t thread_count;
    atomic_bool stopping;
    _Atomic uint64_t requests;
    gauge open, in_flight; /* connections; requests from their head to the end of the answer */
} server;

/** Binds and listens; false with a message on stderr. */
bool server_listen(server *s, const char *address, unsigned port);
bool server_start(server *s, uint64_t seed);
void server_stop(server *s);
/** Shuts every connection but one, as a server that went away would. */
void server_drop(server *s, const exchange *but);

#endif
