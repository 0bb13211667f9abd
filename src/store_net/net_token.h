// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Access tokens, as services hand them out: OAuth 2 (RFC 6749, 7523, 8693) and the metadata
 * services that speak alike. */
#ifndef STORE_NET_NET_TOKEN_H
#define STORE_NET_NET_TOKEN_H

#include "store_net/net_chain.h"

#define NET_TOKEN_HEADERS_MAX 2u
#define NET_TOKEN_HIDDEN_MAX 2u

typedef struct net_token_ask {
    const char *what; /* for messages: "the token service" */
    const char *url;
    http_header headers[NET_TOKEN_HEADERS_MAX];
    size_t header_count;
    /* What is posted: a form, else JSON; else it is a GET. */
    const uri_parameter *form;
    size_t form_count;
    const char *json;
    /** What of it no message may repeat, whatever the service says. */
    const secret *hidden[NET_TOKEN_HIDDEN_MAX];
    /** A metadata service: never by a proxy, by plain HTTP, not waited for where there is none. */
    bool metadata;

    /* Results. */
    http_head head;
    bool absent; /* nobody is there */
} net_token_ask;

/** The token as the value of Authorization, with its end. BW_DENIED when the service refuses,
 * BW_IO when it cannot be asked, BW_CORRUPT when there is no token in its answer, BW_INVALID when
 * the URL is none, or plain HTTP to another machine. */
bw_status net_token_fetch(net_chain *c, net_token_ask *ask, net_keys *out, bw_error *error);

/** What an answer says, for tests and fuzzing; `now_ms` by the clock of who answered. */
bw_status net_token_parse(const net_token_ask *ask, const void *json, size_t size, int64_t now_ms,
                          net_keys *out, bw_error *error);

#endif
