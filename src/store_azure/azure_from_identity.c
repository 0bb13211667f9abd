// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Managed identity: the endpoint that App Service, Functions and Container Apps give to a program,
 * and the metadata service of virtual machines. Neither is ever asked by a proxy. */
#include "store_azure/azure_chain.h"

#include <stdio.h>
#include <string.h>

#define URL_BYTES 2048u

/* …?api-version=…&resource=…&client_id=… */
static bw_status find_url(const net_chain *c, const char *endpoint, const char *version,
                          char url[URL_BYTES], bw_error *error)
{
    const uri_parameter all[] = {
        {"api-version", version},
        {"resource", AZURE_RESOURCE},
        {"client_id", net_variable(c->environment, "AZURE_CLIENT_ID")},
    };
    buf query;
    BW_TRY(net_form(all, sizeof all / sizeof all[0], &query, error));
    const int size = snprintf(url, URL_BYTES, "%s%c%s", endpoint,
                              strchr(endpoint, '?') != NULL ? '&' : '?', buf_text(&query));
    buf_free(&query);
    if (size < 0 || (size_t)size >= URL_BYTES)
        return error_set(error, BW_INVALID, "the endpoint or AZURE_CLIENT_ID is too long");
    return BW_OK;
}

static void name_source(const net_chain *c, const char *of, net_keys *out)
{
    const char *client = net_variable(c->environment, "AZURE_CLIENT_ID");
    (void)snprintf(out->source, sizeof out->source, "the managed identity%s%.100s of %s",
                   *client != '\0' ? " " : "", client, of);
}

/* ---- App Service ---- */

/* The header is a secret: nobody but who is on this machine, or its host, gets it without TLS. */
static bw_status check_endpoint(const char *endpoint, bw_error *error)
{
    uri_origin origin;
    BW_TRY(net_url_origin(endpoint, &origin, error));
    if (!origin.tls && !origin.loopback && !net_is_link_local(&origin))
        return error_set(error, BW_INVALID,
                         "%.120s: plain http is for this machine and 169.254.0.0/16 only",
                         origin.host);
    return BW_OK;
}

static bw_status ask_service(net_chain *c, const char *endpoint, const secret *header,
                             net_keys *out, bw_error *error)
{
    char url[URL_BYTES];
    BW_TRY(check_endpoint(endpoint, error));
    BW_TRY(find_url(c, endpoint, "2019-08-01", url, error));
    if (!net_is_plain(secret_text(header)))
        return error_set(error, BW_INVALID, "IDENTITY_HEADER is none");
    net_token_ask ask = {.what = "IDENTITY_ENDPOINT",
                         .url = url,
                         .headers = {{"x-identity-header", secret_text(header)}},
                         .header_count = 1,
                         .hidden = {header},
                         .metadata = true};
    return net_token_fetch(c, &ask, out, error);
}

bw_status azure_from_service(net_chain *c, net_keys *out, bw_error *error)
{
    const char *endpoint = net_variable(c->environment, "IDENTITY_ENDPOINT");
    const char *text = net_variable(c->environment, "IDENTITY_HEADER");
    secret header = {NULL, 0};
    if (*endpoint == '\0') {
        net_chain_note(c, "IDENTITY_ENDPOINT is not set");
        return BW_OK;
    }
    if (*text == '\0' || *net_variable(c->environment, "IDENTITY_SERVER_THUMBPRINT") != '\0')
        return error_set(error, BW_UNSUPPORTED,
                         "IDENTITY_ENDPOINT is not App Service's: managed identity of Azure Arc "
                         "and Service Fabric is not supported");
    name_source(c, "App Service", out);
    bw_status status = secret_set(&header, text, strlen(text));
    if (status != BW_OK)
        (void)error_set(error, status, "no memory for IDENTITY_HEADER, or it is too long");
    else
        status = ask_service(c, endpoint, &header, out, error);
    secret_clear(&header);
    if (status != BW_OK)
        error_prefix(error, "managed identity");
    return status;
}

/* ---- virtual machines ---- */

bw_status azure_from_machine(net_chain *c, net_keys *out, bw_error *error)
{
    char endpoint[NET_TEXT_MAX + 64];
    char url[URL_BYTES];
    bw_error why = {.code = BW_OK};
    const char *named = net_variable(c->environment, "AZURE_POD_IDENTITY_AUTHORITY_HOST");
    const char *host = *named != '\0' ? named : "http://169.254.169.254";
    if (strlen(host) >= NET_TEXT_MAX)
        return error_set(error, BW_INVALID, "AZURE_POD_IDENTITY_AUTHORITY_HOST is too long");
    const int host_size = (int)strlen(host) - (host[strlen(host) - 1] == '/');
    (void)snprintf(endpoint, sizeof endpoint, "%.*s/metadata/identity/oauth2/token", host_size,
                   host);
    BW_TRY(find_url(c, endpoint, "2018-02-01", url, error));
    net_token_ask ask = {.what = "the metadata service",
                         .url = url,
                         .headers = {{"metadata", "true"}},
                         .header_count = 1,
                         .metadata = true};
    name_source(c, "the machine", out);
    const bw_status status = net_token_fetch(c, &ask, out, &why);
    /* Other clouds have somebody at that address, too, and most machines no identity. */
    if (ask.absent || status == BW_DENIED)
        net_chain_note(c, "%.160s", why.message);
    else if (status != BW_OK)
        return error_set(error, status, "managed identity: %s", why.message);
    return BW_OK;
}
