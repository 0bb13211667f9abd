// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Authorization by the account's key (Azure's "Shared Key"): pure functions. */
#ifndef STORE_AZURE_AZURE_SIGN_H
#define STORE_AZURE_AZURE_SIGN_H

#include "base/buf.h"
#include "http/http_client.h"
#include "http/uri.h"

typedef struct azure_signing {
    const char *method;
    const char *account;
    const char *path;                /* encoded, as sent */
    const uri_parameter *parameters; /* plain, in byte order of their names, which are lower case */
    size_t parameter_count;
    const http_header *headers; /* lower case, in byte order: all that are sent */
    size_t header_count;
    uint64_t body_bytes;
} azure_signing;

/** Appends what is signed. */
void azure_sign_text(const azure_signing *s, buf *out);
/** Appends the value of Authorization: `key` are the bytes that the account's key stands for.
 * BW_NOMEM. */
bw_status azure_sign(const azure_signing *s, const void *key, size_t key_bytes, buf *out);

#endif
