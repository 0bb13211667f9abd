// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Workload identity federation: a token of somebody else, from a file or a URL, is exchanged for
 * one of Google (RFC 8693), and that for one of a service account where the file says so. */
#include "store_gcs/gcs_chain.h"

#include "http/jsonmembers.h"

#include <stdio.h>
#include <string.h>

#define CONNECT_NS (5 * NS_PER_S)
#define TIMEOUT_NS (15 * NS_PER_S)
#define TRIES 3u

/* ---- the subject's token ---- */

typedef struct reading {
    const char *field;
    secret *token;
} reading;

static bw_status on_member(void *context, const char *path, const char *text, size_t size)
{
    const reading *r = context;
    return strcmp(path, r->field) == 0 ? secret_set(r->token, text, size) : BW_OK;
}

static bw_status read_subject(const gcs_credentials *k, const char *text, size_t size, secret *out,
                              bw_error *error)
{
    const char *bad = "";
    const reading r = {k->field, out};
    bw_status status = BW_OK;
    if (strcmp(k->format, "json") == 0) {
        status = jsonmembers_each(text, size, on_member, (void *)(uintptr_t)&r, &bad);
        if (status != BW_OK)
            return error_set(error, status, "the subject's token is in no JSON object: %s", bad);
    } else {
        while (size > 0 && strchr(" \t\r\n", text[size - 1]) != NULL)
            size--;
        status = secret_set(out, text, size);
    }
    if (status != BW_OK)
        return error_set(error, status, "the subject's token is too long, or there is no memory");
    if (!secret_is_set(out))
        return error_set(error, BW_INVALID, "there is no subject's token");
    return BW_OK;
}

static bw_status subject_of_file(const gcs_credentials *k, secret *out, bw_error *error)
{
    char *text = NULL;
    size_t size = 0;
    bw_status status = net_file_read(k->source_file, &text, &size, error);
    if (status == BW_OK && text == NULL)
        status = error_set(error, BW_INVALID, "there is no %.300s", k->source_file);
    else if (status == BW_OK)
        status = read_subject(k, text, strlen(text), out, error);
    net_file_free(text, size);
    return status;
}

/* Without TLS at this machine alone, and at the link's addresses, where metadata services are. */
static bw_status set_ask(const net_chain *c, const gcs_credentials *k, net_ask *ask,
                         bw_error *error)
{
    uri_origin origin;
    BW_TRY(net_url_origin(k->source_url, &origin, error));
    const bool local = net_is_link_local(&origin);
    if (!origin.tls && !origin.loopback && !local && !c->plain_http)
        return error_set(error, BW_INVALID,
                         "%.120s: tokens do not travel over plain http to another machine",
                         origin.host);
    *ask = (net_ask){.what = "the service of the subject's token",
                     .request = {.method = HTTP_GET,
                                 .url = k->source_url,
                                 .no_proxy = local,
                                 .timeout_ns = TIMEOUT_NS},
                     .connect_ns = CONNECT_NS,
                     .tries = TRIES,
                     .plain_http = local || c->plain_http};
    for (size_t i = 0; i < k->header_count; i++)
        ask->request.headers[ask->request.header_count++] =
            (http_header){k->header_names[i], secret_text(&k->header_values[i])};
    return BW_OK;
}

static bw_status subject_of_url(net_chain *c, const gcs_credentials *k, secret *out,
                                bw_error *error)
{
    net_ask ask;
    buf answer;
    BW_TRY(set_ask(c, k, &ask, error));
    bw_status status = http_answer_init(&answer);
    if (status != BW_OK)
        (void)error_set(error, status, "no memory for a token");
    else
        status = net_chain_ask(c, &ask, &answer, error);
    const int answered = ask.request.head.status;
    if (status == BW_OK && answered != 200)
        status = error_set(error, answered == 429 || answered >= 500 ? BW_IO : BW_DENIED,
                           "%s answered %d", ask.what, answered);
    else if (status == BW_OK)
        status = read_subject(k, (const char *)answer.data, answer.size, out, error);
    http_answer_free(&answer);
    return status;
}

/* ---- what it is exchanged for ---- */

static bw_status exchange(net_chain *c, const gcs_credentials *k, const secret *subject,
                          net_keys *out, bw_error *error)
{
    const uri_parameter form[] = {
        {"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
        {"audience", k->audience},
        {"scope", k->impersonation_url[0] != '\0' ? GCS_SCOPE_ALL : GCS_SCOPE},
        {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
        {"subject_token", secret_text(subject)},
        {"subject_token_type", k->subject_type},
    };
    net_token_ask ask = {.what = "the token service",
                         .url = k->token_url,
                         .form = form,
                         .form_count = sizeof form / sizeof form[0],
                         .hidden = {subject}};
    return net_token_fetch(c, &ask, out, error);
}

static bw_status impersonate(net_chain *c, const gcs_credentials *k, const secret *federated,
                             net_keys *out, bw_error *error)
{
    char body[256];
    const char *life = k->lifetime_s[0] != '\0' ? k->lifetime_s : "3600";
    (void)snprintf(body, sizeof body, "{\"scope\":[\"" GCS_SCOPE "\"],\"lifetime\":\"%.15ss\"}",
                   life);
    net_token_ask ask = {.what = "the service of service accounts",
                         .url = k->impersonation_url,
                         .headers = {{"authorization", secret_text(federated)}},
                         .header_count = 1,
                         .json = body,
                         .hidden = {federated}};
    return net_token_fetch(c, &ask, out, error);
}

/* ---- all of it ---- */

static bw_status check(const gcs_credentials *k, bw_error *error)
{
    if (k->source_aws[0] != '\0')
        return error_set(error, BW_UNSUPPORTED,
                         "a subject's token signed by AWS is not supported; one of a file or a "
                         "URL is");
    if (k->source_command[0] != '\0')
        return error_set(error, BW_UNSUPPORTED,
                         "a program that hands out the subject's token is not supported; let it "
                         "write a file");
    if (k->workforce_project[0] != '\0' || secret_is_set(&k->client_secret))
        return error_set(error, BW_UNSUPPORTED,
                         "workforce pools, and clients with a secret, are not supported");
    if (k->audience[0] == '\0' || k->subject_type[0] == '\0' || k->token_url[0] == '\0')
        return error_set(error, BW_INVALID,
                         "audience, subject_token_type or token_url is not there");
    if ((k->source_file[0] == '\0') == (k->source_url[0] == '\0'))
        return error_set(error, BW_INVALID, "credential_source has neither file nor url, or both");
    const bool is_json = strcmp(k->format, "json") == 0;
    if ((!is_json && k->format[0] != '\0' && strcmp(k->format, "text") != 0) ||
        (is_json && k->field[0] == '\0'))
        return error_set(error, BW_INVALID,
                         "the format of credential_source is neither text nor json with a "
                         "subject_token_field_name");
    if (strspn(k->lifetime_s, "0123456789") != strlen(k->lifetime_s))
        return error_set(error, BW_INVALID, "token_lifetime_seconds is no number");
    return BW_OK;
}

/* …/serviceAccounts/NAME:generateAccessToken */
static void name_source(const gcs_credentials *k, const char *path, net_keys *out)
{
    const char *name = strrchr(k->impersonation_url, '/');
    const int size = name != NULL ? (int)strcspn(name + 1, ":?") : 0;
    if (size > 0)
        (void)snprintf(out->source, sizeof out->source,
                       "service account %.*s by the workload identity of %.100s",
                       size < 100 ? size : 100, name + 1, path);
    else
        (void)snprintf(out->source, sizeof out->source, "the workload identity of %.200s", path);
}

bw_status gcs_external_keys(net_chain *c, const gcs_credentials *k, const char *path, net_keys *out,
                            bw_error *error)
{
    secret subject = {NULL, 0};
    net_keys federated = {.expires_ns = 0};
    name_source(k, path, out);
    bw_status status = check(k, error);
    if (status == BW_OK)
        status = k->source_file[0] != '\0' ? subject_of_file(k, &subject, error)
                                           : subject_of_url(c, k, &subject, error);
    const bool is_last = k->impersonation_url[0] == '\0';
    if (status == BW_OK)
        status = exchange(c, k, &subject, is_last ? out : &federated, error);
    if (status == BW_OK && !is_last)
        status = impersonate(c, k, &federated.token, out, error);
    secret_clear(&subject);
    net_keys_clear(&federated);
    return status;
}
