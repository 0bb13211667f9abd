// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Files of credentials, as Google's tools write them: a JSON object, of several types. */
#ifndef STORE_GCS_GCS_CREDENTIALS_H
#define STORE_GCS_GCS_CREDENTIALS_H

#include "http/http_client.h"
#include "store_net/net_file.h"
#include "store_net/net_keys.h"

#define GCS_URL_MAX 1024u
#define GCS_SOURCE_HEADERS_MAX 4u

/** "" and not set: not said. */
typedef struct gcs_credentials {
    char type[64];
    char domain[128]; /* universe_domain */

    /* service_account */
    char email[NET_TEXT_MAX];
    char key_id[128];
    secret private_key; /* PEM */
    char token_uri[GCS_URL_MAX];

    /* authorized_user */
    char client_id[NET_TEXT_MAX];
    secret client_secret, refresh_token;

    /* external_account */
    char audience[GCS_URL_MAX];
    char subject_type[NET_TEXT_MAX];
    char token_url[GCS_URL_MAX];
    char impersonation_url[GCS_URL_MAX];
    char lifetime_s[16];
    char workforce_project[128];
    char source_file[NET_PATH_MAX]; /* of the subject's token */
    char source_url[GCS_URL_MAX];
    char source_aws[64];
    char source_command[NET_PATH_MAX];
    char format[16]; /* text, json */
    char field[128]; /* of the JSON */
    size_t header_count;
    char header_names[GCS_SOURCE_HEADERS_MAX][64];
    secret header_values[GCS_SOURCE_HEADERS_MAX];
} gcs_credentials;

/** BW_CORRUPT when it is none: no JSON, a text that is too long or that no request can have;
 * BW_NOMEM. Clear it whatever is returned. No text of it is in the error. */
bw_status gcs_credentials_parse(gcs_credentials *k, const void *json, size_t size, bw_error *error);
void gcs_credentials_clear(gcs_credentials *k);

#endif
