// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What the files of the S3 store share.
 *
 *   s3_open.c      options to a backend; handles
 *   s3_request.c   an operation as a signed request
 *   s3_answer.c    an answer as an outcome
 *   s3_driver.c    submit, poll, clone, close
 */
#ifndef STORE_S3_S3_INTERNAL_H
#define STORE_S3_S3_INTERNAL_H

#include "http/http_client.h"
#include "http/sigv4.h"
#include "http/uri.h"
#include "store/driver.h"
#include "store_s3/s3_keyring.h"
#include "store_s3/s3_store.h"
#include "store_s3/s3_xml.h"

#include <stdatomic.h>

/** What all handles on one place share; does not change but for the atomics. */
typedef struct s3_backend {
    atomic_uint references;
    char *name;   /* s3://bucket, for messages */
    char *origin; /* https://host:port */
    char *host;   /* as the header says it */
    char *folder; /* encoded path of the bucket: "/" or "/bucket" */
    char *prefix; /* "" or with a slash behind it */
    char *region;
    char *ca_file;       /* NULL: the system's */
    s3_keyring *keyring; /* NULL: nothing is signed */
    http_options http;
    int64_t request_timeout_ns;
    bool sign_body;
    atomic_llong skew_ms; /* the store's clock less ours */
    atomic_bool no_batch; /* it deletes one by one only */
} s3_backend;

void s3_backend_release(s3_backend *b);

/** One more handle; it holds a reference. */
bw_status s3_store_new(s3_backend *b, store **out, bw_error *error);

typedef struct s3_store s3_store;

#define S3_HEX_BYTES (2 * DIGEST_SHA256_BYTES + 1)

/** One operation on its way. */
typedef struct s3_call {
    http_request http;
    store_op *op;
    s3_store *owner;
    struct s3_call *next; /* among the spare ones */

    /* The request. */
    http_method method;
    buf path, query, url, authorization;
    char time[SIGV4_TIME_BYTES];
    char payload[S3_HEX_BYTES];
    char range[64];
    char crc[DIGEST_BASE64_BYTES(4)];
    char md5[DIGEST_BASE64_BYTES(DIGEST_MD5_BYTES)];
    s3_keyset *keys; /* that it is signed with */
    buf body;        /* of a batch delete */
    struct iovec body_piece;
    uint32_t delete_at; /* one by one: the next key */

    /* The answer. */
    uint64_t got; /* bytes for the operation */
    buf text;     /* any other body */
    xml *reader;
    s3_page page;
    s3_deleted deleted;
    bw_status parsed; /* what the reader, or the room for the body, said */
    bool asks_size;   /* a range was beyond the end: how long is the object? */
} s3_call;

struct s3_store {
    store base;
    s3_backend *backend;
    http_client *client;
    op_queue complete;
    s3_call *spare;
    size_t flying;
    sigv4_key key;
    uint64_t key_number; /* which keys of the ring it is of */
};

/** Builds and sends the next request of `call->op`; when there is none, or it cannot be built, the
 * operation is over: false. */
bool s3_request_send(s3_call *call);
/** The key of the object that a single request is about. */
const char *s3_call_key(const s3_call *call);
/** Takes a body as it comes; the sink of all requests. */
bool s3_answer_sink(http_request *request, const uint8_t *bytes, size_t size);
/** A request is over: true when the operation is, too; else another request of it must be sent. */
bool s3_answer_take(s3_call *call);

#endif
