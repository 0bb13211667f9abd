// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The head of an HTTP/1.1 request, taken apart where it lies: names, values and the decoded target
 * point into the caller's two buffers.
 */
#ifndef TESTSTORE_REQUEST_H
#define TESTSTORE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUEST_HEAD_MAX 16384u
#define REQUEST_FIELDS_MAX 64u

typedef struct field {
    const char *name, *value;
} field;

typedef enum method {
    METHOD_GET,
    METHOD_HEAD,
    METHOD_PUT,
    METHOD_POST,
    METHOD_DELETE,
    METHOD_OTHER
} method;

typedef struct request {
    method method;
    const char *method_name;
    const char *target; /* as it was sent, with the query */
    const char *path;   /* decoded; begins with a slash */
    field query[REQUEST_FIELDS_MAX];
    size_t query_count;
    field headers[REQUEST_FIELDS_MAX]; /* names in lower case */
    size_t header_count;
    uint64_t length; /* of the body */
    bool has_length, chunked, expects_continue, keep_alive;
} request;

/** Size of the head at the start of `bytes` with the empty line, 0 while it is incomplete. */
size_t request_head_size(const char *bytes, size_t size);
/** `head` (of `size` bytes) is cut into texts; `decoded` has room for as many bytes. false: no
 * request. */
bool request_parse(request *r, char *head, size_t size, char *decoded);
/** NULL when absent; `name` in lower case. */
const char *request_header(const request *r, const char *name);
/** NULL when absent; "" when it has no value. */
const char *request_query(const request *r, const char *name);
/** Percent-encoding, undone in place; false when it is none. */
bool request_decode(char *text);
/** A number that is nothing else; false when it is not. */
bool request_number(const char *text, uint64_t *value);

#endif
