// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The metadata service of Google's machines and clusters. Other clouds have one at the same
 * address: only an answer that says that it is Google's counts. */
#include "store_gcs/gcs_chain.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define ACCOUNT "/computeMetadata/v1/instance/service-accounts/default/"
#define CONNECT_NS NS_PER_S
#define TIMEOUT_NS (5 * NS_PER_S)

/* The name is nice to have, and no more. */
static bw_status find_name(net_chain *c, const char *host, char *name, size_t capacity,
                           bw_error *error)
{
    char url[NET_TEXT_MAX + 128];
    buf answer;
    net_ask ask = {
        .what = "the metadata service", .connect_ns = CONNECT_NS, .tries = 1, .plain_http = true};
    ask.request = (http_request){.method = HTTP_GET,
                                 .url = url,
                                 .headers = {{"metadata-flavor", "Google"}},
                                 .header_count = 1,
                                 .no_proxy = true,
                                 .timeout_ns = TIMEOUT_NS};
    (void)snprintf(url, sizeof url, "http://%.255s" ACCOUNT "email", host);
    *name = '\0';
    bw_status status = http_answer_init(&answer);
    if (status != BW_OK)
        (void)error_set(error, status, "no memory for a token");
    else
        status = net_chain_ask(c, &ask, &answer, error);
    if (status == BW_OK && ask.request.head.status == 200) {
        const char *text = buf_text(&answer);
        const size_t size = strcspn(text, "\r\n");
        if (size < capacity && net_is_plain(text))
            memcpy(name, text, size + 1);
    }
    http_answer_free(&answer);
    return status == BW_INTERRUPTED || status == BW_NOMEM ? status : BW_OK;
}

/* BW_OK without a token: nobody is there, or somebody else, or there is no account. */
static bw_status find_token(net_chain *c, const char *host, net_keys *out, bw_error *error)
{
    char url[NET_TEXT_MAX + 128];
    bw_error why = {.code = BW_OK};
    net_token_ask ask = {.what = "the metadata service",
                         .url = url,
                         .headers = {{"metadata-flavor", "Google"}},
                         .header_count = 1,
                         .metadata = true};
    (void)snprintf(url, sizeof url, "http://%.255s" ACCOUNT "token", host);
    const bw_status status = net_token_fetch(c, &ask, out, &why);
    if (ask.absent)
        net_chain_note(c, "%.160s", why.message);
    else if (ask.head.status != 0 && !ask.head.is_google)
        net_chain_note(c, "who answers at %.100s is not Google's metadata service", host);
    else if (ask.head.status == 404)
        net_chain_note(c, "the machine has no service account");
    else if (status != BW_OK)
        return error_set(error, status, "token of the machine: %s", why.message);
    else
        return BW_OK;
    secret_clear(&out->token);
    return BW_OK;
}

bw_status gcs_from_metadata(net_chain *c, net_keys *out, bw_error *error)
{
    char name[128];
    const char *named = net_variable(c->environment, "GCE_METADATA_HOST");
    const char *host = *named != '\0' ? named : "169.254.169.254";
    if (strcasecmp(net_variable(c->environment, "NO_GCE_CHECK"), "true") == 0) {
        net_chain_note(c, "NO_GCE_CHECK is true");
        return BW_OK;
    }
    if (strlen(host) > 255 || !net_is_plain(host) || strpbrk(host, "/@?#\\") != NULL)
        return error_set(error, BW_INVALID, "GCE_METADATA_HOST is no host, or host:port");
    BW_TRY(find_token(c, host, out, error));
    if (!secret_is_set(&out->token))
        return BW_OK;
    BW_TRY(find_name(c, host, name, sizeof name, error));
    (void)snprintf(out->source, sizeof out->source, "service account %.120s of the machine",
                   name[0] != '\0' ? name : "(default)");
    return BW_OK;
}
