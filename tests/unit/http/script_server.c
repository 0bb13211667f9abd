// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "script_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX 32u

struct script_server {
    int listener;
    unsigned port;
    pthread_t thread;
    atomic_bool stopping;
    script_step steps[SCRIPT_STEPS_MAX];
    size_t count;
    atomic_uint requests, connections;
    char *heard[SCRIPT_STEPS_MAX];
};

typedef struct peer {
    int socket; /* -1: free */
    char *bytes;
    size_t size;
    bool hanging;
} peer;

static void peer_close(peer *p, bool reset)
{
    const struct linger now = {1, 0};
    if (reset)
        (void)setsockopt(p->socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    (void)close(p->socket);
    free(p->bytes);
    *p = (peer){.socket = -1};
}

/* Bytes of the request at the start, 0 while it is not whole. */
static size_t request_size(const peer *p, bool deaf)
{
    const char *end = memmem(p->bytes, p->size, "\r\n\r\n", 4);
    if (end == NULL)
        return 0;
    const size_t head = (size_t)(end - p->bytes) + 4;
    size_t body = 0;
    for (const char *at = p->bytes; at < end; at++) {
        if (strncasecmp(at, "\r\ncontent-length:", 17) == 0)
            body = strtoul(at + 17, NULL, 10);
    }
    if (deaf)
        return head;
    return p->size >= head + body ? head + body : 0;
}

static void send_all(int to, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t sent = send(to, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        bytes += sent;
        size -= (size_t)sent;
    }
}

/* true when there may be another request behind. */
static bool serve(script_server *s, peer *p)
{
    const unsigned index = atomic_load(&s->requests);
    static const script_step beyond = {"", SCRIPT_CLOSE, false};
    const script_step *step = index < s->count ? &s->steps[index] : &beyond;
    const size_t size = request_size(p, step->deaf);
    if (size == 0)
        return false;
    if (index < SCRIPT_STEPS_MAX) {
        s->heard[index] = calloc(1, size + 1);
        memcpy(s->heard[index], p->bytes, size);
    }
    atomic_fetch_add(&s->requests, 1u);
    memmove(p->bytes, p->bytes + size, p->size - size);
    p->size -= size;
    send_all(p->socket, step->answer, strlen(step->answer));
    p->hanging = step->end == SCRIPT_HANG;
    if (step->end == SCRIPT_CLOSE || step->end == SCRIPT_RESET)
        peer_close(p, step->end == SCRIPT_RESET);
    return p->socket >= 0 && !p->hanging;
}

static void hear(script_server *s, peer *p)
{
    p->bytes = realloc(p->bytes, p->size + SCRIPT_HEARD_MAX);
    const ssize_t got = recv(p->socket, p->bytes + p->size, SCRIPT_HEARD_MAX, 0);
    if (got <= 0) {
        peer_close(p, false);
        return;
    }
    p->size += (size_t)got;
    while (!p->hanging && serve(s, p))
        continue;
}

static void welcome(script_server *s, peer *peers)
{
    const int socket = accept(s->listener, NULL, NULL);
    for (size_t i = 0; i < CONNECTIONS_MAX && socket >= 0; i++) {
        if (peers[i].socket >= 0)
            continue;
        peers[i].socket = socket;
        atomic_fetch_add(&s->connections, 1u);
        return;
    }
}

static void *run(void *context)
{
    script_server *s = context;
    peer peers[CONNECTIONS_MAX];
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        peers[i] = (peer){.socket = -1};
    while (!atomic_load(&s->stopping)) {
        struct pollfd fds[CONNECTIONS_MAX + 1] = {{.fd = s->listener, .events = POLLIN}};
        for (size_t i = 0; i < CONNECTIONS_MAX; i++)
            fds[i + 1] = (struct pollfd){.fd = peers[i].socket, .events = POLLIN};
        if (poll(fds, CONNECTIONS_MAX + 1, 20) <= 0)
            continue;
        for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
            if (fds[i + 1].revents != 0 && peers[i].socket >= 0)
                hear(s, &peers[i]);
        }
        if (fds[0].revents != 0)
            welcome(s, peers);
    }
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        if (peers[i].socket >= 0)
            peer_close(&peers[i], false);
    }
    return NULL;
}

script_server *script_start(const script_step *steps, size_t count)
{
    script_server *s = calloc(1, sizeof *s);
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (count > 0)
        memcpy(s->steps, steps, count * sizeof *steps);
    s->count = count;
    if (s->listener < 0 || bind(s->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(s->listener, 16) != 0 ||
        getsockname(s->listener, (struct sockaddr *)&address, &size) != 0 ||
        pthread_create(&s->thread, NULL, run, s) != 0) {
        perror("script server");
        exit(1);
    }
    s->port = ntohs(address.sin_port);
    return s;
}

void script_stop(script_server *s)
{
    atomic_store(&s->stopping, true);
    (void)pthread_join(s->thread, NULL);
    (void)close(s->listener);
    for (size_t i = 0; i < SCRIPT_STEPS_MAX; i++)
        free(s->heard[i]);
    free(s);
}

unsigned script_port(const script_server *s)
{
    return s->port;
}

unsigned script_requests(script_server *s)
{
    return atomic_load(&s->requests);
}

unsigned script_connections(script_server *s)
{
    return atomic_load(&s->connections);
}

const char *script_heard(script_server *s, unsigned index)
{
    return index < atomic_load(&s->requests) && s->heard[index] != NULL ? s->heard[index] : "";
}
