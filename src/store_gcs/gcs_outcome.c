// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_gcs/gcs_internal.h"

#define CODE NET_CODE
#define STATUS NET_STATUS

/* "API": Google, Cloud Storage JSON API, status and error codes: the code is the error's reason.
 * "preconditions": Google, request preconditions. A name and a version: seen there. */
static const net_outcome rows[] = {
    CODE("conditionNotMet", EXISTS, FATAL, IO, "", "preconditions; fake-gcs-server 1.56.1"),
    /* Of an upload it is the bucket that is not there. */
    CODE("notFound", FATAL, NOT_FOUND, NOT_FOUND, "; is there such a bucket?", "API"),
    CODE("requestedRangeNotSatisfiable", FATAL, FATAL, CORRUPT, "", "API"),

    CODE("forbidden", FATAL, DENIED, DENIED, NET_PERMIT, "API"),
    CODE("insufficientPermissions", FATAL, DENIED, DENIED, NET_PERMIT, "API"),
    CODE("authError", FATAL, DENIED, DENIED, "; look at the token, which may have expired", "API"),
    CODE("required", FATAL, DENIED, DENIED, "; a token is wanted", "API"),
    CODE("accountDisabled", FATAL, DENIED, DENIED, "", "API"),
    CODE("retentionPolicyNotMet", FATAL, DENIED, DENIED, "", "API"),
    CODE("objectUnderActiveHold", FATAL, DENIED, DENIED, "", "API"),

    CODE("uploadTooLarge", FATAL, FATAL, TOO_LARGE, "", "API"),
    CODE(GCS_MISMATCH, RETRY, RETRY, IO, "", "ours: invalid with a word of CRC32C; not stored"),
    CODE("uploadBrokenConnection", RETRY, RETRY, IO, "", "API: the body was not whole"),

    /* It may have been applied before it was given up: no proof of the opposite. */
    CODE("conflict", UNKNOWN, RETRY, IO, "", "API"),
    CODE("rateLimitExceeded", UNKNOWN, RETRY, IO, "", "API: throttled"),
    CODE("userRateLimitExceeded", UNKNOWN, RETRY, IO, "", "API: throttled"),
    CODE("usageLimits", UNKNOWN, RETRY, IO, "", "API"),
    CODE("backendError", UNKNOWN, RETRY, IO, "", "API"),
    CODE("internalError", UNKNOWN, RETRY, IO, "", "API"),

    STATUS(200, 200, CREATED, OK, OK, "", "API"),
    STATUS(204, 204, UNKNOWN, OK, OK, "", "API, of a delete"),
    STATUS(206, 206, UNKNOWN, OK, OK, "", "API, of a range"),
    STATUS(201, 299, UNKNOWN, RETRY, IO, "", "in no answer"),
    STATUS(300, 399, FATAL, FATAL, INVALID, "; redirects are not followed: look at the endpoint",
           "API"),
    STATUS(401, 401, FATAL, DENIED, DENIED, "; look at the token", "API"),
    STATUS(403, 403, FATAL, DENIED, DENIED, NET_PERMIT, "API"),
    /* Without a reason it may be a proxy's; whether the object is there is asked again. */
    STATUS(404, 404, UNKNOWN, RETRY, IO, "; no answer of the JSON API", "API"),
    STATUS(407, 407, FATAL, DENIED, DENIED, "; it is the proxy that asks", "RFC 9110"),
    STATUS(408, 408, UNKNOWN, RETRY, IO, "", "API"),
    STATUS(409, 409, UNKNOWN, RETRY, IO, "", "API"),
    STATUS(412, 412, EXISTS, FATAL, IO, "", "preconditions; the body may be cut"),
    STATUS(416, 416, FATAL, FATAL, CORRUPT, "", "API; fake-gcs-server 1.56.1"),
    STATUS(429, 429, UNKNOWN, RETRY, IO, "", "API: throttled"),
    STATUS(400, 499, FATAL, FATAL, IO, "", "API"),
    STATUS(501, 501, UNSUPPORTED, FATAL, UNSUPPORTED, "", "RFC 9110"),
    STATUS(0, 999, UNKNOWN, RETRY, IO, "", "5xx, and whatever is no answer"),
};

const net_outcomes gcs_outcomes = {rows, sizeof rows / sizeof rows[0]};
