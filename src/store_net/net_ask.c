// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Asking a service for keys. */
#include "store_net/net_chain.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STALL_S 5u
#define PAUSE_MS 200
/* What services bear is five minutes and more. */
#define SKEW_MS 60000

static void pause_for(const net_chain *c, uint32_t try)
{
    const struct timespec wait = {.tv_nsec = (long)PAUSE_MS * 1000000l};
    for (uint32_t i = 0; i < try && (c->stop == NULL || !atomic_load(c->stop)); i++)
        (void)nanosleep(&wait, NULL);
}

static bool may_pass(const net_ask *a, bw_status status)
{
    const http_request *r = &a->request;
    if (status != BW_OK)
        return status == BW_IO && r->end != HTTP_REFUSED && !(a->lonely && r->end == HTTP_NOT_SENT);
    return r->head.status == 429 || r->head.status >= 500;
}

bw_status net_chain_ask(net_chain *c, net_ask *a, buf *answer, bw_error *error)
{
    const http_options options = {
        .connect_timeout_ns = a->connect_ns,
        .stall_s = STALL_S,
        .connections_max = 1,
        .plain_http = a->plain_http,
        .ca_file = c->ca_file[0] != '\0' ? c->ca_file : NULL,
    };
    bw_error why = {.code = BW_OK};
    bw_status status = BW_OK;
    for (uint32_t try = 1; try <= a->tries; try++) {
        status = http_fetch(&options, &a->request, c->stop, answer, &why);
        if (!may_pass(a, status))
            break;
        if (try < a->tries)
            pause_for(c, try);
    }
    if (status != BW_OK)
        return error_set(error, status, "%s: %s", a->what, why.message);
    return BW_OK;
}

int64_t net_answer_time(const http_request *request)
{
    const int64_t date_ms = request->head.date_ms;
    return date_ms != 0 ? date_ms : clock_wall_ms(clock_system());
}

int64_t net_chain_time(const net_chain *c)
{
    return clock_wall_ms(clock_system()) + c->skew_ms;
}

bool net_learn_skew(net_chain *c, const http_head *head)
{
    const int64_t now_ms = net_chain_time(c);
    const int64_t date_ms = head->date_ms;
    if (head->status < 400 || head->status > 499 || date_ms == 0 ||
        llabs(date_ms - now_ms) < SKEW_MS)
        return false;
    c->skew_ms += date_ms - now_ms;
    return true;
}

bw_status net_url_origin(const char *url, uri_origin *out, bw_error *error)
{
    char text[URI_HOST_MAX + 32];
    const char *host = strstr(url, "://");
    const size_t size = host != NULL ? (size_t)(host - url) + 3 + strcspn(host + 3, "/?#") : 0;
    if (size >= sizeof text)
        return error_set(error, BW_INVALID, "the host is too long");
    memcpy(text, url, size);
    text[size] = '\0';
    BW_TRY(uri_parse_origin(text, out, error));
    if (!net_is_plain(url) || strchr(url, '#') != NULL)
        return error_set(error, BW_INVALID, "it is no URL");
    return BW_OK;
}

bool net_is_link_local(const uri_origin *origin)
{
    return strncmp(origin->host, "169.254.", 8) == 0 &&
           strspn(origin->host, "0123456789.") == strlen(origin->host);
}

bw_status net_form(const uri_parameter *parameters, size_t count, buf *form, bw_error *error)
{
    uri_parameter sent[URI_PARAMETERS_MAX];
    size_t sent_count = 0;
    size_t bytes = 1;
    for (size_t i = 0; i < count && sent_count < URI_PARAMETERS_MAX; i++) {
        if (parameters[i].value[0] == '\0')
            continue;
        sent[sent_count++] = parameters[i];
        bytes += 3 * (strlen(parameters[i].name) + strlen(parameters[i].value)) + 2;
    }
    /* All of its room at once: growing would leave copies of the secrets behind. */
    buf_init(form, bytes);
    (void)buf_reserve(form, bytes);
    uri_query(form, sent, sent_count);
    return buf_status(form) == BW_OK
               ? BW_OK
               : error_set(error, buf_status(form), "no memory for a request");
}
