// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/crc64.h"
#include "store_azure/azure_chain.h"
#include "store_azure/azure_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PATH_MAX_BYTES 8192u
#define AUTHORIZATION_MAX_BYTES 8192u /* a token */
#define BATCH_BYTES_MAX (4u << 20)    /* the service's limit */
#define VERSION "2021-12-02"
/* What is small, as manifests are, gets an MD5, which is kept and returned; it is slow, so that
 * what is larger gets a CRC-64. */
#define MD5_BYTES_MAX (64u << 10)
#define LIST_MAX_DEFAULT 1000u
#define LIST_MAX 5000u

#define PARAMETERS_MAX 6u

typedef struct parameter_list {
    uri_parameter rows[PARAMETERS_MAX];
    size_t count;
} parameter_list;

static void start_texts(azure_call *call)
{
    buf *const texts[] = {&call->path,   &call->url,  &call->authorization,
                          &call->target, &call->body, &call->answers};
    static const size_t maxima[] = {PATH_MAX_BYTES, 3 * PATH_MAX_BYTES, AUTHORIZATION_MAX_BYTES,
                                    PATH_MAX_BYTES, BATCH_BYTES_MAX,    AZURE_ANSWERS_BYTES_MAX};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i]->max == 0)
            buf_init(texts[i], maxima[i]);
        buf_reset(texts[i]);
    }
}

/* ---- what is asked ---- */

/* The first request of a listing begins where an earlier one ended, if that is known; else at the
 * front, and what comes before the key is passed over. */
static void find_marker(azure_call *call)
{
    const store_op *op = call->net.op;
    const azure_mark *mark = &call->mark;
    if (call->net.requests > 0)
        return; /* the page before said */
    const bool known = op->after[0] != '\0' && mark->marker[0] != '\0' &&
                       strcmp(mark->prefix, op->key) == 0 && strcmp(mark->after, op->after) == 0;
    if (known)
        memcpy(call->marker, mark->marker, sizeof call->marker);
    else
        call->marker[0] = '\0';
}

/* In byte order of the names. */
static void list_parameters(azure_call *call, parameter_list *list)
{
    const store_op *op = call->net.op;
    find_marker(call);
    (void)snprintf(call->prefix, sizeof call->prefix, "%s%s", azure_backend_of(&call->net)->prefix,
                   op->key);
    /* From the front a small page would take many requests to reach the key. */
    const bool from_front = op->after[0] != '\0' && call->marker[0] == '\0';
    const uint32_t wanted = op->list_max == 0         ? LIST_MAX_DEFAULT
                            : op->list_max > LIST_MAX ? LIST_MAX
                                                      : op->list_max;
    (void)snprintf(call->count, sizeof call->count, "%" PRIu32, from_front ? LIST_MAX : wanted);
    list->rows[list->count++] = (uri_parameter){"comp", "list"};
    if (call->marker[0] != '\0')
        list->rows[list->count++] = (uri_parameter){"marker", call->marker};
    list->rows[list->count++] = (uri_parameter){"maxresults", call->count};
    list->rows[list->count++] = (uri_parameter){"prefix", call->prefix};
    list->rows[list->count++] = (uri_parameter){"restype", "container"};
}

/* A shared access signature, which stands in the query; "" when requests are let in otherwise. */
const char *azure_shared_signature(const azure_call *call)
{
    const net_keyset *set = call->net.keys;
    return set != NULL && strcmp(set->keys.key_id, AZURE_SIGNATURE) == 0
               ? secret_text(&set->keys.token)
               : "";
}

void azure_put_path(const azure_call *call, const char *key, buf *out)
{
    const azure_backend *b = azure_backend_of(&call->net);
    buf_put_text(out, b->folder);
    buf_put_u8(out, '/');
    uri_encode(out, b->prefix, strlen(b->prefix), true);
    uri_encode(out, key, strlen(key), true);
}

static bool put_target(azure_call *call, parameter_list *list)
{
    static const http_method methods[STORE_OP_KINDS] = {
        [STORE_GET] = HTTP_GET,       [STORE_READ] = HTTP_GET,  [STORE_PUT] = HTTP_PUT,
        [STORE_CREATE] = HTTP_PUT,    [STORE_HEAD] = HTTP_HEAD, [STORE_LIST] = HTTP_GET,
        [STORE_DELETE] = HTTP_DELETE,
    };
    const azure_backend *b = azure_backend_of(&call->net);
    call->net.method = call->net.asks_size ? HTTP_HEAD : methods[call->net.op->kind];
    if (net_call_is_batch(&call->net)) {
        call->net.is_batch = true;
        call->net.method = HTTP_POST;
        buf_put_text(&call->path, b->folder);
        list->rows[list->count++] = (uri_parameter){"comp", "batch"};
        list->rows[list->count++] = (uri_parameter){"restype", "container"};
    } else if (call->net.op->kind == STORE_LIST) {
        buf_put_text(&call->path, b->folder);
        list_parameters(call, list);
    } else {
        azure_put_path(call, net_call_key(&call->net), &call->path);
    }
    buf_printf(&call->url, "%s%s", b->origin, buf_text(&call->path));
    const char *signature = azure_shared_signature(call);
    if (list->count > 0 || signature[0] != '\0')
        buf_put_u8(&call->url, '?');
    uri_query(&call->url, list->rows, list->count);
    if (list->count > 0 && signature[0] != '\0')
        buf_put_u8(&call->url, '&');
    buf_put_text(&call->url, signature);
    return buf_status(&call->url) == BW_OK && buf_status(&call->path) == BW_OK;
}

/* ---- the rest of it ---- */

static void sum_body(const http_request *r, char *text)
{
    uint8_t bytes[8];
    uint64_t crc = 0;
    for (size_t i = 0; i < r->piece_count; i++)
        crc = crc64(crc, r->pieces[i].iov_base, r->pieces[i].iov_len);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(crc >> 8 * i);
    digest_base64(bytes, sizeof bytes, text);
}

static bw_status set_body(azure_call *call)
{
    http_request *r = &call->net.http;
    call->md5[0] = call->crc64[0] = '\0';
    if (call->net.is_batch)
        return azure_batch_put(call);
    if (call->net.method != HTTP_PUT)
        return BW_OK;
    r->pieces = call->net.op->pieces;
    r->piece_count = call->net.op->piece_count;
    r->body_bytes = store_op_bytes(call->net.op);
    if (r->body_bytes > MD5_BYTES_MAX) {
        if (!atomic_load(&azure_backend_of(&call->net)->no_crc64))
            sum_body(r, call->crc64);
        return BW_OK;
    }
    uint8_t digest[DIGEST_MD5_BYTES];
    BW_TRY(digest_md5(r->pieces, r->piece_count, digest));
    digest_base64(digest, sizeof digest, call->md5);
    return BW_OK;
}

static void set_date(azure_call *call)
{
    const int64_t wall_ms =
        clock_wall_ms(clock_system()) + atomic_load(&call->net.owner->backend->skew_ms);
    const time_t seconds = (time_t)(wall_ms / 1000);
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm t = {0};
    (void)gmtime_r(&seconds, &t);
    /* strftime would ask the locale. */
    (void)snprintf(call->date, sizeof call->date, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
                   days + (size_t)t.tm_wday * 3, t.tm_mday, months + (size_t)t.tm_mon * 3,
                   t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
}

static void add(http_request *r, const char *name, const char *value)
{
    if (value[0] != '\0')
        r->headers[r->header_count++] = (http_header){name, value};
}

/* In byte order of the names. */
static void add_headers(azure_call *call)
{
    const store_op *op = call->net.op;
    http_request *r = &call->net.http;
    const bool writes = call->net.method == HTTP_PUT;
    call->range[0] = '\0';
    if (op->kind == STORE_READ && !call->net.asks_size)
        (void)snprintf(call->range, sizeof call->range, "bytes=%" PRIu64 "-%" PRIu64, op->offset,
                       op->offset + op->length - 1);
    add(r, "content-md5", call->md5);
    add(r, "content-type",
        call->net.is_batch ? "multipart/mixed; boundary=" AZURE_BATCH_BOUNDARY
        : writes           ? "application/octet-stream"
                           : "");
    add(r, "if-none-match", op->kind == STORE_CREATE ? "*" : "");
    add(r, "range", call->range);
    add(r, "x-ms-blob-type", writes ? "BlockBlob" : "");
    add(r, "x-ms-content-crc64", call->crc64);
    add(r, "x-ms-date", call->date);
    add(r, "x-ms-version", VERSION);
}

static bw_status sign(azure_call *call, const parameter_list *list)
{
    static const char *const names[] = {"GET", "HEAD", "PUT", "POST", "DELETE"};
    const azure_backend *b = azure_backend_of(&call->net);
    http_request *r = &call->net.http;
    const net_keys *keys = call->net.keys != NULL ? &call->net.keys->keys : NULL;
    if (keys == NULL || azure_shared_signature(call)[0] != '\0')
        return BW_OK;
    if (!secret_is_set(&keys->key)) {
        add(r, "authorization", secret_text(&keys->token));
        return BW_OK;
    }
    const azure_signing signing = {
        .method = names[call->net.method],
        .account = b->account,
        .path = buf_text(&call->path),
        .parameters = list->rows,
        .parameter_count = list->count,
        .headers = r->headers,
        .header_count = r->header_count,
        .body_bytes = r->body_bytes,
    };
    BW_TRY(azure_sign(&signing, keys->key.text, keys->key.size, &call->authorization));
    add(r, "authorization", buf_text(&call->authorization));
    return BW_OK;
}

bw_status azure_request_build(net_call *net)
{
    azure_call *call = azure_call_of(net);
    parameter_list list = {.count = 0};
    start_texts(call);
    if (!put_target(call, &list))
        return BW_NOMEM;
    set_date(call);
    BW_TRY(set_body(call));
    add_headers(call);
    BW_TRY(sign(call, &list));
    net->http.url = buf_text(&call->url);
    return BW_OK;
}
