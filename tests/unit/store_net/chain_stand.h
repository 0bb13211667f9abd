// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * A chain of sources with an environment, a home and a server of its own. Whatever is a secret in a
 * test has PLANTED in it; each error and each source is looked through for that.
 */
#ifndef CHAIN_STAND_H
#define CHAIN_STAND_H

#include "store_net/net_chain.h"
#include "tests/unit/http/script_server.h"

#define PLANTED "PLANTED"
/** Ends where the connection does. */
#define ANSWER(status, body) "HTTP/1.1 " status "\r\nConnection: close\r\n\r\n" body
#define STAND_VARIABLES_MAX 32u

typedef struct chain_stand {
    script_server *server;
    char *home;
    char *variables[STAND_VARIABLES_MAX + 1];
    net_chain *chain;
    net_keys keys;
    bw_error *error;
    char url[64]; /* of the server */
} chain_stand;

/** Nothing is set but HOME, PATH, and that this is no instance of any cloud. */
void stand_start(chain_stand *t, const script_step *steps, size_t count);
void stand_stop(chain_stand *t);
/** Sets a variable; NULL: takes it away. */
void stand_set(chain_stand *t, const char *name, const char *value);
/** A file in the home, in folders that are made; its path, until the next. */
const char *stand_file(chain_stand *t, const char *name, const char *text);
/** Asks `chain`, which becomes the stand's. */
bw_status stand_ask(chain_stand *t, net_chain *chain);
/** The keys last so long, but for what a slow machine takes. */
void stand_lasts(const chain_stand *t, int64_t seconds);
/** The variables in the environment of the process, for stores that are opened; or not any more. */
void stand_publish(const chain_stand *t, bool on);
/** The error says so. */
void stand_says(const chain_stand *t, const char *text);
void stand_has(const chain_stand *t, const char *key_id, const char *key, const char *token,
               const char *source);
/** What the server heard has the line. */
void stand_heard(const chain_stand *t, unsigned request, const char *line);

/** An answer of a server with that body. */
const char *stand_answer(const char *body);

#endif
