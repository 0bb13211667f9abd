// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The store on S3 and on what speaks it. A handle has its own connections; requests are many in
 * flight and move on inside poll. `create` is a PUT with If-None-Match: *, sent at most once.
 */
#ifndef STORE_S3_S3_STORE_H
#define STORE_S3_S3_STORE_H

#include "store/store.h"

/** Of `s3://bucket/prefix`, without a slash behind it; with the keys below it names stay within
 * what S3 allows. */
#define S3_PREFIX_MAX 512u

typedef enum s3_style { S3_STYLE_AUTO, S3_STYLE_PATH, S3_STYLE_VIRTUAL } s3_style;
/** When the body's SHA-256 is signed: AUTO is where TLS does not protect it. */
typedef enum s3_sign_body { S3_SIGN_AUTO, S3_SIGN_ALWAYS, S3_SIGN_NEVER } s3_sign_body;

/** How a create says "only if absent": AUTO is OSS on its own hosts, S3's way elsewhere. */
typedef enum s3_condition {
    S3_CONDITION_AUTO,
    S3_CONDITION_S3,
    S3_CONDITION_OSS,
    S3_CONDITION_IBM
} s3_condition;

typedef struct s3_options {
    const char *bucket, *prefix;
    /* "" in all that follows: as the environment and the profile say. */
    const char *endpoint; /* else AWS's own for the region */
    const char *region;   /* else us-east-1 */
    const char *profile;
    const char *ca_file;
    s3_style style; /* AUTO: virtual on AWS unless the bucket has dots, path elsewhere */
    s3_sign_body sign_body;
    s3_condition condition;
    /* "" or NULL in these: nothing is said. */
    const char *kms_key;       /* what is written is encrypted with it */
    const char *storage_class; /* of what is written */
    const char *bucket_owner;  /* refused when the bucket is another account's */
    bool requester_pays;
    bool anonymous;
    bool http2;
    bool plain_http;            /* to other machines than this one too */
    int64_t request_timeout_ns; /* of one attempt; large bodies get more */
} s3_options;

/** Nothing is sent to the store; a service that hands out keys may be asked. BW_INVALID, BW_DENIED
 * (no credentials), BW_UNSUPPORTED, BW_NOMEM. */
bw_status s3_store_open(const s3_options *options, store **out, bw_error *error);

#endif
