// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "base/hash.h"
#include "store_gcs/gcs_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define URL_MAX_BYTES 16384u
#define LIST_MAX_DEFAULT 1000u
/* The service's limit. */
#define BATCH_KEYS_MAX 100u
#define BATCH_BYTES_MAX (1u << 20)

static void put_encoded(buf *out, const char *text)
{
    uri_encode(out, text, strlen(text), false);
}

/* /storage/v1/b/BUCKET/o/KEY, all of the key in one segment. */
static void put_path(const gcs_call *call, const char *key, buf *out)
{
    const gcs_backend *b = gcs_backend_of(&call->net);
    buf_put_text(out, "/storage/v1/b/");
    put_encoded(out, b->bucket);
    buf_put_text(out, "/o/");
    put_encoded(out, b->prefix);
    put_encoded(out, key);
}

static void put_object(gcs_call *call, const char *query)
{
    buf_put_text(&call->url, gcs_backend_of(&call->net)->origin);
    put_path(call, net_call_key(&call->net), &call->url);
    buf_put_text(&call->url, query);
}

/* Deletes of several objects, each a request of its own in the body. */
static void put_batch(gcs_call *call)
{
    net_call *net = &call->net;
    const uint32_t left = net->op->key_count - net->delete_at;
    net->is_batch = true;
    net->method = HTTP_POST;
    net->batch_keys = left < BATCH_KEYS_MAX ? left : BATCH_KEYS_MAX;
    buf_printf(&call->url, "%s/batch/storage/v1", gcs_backend_of(net)->origin);
    for (uint32_t i = 0; i < net->batch_keys; i++) {
        buf_printf(&call->body,
                   "--" GCS_BATCH_BOUNDARY "\r\nContent-Type: application/http\r\n"
                   "Content-Transfer-Encoding: binary\r\nContent-ID: <%u>\r\n\r\nDELETE ",
                   i);
        put_path(call, net->op->keys[net->delete_at + i], &call->body);
        /* The last line end is the delimiter's. */
        buf_put_text(&call->body, " HTTP/1.1\r\nContent-Length: 0\r\n\r\n\r\n");
    }
    buf_put_text(&call->body, "--" GCS_BATCH_BOUNDARY "--\r\n");
}

static void put_upload(gcs_call *call)
{
    const gcs_backend *b = gcs_backend_of(&call->net);
    buf_printf(&call->url, "%s/upload/storage/v1/b/", b->origin);
    put_encoded(&call->url, b->bucket);
    buf_put_text(&call->url, "/o?uploadType=multipart&fields=name&name=");
    put_encoded(&call->url, b->prefix);
    put_encoded(&call->url, net_call_key(&call->net));
    if (call->net.op->kind == STORE_CREATE)
        buf_put_text(&call->url, "&ifGenerationMatch=0");
}

/* What the bucket is set to. */
static void put_bucket(gcs_call *call)
{
    buf_printf(&call->url, "%s/storage/v1/b/", gcs_backend_of(&call->net)->origin);
    put_encoded(&call->url, gcs_backend_of(&call->net)->bucket);
    buf_put_text(&call->url, "?fields=lifecycle%2Cversioning%2CsoftDeletePolicy");
}

/* startOffset is the first name that may come, so one more is asked for. */
static void put_list(gcs_call *call)
{
    const gcs_backend *b = gcs_backend_of(&call->net);
    const store_op *op = call->net.op;
    const uint32_t wanted =
        op->list_max == 0 || op->list_max >= LIST_MAX_DEFAULT ? LIST_MAX_DEFAULT : op->list_max + 1;
    buf_printf(&call->url, "%s/storage/v1/b/", b->origin);
    put_encoded(&call->url, b->bucket);
    buf_printf(&call->url,
               "/o?fields=items(name%%2Csize%%2Cupdated)%%2CnextPageToken&maxResults=%" PRIu32
               "&prefix=",
               wanted);
    put_encoded(&call->url, b->prefix);
    put_encoded(&call->url, op->key);
    if (call->net.after[0] != '\0') {
        buf_put_text(&call->url, "&startOffset=");
        put_encoded(&call->url, b->prefix);
        put_encoded(&call->url, call->net.after);
    }
}

static void put_url(gcs_call *call)
{
    net_call *net = &call->net;
    net->method = HTTP_GET;
    if (net->asks_size || net->asks_absence) {
        put_object(call, "?fields=size%2Cupdated");
        return;
    }
    switch (net->op->kind) {
    case STORE_PUT:
    case STORE_CREATE:
        net->method = HTTP_POST;
        put_upload(call);
        break;
    case STORE_LIST:
        put_list(call);
        break;
    case STORE_DELETE:
        if (net_call_is_batch(net)) {
            put_batch(call);
            break;
        }
        net->method = HTTP_DELETE;
        put_object(call, "");
        break;
    case STORE_HEAD:
        put_object(call, "?fields=size%2Cupdated");
        break;
    default:
        if (net->op->kind == STORE_GET && net->op->of_bucket)
            put_bucket(call);
        else
            put_object(call, "?alt=media");
        break;
    }
}

static void add(http_request *r, const char *name, const char *value)
{
    if (value[0] != '\0')
        r->headers[r->header_count++] = (http_header){name, value};
}

/* ---- the body of an upload ---- */

static bw_status choose_boundary(gcs_call *call)
{
    if (!call->has_random && rng_seed_system(&call->random) != 0)
        return BW_IO;
    call->has_random = true;
    const uint64_t bytes[] = {rng_u64(&call->random), rng_u64(&call->random)};
    hex_encode(bytes, sizeof bytes, call->boundary);
    return BW_OK;
}

static bw_status reserve_pieces(gcs_call *call, size_t count)
{
    if (count <= call->piece_capacity)
        return BW_OK;
    mem_free(call->pieces);
    call->pieces = mem_array(count, sizeof *call->pieces);
    call->piece_capacity = call->pieces != NULL ? count : 0;
    return call->pieces != NULL ? BW_OK : BW_NOMEM;
}

/* Two parts, for the first one has the checksum that Google holds the second one against: an upload
 * of media alone has none. */
static bw_status set_upload(gcs_call *call)
{
    const store_op *op = call->net.op;
    http_request *r = &call->net.http;
    char crc[DIGEST_BASE64_BYTES(4)];
    BW_TRY(choose_boundary(call));
    BW_TRY(reserve_pieces(call, (size_t)op->piece_count + 2));
    net_crc_text(op, crc);
    (void)snprintf(call->type, sizeof call->type, "multipart/related; boundary=%s", call->boundary);
    const int before = snprintf(call->before, sizeof call->before,
                                "--%s\r\nContent-Type: application/json\r\n\r\n"
                                "{\"crc32c\":\"%s\"}\r\n--%s\r\n"
                                "Content-Type: application/octet-stream\r\n\r\n",
                                call->boundary, crc, call->boundary);
    const int behind =
        snprintf(call->behind, sizeof call->behind, "\r\n--%s--\r\n", call->boundary);
    size_t count = 0;
    call->pieces[count++] = (struct iovec){call->before, (size_t)before};
    for (uint32_t i = 0; i < op->piece_count; i++)
        call->pieces[count++] = op->pieces[i];
    call->pieces[count++] = (struct iovec){call->behind, (size_t)behind};
    r->pieces = call->pieces;
    r->piece_count = count;
    r->body_bytes = store_op_bytes(op) + (uint64_t)before + (uint64_t)behind;
    return BW_OK;
}

bw_status gcs_request_build(net_call *net)
{
    gcs_call *call = gcs_call_of(net);
    const store_op *op = net->op;
    http_request *r = &net->http;
    if (call->url.max == 0) {
        buf_init(&call->url, URL_MAX_BYTES);
        buf_init(&call->page, GCS_PAGE_BYTES_MAX);
        buf_init(&call->body, BATCH_BYTES_MAX);
    }
    buf_reset(&call->body);
    buf_reset(&call->url);
    buf_reset(&call->page);
    put_url(call);
    call->range[0] = '\0';
    if (op->kind == STORE_READ && !net->asks_size && !net->asks_absence)
        (void)snprintf(call->range, sizeof call->range, "bytes=%" PRIu64 "-%" PRIu64, op->offset,
                       op->offset + op->length - 1);
    if (net->is_batch) {
        call->body_piece = (struct iovec){call->body.data, call->body.size};
        r->pieces = &call->body_piece;
        r->piece_count = 1;
        r->body_bytes = call->body.size;
        add(r, "content-type", "multipart/mixed; boundary=" GCS_BATCH_BOUNDARY);
        BW_TRY(buf_status(&call->body));
    } else if (net->method == HTTP_POST) {
        BW_TRY(set_upload(call));
        add(r, "content-type", call->type);
    }
    add(r, "range", call->range);
    add(r, "authorization", net->keys != NULL ? secret_text(&net->keys->keys.token) : "");
    r->url = buf_text(&call->url);
    return buf_status(&call->url) == BW_OK ? BW_OK : BW_NOMEM;
}
