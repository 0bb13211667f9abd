// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Keys that requests are signed with, and the JSON document that programs and services hand them
 * out in. */
#ifndef STORE_S3_S3_KEYS_H
#define STORE_S3_S3_KEYS_H

#include "base/clock.h"
#include "base/error.h"
#include "http/secret.h"

#define S3_TEXT_MAX 256u

/** What becomes of keys that end. */
typedef enum s3_keys_kind {
    S3_KEYS_LENT,   /* there are new ones where they came from */
    S3_KEYS_STORED, /* in a file that somebody may write anew */
    S3_KEYS_FIXED,  /* nothing */
} s3_keys_kind;

typedef struct s3_keys {
    s3_keys_kind kind;
    char key_id[S3_TEXT_MAX];
    secret key, token;
    int64_t expires_ns;       /* monotonic; 0: nothing is known of an end */
    char source[S3_TEXT_MAX]; /* where they are from, for messages */
} s3_keys;

void s3_keys_clear(s3_keys *k);
/** BW_INVALID when there is a byte that no header can have, or too many; BW_NOMEM. */
bw_status s3_keys_set(s3_keys *k, const char *key_id, const char *key, const char *token,
                      bw_error *error);
/** When they end, as ISO 8601 by a clock that shows `now_ms`; "": they do not. BW_CORRUPT. */
bw_status s3_keys_set_end(s3_keys *k, const char *expiration, int64_t now_ms, bw_error *error);

/** AccessKeyId, SecretAccessKey, `token_name` and Expiration of a JSON object; whatever else there
 * is, is passed over. A `Code` that is not Success is the service's refusal: BW_DENIED. BW_CORRUPT
 * when it is no such document. No text of the document but Code is in the error. */
bw_status s3_keys_parse(s3_keys *k, const void *json, size_t size, const char *token_name,
                        int64_t now_ms, bw_error *error);

#endif
