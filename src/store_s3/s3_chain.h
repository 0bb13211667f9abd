// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The chain: the sources of keys, in the order in which AWS's command line asks them. Each source
 * is a file of its own with one function (s3_from_*.c).
 */
#ifndef STORE_S3_S3_CHAIN_H
#define STORE_S3_S3_CHAIN_H

#include "http/http_fetch.h"
#include "store_s3/s3_keys.h"
#include "store_s3/s3_profile.h"

/** What the environment and the profile say beside keys; "" when nothing. */
typedef struct s3_settings {
    char profile[128];
    bool named; /* the profile was: it goes before keys in the environment */
    char region[64];
    char endpoint[S3_TEXT_MAX];
    char sts_endpoint[S3_TEXT_MAX]; /* of the security token service */
    char ca_file[S3_PATH_MAX];
} s3_settings;

/** `profile` "": AWS_PROFILE, else "default". BW_INVALID when a profile that was named is not
 * there, or a file cannot be read. */
bw_status s3_settings_find(const char *profile, const s3_environment *e, s3_settings *out,
                           bw_error *error);

typedef struct s3_chain {
    const s3_environment *environment;
    s3_settings settings;
    bool plain_http;
    const atomic_bool *stop; /* ends whatever waits; NULL is fine */
    int64_t skew_ms;         /* of the token service's clock; learned */
    size_t source;           /* the one that gave keys */
    char looked[640];        /* what gave none, and why */
} s3_chain;

/** BW_OK with keys; BW_OK without: the source is not in use here, and the chain's note says so. A
 * source that is in use and fails ends the chain. */
typedef bw_status (*s3_source_fn)(s3_chain *c, s3_keys *out, bw_error *error);

bw_status s3_from_environment(s3_chain *c, s3_keys *out, bw_error *error);
bw_status s3_from_role(s3_chain *c, s3_keys *out, bw_error *error); /* role_arn of the profile */
bw_status s3_from_web_identity(s3_chain *c, s3_keys *out, bw_error *error);
bw_status s3_from_profile(s3_chain *c, s3_keys *out, bw_error *error); /* what it has itself */
bw_status s3_from_container(s3_chain *c, s3_keys *out, bw_error *error);
bw_status s3_from_instance(s3_chain *c, s3_keys *out, bw_error *error);

/** Asks all sources. BW_DENIED when none has keys: the error says what was looked at, why it gave
 * none, and what to do. What is returned without an error holds keys. */
bw_status s3_chain_find(s3_chain *c, s3_keys *out, bw_error *error);
/** Asks the source that gave keys, and no other: nobody becomes somebody else on the way. */
bw_status s3_chain_again(s3_chain *c, s3_keys *out, bw_error *error);

/* ---- for the sources ---- */

void s3_chain_note(s3_chain *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** One request to a service that hands out keys. */
typedef struct s3_ask {
    const char *what; /* for messages */
    http_request request;
    int64_t connect_ns;
    uint32_t tries; /* of what may pass: no answer, 429, 5xx */
    bool plain_http;
} s3_ask;

/** BW_OK with an answer of whatever status. */
bw_status s3_chain_ask(s3_chain *c, s3_ask *a, buf *answer, bw_error *error);
/** The clock of who answered, else ours. */
int64_t s3_answer_time(const http_request *request);

#endif
