// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Tokens for Google Cloud Storage: an explicit one, else the application default credentials, in
 * the order of Google's own libraries.
 */
#ifndef STORE_GCS_GCS_CHAIN_H
#define STORE_GCS_GCS_CHAIN_H

#include "store_gcs/gcs_credentials.h"
#include "store_net/net_token.h"

/* Objects may be read, written, listed and deleted; nothing else. */
#define GCS_SCOPE "https://www.googleapis.com/auth/devstorage.read_write"
#define GCS_TOKEN_URL "https://oauth2.googleapis.com/token"
#define GCS_SCOPE_ALL "https://www.googleapis.com/auth/cloud-platform"

/** Takes over `environment`, whatever is returned; NULL when there is no memory. */
net_chain *gcs_chain_new(net_environment *environment);

/* The sources, in their order. */
bw_status gcs_from_variable(net_chain *c, net_keys *out, bw_error *error);
bw_status gcs_from_named_file(net_chain *c, net_keys *out, bw_error *error);
bw_status gcs_from_usual_file(net_chain *c, net_keys *out, bw_error *error);
bw_status gcs_from_hmac(net_chain *c, net_keys *out, bw_error *error); /* refused */
bw_status gcs_from_metadata(net_chain *c, net_keys *out, bw_error *error);

/* What a file of credentials stands for, by its type; `path` is for messages. */
bw_status gcs_service_account_keys(net_chain *c, const gcs_credentials *k, const char *path,
                                   net_keys *out, bw_error *error);
bw_status gcs_user_keys(net_chain *c, const gcs_credentials *k, const char *path, net_keys *out,
                        bw_error *error);
bw_status gcs_external_keys(net_chain *c, const gcs_credentials *k, const char *path, net_keys *out,
                            bw_error *error);

#endif
