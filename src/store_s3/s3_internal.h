// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What the files of the S3 store share; store_net does what all stores behind HTTP do.
 *
 *   s3_open.c      options to a backend
 *   s3_request.c   an operation as a signed request
 *   s3_answer.c    errors, listings, batch deletes
 *   s3_outcome.c   the table of answers
 *   s3_bucket.c    what the bucket is, and is set to
 */
#ifndef STORE_S3_S3_INTERNAL_H
#define STORE_S3_S3_INTERNAL_H

#include "http/sigv4.h"
#include "http/uri.h"
#include "store_net/net_keyring.h"
#include "store_net/net_store.h"
#include "store_s3/s3_chain.h"
#include "store_s3/s3_store.h"
#include "store_s3/s3_xml.h"

extern const net_outcomes s3_outcomes;
extern const net_dialect s3_dialect;

/** The header by which a create asks for it. */
typedef struct s3_spelling {
    const char *name, *value;
} s3_spelling;

typedef struct s3_backend {
    net_backend net;
    char *origin; /* https://host:port */
    char *host;   /* as the header says it */
    char *folder; /* encoded path of the bucket: "/" or "/bucket" */
    char *prefix; /* "" or with a slash behind it */
    char *region;
    bool sign_body;
    const s3_spelling *condition;
    bool requester_pays;
    char *kms_key, *storage_class, *bucket_owner; /* "" for none */
} s3_backend;

#define S3_HEX_BYTES (2 * DIGEST_SHA256_BYTES + 1)

/** One operation on its way. */
typedef struct s3_call {
    net_call net;
    /* The request. */
    buf path, query, url, authorization;
    char time[SIGV4_TIME_BYTES];
    char payload[S3_HEX_BYTES];
    char range[64];
    char crc[DIGEST_BASE64_BYTES(4)];
    char md5[DIGEST_BASE64_BYTES(DIGEST_MD5_BYTES)];
    buf body; /* of a batch delete */
    struct iovec body_piece;
    sigv4_key key;       /* kept from request to request, */
    uint64_t key_number; /* of these keys of the ring */
    /* The answer. */
    xml *reader;
    s3_page page;
    s3_deleted deleted;
} s3_call;

static inline s3_call *s3_call_of(net_call *call)
{
    return (s3_call *)call;
}

static inline s3_backend *s3_backend_of(const net_call *call)
{
    return (s3_backend *)call->owner->backend;
}

bw_status s3_request_build(net_call *call);
void s3_about(const net_backend *net, store_facts *out);
void s3_bucket(store *s, store_bucket *out);

/** The rule of a lifecycle that is being read, and what of it goes to `out`. */
typedef struct s3_rules {
    store_bucket *out;
    bool enabled, tagged, deletes, archives, moves, old_end;
    char name[64];
    char prefix[STORE_KEY_MAX + 1];
} s3_rules;
/** `rules` stays as long as the reader. */
bw_status s3_rules_new(s3_rules *rules, store_bucket *out, xml **reader);

void s3_answer_error(const net_call *call, net_error *out);
bool s3_answer_sink(net_call *call, const uint8_t *bytes, size_t size);
bool s3_answer_end(net_call *call);
bool s3_answer_has_ended(const net_call *call, const net_error *e);

#endif
