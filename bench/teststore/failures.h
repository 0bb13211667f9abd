// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What a store can answer that is no success, and how each of the three stores spells it. The table
 * is data: the dialects print it, rules name its rows.
 */
#ifndef TESTSTORE_FAILURES_H
#define TESTSTORE_FAILURES_H

/* id, name in rules, S3 status and code, GCS status and reason, Azure status and code, message */
#define FAILURES(X)                                                                                \
    X(NO_OBJECT, "no_object", 404, "NoSuchKey", 404, "notFound", 404, "BlobNotFound",              \
      "The specified key does not exist.")                                                         \
    X(NO_CONTAINER, "no_container", 404, "NoSuchBucket", 404, "notFound", 404,                     \
      "ContainerNotFound", "The specified bucket does not exist.")                                 \
    X(EXISTS, "exists", 412, "PreconditionFailed", 412, "conditionNotMet", 409,                    \
      "BlobAlreadyExists", "At least one of the pre-conditions you specified did not hold.")       \
    X(CONDITION, "condition", 412, "PreconditionFailed", 412, "conditionNotMet", 412,              \
      "ConditionNotMet", "At least one of the pre-conditions you specified did not hold.")         \
    X(CONTAINER_EXISTS, "container_exists", 409, "BucketAlreadyOwnedByYou", 409, "conflict", 409,  \
      "ContainerAlreadyExists", "The container exists and is yours.")                              \
    X(NO_LIFECYCLE, "no_lifecycle", 404, "NoSuchLifecycleConfiguration", 404, "notFound", 404,     \
      "ResourceNotFound", "The lifecycle configuration does not exist.")                           \
    X(BAD_RANGE, "bad_range", 416, "InvalidRange", 416, "requestedRangeNotSatisfiable", 416,       \
      "InvalidRange", "The requested range is not satisfiable.")                                   \
    X(BAD_DIGEST, "bad_digest", 400, "BadDigest", 400, "invalid", 400, "Md5Mismatch",              \
      "The digest you specified did not match the calculated one.")                                \
    X(BAD_CRC, "bad_crc", 400, "BadDigest", 400, "invalid", 400, "Crc64Mismatch",                  \
      "The CRC32C or CRC64 you specified did not match the calculated one.")                       \
    X(BAD_DIGEST_FORM, "bad_digest_form", 400, "InvalidDigest", 400, "invalid", 400, "InvalidMd5", \
      "The digest you specified is not valid.")                                                    \
    X(BAD_SHA256, "bad_sha256", 400, "XAmzContentSHA256Mismatch", 400, "invalid", 400,             \
      "InvalidInput", "The provided x-amz-content-sha256 does not match what was computed.")       \
    X(NEEDS_DIGEST, "needs_digest", 400, "InvalidRequest", 400, "required", 400,                   \
      "MissingRequiredHeader", "Missing required header for this request: Content-MD5")            \
    X(NEEDS_HEADER, "needs_header", 400, "InvalidRequest", 400, "required", 400,                   \
      "MissingRequiredHeader", "A header that is mandatory for this request is missing.")          \
    X(NEEDS_LENGTH, "needs_length", 411, "MissingContentLength", 411, "required", 411,             \
      "MissingContentLengthHeader", "You must provide the Content-Length HTTP header.")            \
    X(BAD_REQUEST, "bad_request", 400, "InvalidArgument", 400, "invalid", 400, "InvalidInput",     \
      "An argument of the request is not valid.")                                                  \
    X(BAD_BODY, "bad_body", 400, "MalformedXML", 400, "parseError", 400, "InvalidXmlDocument",     \
      "The document you provided was not well-formed or not of the published form.")               \
    X(LONG_KEY, "long_key", 400, "KeyTooLongError", 400, "invalid", 400, "InvalidUri",             \
      "Your key is too long.")                                                                     \
    X(TOO_LARGE, "too_large", 400, "EntityTooLarge", 413, "uploadTooLarge", 413,                   \
      "RequestBodyTooLarge", "Your upload exceeds the greatest allowed size.")                     \
    X(NOT_IMPLEMENTED, "not_implemented", 501, "NotImplemented", 501, "notImplemented", 501,       \
      "NotImplemented", "A part of the request implies functionality that is not implemented.")    \
    X(NO_METHOD, "no_method", 405, "MethodNotAllowed", 405, "methodNotAllowed", 405,               \
      "UnsupportedHttpVerb", "The method is not allowed against this resource.")                   \
    X(SLOW_DOWN, "slow_down", 503, "SlowDown", 429, "rateLimitExceeded", 503, "ServerBusy",        \
      "Please reduce your request rate.")                                                          \
    X(INTERNAL, "internal", 500, "InternalError", 500, "backendError", 500, "InternalError",       \
      "We encountered an internal error. Please try again.")                                       \
    X(UNAVAILABLE, "unavailable", 503, "ServiceUnavailable", 503, "backendError", 503,             \
      "ServerBusy", "The service is unavailable. Please try again.")                               \
    X(CONFLICT, "conflict", 409, "ConditionalRequestConflict", 409, "conflict", 409,               \
      "PendingCopyOperation", "A conflicting operation is in progress against this resource.")     \
    X(ABORTED, "aborted", 409, "OperationAborted", 409, "conflict", 409, "ContainerBeingDeleted",  \
      "A conflicting operation is in progress. Please try again.")                                 \
    X(SKEWED, "skewed", 403, "RequestTimeTooSkewed", 401, "authError", 403,                        \
      "AuthenticationFailed", "The difference between the request time and ours is too large.")    \
    X(TIMEOUT, "timeout", 400, "RequestTimeout", 408, "timeout", 500, "OperationTimedOut",         \
      "The request was not completed within the permitted time.")                                  \
    X(EXPIRED, "expired", 400, "ExpiredToken", 401, "authError", 403, "AuthenticationFailed",      \
      "The provided token has expired.")                                                           \
    X(DENIED, "denied", 403, "AccessDenied", 403, "forbidden", 403,                                \
      "AuthorizationPermissionMismatch", "Access Denied")                                          \
    X(NO_CREDENTIALS, "no_credentials", 403, "AccessDenied", 401, "required", 401,                 \
      "NoAuthenticationInformation", "The request carries no credentials.")                        \
    X(UNKNOWN_KEY, "unknown_key", 403, "InvalidAccessKeyId", 401, "authError", 403,                \
      "AuthenticationFailed", "The access key you provided does not exist in our records.")        \
    X(BAD_SIGNATURE, "bad_signature", 403, "SignatureDoesNotMatch", 401, "authError", 403,         \
      "AuthenticationFailed", "The signature we calculated does not match the one you provided.")  \
    X(BAD_SCOPE, "bad_scope", 400, "AuthorizationHeaderMalformed", 400, "invalid", 400,            \
      "InvalidAuthenticationInfo", "The authorization header is malformed or of another region.")  \
    X(FULL, "full", 507, "InsufficientStorage", 507, "insufficientStorage", 507,                   \
      "InsufficientStorage", "This test store has reached its limit of memory.")

typedef enum failure {
    FAILURE_NONE,
#define X(id, name, s3, s3_code, gcs, gcs_reason, azure, azure_code, message) FAILURE_##id,
    FAILURES(X)
#undef X
        FAILURE_COUNT
} failure;

typedef enum dialect_id { DIALECT_S3, DIALECT_GCS, DIALECT_AZURE, DIALECT_COUNT } dialect_id;

typedef struct failure_spelling {
    int status;
    const char *code;
} failure_spelling;

const char *failure_name(failure f);
const char *failure_message(failure f);
failure_spelling failure_spelled(failure f, dialect_id dialect);
/** FAILURE_NONE when no row has the name. */
failure failure_named(const char *name);

#endif
