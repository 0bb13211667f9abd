// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What the files of the GCS store share; store_net does what all stores behind HTTP do.
 *
 *   gcs_open.c      options to a backend; gcs_chain.c and gcs_from_*.c: tokens
 *   gcs_request.c   an operation as a request
 *   gcs_json.c      what the server says
 *   gcs_bucket.c    what the bucket is, and is set to
 *   gcs_outcome.c   the table of answers
 */
#ifndef STORE_GCS_GCS_INTERNAL_H
#define STORE_GCS_GCS_INTERNAL_H

#include "base/rng.h"
#include "http/uri.h"
#include "store_gcs/gcs_store.h"
#include "store_net/net_store.h"

#define GCS_PAGE_BYTES_MAX (16u << 20)

/** The code of a refusal of bytes that are not those of their checksum. */
#define GCS_MISMATCH "crc32cMismatch"
#define GCS_BOUNDARY_BYTES 33u
/* No line of a batch can be it: they begin with a letter. */
#define GCS_BATCH_BOUNDARY "batchweave"

extern const net_outcomes gcs_outcomes;
extern const net_dialect gcs_dialect;

typedef struct gcs_backend {
    net_backend net;
    char *origin; /* https://host:port */
    char *bucket;
    char *prefix; /* "" or with a slash behind it */
} gcs_backend;

typedef struct gcs_call {
    net_call net;
    buf url;
    char range[64];
    buf page; /* of a listing; the answers to a batch */
    buf body; /* of a batch */
    struct iovec body_piece;
    /* An upload: its description, the pieces, its end. */
    rng random; /* for boundaries, which no content may have */
    bool has_random;
    char boundary[GCS_BOUNDARY_BYTES];
    char type[64 + GCS_BOUNDARY_BYTES];
    char before[256], behind[64];
    struct iovec *pieces;
    size_t piece_capacity;
} gcs_call;

static inline gcs_call *gcs_call_of(net_call *call)
{
    return (gcs_call *)call;
}

static inline gcs_backend *gcs_backend_of(const net_call *call)
{
    return (gcs_backend *)call->owner->backend;
}

bw_status gcs_request_build(net_call *call);
void gcs_about(const net_backend *net, store_facts *out);
void gcs_bucket(store *s, store_bucket *out);
/** What the document of a bucket says. BW_CORRUPT: it is none. */
bw_status gcs_bucket_parse(store_bucket *out, const void *bytes, size_t size);
void gcs_error(const net_call *call, net_error *out);
bool gcs_object(const net_call *call, uint64_t *bytes, int64_t *modified_ms);
bool gcs_list_sink(net_call *call, const uint8_t *bytes, size_t size);
bool gcs_end(net_call *call);

/** What a page says, for tests and fuzzing: entries after `after`, the prefix taken off, at most
 * `max`. */
typedef struct gcs_page {
    const char *prefix, *after;
    bool any;
    size_t max;
    store_list *list;
    bool follows;                 /* there is another page, or more of this one */
    char last[STORE_KEY_MAX + 1]; /* of all names that came */
} gcs_page;
/** BW_CORRUPT: it is none; BW_NOMEM. */
bw_status gcs_page_parse(gcs_page *page, const void *bytes, size_t size);
void gcs_error_parse(const void *bytes, size_t size, net_error *out);

#endif
