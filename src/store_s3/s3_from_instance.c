// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * The metadata service of an EC2 instance, version 2 alone: a token is asked for by PUT, which
 * neither a forged redirect nor an open proxy passes on. Version 1 is not tried, whatever it says.
 */
#include "store_s3/s3_source.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define ROLES "/latest/meta-data/iam/security-credentials/"
/* Most machines are no instance, and have nobody at that address. */
#define CONNECT_NS NS_PER_S
#define TIMEOUT_NS (2 * NS_PER_S)
#define TRIES 3u
#define NAME_BYTES 128u

static bw_status find_origin(const s3_chain *c, char *origin, size_t capacity, bw_error *error)
{
    uri_origin parts;
    const char *named = net_variable(c->net.environment, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
    const char *mode = net_variable(c->net.environment, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
    const char *usual =
        strcasecmp(mode, "ipv6") == 0 ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
    const int size = snprintf(origin, capacity, "%s", *named != '\0' ? named : usual);
    if (size < 0 || (size_t)size >= capacity)
        return error_set(error, BW_INVALID, "AWS_EC2_METADATA_SERVICE_ENDPOINT is too long");
    if (size > 0 && origin[size - 1] == '/')
        origin[size - 1] = '\0';
    const bw_status status = uri_parse_origin(origin, &parts, error);
    if (status != BW_OK)
        error_prefix(error, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
    return status;
}

/* One request; `answer` is a text then. */
static bw_status ask_for(s3_chain *c, http_method method, const char *url, const char *header,
                         const char *value, uint32_t tries, http_head *head, buf *answer,
                         bw_error *error)
{
    net_ask ask = {.what = "the metadata service of the instance",
                   .connect_ns = CONNECT_NS,
                   .tries = tries,
                   .plain_http = true};
    ask.request = (http_request){.method = method,
                                 .url = url,
                                 .headers = {{header, value}},
                                 .header_count = 1,
                                 .no_proxy = true,
                                 .timeout_ns = TIMEOUT_NS};
    BW_TRY(net_chain_ask(&c->net, &ask, answer, error));
    *head = ask.request.head;
    head->date_ms = net_answer_time(&ask.request);
    return BW_OK;
}

/* The first line of it: one word. */
static bool take_word(buf *answer, char *to, size_t capacity)
{
    const char *text = buf_text(answer);
    const size_t size = strcspn(text, "\r\n");
    for (size_t i = 0; i < size; i++) {
        if (text[i] <= ' ' || text[i] >= 127)
            return false;
    }
    if (size == 0 || size >= capacity)
        return false;
    memcpy(to, text, size);
    to[size] = '\0';
    return true;
}

/* BW_OK without a token: this is no instance. */
static bw_status take_token(s3_chain *c, const char *origin, buf *answer, secret *token,
                            bw_error *error)
{
    char url[NET_TEXT_MAX + 64];
    char text[1024];
    http_head head;
    bw_error why = {.code = BW_OK};
    (void)snprintf(url, sizeof url, "%.255s/latest/api/token", origin);
    const bw_status status = ask_for(c, HTTP_PUT, url, "x-aws-ec2-metadata-token-ttl-seconds",
                                     "21600", 1, &head, answer, &why);
    if (status == BW_INTERRUPTED || status == BW_NOMEM) {
        error_copy(error, &why);
        return status;
    }
    if (status != BW_OK) {
        /* A token's answer may not pass a router more than the instance says: one. */
        net_chain_note(&c->net,
                       "%.160s (in a container on EC2: raise the hop limit of the instance's "
                       "metadata to 2)",
                       why.message);
        return BW_OK;
    }
    if (head.status != 200 || !take_word(answer, text, sizeof text)) {
        net_chain_note(&c->net, "the metadata service gave no token of version 2: it answered %d",
                       head.status);
        return BW_OK;
    }
    const bw_status kept = secret_set(token, text, strlen(text));
    secret_wipe(text, sizeof text);
    return kept == BW_OK ? BW_OK : error_set(error, kept, "no memory for credentials");
}

static bw_status take_keys(s3_chain *c, const char *origin, const secret *token, buf *answer,
                           net_keys *out, bw_error *error)
{
    static const char header[] = "x-aws-ec2-metadata-token";
    char url[NET_TEXT_MAX + sizeof ROLES + 3 * NAME_BYTES];
    char role[NAME_BYTES];
    http_head head;
    buf path;
    (void)snprintf(url, sizeof url, "%.255s" ROLES, origin);
    BW_TRY(ask_for(c, HTTP_GET, url, header, secret_text(token), TRIES, &head, answer, error));
    if (head.status == 404) {
        net_chain_note(&c->net, "the instance has no role: attach an instance profile");
        return BW_OK;
    }
    if (head.status != 200 || !take_word(answer, role, sizeof role))
        return error_set(error, BW_DENIED, "the role of the instance: answered %d", head.status);
    buf_init(&path, 3 * NAME_BYTES);
    uri_encode(&path, role, strlen(role), false);
    (void)snprintf(url, sizeof url, "%.255s" ROLES "%s", origin, buf_text(&path));
    const bw_status built = buf_status(&path);
    buf_free(&path);
    if (built != BW_OK)
        return error_set(error, built, "no memory for credentials");
    BW_TRY(ask_for(c, HTTP_GET, url, header, secret_text(token), TRIES, &head, answer, error));
    if (head.status != 200)
        return error_set(error, head.status >= 500 ? BW_IO : BW_DENIED,
                         "the keys of the instance: answered %d", head.status);
    (void)snprintf(out->source, sizeof out->source, "role %.120s of the EC2 instance", role);
    return s3_keys_parse(out, answer->data, answer->size, "Token", head.date_ms, error);
}

bw_status s3_from_instance(net_chain *base, net_keys *out, bw_error *error)
{
    s3_chain *c = s3_chain_of(base);
    char origin[NET_TEXT_MAX];
    secret token = {NULL, 0};
    buf answer;
    if (strcasecmp(net_variable(c->net.environment, "AWS_EC2_METADATA_DISABLED"), "true") == 0) {
        net_chain_note(&c->net, "AWS_EC2_METADATA_DISABLED is true");
        return BW_OK;
    }
    BW_TRY(find_origin(c, origin, sizeof origin, error));
    bw_status status = http_answer_init(&answer);
    if (status != BW_OK)
        (void)error_set(error, status, "no memory for credentials");
    if (status == BW_OK)
        status = take_token(c, origin, &answer, &token, error);
    if (status == BW_OK && secret_is_set(&token)) {
        status = take_keys(c, origin, &token, &answer, out, error);
        if (status != BW_OK)
            error_prefix(error, "keys of the EC2 instance");
    }
    secret_clear(&token);
    http_answer_free(&answer);
    return status;
}
