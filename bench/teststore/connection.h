// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * One client's connection: a machine that reads a head, reads a body, waits, applies, waits,
 * answers, and begins again. Never blocks; runs in its worker's thread only.
 */
#ifndef TESTSTORE_CONNECTION_H
#define TESTSTORE_CONNECTION_H

#include "server.h"
#include <sys/uio.h>

typedef enum connection_state {
    STATE_HEAD,
    STATE_BODY,
    STATE_BEFORE, /* waits until it is applied */
    STATE_RACE,   /* waits between check and put */
    STATE_AFTER,  /* waits until it is answered */
    STATE_SEND,
    STATE_HANG,   /* says nothing more, until the client goes */
    STATE_LINGER, /* said all, reads on for a while so that the client gets to read it */
    STATE_OVER
} connection_state;

typedef struct connection {
    timer timer; /* first: the timer is the connection */
    worker *worker;
    struct connection *next, **link; /* of the worker's list */
    int socket;
    connection_state state;
    bool readable, writable, waiting; /* waiting: for its timer, whatever the socket says */
    bool gone;                        /* the client has sent all it will: recv is to find the end */
    bool busy;                        /* with a request, and counted so */
    bool closing;                     /* after this answer */
    unsigned in_a_row;
    latency latency;
    pace paid;
    uint64_t credit; /* bytes paid for and not sent yet */
    bool lost;       /* and counted so */
    uint64_t body_got, body_want;
    uint64_t sent, send_size, send_limit; /* of head and body together */
    size_t send_head_size;
    buf head; /* status line and headers as sent */
    struct iovec out[4];
    int out_count, out_at;
    uint8_t flipped; /* a corrupted byte, in place of the stored one */
    size_t in_begin, in_end;
    char in[REQUEST_HEAD_MAX];
    char decoded[REQUEST_HEAD_MAX];
    exchange exchange;
} connection;

/** Takes the socket over and watches it. */
void connection_open(worker *w, int socket);
/** What epoll said; may free the connection. */
void connection_event(connection *c, uint32_t events);
void connection_close(connection *c);

/* ---- between the files of the machine ---- */

typedef enum progress { PROGRESS_MORE, PROGRESS_BLOCKED } progress;

/** Puts the answer into `out`, as the plan bends it. */
void connection_compose(connection *c);
progress connection_send(connection *c);
/** Waits until then; false: it is then. */
bool connection_wait(connection *c, int64_t at_ns, connection_state next);

#endif
