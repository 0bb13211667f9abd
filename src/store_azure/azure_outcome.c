// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_azure/azure_internal.h"

#define CODE NET_CODE
#define STATUS NET_STATUS

/* "API": Microsoft, Blob service REST API, error codes. A name and a version: seen there. */
static const net_outcome rows[] = {
    CODE("BlobAlreadyExists", EXISTS, FATAL, IO, "", "API; Azurite 3.35.0"),
    CODE("ConditionNotMet", EXISTS, FATAL, IO, "", "API; of a create seen nowhere"),
    /* Who may create and not overwrite is told so when there is something. */
    CODE("UnauthorizedBlobOverwrite", EXISTS, DENIED, DENIED, "", "API"),
    CODE("LeaseIdMissing", EXISTS, FATAL, DENIED, "; somebody holds a lease", "API; Azurite"),
    CODE("BlobNotFound", RETRY, NOT_FOUND, NOT_FOUND, "", "API; Azurite 3.35.0"),
    CODE("ContainerNotFound", FATAL, FATAL, IO, "; make the container first", "API"),
    CODE("ContainerBeingDeleted", FATAL, FATAL, IO, "", "API"),
    CODE("ContainerDisabled", FATAL, DENIED, DENIED, "", "API"),
    CODE("InvalidRange", FATAL, FATAL, CORRUPT, "", "API"),

    CODE(NET_SKEWED, RETRY, RETRY, IO, "; look at this machine's clock",
         "ours: AuthenticationFailed with a Date that is far from our time"),
    CODE("AuthenticationFailed", FATAL, DENIED, DENIED,
         "; look at the key, and at this machine's clock", "API"),
    CODE("AuthorizationFailure", FATAL, DENIED, DENIED, "; look at the key", "API; Azurite"),
    CODE("AuthorizationPermissionMismatch", FATAL, DENIED, DENIED, NET_PERMIT, "API"),
    CODE("InsufficientAccountPermissions", FATAL, DENIED, DENIED, "", "API"),
    CODE("AccountIsDisabled", FATAL, DENIED, DENIED, "", "API"),
    CODE("BlobImmutableDueToPolicy", FATAL, DENIED, DENIED, "", "API"),
    CODE("PublicAccessNotPermitted", FATAL, DENIED, DENIED, "", "API"),

    /* The body did not arrive as it was sent, so it was not stored. */
    CODE("Md5Mismatch", RETRY, RETRY, IO, "", "API; Azurite 3.35.0: not stored"),
    CODE("Crc64Mismatch", RETRY, RETRY, IO, "", "API"),
    /* The next request has none. */
    CODE(AZURE_NO_CRC64, RETRY, RETRY, IO, "", "ours: FeatureNotSupported, Azurite 3.35.0"),
    CODE("FeatureNotSupported", UNSUPPORTED, FATAL, UNSUPPORTED, "", "Azurite 3.35.0"),

    CODE("RequestBodyTooLarge", FATAL, FATAL, TOO_LARGE, "", "API"),
    CODE("SnapshotsPresent", FATAL, FATAL, IO, "; delete the snapshots first", "API"),
    CODE("FeatureVersionMismatch", FATAL, FATAL, UNSUPPORTED, "", "API"),
    CODE("InvalidBlobType", FATAL, FATAL, IO, "", "API"),

    /* It may have been applied before it was given up: no proof of the opposite. */
    CODE("ServerBusy", UNKNOWN, RETRY, IO, "", "API: throttled"),
    CODE("OperationTimedOut", UNKNOWN, RETRY, IO, "", "API"),
    CODE("InternalError", UNKNOWN, RETRY, IO, "", "API"),

    STATUS(201, 201, CREATED, OK, OK, "", "API, of Put Blob"),
    STATUS(200, 200, UNKNOWN, OK, OK, "", "API"),
    STATUS(202, 202, UNKNOWN, OK, OK, "", "API, of Delete Blob"),
    STATUS(206, 206, UNKNOWN, OK, OK, "", "API, of Get Blob with a range"),
    STATUS(203, 299, UNKNOWN, RETRY, IO, "", "in no answer"),
    STATUS(300, 399, FATAL, FATAL, INVALID, "; redirects are not followed: look at the endpoint",
           "API"),
    STATUS(401, 401, FATAL, DENIED, DENIED, "", "API"),
    STATUS(403, 403, FATAL, DENIED, DENIED, NET_PERMIT, "API; HEAD has no body"),
    /* Without a code it may be a proxy's. */
    STATUS(404, 404, UNKNOWN, RETRY, IO, "; no answer of Azure", "API"),
    STATUS(407, 407, FATAL, DENIED, DENIED, "; it is the proxy that asks", "RFC 9110"),
    STATUS(408, 408, UNKNOWN, RETRY, IO, "", "RFC 9110"),
    STATUS(409, 409, UNKNOWN, RETRY, IO, "", "without a code it means nothing"),
    STATUS(412, 412, UNKNOWN, FATAL, IO, "", "without a code it means nothing"),
    STATUS(416, 416, FATAL, FATAL, CORRUPT, "", "API"),
    STATUS(429, 429, UNKNOWN, RETRY, IO, "", "RFC 6585"),
    STATUS(400, 499, FATAL, FATAL, IO, "", "API"),
    STATUS(501, 501, UNSUPPORTED, FATAL, UNSUPPORTED, "", "RFC 9110"),
    STATUS(0, 999, UNKNOWN, RETRY, IO, "", "5xx, and whatever is no answer"),
};

const net_outcomes azure_outcomes = {rows, sizeof rows / sizeof rows[0]};
