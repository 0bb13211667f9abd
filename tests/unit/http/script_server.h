// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * A server on 127.0.0.1 that answers what it was told, byte for byte: one step a request, in the
 * order that requests come. It checks nothing of what it hears, and keeps it.
 */
#ifndef SCRIPT_SERVER_H
#define SCRIPT_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCRIPT_STEPS_MAX 64u
#define SCRIPT_HEARD_MAX 65536u

typedef enum script_end {
    SCRIPT_KEEP,  /* the connection stays */
    SCRIPT_CLOSE, /* closed behind the answer */
    SCRIPT_RESET, /* the same, by a reset */
    SCRIPT_HANG,  /* nothing more comes */
} script_end;

typedef struct script_step {
    const char *answer; /* "" for none */
    script_end end;
    bool deaf; /* answers before the body was read, and does not read it */
} script_step;

typedef struct script_server script_server;

script_server *script_start(const script_step *steps, size_t count);
/** Ends it. Requests beyond the script were answered by closing; all are counted. */
void script_stop(script_server *s);
unsigned script_port(const script_server *s);
/** Requests so far, and connections. */
unsigned script_requests(script_server *s);
unsigned script_connections(script_server *s);
/** Head and body of request `index`, with a NUL behind; "" when there was none. */
const char *script_heard(script_server *s, unsigned index);

#endif
