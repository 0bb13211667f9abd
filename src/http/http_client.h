// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * http_client: HTTP requests over libcurl, many in flight in one thread. A client has its own
 * connections, kept alive between requests; submit hands a request in, poll moves all of them on
 * and gives back what is over. Nothing is retried here, redirects are not followed, TLS is verified
 * and at least 1.2, plain HTTP goes to the own machine only unless it was asked for.
 */
#ifndef HTTP_HTTP_CLIENT_H
#define HTTP_HTTP_CLIENT_H

#include "base/error.h"
#include "http/http_head.h"
#include <sys/uio.h>

#define HTTP_HEADERS_MAX 16u
#define HTTP_WHY_MAX 256u /* CURL_ERROR_SIZE */

/** How a request ended. */
typedef enum http_end {
    HTTP_ANSWERED, /* an answer, whole */
    HTTP_NOT_SENT, /* not a byte of it left this process */
    HTTP_CUT,      /* it may have arrived; head.status says whether an answer began */
    HTTP_STOPPED,  /* the request's own sink wanted no more */
    HTTP_REFUSED,  /* not sent, and never will be: certificate, plain HTTP, URL, header */
} http_end;

typedef enum http_method { HTTP_GET, HTTP_HEAD, HTTP_PUT, HTTP_POST, HTTP_DELETE } http_method;

typedef struct http_header {
    const char *name, *value;
} http_header;

typedef struct http_request http_request;
struct http_request {
    /* The caller's; all that they point to stays until the request is over. */
    http_method method;
    const char *url;
    http_header headers[HTTP_HEADERS_MAX];
    size_t header_count;
    const struct iovec *pieces; /* put, post: the body, read where it lies */
    size_t piece_count;
    uint64_t body_bytes;
    /** Sent at most once: not again on another connection either, when a kept one turns out dead.
     */
    bool once;
    bool no_proxy; /* metadata services */
    int64_t timeout_ns;
    /** Takes the answer's body as it comes; head is whole by then. false: HTTP_STOPPED. */
    bool (*sink)(http_request *request, const uint8_t *bytes, size_t size);
    void *owner;

    /* Results. */
    http_end end;
    http_head head;
    char why[HTTP_WHY_MAX]; /* "" when it was answered */
    bool starved;           /* not sent for want of memory */

    /* The client's. */
    http_request *next;
    void *easy;
    void *lines;
    size_t piece, piece_at;
    unsigned sends;
};

typedef struct http_options {
    int64_t connect_timeout_ns;
    uint32_t stall_s; /* ended when nothing moves for so long */
    uint32_t connections_max;
    bool plain_http;     /* to other machines too */
    bool http2;          /* over TLS, from servers that speak it: many requests on a connection */
    const char *ca_file; /* NULL: the system's */
} http_options;

typedef struct http_client http_client;

/** `options` are copied but for ca_file. */
bw_status http_client_new(const http_options *options, http_client **out, bw_error *error);
/** Ends what is in flight: those requests are the caller's again, and in no later poll. */
void http_client_free(http_client *c); /* NULL is fine */
void http_submit(http_client *c, http_request *request);
/** Waits up to `timeout_ns` for the first one that is over; NULL when there is none by then, when
 * nothing is in flight, or after a wake. */
http_request *http_poll(http_client *c, int64_t timeout_ns);
/** Ends everything in flight as HTTP_CUT, for the next poll. */
void http_cancel(http_client *c);
/** A request that was not polled yet is the caller's again; its connection is closed. */
void http_take_back(http_client *c, http_request *request);
/** Any thread. */
void http_wake(http_client *c);

#endif
