// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Signatures of the AWS kind, version 4: pure functions. The caller has encoded path and query
 * (http/uri.h) and sends exactly what it let sign.
 */
#ifndef HTTP_SIGV4_H
#define HTTP_SIGV4_H

#include "base/buf.h"
#include "http/digest.h"
#include "http/secret.h"

#define SIGV4_UNSIGNED "UNSIGNED-PAYLOAD"
#define SIGV4_TIME_BYTES 17u /* 20130524T000000Z and NUL */

typedef struct sigv4_header {
    const char *name; /* lower case */
    const char *value;
} sigv4_header;

typedef struct sigv4_request {
    const char *method;
    const char *path;            /* encoded once, as S3 wants it */
    const char *query;           /* canonical; "" without */
    const sigv4_header *headers; /* in byte order of their names; all of them are signed */
    size_t header_count;
    const char *payload; /* lower-case hex of SHA-256 of the body, or SIGV4_UNSIGNED */
    const char *time;    /* as in x-amz-date */
    const char *region, *service;
} sigv4_request;

/** The signing key of one day, kept by who signs: four of the six HMACs of a signature. Zero it at
 * first, and when the secret changes; wipe it at the end (sigv4_key_clear). */
typedef struct sigv4_key {
    char scope[128]; /* what it is for */
    uint8_t key[DIGEST_SHA256_BYTES];
} sigv4_key;

void sigv4_key_clear(sigv4_key *key);
/** `wall_ms` as text. */
void sigv4_time(int64_t wall_ms, char out[SIGV4_TIME_BYTES]);
/** Appends the value of the header Authorization. BW_NOMEM; BW_INVALID when region and service are
 * too long. */
bw_status sigv4_sign(const sigv4_request *request, const char *key_id, const secret *s,
                     sigv4_key *key, buf *authorization);
/** Appends the canonical request, for tests. */
void sigv4_canonical(const sigv4_request *request, buf *out);

#endif
