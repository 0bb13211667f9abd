// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_azure/azure_sign.h"

#include "base/error.h"
#include "http/digest.h"

#include <inttypes.h>
#include <string.h>

#define TEXT_BYTES_MAX 32768u

static const char *header(const azure_signing *s, const char *name)
{
    for (size_t i = 0; i < s->header_count; i++) {
        if (strcmp(s->headers[i].name, name) == 0)
            return s->headers[i].value;
    }
    return "";
}

void azure_sign_text(const azure_signing *s, buf *out)
{
    /* Those that count by their place; Content-Length is empty when it is 0. */
    static const char *const before[] = {"content-encoding", "content-language"};
    static const char *const behind[] = {"content-md5",         "content-type", "date",
                                         "if-modified-since",   "if-match",     "if-none-match",
                                         "if-unmodified-since", "range"};
    buf_printf(out, "%s\n", s->method);
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++)
        buf_printf(out, "%s\n", header(s, before[i]));
    if (s->body_bytes > 0)
        buf_printf(out, "%" PRIu64, s->body_bytes);
    buf_put_u8(out, '\n');
    for (size_t i = 0; i < sizeof behind / sizeof behind[0]; i++)
        buf_printf(out, "%s\n", header(s, behind[i]));
    for (size_t i = 0; i < s->header_count; i++) {
        if (strncmp(s->headers[i].name, "x-ms-", 5) == 0)
            buf_printf(out, "%s:%s\n", s->headers[i].name, s->headers[i].value);
    }
    buf_printf(out, "/%s%s", s->account, s->path);
    for (size_t i = 0; i < s->parameter_count; i++)
        buf_printf(out, "\n%s:%s", s->parameters[i].name, s->parameters[i].value);
}

bw_status azure_sign(const azure_signing *s, const void *key, size_t key_bytes, buf *out)
{
    buf text;
    uint8_t digest[DIGEST_SHA256_BYTES];
    char base64[DIGEST_BASE64_BYTES(DIGEST_SHA256_BYTES)];
    buf_init(&text, TEXT_BYTES_MAX);
    azure_sign_text(s, &text);
    bw_status status = buf_status(&text);
    if (status == BW_OK)
        status = digest_hmac(key, key_bytes, text.data, text.size, digest);
    buf_free(&text);
    BW_TRY(status);
    digest_base64(digest, sizeof digest, base64);
    buf_printf(out, "SharedKey %s:%s", s->account, base64);
    return buf_status(out);
}
