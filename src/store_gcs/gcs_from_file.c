// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A file of credentials: one that is named, or the one that gcloud writes. */
#include "store_gcs/gcs_chain.h"

#include "base/alloc.h"
#include <stdio.h>
#include <string.h>

#define DOMAIN_USUAL "googleapis.com"

typedef bw_status (*keys_fn)(net_chain *c, const gcs_credentials *k, const char *path,
                             net_keys *out, bw_error *error);

static const struct {
    const char *type;
    keys_fn keys;
} types[] = {
    {"service_account", gcs_service_account_keys},
    {"authorized_user", gcs_user_keys},
    {"external_account", gcs_external_keys},
};

static bw_status keys_of(net_chain *c, const gcs_credentials *k, const char *path, net_keys *out,
                         bw_error *error)
{
    if (k->domain[0] != '\0' && strcmp(k->domain, DOMAIN_USUAL) != 0)
        return error_set(error, BW_UNSUPPORTED, "universe_domain %s is not supported", k->domain);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(k->type, types[i].type) == 0)
            return types[i].keys(c, k, path, out, error);
    }
    return error_set(error, BW_UNSUPPORTED,
                     "credentials of type \"%s\" are not supported; service_account, "
                     "authorized_user and external_account are",
                     k->type);
}

/* Read each time: keys are replaced. */
static bw_status file_keys(net_chain *c, const char *path, const char *text, size_t size,
                           net_keys *out, bw_error *error)
{
    gcs_credentials *k = mem_zalloc(sizeof *k);
    bw_status status = k != NULL ? gcs_credentials_parse(k, text, size, error)
                                 : error_set(error, BW_NOMEM, "no memory for credentials");
    if (status == BW_OK)
        status = keys_of(c, k, path, out, error);
    if (k != NULL)
        gcs_credentials_clear(k);
    mem_free(k);
    if (status != BW_OK)
        error_prefix(error, "credentials of %.300s", path);
    return status;
}

static bw_status try_file(net_chain *c, const char *path, bool *found, net_keys *out,
                          bw_error *error)
{
    char *text = NULL;
    size_t size = 0;
    BW_TRY(net_file_read(path, &text, &size, error));
    *found = text != NULL;
    const bw_status status =
        text != NULL ? file_keys(c, path, text, strlen(text), out, error) : BW_OK;
    net_file_free(text, size);
    return status;
}

bw_status gcs_from_named_file(net_chain *c, net_keys *out, bw_error *error)
{
    const char *path = net_variable(c->environment, "GOOGLE_APPLICATION_CREDENTIALS");
    bool found = false;
    if (*path == '\0') {
        net_chain_note(c, "GOOGLE_APPLICATION_CREDENTIALS is not set");
        return BW_OK;
    }
    bw_status status = try_file(c, path, &found, out, error);
    if (status == BW_OK && !found)
        status = error_set(error, BW_INVALID,
                           "there is no %.300s, which GOOGLE_APPLICATION_CREDENTIALS names", path);
    return status;
}

bw_status gcs_from_usual_file(net_chain *c, net_keys *out, bw_error *error)
{
    static const char name[] = "application_default_credentials.json";
    char path[NET_PATH_MAX];
    bool found = false;
    const char *folder = net_variable(c->environment, "CLOUDSDK_CONFIG");
    const char *home = net_variable(c->environment, "HOME");
    const int size = *folder != '\0'
                         ? snprintf(path, sizeof path, "%s/%s", folder, name)
                         : snprintf(path, sizeof path, "%s/.config/gcloud/%s", home, name);
    if ((*folder == '\0' && *home == '\0') || size < 0 || (size_t)size >= sizeof path) {
        net_chain_note(c, "neither CLOUDSDK_CONFIG nor HOME says where gcloud keeps credentials");
        return BW_OK;
    }
    const bw_status status = try_file(c, path, &found, out, error);
    if (status == BW_OK && !found)
        net_chain_note(c, "there is no %.200s", path);
    return status;
}

bw_status gcs_user_keys(net_chain *c, const gcs_credentials *k, const char *path, net_keys *out,
                        bw_error *error)
{
    const uri_parameter form[] = {
        {"grant_type", "refresh_token"},
        {"client_id", k->client_id},
        {"client_secret", secret_text(&k->client_secret)},
        {"refresh_token", secret_text(&k->refresh_token)},
    };
    net_token_ask ask = {.what = "the token service",
                         .url = k->token_uri[0] != '\0' ? k->token_uri : GCS_TOKEN_URL,
                         .form = form,
                         .form_count = sizeof form / sizeof form[0],
                         .hidden = {&k->client_secret, &k->refresh_token}};
    (void)snprintf(out->source, sizeof out->source, "the user of %.200s", path);
    if (k->client_id[0] == '\0' || !secret_is_set(&k->client_secret) ||
        !secret_is_set(&k->refresh_token))
        return error_set(error, BW_INVALID,
                         "client_id, client_secret or refresh_token is not there");
    return net_token_fetch(c, &ask, out, error);
}
