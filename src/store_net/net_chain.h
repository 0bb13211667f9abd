// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * A chain: the sources of keys of one kind of store, in the order in which they are asked. Each
 * source is a function in a file of its own (…_from_*.c of the store).
 */
#ifndef STORE_NET_NET_CHAIN_H
#define STORE_NET_NET_CHAIN_H

#include "http/http_fetch.h"
#include "http/uri.h"
#include "store_net/net_environment.h"
#include "store_net/net_file.h"
#include "store_net/net_keys.h"

typedef struct net_chain net_chain;

/** BW_OK with keys; BW_OK without: the source is not in use here, and the chain's note says so. A
 * source that is in use and fails ends the chain. */
typedef bw_status (*net_source_fn)(net_chain *c, net_keys *out, bw_error *error);

typedef struct net_sources {
    const net_source_fn *rows;
    size_t count;
    const char *what;   /* "keys for S3", for messages */
    const char *advice; /* what to do when there are none; begins a sentence */
} net_sources;

/** A store's chain begins with it, and has nothing behind it that must be freed. */
struct net_chain {
    const net_sources *sources;
    net_environment *environment; /* its own */
    char ca_file[NET_PATH_MAX];   /* "": the system's */
    bool plain_http;
    const atomic_bool *stop; /* ends whatever waits; NULL is fine */
    int64_t skew_ms;         /* of the token service's clock; learned */
    size_t source;           /* the one that gave keys */
    char looked[640];        /* what gave none, and why */
};

/** A chain of `bytes`, zeroed behind its start. Takes over `environment`, whatever is returned;
 * NULL when there is no memory. */
net_chain *net_chain_new(size_t bytes, const net_sources *sources, net_environment *environment);
void net_chain_free(net_chain *c); /* NULL is fine */

/** Asks all sources. BW_DENIED when none has keys: the error says what was looked at, why it gave
 * none, and what to do. What is returned without an error holds keys. */
bw_status net_chain_find(net_chain *c, net_keys *out, bw_error *error);
/** Asks the source that gave keys, and no other: nobody becomes somebody else on the way. */
bw_status net_chain_again(net_chain *c, net_keys *out, bw_error *error);

/* ---- for the sources ---- */

void net_chain_note(net_chain *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** One request to a service that hands out keys. */
typedef struct net_ask {
    const char *what; /* for messages */
    http_request request;
    int64_t connect_ns;
    uint32_t tries; /* of what may pass: no answer, 429, 5xx */
    bool lonely;    /* mostly nobody is there: that is no reason to try again */
    bool plain_http;
} net_ask;

/** BW_OK with an answer of whatever status. */
bw_status net_chain_ask(net_chain *c, net_ask *a, buf *answer, bw_error *error);
/** The clock of who answered, else ours. */
int64_t net_answer_time(const http_request *request);
/** The service refused, and its clock is another one by more than it may bear: the skew is learned
 * anew, and the request may be made again. */
bool net_learn_skew(net_chain *c, const http_head *head);
/** Our time by the clock of the service, as far as it is known. */
int64_t net_chain_time(const net_chain *c);
/** The origin of a URL. BW_INVALID when it has none, or what no URL has; nothing of a query is
 * in the error. */
bw_status net_url_origin(const char *url, uri_origin *out, bw_error *error);

/** Addresses of the link, 169.254.0.0/16: who is there is on this machine, or its host. */
bool net_is_link_local(const uri_origin *origin);

/** name=value&…, made in `form` at its full size: there are secrets among the values. A parameter
 * with "" is left out. Free it by http_answer_free. */
bw_status net_form(const uri_parameter *parameters, size_t count, buf *form, bw_error *error);

#endif
