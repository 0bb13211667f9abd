// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The answers to a batch: multipart/mixed, each part an answer of its own behind a head of its own
 * (RFC 2046; application/http). From a server that is not trusted; what is read stays where it is.
 */
#ifndef HTTP_HTTP_PARTS_H
#define HTTP_HTTP_PARTS_H

#include "http/http_head.h"

#define HTTP_DELIMITER_MAX 160u

typedef struct http_parts {
    const char *at, *end;
    const char *delimiter; /* of the first line, in the text */
    size_t delimiter_size;
    bool whole; /* the closing delimiter has come */
} http_parts;

typedef struct http_part {
    http_head head; /* status 0: it is no answer */
    const char *body;
    size_t body_bytes;
} http_part;

void http_parts_start(http_parts *p, const void *text, size_t size);
/** false: there is no more, and `whole` says whether that is all. */
bool http_parts_next(http_parts *p, http_part *out);

#endif
