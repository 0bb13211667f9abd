// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "connection.h"
#include "grab.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS_MAX 256
#define BACKLOG 4096

bool server_listen(server *s, const char *address, unsigned port)
{
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t size = sizeof where;
    if (inet_pton(AF_INET, address, &where.sin_addr) != 1) {
        fprintf(stderr, "batchweave-teststore: %s is no IPv4 address\n", address);
        return false;
    }
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->listener < 0 ||
        setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) != 0 ||
        bind(s->listener, (const struct sockaddr *)&where, sizeof where) != 0 ||
        listen(s->listener, BACKLOG) != 0 ||
        getsockname(s->listener, (struct sockaddr *)&where, &size) != 0) {
        perror("batchweave-teststore: listen");
        return false;
    }
    s->port = ntohs(where.sin_port);
    return true;
}

static void accept_all(server *s)
{
    static size_t turn; /* thread 0 only */
    for (;;) {
        const int socket = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (socket < 0)
            return;
        connection_open(&s->workers[turn++ % s->thread_count], socket);
    }
}

/** Milliseconds for epoll_wait; the alarm is set to the next timer. */
static int set_alarm(worker *w)
{
    const int64_t next = timers_next_ns(&w->timers);
    if (next <= clock_now(clock_system()))
        return 0;
    if (next != w->alarm_ns && next != INT64_MAX) {
        const struct itimerspec at = {
            .it_value = {.tv_sec = next / NS_PER_S, .tv_nsec = next % NS_PER_S}};
        timerfd_settime(w->alarm, TFD_TIMER_ABSTIME, &at, NULL);
        w->alarm_ns = next;
    }
    return -1;
}

static void *work(void *context)
{
    worker *w = context;
    server *s = w->server;
    struct epoll_event events[EVENTS_MAX];
    while (!atomic_load(&s->stopping)) {
        const int ready = epoll_wait(w->epoll, events, EVENTS_MAX, set_alarm(w));
        for (int i = 0; i < ready; i++) {
            void *const what = events[i].data.ptr;
            if (what == &s->listener)
                accept_all(s);
            else if (what != w)
                connection_event(what, events[i].events);
        }
        timers_run(&w->timers, clock_now(clock_system()));
    }
    return NULL;
}

static bool watch(worker *w, int fd, void *what, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = what};
    return fd >= 0 && epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool prepare(worker *w, uint64_t seed)
{
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    w->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    w->alarm = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    w->counting = grab_zeroed(sizeof *w->counting);
    rng_seed(&w->random, seed);
    pthread_mutex_init(&w->lock, NULL);
    return w->epoll >= 0 && watch(w, w->wake, w, EPOLLIN) &&
           watch(w, w->alarm, w, EPOLLIN | EPOLLET);
}

bool server_start(server *s, uint64_t seed)
{
    for (size_t i = 0; i < s->thread_count; i++) {
        worker *w = &s->workers[i];
        w->server = s;
        if (!prepare(w, seed + i)) {
            perror("batchweave-teststore: epoll");
            return false;
        }
        s->countings[i] = w->counting;
    }
    if (!watch(&s->workers[0], s->listener, &s->listener, EPOLLIN))
        return false;
    for (size_t i = 0; i < s->thread_count; i++)
        if (thread_start(&s->workers[i].thread, "teststore", work, &s->workers[i]) != BW_OK)
            return false;
    return true;
}

void server_drop(server *s, const exchange *but)
{
    for (size_t i = 0; i < s->thread_count; i++) {
        worker *w = &s->workers[i];
        pthread_mutex_lock(&w->lock);
        for (connection *c = w->connections; c != NULL; c = c->next)
            if (&c->exchange != but)
                shutdown(c->socket, SHUT_RDWR);
        pthread_mutex_unlock(&w->lock);
    }
}

void server_stop(server *s)
{
    atomic_store(&s->stopping, true);
    for (size_t i = 0; i < s->thread_count; i++)
        (void)!write(s->workers[i].wake, &(uint64_t){1}, sizeof(uint64_t));
    for (size_t i = 0; i < s->thread_count; i++)
        pthread_join(s->workers[i].thread, NULL);
    for (size_t i = 0; i < s->thread_count; i++) {
        worker *w = &s->workers[i];
        while (w->connections != NULL)
            connection_close(w->connections);
        timers_run(&w->timers, INT64_MAX); /* only late writes are left */
        timers_free(&w->timers);
        close(w->epoll);
        close(w->wake);
        close(w->alarm);
        pthread_mutex_destroy(&w->lock);
        mem_free(w->counting);
    }
    close(s->listener);
}
