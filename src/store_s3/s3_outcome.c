// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_s3/s3_internal.h"

#define CODE NET_CODE
#define STATUS NET_STATUS

/* "API": AWS, S3 API reference, error responses. "conditional": AWS, S3 user guide, conditional
 * writes. A name and a version: seen there. */
static const net_outcome rows[] = {
    CODE("PreconditionFailed", EXISTS, FATAL, IO, "", "conditional"),
    CODE("FileAlreadyExists", EXISTS, FATAL, IO, "", "Alibaba OSS, x-oss-forbid-overwrite"),
    CODE("ObjectAlreadyExists", EXISTS, FATAL, IO, "", "IBM COS, x-ibm-forbid-overwrite"),
    /* Nothing landed: a delete or another create was in between. Stores that mean "exists" by it
     * answer so when asked again, or are refused by the probe. */
    CODE("ConditionalRequestConflict", RETRY, RETRY, IO, "", "conditional"),
    CODE("OperationAborted", RETRY, RETRY, IO, "", "API"),
    CODE("NoSuchKey", RETRY, NOT_FOUND, NOT_FOUND, "", "API; of a create: conditional"),
    CODE("NoSuchVersion", RETRY, NOT_FOUND, NOT_FOUND, "", "API"),
    /* Of the bucket: there are no rules. */
    CODE("NoSuchLifecycleConfiguration", FATAL, NOT_FOUND, NOT_FOUND, "", "API"),
    CODE("NoSuchBucket", FATAL, FATAL, IO, "; make the bucket first", "API"),
    CODE("InvalidRange", FATAL, FATAL, CORRUPT, "", "API"),

    CODE("AccessDenied", FATAL, DENIED, DENIED, NET_PERMIT, "API"),
    CODE("AllAccessDisabled", FATAL, DENIED, DENIED, "", "API"),
    CODE("AccountProblem", FATAL, DENIED, DENIED, "", "API"),
    CODE("InvalidAccessKeyId", FATAL, DENIED, DENIED, "; look at the access key id", "API"),
    CODE("XAdminUserNotFound", FATAL, DENIED, DENIED, "; look at the access key id",
         "versitygw 1.8.0"),
    CODE("SignatureDoesNotMatch", FATAL, DENIED, DENIED,
         "; look at the secret access key, and at proxies that change requests", "API"),
    CODE("ExpiredToken", FATAL, DENIED, DENIED, "; the session token has expired", "API"),
    CODE("InvalidToken", FATAL, DENIED, DENIED, "; look at the session token", "API"),
    CODE("TokenRefreshRequired", FATAL, DENIED, DENIED, "; the session token has expired", "API"),
    /* The clock is corrected by what the answer says, then it is signed again. */
    CODE("RequestTimeTooSkewed", RETRY, RETRY, IO, "; look at this machine's clock", "API"),

    /* The body did not arrive as it was sent, so it was not stored. */
    CODE("BadDigest", RETRY, RETRY, IO, "", "API; versitygw 1.8.0, SeaweedFS 4.48: not stored"),
    CODE("XAmzContentSHA256Mismatch", RETRY, RETRY, IO, "", "API; versitygw 1.8.0"),
    CODE("XAmzContentChecksumMismatch", RETRY, RETRY, IO, "", "MinIO"),
    CODE("IncompleteBody", RETRY, RETRY, IO, "", "API"),
    CODE("RequestTimeout", RETRY, RETRY, IO, "", "API: the body was not read in time"),

    CODE("AuthorizationHeaderMalformed", FATAL, FATAL, INVALID, "; look at the region", "API"),
    CODE("PermanentRedirect", FATAL, FATAL, INVALID,
         "; the bucket is elsewhere: look at endpoint and region", "API"),
    CODE("TemporaryRedirect", FATAL, FATAL, INVALID,
         "; the bucket is elsewhere: look at endpoint and region", "API"),
    CODE("KeyTooLongError", FATAL, FATAL, INVALID, "", "API"),
    CODE("EntityTooLarge", FATAL, FATAL, TOO_LARGE, "", "API"),
    CODE("NotImplemented", UNSUPPORTED, FATAL, UNSUPPORTED, "",
         "API; Backblaze B2 of If-None-Match"),
    CODE("MethodNotAllowed", FATAL, FATAL, UNSUPPORTED, "", "API"),
    CODE("ObjectParentIsFile", FATAL, FATAL, INVALID, "", "versitygw 1.8.0"),
    CODE("ExistingObjectIsDirectory", FATAL, FATAL, INVALID, "", "versitygw 1.8.0"),

    /* It may have been applied before it was given up: no proof of the opposite. */
    CODE("SlowDown", UNKNOWN, RETRY, IO, "", "API: throttled"),
    CODE("ServiceUnavailable", UNKNOWN, RETRY, IO, "", "API"),
    CODE("InternalError", UNKNOWN, RETRY, IO, "", "API"),

    STATUS(200, 200, CREATED, OK, OK, "", "API"),
    STATUS(204, 204, UNKNOWN, OK, OK, "", "API, of DELETE"),
    STATUS(206, 206, UNKNOWN, OK, OK, "", "API, of GET with a range"),
    STATUS(201, 299, UNKNOWN, RETRY, IO, "", "in no S3 answer"),
    STATUS(300, 399, FATAL, FATAL, INVALID,
           "; redirects are not followed: look at endpoint and region", "API"),
    STATUS(401, 401, FATAL, DENIED, DENIED, "", "RFC 9110"),
    STATUS(403, 403, FATAL, DENIED, DENIED, NET_PERMIT, "API; HEAD has no body"),
    /* Without a code it may be a proxy's; a HEAD has none, and decides nothing. */
    STATUS(404, 404, UNKNOWN, RETRY, IO, "; no S3 answer", "API"),
    STATUS(405, 405, FATAL, FATAL, UNSUPPORTED, "", "API"),
    STATUS(407, 407, FATAL, DENIED, DENIED, "; it is the proxy that asks", "RFC 9110"),
    STATUS(408, 408, UNKNOWN, RETRY, IO, "", "RFC 9110"),
    STATUS(409, 409, UNKNOWN, RETRY, IO, "", "without a code it means nothing"),
    STATUS(412, 412, EXISTS, FATAL, IO, "", "conditional; the body may be cut"),
    STATUS(416, 416, FATAL, FATAL, CORRUPT, "", "API"),
    STATUS(429, 429, UNKNOWN, RETRY, IO, "", "RFC 6585"),
    STATUS(499, 499, UNKNOWN, RETRY, IO, "", "Tigris: the client closed"),
    STATUS(400, 499, FATAL, FATAL, IO, "", "API"),
    STATUS(501, 501, UNSUPPORTED, FATAL, UNSUPPORTED, "", "API"),
    STATUS(0, 999, UNKNOWN, RETRY, IO, "", "5xx, and whatever is no answer"),
};

const net_outcomes s3_outcomes = {rows, sizeof rows / sizeof rows[0]};
