// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Keys that end, under a store: fetched anew in time, in the middle of an upload, or not. The same
 * tests for each kind of store, which says here what differs.
 *
 * Time passes when a test says so: clock_system() is replaced (renewal_dep).
 */
#ifndef RENEWAL_H
#define RENEWAL_H

#include "store/store.h"
#include "tests/unit/store_net/chain_stand.h"

#define EMPTY(status) "HTTP/1.1 " status "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

/** Where keys are from, and how the store calls it: the beginning. */
typedef struct renewal_source {
    void (*set)(chain_stand *t);
    const char *name;
} renewal_source;

typedef struct renewal {
    bw_status (*open)(const char *endpoint, store **out, bw_error *error);
    renewal_source sources[3]; /* of the first test, the second, and the others */
    renewal_source fixed;      /* keys of the environment */
    /** The answer of the source with the keys of `number`. */
    const char *(*keys)(unsigned number, int64_t seconds);
    /** The request was made with those keys. */
    void (*heard)(const chain_stand *there, unsigned request, unsigned number);
    const char *fine, *expired; /* answers to writes */
    const char *denied;         /* to keys past their end: expired */
    const char *refused[2];     /* to keys that are new */
    const char *no_keys, *why;  /* an answer of the source, and what is said of it */
} renewal;

/** So much of it, for all clocks of the process. */
void renewal_pass(int64_t ns);
script_step renewal_step(const char *answer);
store *renewal_open(const renewal *r, const chain_stand *t, const char *endpoint);
/** An operation on `a`, which a write makes of ten bytes. */
void renewal_op(store_op *op, store_op_kind kind);
/** How many tests failed. */
int renewal_test(const renewal *r);

#endif
