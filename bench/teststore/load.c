// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * What the test server can do at most: threads with a connection each that put or get one object
 * size again and again, bare sockets, no signature. Prints one line of JSON.
 *
 *     bw-teststore-load PORT get|put|create BYTES CONNECTIONS SECONDS [BUCKET]
 */
#include "base/clock.h"
#include "grab.h"
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define HEAD_MAX 4096
#define THREADS 256

typedef struct load {
    uint16_t port;
    const char *verb, *bucket;
    size_t size, connections;
    int64_t end_ns;
    _Atomic uint64_t done, failed;
} load;

typedef struct client {
    load *load;
    size_t number;
    int socket;
    uint64_t made;
    char *bytes; /* room for an answer, or the body to send */
} client;

static int dial(uint16_t port)
{
    const struct sockaddr_in where = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (connect(s, (const struct sockaddr *)&where, sizeof where) == 0)
        return s;
    perror("bw-teststore-load: connect");
    exit(4);
}

static bool send_all(int socket, struct iovec *pieces, size_t count)
{
    for (size_t at = 0; at < count;) {
        const struct msghdr m = {.msg_iov = pieces + at, .msg_iovlen = count - at};
        const ssize_t sent = sendmsg(socket, &m, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        for (size_t left = (size_t)sent; left > 0 || (at < count && pieces[at].iov_len == 0);) {
            const size_t part = left < pieces[at].iov_len ? left : pieces[at].iov_len;
            pieces[at].iov_base = (char *)pieces[at].iov_base + part;
            pieces[at].iov_len -= part;
            left -= part;
            at += pieces[at].iov_len == 0;
        }
    }
    return true;
}

/** Reads one answer completely; its status, 0 when there is none. */
static int receive(client *c)
{
    size_t got = 0;
    char *end = NULL;
    while (end == NULL) {
        const ssize_t size = recv(c->socket, c->bytes + got, HEAD_MAX + c->load->size - got, 0);
        if (size <= 0)
            return 0;
        got += (size_t)size;
        end = memmem(c->bytes, got, "\r\n\r\n", 4);
    }
    const size_t head = (size_t)(end - c->bytes) + 4;
    const char *length = memmem(c->bytes, head, "Content-Length: ", 16);
    size_t left = length == NULL ? 0 : strtoul(length + 16, NULL, 10);
    const int status = (int)strtol(c->bytes + 9, NULL, 10);
    left -= got - head < left ? got - head : left;
    while (left > 0) {
        const ssize_t size =
            recv(c->socket, c->bytes, left < c->load->size ? left : c->load->size, 0);
        if (size <= 0)
            return 0;
        left -= (size_t)size;
    }
    return status;
}

static bool request_once(client *c, const char *verb)
{
    char head[HEAD_MAX];
    const load *l = c->load;
    const bool get = strcmp(verb, "get") == 0, create = strcmp(verb, "create") == 0;
    const int size = snprintf(head, sizeof head,
                              "%s /%s/load/%zu-%" PRIu64
                              " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %zu\r\n%s\r\n",
                              get ? "GET" : "PUT", l->bucket, c->number, create ? ++c->made : 0,
                              get ? 0 : l->size, create ? "If-None-Match: *\r\n" : "");
    struct iovec pieces[2] = {{head, (size_t)size}, {c->bytes, l->size}};
    if (!send_all(c->socket, pieces, get ? 1 : 2))
        return false;
    const int status = receive(c);
    return status == 200;
}

static void *run(void *context)
{
    client *c = context;
    load *l = c->load;
    while (clock_now(clock_system()) < l->end_ns) {
        if (request_once(c, l->verb))
            atomic_fetch_add_explicit(&l->done, 1, memory_order_relaxed);
        else
            atomic_fetch_add_explicit(&l->failed, 1, memory_order_relaxed);
    }
    return NULL;
}

static double cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fputs("usage: bw-teststore-load PORT get|put|create BYTES CONNECTIONS SECONDS [BUCKET]\n",
              stderr);
        return 1;
    }
    load l = {.port = (uint16_t)strtoul(argv[1], NULL, 10),
              .verb = argv[2],
              .bucket = argc > 6 ? argv[6] : "bkt",
              .size = strtoul(argv[3], NULL, 10),
              .connections = strtoul(argv[4], NULL, 10)};
    static client clients[THREADS];
    static pthread_t threads[THREADS];
    if (l.connections < 1 || l.connections > THREADS || l.size == 0)
        return 1;
    for (size_t i = 0; i < l.connections; i++) {
        clients[i] = (client){&l, i, dial(l.port), 0, grab_zeroed(HEAD_MAX + l.size)};
        if (!request_once(&clients[i], "put")) {
            fputs("bw-teststore-load: the first put failed\n", stderr);
            return 4;
        }
    }
    const int64_t start = clock_now(clock_system());
    const double cpu = cpu_s();
    l.end_ns = start + (int64_t)(strtod(argv[5], NULL) * (double)NS_PER_S);
    for (size_t i = 0; i < l.connections; i++)
        if (pthread_create(&threads[i], NULL, run, &clients[i]) != 0)
            return 4;
    for (size_t i = 0; i < l.connections; i++)
        pthread_join(threads[i], NULL);
    const double seconds = (double)(clock_now(clock_system()) - start) / (double)NS_PER_S;
    const double rate = (double)l.done / seconds;
    printf("{\"verb\":\"%s\",\"bytes\":%zu,\"connections\":%zu,\"per_s\":%.0f,\"mb_per_s\":%.0f,"
           "\"client_cpu_us\":%.1f,\"failed\":%" PRIu64 "}\n",
           l.verb, l.size, l.connections, rate, rate * (double)l.size / 1e6,
           l.done == 0 ? 0 : (cpu_s() - cpu) * 1e6 / (double)l.done, (uint64_t)l.failed);
    return l.failed == 0 && l.done > 0 ? 0 : 4;
}
