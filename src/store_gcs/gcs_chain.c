// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_gcs/gcs_chain.h"

#include <stdio.h>

static const net_source_fn rows[] = {
    gcs_from_variable, gcs_from_named_file, gcs_from_usual_file, gcs_from_hmac, gcs_from_metadata,
};

static const net_sources sources = {
    .rows = rows,
    .count = sizeof rows / sizeof rows[0],
    .what = "token for Google Cloud Storage",
    .advice = "Run gcloud auth application-default login, or name a file of credentials by "
              "GOOGLE_APPLICATION_CREDENTIALS",
};

net_chain *gcs_chain_new(net_environment *environment)
{
    return net_chain_new(sizeof(net_chain), &sources, environment);
}

bw_status gcs_from_variable(net_chain *c, net_keys *out, bw_error *error)
{
    const char *token = net_variable(c->environment, "GOOGLE_OAUTH_ACCESS_TOKEN");
    if (*token == '\0') {
        net_chain_note(c, "GOOGLE_OAUTH_ACCESS_TOKEN is not set");
        return BW_OK;
    }
    out->kind = NET_KEYS_FIXED;
    (void)snprintf(out->source, sizeof out->source, "GOOGLE_OAUTH_ACCESS_TOKEN");
    bw_status status = net_keys_set_bearer(out, token, error);
    if (status == BW_CORRUPT)
        status = error_set(error, BW_INVALID,
                           "GOOGLE_OAUTH_ACCESS_TOKEN has blanks, line ends or bytes that are not "
                           "ASCII");
    return status;
}

/* They sign requests to the XML API alone, and it has none of the conditions that a create needs
 * under the names that S3 gives them. */
bw_status gcs_from_hmac(net_chain *c, net_keys *out, bw_error *error)
{
    (void)out;
    if (*net_variable(c->environment, "GS_ACCESS_KEY_ID") == '\0')
        return BW_OK;
    return error_set(error, BW_UNSUPPORTED,
                     "GS_ACCESS_KEY_ID is set: HMAC keys sign the XML API, and the JSON API is "
                     "what is spoken here; use a service account (GOOGLE_APPLICATION_CREDENTIALS)");
}
