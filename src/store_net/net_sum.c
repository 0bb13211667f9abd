// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_net/net_store.h"

#include <string.h>

/* MD5 is slow. What is read whole is smaller, mostly. */
#define MD5_BYTES_MAX (1u << 20)

void net_crc_text(const store_op *op, char out[DIGEST_BASE64_BYTES(4)])
{
    const uint32_t crc = store_op_crc(op);
    const uint8_t bytes[] = {(uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8),
                             (uint8_t)crc};
    digest_base64(bytes, sizeof bytes, out);
}

bool net_sum_is_right(const net_call *call)
{
    const http_head *head = &call->http.head;
    const buf *out = &call->op->out;
    uint8_t digest[DIGEST_MD5_BYTES];
    if (head->has_crc32c)
        return head->crc32c == call->crc;
    if (!head->has_md5 || out->size > MD5_BYTES_MAX)
        return true;
    return digest_md5(&(struct iovec){out->data, out->size}, 1, digest) != BW_OK ||
           memcmp(digest, head->md5, sizeof digest) == 0;
}
