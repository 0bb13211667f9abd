// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The store on Google Cloud Storage, by its JSON API. `create` is an upload with
 * ifGenerationMatch=0, sent at most once; If-None-Match means nothing there. */
#ifndef STORE_GCS_GCS_STORE_H
#define STORE_GCS_GCS_STORE_H

#include "store/store.h"

#define GCS_PREFIX_MAX 512u

typedef struct gcs_options {
    const char *bucket, *prefix;
    const char *endpoint; /* "": https://storage.googleapis.com */
    const char *ca_file;  /* "": the system's */
    bool anonymous;
    bool plain_http;
    bool http2;
    int64_t request_timeout_ns;
} gcs_options;

/** Nothing is sent to the store; a service that hands out tokens may be asked. BW_INVALID,
 * BW_DENIED (no token), BW_UNSUPPORTED, BW_NOMEM, and what the service made of it. */
bw_status gcs_store_open(const gcs_options *options, store **out, bw_error *error);

#endif
