// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "store_s3/s3_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PATH_MAX_BYTES 8192u
#define AUTHORIZATION_MAX_BYTES 4096u
#define LIST_MAX_DEFAULT 1000u
/* Keys of a batch delete, each with its prefix and escapes. */
#define BODY_BYTES_MAX (16u << 20)

/* ---- path and query ---- */

static void put_path(s3_call *call)
{
    const s3_backend *b = s3_backend_of(&call->net);
    const char *key = net_call_key(&call->net);
    buf_put_text(&call->path, b->folder);
    if (b->folder[1] != '\0')
        buf_put_u8(&call->path, '/');
    uri_encode(&call->path, b->prefix, strlen(b->prefix), true);
    uri_encode(&call->path, key, strlen(key), true);
}

static void put_list(s3_call *call)
{
    const s3_backend *b = s3_backend_of(&call->net);
    const store_op *op = call->net.op;
    char prefix[S3_PREFIX_MAX + STORE_KEY_MAX + 2];
    char after[S3_PREFIX_MAX + STORE_KEY_MAX + 2];
    char count[16];
    const char *from = call->net.after;
    const uint32_t wanted =
        op->list_max == 0 || op->list_max > LIST_MAX_DEFAULT ? LIST_MAX_DEFAULT : op->list_max;
    (void)snprintf(prefix, sizeof prefix, "%s%s", b->prefix, op->key);
    (void)snprintf(after, sizeof after, "%s%s", b->prefix, from);
    (void)snprintf(count, sizeof count, "%" PRIu32, wanted);
    const uri_parameter parameters[] = {
        {"list-type", "2"}, {"encoding-type", "url"}, {"max-keys", count},
        {"prefix", prefix}, {"start-after", after},
    };
    const size_t all = sizeof parameters / sizeof parameters[0];
    uri_query(&call->query, parameters, from[0] != '\0' ? all : all - 1);
    buf_put_text(&call->path, b->folder);
}

static void put_batch(s3_call *call)
{
    const s3_backend *b = s3_backend_of(&call->net);
    buf_put_text(&call->path, b->folder);
    buf_put_text(&call->query, "delete=");
    s3_delete_body(&call->body, b->prefix, call->net.op->keys, call->net.op->key_count);
}

/* A setting of the bucket: ?lifecycle, ?versioning. */
static void put_setting(s3_call *call)
{
    buf_put_text(&call->path, s3_backend_of(&call->net)->folder);
    buf_printf(&call->query, "%s=", call->net.op->key);
}

/* What is asked; false when it does not fit. */
static bool put_target(s3_call *call)
{
    static const http_method methods[STORE_OP_KINDS] = {
        [STORE_GET] = HTTP_GET,       [STORE_READ] = HTTP_GET,  [STORE_PUT] = HTTP_PUT,
        [STORE_CREATE] = HTTP_PUT,    [STORE_HEAD] = HTTP_HEAD, [STORE_LIST] = HTTP_GET,
        [STORE_DELETE] = HTTP_DELETE,
    };
    call->net.method = call->net.asks_size ? HTTP_HEAD : methods[call->net.op->kind];
    if (net_call_is_batch(&call->net)) {
        call->net.is_batch = true;
        call->net.method = HTTP_POST;
        put_batch(call);
    } else if (call->net.op->kind == STORE_LIST) {
        put_list(call);
    } else if (call->net.op->kind == STORE_GET && call->net.op->of_bucket) {
        put_setting(call);
    } else {
        put_path(call);
    }
    buf_printf(&call->url, "%s%s", s3_backend_of(&call->net)->origin, buf_text(&call->path));
    if (call->query.size > 0)
        buf_printf(&call->url, "?%s", buf_text(&call->query));
    return buf_status(&call->url) == BW_OK && buf_status(&call->path) == BW_OK &&
           buf_status(&call->query) == BW_OK && buf_status(&call->body) == BW_OK;
}

/* ---- body ---- */

static void set_body(s3_call *call)
{
    http_request *r = &call->net.http;
    r->pieces = NULL;
    r->piece_count = 0;
    r->body_bytes = 0;
    if (call->net.method == HTTP_PUT) {
        r->pieces = call->net.op->pieces;
        r->piece_count = call->net.op->piece_count;
        r->body_bytes = store_op_bytes(call->net.op);
    } else if (call->net.method == HTTP_POST) {
        call->body_piece = (struct iovec){call->body.data, call->body.size};
        r->pieces = &call->body_piece;
        r->piece_count = 1;
        r->body_bytes = call->body.size;
    }
}

static bw_status hash_body(s3_call *call)
{
    const http_request *r = &call->net.http;
    uint8_t digest[DIGEST_SHA256_BYTES];
    if (!s3_backend_of(&call->net)->sign_body) {
        memcpy(call->payload, SIGV4_UNSIGNED, sizeof SIGV4_UNSIGNED);
        return BW_OK;
    }
    BW_TRY(digest_sha256(r->pieces, r->piece_count, digest));
    hex_encode(digest, sizeof digest, call->payload);
    return BW_OK;
}

static bw_status sum_body(s3_call *call)
{
    const http_request *r = &call->net.http;
    call->crc[0] = call->md5[0] = '\0';
    if (call->net.method == HTTP_PUT)
        net_crc_text(call->net.op, call->crc);
    if (call->net.method == HTTP_POST) {
        uint8_t digest[DIGEST_MD5_BYTES];
        BW_TRY(digest_md5(r->pieces, r->piece_count, digest));
        digest_base64(digest, sizeof digest, call->md5);
    }
    return hash_body(call);
}

/* ---- headers ---- */

typedef struct header_list {
    sigv4_header rows[HTTP_HEADERS_MAX];
    size_t count;
} header_list;

/* Names come in byte order; one without a value is not sent. */
static void add(header_list *list, const char *name, const char *value)
{
    if (value[0] != '\0')
        list->rows[list->count++] = (sigv4_header){name, value};
}

/* A signing key is of certain keys. */
static void choose_key(s3_call *call)
{
    const net_keyset *keys = call->net.keys;
    if (keys == NULL || keys->number == call->key_number)
        return;
    sigv4_key_clear(&call->key);
    call->key_number = keys->number;
}

static void gather_headers(s3_call *call, header_list *list)
{
    const s3_backend *b = s3_backend_of(&call->net);
    const store_op *op = call->net.op;
    const bool signs = call->net.keys != NULL;
    call->range[0] = '\0';
    if (op->kind == STORE_READ && !call->net.asks_size)
        (void)snprintf(call->range, sizeof call->range, "bytes=%" PRIu64 "-%" PRIu64, op->offset,
                       op->offset + op->length - 1);
    const bool creates = op->kind == STORE_CREATE;
    const bool writes = call->net.method == HTTP_PUT;
    const bool is_s3 = strcmp(b->condition->name, "if-none-match") == 0;
    add(list, "content-md5", call->md5);
    add(list, "content-type", call->net.method == HTTP_POST ? "application/xml" : "");
    add(list, "host", b->host);
    add(list, "if-none-match", creates && is_s3 ? b->condition->value : "");
    add(list, "range", call->range);
    add(list, "x-amz-checksum-crc32c", call->crc);
    add(list, "x-amz-checksum-mode",
        op->kind == STORE_GET && !op->of_bucket && !call->net.asks_size ? "ENABLED" : "");
    add(list, "x-amz-content-sha256", signs ? call->payload : "");
    add(list, "x-amz-date", signs ? call->time : "");
    add(list, "x-amz-expected-bucket-owner", b->bucket_owner);
    add(list, "x-amz-request-payer", b->requester_pays ? "requester" : "");
    add(list, "x-amz-security-token", signs ? secret_text(&call->net.keys->keys.token) : "");
    add(list, "x-amz-server-side-encryption", writes && b->kms_key[0] != '\0' ? "aws:kms" : "");
    add(list, "x-amz-server-side-encryption-aws-kms-key-id", writes ? b->kms_key : "");
    add(list, "x-amz-storage-class", writes ? b->storage_class : "");
    add(list, b->condition->name, creates && !is_s3 ? b->condition->value : "");
}

static bw_status sign(s3_call *call, const header_list *list)
{
    static const char *const names[] = {"GET", "HEAD", "PUT", "POST", "DELETE"};
    const s3_backend *b = s3_backend_of(&call->net);
    if (call->net.keys == NULL)
        return BW_OK;
    const sigv4_request request = {
        .method = names[call->net.method],
        .path = buf_text(&call->path),
        .query = buf_text(&call->query),
        .headers = list->rows,
        .header_count = list->count,
        .payload = call->payload,
        .time = call->time,
        .region = b->region,
        .service = "s3",
    };
    return sigv4_sign(&request, call->net.keys->keys.key_id, &call->net.keys->keys.key, &call->key,
                      &call->authorization);
}

static void set_headers(s3_call *call, const header_list *list)
{
    http_request *r = &call->net.http;
    r->header_count = 0;
    for (size_t i = 0; i < list->count; i++)
        r->headers[r->header_count++] = (http_header){list->rows[i].name, list->rows[i].value};
    if (call->authorization.size > 0)
        r->headers[r->header_count++] =
            (http_header){"authorization", buf_text(&call->authorization)};
    if (call->net.method == HTTP_PUT) /* libcurl would wait for a 100 */
        r->headers[r->header_count++] = (http_header){"content-type", "application/octet-stream"};
}

static void start_texts(s3_call *call)
{
    buf *const texts[] = {&call->path, &call->query, &call->url, &call->authorization, &call->body};
    static const size_t maxima[] = {PATH_MAX_BYTES, PATH_MAX_BYTES, 2 * PATH_MAX_BYTES,
                                    AUTHORIZATION_MAX_BYTES, BODY_BYTES_MAX};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i]->max == 0)
            buf_init(texts[i], maxima[i]);
        buf_reset(texts[i]);
    }
}

bw_status s3_request_build(net_call *net)
{
    s3_call *call = s3_call_of(net);
    header_list list = {.count = 0};
    start_texts(call);
    if (!put_target(call))
        return BW_NOMEM;
    set_body(call);
    BW_TRY(sum_body(call));
    sigv4_time(clock_wall_ms(clock_system()) + atomic_load(&net->owner->backend->skew_ms),
               call->time);
    choose_key(call);
    gather_headers(call, &list);
    BW_TRY(sign(call, &list));
    set_headers(call, &list);
    net->http.url = buf_text(&call->url);
    return BW_OK;
}
