// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_net/net_token.h"

#include "http/isotime.h"
#include "http/jsonmembers.h"

#include <stdio.h>
#include <string.h>

#define CONNECT_NS (5 * NS_PER_S)
#define TIMEOUT_NS (15 * NS_PER_S)
/* Most machines have nobody at those addresses; those that have may need their time. */
#define METADATA_CONNECT_NS NS_PER_S
#define METADATA_TIMEOUT_NS (5 * NS_PER_S)
#define TRIES 3u
/* So much of a secret in a row is told apart from chance. */
#define SHOWN_BYTES 12u

/* ---- the answer ---- */

typedef struct reading {
    const net_token_ask *ask;
    secret token;
    int64_t lasts_s; /* -1: not said */
    int64_t end_ms;  /* 0: not said */
    char code[64];
    char message[200];
} reading;

static bool shows_part(const char *text, size_t size, const secret *s)
{
    const size_t window = s->size < SHOWN_BYTES ? s->size : SHOWN_BYTES;
    for (size_t at = 0; window > 0 && at + window <= size; at++) {
        if (memmem(secret_text(s), s->size, text + at, window) != NULL)
            return true;
    }
    return false;
}

/* The first line, unless there is something in it that was sent. */
static void copy_line(const net_token_ask *ask, char *to, size_t capacity, const char *from)
{
    size_t size = strcspn(from, "\r\n");
    size = size < capacity ? size : capacity - 1;
    for (size_t i = 0; i < NET_TOKEN_HIDDEN_MAX; i++) {
        if (ask->hidden[i] != NULL && shows_part(from, size, ask->hidden[i]))
            return;
    }
    for (size_t i = 0; i < size; i++)
        to[i] = (char)(from[i] >= ' ' && from[i] < 127 ? from[i] : '?');
    to[size] = '\0';
}

/* Some services write numbers as texts. -1 when it is none, or has more than ten digits. */
static int64_t number_of(const char *text, size_t size)
{
    int64_t value = 0;
    if (size == 0 || size > 10 || strspn(text, "0123456789") != size)
        return -1;
    for (size_t i = 0; i < size; i++)
        value = value * 10 + (text[i] - '0');
    return value;
}

static bool is_one_of(const char *path, const char *const names[2])
{
    return strcmp(path, names[0]) == 0 || strcmp(path, names[1]) == 0;
}

static bw_status on_member(void *context, const char *path, const char *text, size_t size)
{
    static const char *const tokens[] = {"access_token", "accessToken"};
    static const char *const codes[] = {"error", "error/status"};
    static const char *const messages[] = {"error_description", "error/message"};
    reading *r = context;
    if (is_one_of(path, tokens))
        return secret_set(&r->token, text, size);
    if (strcmp(path, "expires_in") == 0)
        r->lasts_s = number_of(text, size);
    else if (strcmp(path, "expires_on") == 0)
        r->end_ms = number_of(text, size) > 0 ? number_of(text, size) * 1000 : 0;
    else if (strcmp(path, "expireTime") == 0)
        r->end_ms = iso_time_ms(text);
    else if (is_one_of(path, codes))
        copy_line(r->ask, r->code, sizeof r->code, text);
    else if (is_one_of(path, messages))
        copy_line(r->ask, r->message, sizeof r->message, text);
    return BW_OK;
}

static bw_status refuse(const reading *r, bw_error *error)
{
    const int status = r->ask->head.status;
    return error_set(error, status == 429 || status >= 500 ? BW_IO : BW_DENIED,
                     "%s answered %d%s%s%s%s", r->ask->what, status, r->code[0] != '\0' ? " " : "",
                     r->code, r->message[0] != '\0' ? ": " : "", r->message);
}

static bw_status take_token(const reading *r, int64_t now_ms, net_keys *out, bw_error *error)
{
    const int64_t end_ms = r->lasts_s >= 0 ? now_ms + r->lasts_s * 1000 : r->end_ms;
    bw_status status = BW_OK;
    if (!secret_is_set(&r->token))
        status = error_set(error, BW_CORRUPT, "the answer has no token");
    if (status == BW_OK)
        status = net_keys_set_end(out, end_ms, now_ms, error);
    if (status == BW_OK)
        status = net_keys_set_bearer(out, secret_text(&r->token), error);
    if (status != BW_OK)
        error_prefix(error, "%s", r->ask->what);
    return status;
}

bw_status net_token_parse(const net_token_ask *ask, const void *json, size_t size, int64_t now_ms,
                          net_keys *out, bw_error *error)
{
    reading r = {.ask = ask, .lasts_s = -1};
    const char *bad = NULL;
    bw_status status = jsonmembers_each(json, size, on_member, &r, &bad);
    if (status == BW_NOMEM)
        (void)error_set(error, status, "no memory for a token");
    else if (ask->head.status != 200)
        status = refuse(&r, error); /* half an answer still says its code */
    else if (status != BW_OK)
        status =
            error_set(error, BW_CORRUPT, "%s: the answer is no JSON object: %s", ask->what, bad);
    else
        status = take_token(&r, now_ms, out, error);
    secret_clear(&r.token);
    return status;
}

/* ---- the request ---- */

static bw_status check_url(const net_chain *c, const net_token_ask *ask, bw_error *error)
{
    uri_origin origin;
    bw_status status = net_url_origin(ask->url, &origin, error);
    if (status == BW_OK && !origin.tls && !origin.loopback && !c->plain_http && !ask->metadata)
        status = error_set(error, BW_INVALID,
                           "%.120s: tokens do not travel over plain http to another machine",
                           origin.host);
    if (status != BW_OK)
        error_prefix(error, "%s", ask->what);
    return status;
}

static void set_request(const net_chain *c, const net_token_ask *ask, const struct iovec *body,
                        net_ask *out)
{
    *out = (net_ask){.what = ask->what,
                     .connect_ns = ask->metadata ? METADATA_CONNECT_NS : CONNECT_NS,
                     .tries = TRIES,
                     .lonely = ask->metadata,
                     .plain_http = c->plain_http || ask->metadata};
    http_request *r = &out->request;
    *r = (http_request){.method = body->iov_len > 0 ? HTTP_POST : HTTP_GET,
                        .url = ask->url,
                        .pieces = body,
                        .piece_count = 1,
                        .body_bytes = body->iov_len,
                        .no_proxy = ask->metadata,
                        .timeout_ns = ask->metadata ? METADATA_TIMEOUT_NS : TIMEOUT_NS};
    for (size_t i = 0; i < ask->header_count; i++)
        r->headers[r->header_count++] = ask->headers[i];
    if (body->iov_len > 0)
        r->headers[r->header_count++] =
            (http_header){"content-type", ask->json != NULL ? "application/json"
                                                            : "application/x-www-form-urlencoded"};
}

bw_status net_token_fetch(net_chain *c, net_token_ask *ask, net_keys *out, bw_error *error)
{
    buf form = {.data = NULL};
    buf answer = {.data = NULL};
    net_ask sent;
    bw_status status = check_url(c, ask, error);
    if (status == BW_OK && ask->form_count > 0)
        status = net_form(ask->form, ask->form_count, &form, error);
    if (status == BW_OK && http_answer_init(&answer) != BW_OK)
        status = error_set(error, BW_NOMEM, "no memory for a token");
    if (status == BW_OK) {
        const struct iovec body =
            ask->json != NULL ? (struct iovec){(void *)(uintptr_t)ask->json, strlen(ask->json)}
                              : (struct iovec){form.data, form.size};
        set_request(c, ask, &body, &sent);
        status = net_chain_ask(c, &sent, &answer, error);
        ask->head = sent.request.head;
        ask->absent = status == BW_IO && sent.request.end == HTTP_NOT_SENT;
    }
    if (status == BW_OK)
        status = net_token_parse(ask, answer.data, answer.size, net_answer_time(&sent.request), out,
                                 error);
    http_answer_free(&form);
    http_answer_free(&answer);
    return status;
}
