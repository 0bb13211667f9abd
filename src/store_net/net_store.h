// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What all stores behind HTTP have in common: a handle with its own connections, operations that
 * become requests, answers that become outcomes. A dialect (S3, Azure, GCS) adds how a request is
 * built and signed, what its errors are called, and its listings.
 *
 *   net_driver.c   submit, poll, clone, close
 *   net_answer.c   objects, and what failed
 *   net_batch.c    deletes of many at once
 *   net_place.c    prefixes and endpoints
 *   net_sum.c      checksums, sent and returned
 *   net_outcome.c  the look-up in a dialect's table
 *
 * Nothing here is for users of a store.
 */
#ifndef STORE_NET_NET_STORE_H
#define STORE_NET_NET_STORE_H

#include "http/digest.h"
#include "http/http_client.h"
#include "http/uri.h"
#include "store/driver.h"
#include "store/store_about.h"
#include "store_net/net_keyring.h"
#include "store_net/net_outcome.h"

#include <stdatomic.h>

#define NET_ERROR_BYTES_MAX 16384u

/** The code of a refusal for the sake of a clock; the store's is learned then. */
#define NET_SKEWED "RequestTimeTooSkewed"

/** What a server says of a failure; "" where it says nothing. */
typedef struct net_error {
    char code[64];
    char message[200]; /* printable */
    char region[32];
    bool has_size; /* of an object that is shorter than asked for */
    uint64_t size;
} net_error;

typedef struct net_call net_call;
typedef struct net_backend net_backend;
typedef struct net_store net_store;

typedef struct net_dialect {
    const char *name;
    const net_outcomes *outcomes;
    const char *const *permissions; /* by kind of operation, as an operator would grant them */
    size_t call_bytes;              /* of its calls, which begin with a net_call */
    /** Fills url, headers and body of call->http, and call->method, for the next request of the
     * operation. BW_OK; BW_NOMEM; else the operation ends FATAL. */
    bw_status (*build)(net_call *call);
    /** What the answer says of its failure. */
    void (*error)(const net_call *call, net_error *out);
    /** Optional: size and time of an object out of the answer to HEAD, where that is asked for in
     * another way. false: it cannot be read. */
    bool (*object)(const net_call *call, uint64_t *bytes, int64_t *modified_ms);
    /** A 404 without a code is no proof of absence, and what HEAD asks for gives one. */
    bool confirms_absence;
    /** Takes the body of a 2xx to a list, or to a batch delete; false: enough. */
    bool (*sink)(net_call *call, const uint8_t *bytes, size_t size);
    /** A list or a batch delete was answered 2xx: ends the operation, true; or false, and another
     * request follows. */
    bool (*end)(net_call *call);
    /** Optional: whether the request was refused because its keys have ended. */
    bool (*has_ended)(const net_call *call, const net_error *e);
    /** What is known of the place, without a request. */
    void (*about)(const net_backend *b, store_facts *out);
    /** Optional: asks for what the bucket is set to. */
    void (*bucket)(store *s, store_bucket *out);
    /** Forgets what an answer left in the call; at its end with `final` all memory. */
    void (*clear)(net_call *call, bool final);
    /** Frees a backend, which begins with a net_backend. */
    void (*free_backend)(net_backend *b);
} net_dialect;

/** What all handles on one place share; does not change but for the atomics. */
struct net_backend {
    atomic_uint references;
    const net_dialect *dialect;
    char *name;           /* s3://bucket, for messages */
    char *ca_file;        /* NULL: the system's */
    net_keyring *keyring; /* NULL: nothing is signed */
    http_options http;
    int64_t request_timeout_ns;
    uint32_t key_bytes_max; /* of a key of ours: what the prefix leaves */
    atomic_llong skew_ms;   /* the store's clock less ours */
    atomic_bool no_batch;   /* it deletes one by one only */
};

/** One operation on its way. */
struct net_call {
    http_request http;
    store_op *op;
    net_store *owner;
    net_call *next; /* among the spare ones */
    http_method method;
    net_keyset *keys;              /* of this request: those of now, each time that one is sent */
    uint32_t requests;             /* of this operation, before this one */
    uint32_t delete_at;            /* one by one: the next key */
    char after[STORE_KEY_MAX + 1]; /* list: the page begins after this key */
    uint64_t got;                  /* bytes of the answer for the operation */
    uint32_t crc;                  /* get: of those, where the store says what it should be */
    buf text;                      /* any other body */
    bw_status parsed;              /* what a sink, or the room for the body, said */
    bool asks_size;                /* a range was beyond the end: how long is the object? */
    bool asks_absence;             /* a bare 404 came: is it really not there? */
    bool is_batch;                 /* this request deletes several: the dialect says so, */
    uint32_t batch_keys;           /* and how many, where its answers are parts */
};

struct net_store {
    store base;
    net_backend *backend;
    http_client *client;
    op_queue complete;
    net_call *spare;
    size_t flying;
    int64_t date_ms; /* of the last answer; 0: it had none */
};

/** Sets the common part of a backend up, with one reference, and no name. */
void net_backend_init(net_backend *b, const net_dialect *dialect, int64_t request_timeout_ns,
                      bool plain_http);
void net_backend_release(net_backend *b); /* NULL is fine */
/** One more handle; it holds a reference. */
bw_status net_store_new(net_backend *b, store **out, bw_error *error);

/** The key that a request on one object is about. */
const char *net_call_key(const net_call *call);
/** Whether the end of the request's keys has passed, by our clock. */
bool net_call_is_past_end(const net_call *call);
/** Whether its keys came so late that their end is no reason for a refusal. */
bool net_call_has_fresh_keys(const net_call *call);
/** As most stores say it: 401 to keys that are not fresh, any refusal to such that are past their
 * end. For dialects. */
bool net_call_has_ended(const net_call *call, const net_error *e);
/** Where the keys of a store are from, for messages: never what they are. "" anonymously. */
void net_store_source(store *s, char *out, size_t capacity);
/** The bucket's memory of a text; NULL and *status when there is none, or it is too long. */
char *net_text(bw_status *status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Printable ASCII of `from`, cut to what there is room for. */
void net_copy_printable(char *to, size_t capacity, const char *from);

/* net_place.c */
/** Segments that no path changes: none empty, "." or "..", nothing unprintable. */
bw_status net_check_prefix(const char *prefix, size_t bytes_max, bw_error *error);
/** The origin of an endpoint; plain HTTP to another machine only when it is wanted. */
bw_status net_find_origin(const char *endpoint, bool plain_http, uri_origin *out, bw_error *error);

/* net_batch.c */
struct http_part;
/** What the part says of its failure. */
typedef void net_part_error(const struct http_part *part, net_error *out);
/** Whether the next request of the operation deletes several. */
bool net_call_is_batch(const net_call *call);
/** A dialect's `end` of a batch of `batch_keys` from `delete_at` on, each answered by a part. */
bool net_batch_end(net_call *call, const buf *answers, net_part_error *error);

/* net_sum.c */
/** CRC-32C of what is written as stores want it: big-endian, in base64. */
void net_crc_text(const store_op *op, char out[DIGEST_BASE64_BYTES(4)]);
/** Whether a whole object is what the store says it has; true where it says nothing. */
bool net_sum_is_right(const net_call *call);

/* net_answer.c */
bool net_answer_sink(http_request *request, const uint8_t *bytes, size_t size);
/** A request is over: true when the operation is, too; else another request of it must be sent. */
bool net_answer_take(net_call *call);
/** The operation ends by what the server said. For dialects. */
void net_fail(net_call *call, const net_error *e);
/** The operation ends RETRY: the answer cannot be read. */
void net_fail_unread(net_call *call);

#endif
