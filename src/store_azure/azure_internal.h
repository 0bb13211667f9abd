// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What the files of the Azure store share; store_net does what all stores behind HTTP do.
 *
 *   azure_open.c      options to a backend; azure_chain.c and azure_from_*.c: keys and tokens
 *   azure_request.c   an operation as a request
 *   azure_batch.c     deletes of many at once
 *   azure_list.c      pages of a listing
 *   azure_outcome.c   the table of answers
 *   azure_about.c     what the container is
 */
#ifndef STORE_AZURE_AZURE_INTERNAL_H
#define STORE_AZURE_AZURE_INTERNAL_H

#include "http/digest.h"
#include "http/http_parts.h"
#include "http/uri.h"
#include "http/xml.h"
#include "store_azure/azure_sign.h"
#include "store_azure/azure_store.h"
#include "store_net/net_store.h"

#define AZURE_MARKER_MAX 4096u
#define AZURE_PAGE_BYTES_MAX (16u << 20)
/* No line of a body can be it: they begin with a letter. */
#define AZURE_BATCH_BOUNDARY "batchweave"
#define AZURE_ANSWERS_BYTES_MAX (2u << 20)

/** The code of a refusal for the sake of a CRC-64, which is not sent again then. */
#define AZURE_NO_CRC64 "Crc64NotSupported"

extern const net_outcomes azure_outcomes;
extern const net_dialect azure_dialect;

typedef struct azure_backend {
    net_backend net;
    char *account;
    char *origin; /* https://host:port */
    char *folder; /* encoded path of the container */
    char *prefix; /* "" or with a slash behind it */
    atomic_bool no_crc64;
} azure_backend;

/** A page of a listing: names after `after`, the prefix taken off them. */
typedef struct azure_page {
    const char *prefix, *after;
    bool any;
    size_t max; /* of entries */
    store_list *list;

    bool whole;
    bool cut; /* there was one more than `max` */
    char *name;
    uint64_t bytes;
    int64_t modified_ms;
    char next[AZURE_MARKER_MAX]; /* of the next page; "" when this is the last */
    net_error error;
} azure_page;

/** Where a listing stands: the page behind a key begins at a marker. Azure lists after a marker of
 * its own only, not after a key. */
typedef struct azure_mark {
    char prefix[STORE_KEY_MAX + 1], after[STORE_KEY_MAX + 1];
    char marker[AZURE_MARKER_MAX]; /* "": nothing is known */
} azure_mark;

typedef struct azure_call {
    net_call net;
    buf path, url, authorization;
    buf target, body; /* of a batch: the path of one, all of them */
    struct iovec piece;
    buf answers;
    char date[96];
    char range[64];
    char md5[DIGEST_BASE64_BYTES(DIGEST_MD5_BYTES)];
    char crc64[DIGEST_BASE64_BYTES(8)];
    char prefix[AZURE_PREFIX_MAX + STORE_KEY_MAX + 2];
    char count[16];
    char marker[AZURE_MARKER_MAX]; /* of this request */
    azure_mark mark;               /* kept from listing to listing */
    xml *reader;
    azure_page page;
} azure_call;

static inline azure_call *azure_call_of(net_call *call)
{
    return (azure_call *)call;
}

static inline azure_backend *azure_backend_of(const net_call *call)
{
    return (azure_backend *)call->owner->backend;
}

bw_status azure_request_build(net_call *call);
void azure_about(const net_backend *net, store_facts *out);
/** The path of a blob; the signature that goes into the query, or "". */
void azure_put_path(const azure_call *call, const char *key, buf *out);
const char *azure_shared_signature(const azure_call *call);
/** The body of a batch, from the key that is next; the date is set. */
bw_status azure_batch_put(azure_call *call);
bool azure_sink(net_call *call, const uint8_t *bytes, size_t size);
bool azure_end(net_call *call);
void azure_error(const net_call *call, net_error *out);
void azure_error_parse(const http_head *head, const void *body, size_t size, net_error *out);
bool azure_list_sink(net_call *call, const uint8_t *bytes, size_t size);
bool azure_list_end(net_call *call);
/** For tests and fuzzing. */
bw_status azure_page_new(azure_page *page, xml **out);
void azure_page_clear(azure_page *page);

#endif
