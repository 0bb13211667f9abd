// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The store on Azure Blob Storage: block blobs of one container. `create` is Put Blob with
 * If-None-Match: *, sent at most once; "exists" is 409 BlobAlreadyExists there. */
#ifndef STORE_AZURE_AZURE_STORE_H
#define STORE_AZURE_AZURE_STORE_H

#include "store/store.h"

#define AZURE_PREFIX_MAX 512u

typedef struct azure_options {
    const char *account, *container, *prefix;
    const char *endpoint; /* "": https://ACCOUNT.blob.core.windows.net */
    const char *ca_file;  /* "": the system's */
    bool account_in_path; /* of the endpoint, as emulators have it */
    bool anonymous;
    bool plain_http;
    bool http2;
    int64_t request_timeout_ns;
} azure_options;

/** Nothing is sent to the store; a service that hands out tokens may be asked. BW_INVALID,
 * BW_DENIED (no key), BW_UNSUPPORTED, BW_NOMEM, and what the service made of it. */
bw_status azure_store_open(const azure_options *options, store **out, bw_error *error);

#endif
