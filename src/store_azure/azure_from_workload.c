// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A token in a file that somebody keeps fresh (Kubernetes does), for one of Microsoft Entra ID. */
#include "store_azure/azure_chain.h"

#include <stdio.h>
#include <string.h>

#define URL_BYTES 1024u

static bw_status find_url(const net_chain *c, char url[URL_BYTES], bw_error *error)
{
    const char *named = net_variable(c->environment, "AZURE_AUTHORITY_HOST");
    const char *host = *named != '\0' ? named : "https://login.microsoftonline.com/";
    const char *tenant = net_variable(c->environment, "AZURE_TENANT_ID");
    static const char legal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.";
    if (strspn(tenant, legal) != strlen(tenant))
        return error_set(error, BW_INVALID, "AZURE_TENANT_ID is no name of a tenant");
    size_t size = strlen(host);
    while (size > 0 && host[size - 1] == '/')
        size--;
    const int written =
        snprintf(url, URL_BYTES, "%.*s/%s/oauth2/v2.0/token", (int)size, host, tenant);
    if (written < 0 || (size_t)written >= URL_BYTES)
        return error_set(error, BW_INVALID, "AZURE_AUTHORITY_HOST or AZURE_TENANT_ID is too long");
    return BW_OK;
}

static bw_status exchange(net_chain *c, const char *client, const secret *assertion, net_keys *out,
                          bw_error *error)
{
    char url[URL_BYTES];
    const uri_parameter form[] = {
        {"client_id", client},
        {"scope", AZURE_RESOURCE ".default"},
        {"client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
        {"client_assertion", secret_text(assertion)},
        {"grant_type", "client_credentials"},
    };
    BW_TRY(find_url(c, url, error));
    net_token_ask ask = {.what = "the token service",
                         .url = url,
                         .form = form,
                         .form_count = sizeof form / sizeof form[0],
                         .hidden = {assertion}};
    return net_token_fetch(c, &ask, out, error);
}

bw_status azure_from_workload(net_chain *c, net_keys *out, bw_error *error)
{
    const char *path = net_variable(c->environment, "AZURE_FEDERATED_TOKEN_FILE");
    const char *client = net_variable(c->environment, "AZURE_CLIENT_ID");
    secret assertion = {NULL, 0};
    if (*path == '\0') {
        net_chain_note(c, "AZURE_FEDERATED_TOKEN_FILE is not set");
        return BW_OK;
    }
    if (*client == '\0' || *net_variable(c->environment, "AZURE_TENANT_ID") == '\0')
        return error_set(error, BW_INVALID,
                         "AZURE_FEDERATED_TOKEN_FILE is set, and AZURE_CLIENT_ID or "
                         "AZURE_TENANT_ID is not");
    (void)snprintf(out->source, sizeof out->source, "the workload identity of client %.120s",
                   client);
    /* Read each time: it is replaced before it ends. */
    bw_status status = net_file_secret(path, &assertion, error);
    if (status == BW_OK)
        status = exchange(c, client, &assertion, out, error);
    secret_clear(&assertion);
    if (status != BW_OK)
        error_prefix(error, "workload identity of client %.120s", client);
    return status;
}
