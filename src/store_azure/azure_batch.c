// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Deletes of many blobs in one request (Blob Batch): each is a request of its own in the body,
 * which is let in by itself. */
#include "store_azure/azure_internal.h"

#include <string.h>

#define KEYS_MAX 256u
/* Of one: what stands around path and token, at most. */
#define PART_BYTES 512u

/* Where it is let in by a header. */
static bw_status authorize(azure_call *call, const char *path)
{
    const azure_backend *b = azure_backend_of(&call->net);
    const net_keys *keys = call->net.keys != NULL ? &call->net.keys->keys : NULL;
    const http_header date = {"x-ms-date", call->date};
    buf_reset(&call->authorization);
    if (keys == NULL || azure_shared_signature(call)[0] != '\0')
        return BW_OK;
    if (!secret_is_set(&keys->key)) {
        buf_put_text(&call->authorization, secret_text(&keys->token));
        return buf_status(&call->authorization);
    }
    const azure_signing signing = {.method = "DELETE",
                                   .account = b->account,
                                   .path = path,
                                   .headers = &date,
                                   .header_count = 1};
    return azure_sign(&signing, keys->key.text, keys->key.size, &call->authorization);
}

static bw_status put_delete(azure_call *call, uint32_t number, const char *key)
{
    const char *signature = azure_shared_signature(call);
    buf *path = &call->target;
    buf_reset(path);
    azure_put_path(call, key, path);
    BW_TRY(buf_status(path));
    BW_TRY(authorize(call, buf_text(path)));
    buf_printf(&call->body,
               "--" AZURE_BATCH_BOUNDARY "\r\nContent-Type: application/http\r\n"
               "Content-Transfer-Encoding: binary\r\nContent-ID: %u\r\n\r\nDELETE %s",
               number, buf_text(path));
    if (signature[0] != '\0')
        buf_printf(&call->body, "?%s", signature);
    buf_printf(&call->body, " HTTP/1.1\r\nx-ms-date: %s\r\n", call->date);
    if (call->authorization.size > 0)
        buf_printf(&call->body, "Authorization: %s\r\n", buf_text(&call->authorization));
    buf_put_text(&call->body, "Content-Length: 0\r\n\r\n");
    return buf_status(&call->body);
}

/* All of it at once: what a buffer that grows leaves behind would hold tokens. */
static bw_status reserve(azure_call *call)
{
    const azure_backend *b = azure_backend_of(&call->net);
    const char *token = call->net.keys != NULL ? secret_text(&call->net.keys->keys.token) : "";
    const size_t each = PART_BYTES + strlen(token) + strlen(b->folder) + 3 * strlen(b->prefix);
    size_t bytes = PART_BYTES;
    for (uint32_t i = 0; i < call->net.batch_keys; i++)
        bytes += each + 3 * strlen(call->net.op->keys[call->net.delete_at + i]);
    return buf_reserve(&call->body, bytes);
}

bw_status azure_batch_put(azure_call *call)
{
    const store_op *op = call->net.op;
    const uint32_t left = op->key_count - call->net.delete_at;
    call->net.batch_keys = left < KEYS_MAX ? left : KEYS_MAX;
    BW_TRY(reserve(call));
    for (uint32_t i = 0; i < call->net.batch_keys; i++)
        BW_TRY(put_delete(call, i, op->keys[call->net.delete_at + i]));
    buf_put_text(&call->body, "--" AZURE_BATCH_BOUNDARY "--\r\n");
    buf_reset(&call->authorization);
    call->piece = (struct iovec){call->body.data, call->body.size};
    call->net.http.pieces = &call->piece;
    call->net.http.piece_count = 1;
    call->net.http.body_bytes = call->body.size;
    return buf_status(&call->body);
}

static void part_error(const http_part *part, net_error *out)
{
    azure_error_parse(&part->head, part->body, part->body_bytes, out);
}

bool azure_sink(net_call *net, const uint8_t *bytes, size_t size)
{
    azure_call *call = azure_call_of(net);
    if (!net->is_batch)
        return azure_list_sink(net, bytes, size);
    buf_put(&call->answers, bytes, size);
    net->parsed = buf_status(&call->answers);
    return net->parsed == BW_OK;
}

bool azure_end(net_call *net)
{
    return net->is_batch ? net_batch_end(net, &azure_call_of(net)->answers, part_error)
                         : azure_list_end(net);
}
