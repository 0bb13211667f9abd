// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A service account that signs for itself: RFC 7523. */
#include "store_gcs/gcs_chain.h"

#include "http/jwt.h"

#include <inttypes.h>
#include <stdio.h>

#define LIFE_S 3600

static bw_status sign(const net_chain *c, const gcs_credentials *k, const char *url, secret *out,
                      bw_error *error)
{
    char claims[2 * GCS_URL_MAX];
    const int64_t now_s = net_chain_time(c) / 1000;
    (void)snprintf(claims, sizeof claims,
                   "{\"iss\":\"%s\",\"scope\":\"" GCS_SCOPE "\",\"aud\":\"%s\",\"iat\":%" PRId64
                   ",\"exp\":%" PRId64 "}",
                   k->email, url, now_s, now_s + LIFE_S);
    return jwt_sign(&k->private_key, k->key_id, claims, out, error);
}

static bw_status exchange(net_chain *c, const char *url, const secret *assertion, http_head *head,
                          net_keys *out, bw_error *error)
{
    const uri_parameter form[] = {
        {"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
        {"assertion", secret_text(assertion)},
    };
    net_token_ask ask = {.what = "the token service",
                         .url = url,
                         .form = form,
                         .form_count = sizeof form / sizeof form[0],
                         .hidden = {assertion}};
    const bw_status status = net_token_fetch(c, &ask, out, error);
    *head = ask.head;
    return status;
}

bw_status gcs_service_account_keys(net_chain *c, const gcs_credentials *k, const char *path,
                                   net_keys *out, bw_error *error)
{
    const char *url = k->token_uri[0] != '\0' ? k->token_uri : GCS_TOKEN_URL;
    secret assertion = {NULL, 0};
    http_head head = {.status = 0};
    bw_status status = BW_OK;
    (void)snprintf(out->source, sizeof out->source, "service account %.100s of %.120s", k->email,
                   path);
    if (k->email[0] == '\0' || !secret_is_set(&k->private_key))
        return error_set(error, BW_INVALID, "client_email or private_key is not there");
    for (int round = 0; round < 2; round++) {
        status = sign(c, k, url, &assertion, error);
        if (status == BW_OK)
            status = exchange(c, url, &assertion, &head, out, error);
        /* What it says may be for want of a clock that is right. */
        if (status != BW_DENIED || !net_learn_skew(c, &head))
            break;
    }
    secret_clear(&assertion);
    return status;
}
