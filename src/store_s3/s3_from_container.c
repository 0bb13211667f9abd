// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The endpoint that a container was given: ECS, EKS Pod Identity, Greengrass. */
#include "store_s3/s3_source.h"

#include <stdio.h>
#include <string.h>

#define ECS_ORIGIN "http://169.254.170.2"
#define CONNECT_NS (2 * NS_PER_S)
#define TIMEOUT_NS (5 * NS_PER_S)
#define TRIES 3u
#define URL_BYTES_MAX 2048u

/* Where keys may be asked for without TLS: on this machine, and at the addresses that AWS gives to
 * its agents. Anybody else on the network would get the token, and could hand out keys. */
static bool is_allowed(const uri_origin *origin)
{
    static const char *const agents[] = {"169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};
    if (origin->tls || origin->loopback)
        return true;
    for (size_t i = 0; i < sizeof agents / sizeof agents[0]; i++) {
        if (strcmp(origin->host, agents[i]) == 0)
            return true;
    }
    return false;
}

static bw_status check_url(const char *url, bw_error *error)
{
    uri_origin origin;
    BW_TRY(net_url_origin(url, &origin, error));
    if (!is_allowed(&origin))
        return error_set(error, BW_INVALID,
                         "%.100s: plain http is for this machine, 169.254.170.2, 169.254.170.23 "
                         "and [fd00:ec2::23] only",
                         origin.host);
    return BW_OK;
}

static bw_status find_url(const s3_chain *c, char url[URL_BYTES_MAX], bw_error *error)
{
    const char *relative =
        net_variable(c->net.environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = net_variable(c->net.environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const int size = *relative != '\0' ? snprintf(url, URL_BYTES_MAX, ECS_ORIGIN "%s", relative)
                                       : snprintf(url, URL_BYTES_MAX, "%s", full);
    bw_status status = BW_OK;
    if (size <= 0 || (size_t)size >= URL_BYTES_MAX)
        status = error_set(error, BW_INVALID, "it is too long");
    else if (*relative != '\0' && *relative != '/')
        status = error_set(error, BW_INVALID, "it must begin with a slash");
    else
        status = check_url(url, error);
    if (status != BW_OK)
        error_prefix(error, *relative != '\0' ? "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"
                                              : "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    return status;
}

/* The token is sent as it is; one with a line end would be two headers. */
static bw_status find_token(const s3_chain *c, secret *out, bw_error *error)
{
    const char *path = net_variable(c->net.environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const char *plain = net_variable(c->net.environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
    char *text = NULL;
    size_t size = 0;
    if (*path != '\0') {
        BW_TRY(net_file_read(path, &text, &size, error));
        if (text == NULL)
            return error_set(error, BW_INVALID, "there is no %s", path);
    }
    const char *token = text != NULL ? text : plain;
    size_t length = strlen(token);
    while (text != NULL && length > 0 && strchr("\r\n", token[length - 1]) != NULL)
        length--;
    bw_status status = secret_set(out, token, length);
    if (status != BW_OK)
        (void)error_set(error, status, "the authorization token is too long");
    else if (strpbrk(secret_text(out), "\r\n") != NULL)
        status = error_set(error, BW_INVALID, "the authorization token has line ends");
    net_file_free(text, size);
    return status;
}

static bw_status ask_for(s3_chain *c, const char *url, const secret *token, net_keys *out,
                         bw_error *error)
{
    buf answer;
    net_ask ask = {.what = "the endpoint of the container",
                   .connect_ns = CONNECT_NS,
                   .tries = TRIES,
                   .plain_http = true}; /* the host was looked at */
    http_request *r = &ask.request;
    *r = (http_request){.method = HTTP_GET, .url = url, .no_proxy = true, .timeout_ns = TIMEOUT_NS};
    if (secret_is_set(token))
        r->headers[r->header_count++] = (http_header){"authorization", secret_text(token)};
    bw_status status = http_answer_init(&answer);
    if (status != BW_OK)
        (void)error_set(error, status, "no memory for credentials");
    if (status == BW_OK)
        status = net_chain_ask(&c->net, &ask, &answer, error);
    if (status == BW_OK && r->head.status != 200)
        status = error_set(error, r->head.status >= 500 ? BW_IO : BW_DENIED,
                           "the endpoint of the container answered %d", r->head.status);
    else if (status == BW_OK)
        status = s3_keys_parse(out, answer.data, answer.size, "Token", net_answer_time(r), error);
    http_answer_free(&answer);
    return status;
}

bw_status s3_from_container(net_chain *base, net_keys *out, bw_error *error)
{
    s3_chain *c = s3_chain_of(base);
    char url[URL_BYTES_MAX];
    secret token = {NULL, 0};
    if (*net_variable(c->net.environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") == '\0' &&
        *net_variable(c->net.environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI") == '\0') {
        net_chain_note(&c->net, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and _FULL_URI are not set");
        return BW_OK;
    }
    BW_TRY(find_url(c, url, error));
    (void)snprintf(out->source, sizeof out->source, "the endpoint of the container");
    bw_status status = find_token(c, &token, error);
    if (status == BW_OK)
        status = ask_for(c, url, &token, out, error);
    secret_clear(&token);
    if (status != BW_OK)
        error_prefix(error, "keys of the container");
    return status;
}
