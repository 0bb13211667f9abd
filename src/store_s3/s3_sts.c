// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The security token service: a form that is posted, signed or not, and XML that comes back. */
#include "base/hash.h"
#include "http/sigv4.h"
#include "http/xml.h"
#include "store_s3/s3_source.h"

#include <stdio.h>
#include <string.h>

#define CONNECT_NS (5 * NS_PER_S)
#define TIMEOUT_NS (15 * NS_PER_S)
#define TRIES 3u
#define FORM_TYPE "application/x-www-form-urlencoded"

/* ---- the answer ---- */

typedef struct reading {
    const s3_sts *call;
    char key_id[NET_TEXT_MAX];
    secret key, token;
    char expiration[64];
    char code[64];
    char message[200];
} reading;

/* Printable ASCII from the start on: behind the first line of a message is what was signed, with
 * the token in it. */
static void copy_line(char *to, size_t capacity, const char *from)
{
    size_t size = 0;
    for (; *from >= ' ' && *from < 127 && size + 1 < capacity; from++)
        to[size++] = *from;
    to[size] = '\0';
}

static bool shows(const char *text, const secret *s)
{
    const size_t size = strcspn(text, "\r\n");
    return s != NULL && secret_is_set(s) && memmem(text, size, secret_text(s), s->size) != NULL;
}

static bool is_bare(const s3_sts *call, const char *text)
{
    return shows(text, call->hidden) ||
           (call->signer != NULL &&
            (shows(text, &call->signer->token) || shows(text, &call->signer->key)));
}

static bw_status on_element(void *context, const char *path, const char *text)
{
    reading *r = context;
    const char *name = strrchr(path, '/');
    if (name == NULL)
        return BW_OK;
    if (strstr(path, "Result/Credentials/") != NULL) {
        if (strcmp(name, "/AccessKeyId") == 0)
            copy_line(r->key_id, sizeof r->key_id, text);
        else if (strcmp(name, "/SecretAccessKey") == 0)
            return secret_set(&r->key, text, strlen(text));
        else if (strcmp(name, "/SessionToken") == 0)
            return secret_set(&r->token, text, strlen(text));
        else if (strcmp(name, "/Expiration") == 0)
            copy_line(r->expiration, sizeof r->expiration, text);
    } else if (strstr(path, "/Error/") != NULL) {
        if (strcmp(name, "/Code") == 0)
            copy_line(r->code, sizeof r->code, text);
        else if (strcmp(name, "/Message") == 0 && !is_bare(r->call, text))
            copy_line(r->message, sizeof r->message, text);
    }
    return BW_OK;
}

/* What can be read of it: half an error still says its code. BW_NOMEM, or BW_OK. */
static bw_status read_answer(const buf *answer, reading *r)
{
    xml *reader = NULL;
    BW_TRY(xml_new(HTTP_ANSWER_BYTES_MAX, on_element, r, &reader));
    const bw_status status = xml_feed(reader, answer->data, answer->size);
    xml_free(reader);
    return status == BW_NOMEM ? BW_NOMEM : BW_OK;
}

static bw_status take_keys(const s3_sts *call, reading *r, const http_request *request,
                           net_keys *out, bw_error *error)
{
    if (request->head.status == 200 && secret_is_set(&r->key) && secret_is_set(&r->token) &&
        r->key_id[0] != '\0') {
        BW_TRY(s3_keys_set_end(out, r->expiration, net_answer_time(request), error));
        return s3_keys_set(out, r->key_id, secret_text(&r->key), secret_text(&r->token), error);
    }
    if (request->head.status == 200)
        return error_set(error, BW_CORRUPT, "%s: the answer has no keys", call->action);
    return error_set(error, request->head.status >= 500 ? BW_IO : BW_DENIED,
                     "%s: the token service answered %d%s%s%s%s", call->action,
                     request->head.status, r->code[0] != '\0' ? " " : "", r->code,
                     r->message[0] != '\0' ? ": " : "", r->message);
}

/* ---- the request ---- */

typedef struct posting {
    char origin[NET_TEXT_MAX], host[NET_TEXT_MAX];
    char time[SIGV4_TIME_BYTES];
    buf form, authorization;
    struct iovec piece;
    bool plain_http;
} posting;

static bw_status find_host(const s3_chain *c, posting *p, bw_error *error)
{
    uri_origin origin;
    char port[8] = "";
    const char *region = c->settings.region;
    const bool china = strncmp(region, "cn-", 3) == 0;
    const int size = c->settings.sts_endpoint[0] != '\0'
                         ? snprintf(p->origin, sizeof p->origin, "%s", c->settings.sts_endpoint)
                         : snprintf(p->origin, sizeof p->origin, "https://sts.%s.amazonaws.com%s",
                                    region, china ? ".cn" : "");
    if (size < 0 || (size_t)size >= sizeof p->origin)
        return error_set(error, BW_INVALID, "the endpoint of the token service is too long");
    BW_TRY(uri_parse_origin(p->origin, &origin, error));
    if (!origin.tls && !origin.loopback && !c->net.plain_http)
        return error_set(error, BW_INVALID,
                         "the token service %.120s: keys do not travel over plain http to another "
                         "machine; write https into AWS_ENDPOINT_URL_STS",
                         p->origin);
    p->plain_http = c->net.plain_http;
    if (origin.port != 0)
        (void)snprintf(port, sizeof port, ":%u", origin.port);
    (void)snprintf(p->host, sizeof p->host, "%.240s%s", origin.host, port);
    (void)snprintf(p->origin, sizeof p->origin, "%s://%.240s/", origin.tls ? "https" : "http",
                   p->host);
    return BW_OK;
}

static bw_status put_form(const s3_sts *call, posting *p, bw_error *error)
{
    uri_parameter all[S3_STS_PARAMETERS_MAX + 2] = {{"Action", call->action},
                                                    {"Version", "2011-06-15"}};
    for (size_t i = 0; i < call->count; i++)
        all[i + 2] = call->parameters[i];
    const bw_status status = net_form(all, call->count + 2, &p->form, error);
    if (status != BW_OK)
        error_prefix(error, "%s", call->action);
    p->piece = (struct iovec){p->form.data, p->form.size};
    return status;
}

static bw_status sign(const s3_chain *c, const s3_sts *call, posting *p, bw_error *error)
{
    char payload[2 * DIGEST_SHA256_BYTES + 1];
    uint8_t digest[DIGEST_SHA256_BYTES];
    sigv4_key key = {.scope = ""};
    const char *token = secret_text(&call->signer->token);
    const sigv4_header headers[] = {{"content-type", FORM_TYPE},
                                    {"host", p->host},
                                    {"x-amz-date", p->time},
                                    {"x-amz-security-token", token}};
    sigv4_time(net_chain_time(&c->net), p->time);
    bw_status status = digest_sha256(&p->piece, 1, digest);
    hex_encode(digest, sizeof digest, payload);
    const sigv4_request request = {
        .method = "POST",
        .path = "/",
        .query = "",
        .headers = headers,
        .header_count = *token != '\0' ? 4 : 3,
        .payload = payload,
        .time = p->time,
        .region = c->settings.region,
        .service = "sts",
    };
    buf_init(&p->authorization, 4096);
    if (status == BW_OK)
        status =
            sigv4_sign(&request, call->signer->key_id, &call->signer->key, &key, &p->authorization);
    sigv4_key_clear(&key);
    return status == BW_OK ? BW_OK : error_set(error, status, "%s: cannot be signed", call->action);
}

static void set_request(const s3_sts *call, posting *p, net_ask *ask)
{
    http_request *r = &ask->request;
    *ask = (net_ask){.what = "the token service",
                     .connect_ns = CONNECT_NS,
                     .tries = TRIES,
                     .plain_http = p->plain_http};
    *r = (http_request){.method = HTTP_POST,
                        .url = p->origin,
                        .pieces = &p->piece,
                        .piece_count = 1,
                        .body_bytes = p->piece.iov_len,
                        .timeout_ns = TIMEOUT_NS};
    r->headers[r->header_count++] = (http_header){"content-type", FORM_TYPE};
    if (call->signer == NULL)
        return;
    r->headers[r->header_count++] = (http_header){"x-amz-date", p->time};
    if (secret_is_set(&call->signer->token))
        r->headers[r->header_count++] =
            (http_header){"x-amz-security-token", secret_text(&call->signer->token)};
    r->headers[r->header_count++] = (http_header){"authorization", buf_text(&p->authorization)};
}

static bw_status post(s3_chain *c, const s3_sts *call, posting *p, buf *answer, reading *r,
                      net_keys *out, bw_error *error)
{
    net_ask ask;
    BW_TRY(find_host(c, p, error));
    BW_TRY(put_form(call, p, error));
    for (int round = 0; round < 2; round++) {
        http_answer_free(&p->authorization);
        if (call->signer != NULL)
            BW_TRY(sign(c, call, p, error));
        set_request(call, p, &ask);
        BW_TRY(net_chain_ask(&c->net, &ask, answer, error));
        if (call->signer == NULL || !net_learn_skew(&c->net, &ask.request.head))
            break;
    }
    if (read_answer(answer, r) != BW_OK)
        return error_set(error, BW_NOMEM, "no memory for credentials");
    return take_keys(call, r, &ask.request, out, error);
}

bw_status s3_sts_keys(s3_chain *c, const s3_sts *call, net_keys *out, bw_error *error)
{
    posting p = {.origin = ""};
    reading r = {.call = call};
    buf answer;
    bw_status status = http_answer_init(&answer);
    status = status == BW_OK ? post(c, call, &p, &answer, &r, out, error)
                             : error_set(error, status, "no memory for credentials");
    secret_clear(&r.key);
    secret_clear(&r.token);
    http_answer_free(&answer);
    http_answer_free(&p.form);
    http_answer_free(&p.authorization);
    return status;
}
