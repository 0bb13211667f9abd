// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/digest.h"

/* The plain functions, and not EVP, which asks for memory at each start (base/hash.c). */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "http/secret.h"

#include <openssl/md5.h>
#include <openssl/sha.h>
#include <string.h>

#define BLOCK_BYTES 64u

static bw_status sha256(const struct iovec *pieces, size_t count, uint8_t *out)
{
    SHA256_CTX context;
    int good = SHA256_Init(&context);
    for (size_t i = 0; i < count && good == 1; i++)
        good = SHA256_Update(&context, pieces[i].iov_base, pieces[i].iov_len);
    if (good == 1)
        good = SHA256_Final(out, &context);
    secret_wipe(&context, sizeof context);
    return good == 1 ? BW_OK : BW_NOMEM;
}

bw_status digest_sha256(const struct iovec *pieces, size_t count, uint8_t out[DIGEST_SHA256_BYTES])
{
    return sha256(pieces, count, out);
}

bw_status digest_md5(const struct iovec *pieces, size_t count, uint8_t out[DIGEST_MD5_BYTES])
{
    MD5_CTX context;
    int good = MD5_Init(&context);
    for (size_t i = 0; i < count && good == 1; i++)
        good = MD5_Update(&context, pieces[i].iov_base, pieces[i].iov_len);
    return good == 1 && MD5_Final(out, &context) == 1 ? BW_OK : BW_NOMEM;
}

/* struct iovec serves reads and writes, so its pointer is not const. */
static struct iovec piece_of(const void *bytes, size_t size)
{
    return (struct iovec){(void *)(uintptr_t)bytes, size};
}

bw_status digest_hmac(const void *key, size_t key_size, const void *bytes, size_t size,
                      uint8_t out[DIGEST_SHA256_BYTES])
{
    uint8_t pad[BLOCK_BYTES] = {0};
    uint8_t inner[DIGEST_SHA256_BYTES];
    bw_status status = BW_OK;
    if (key_size > BLOCK_BYTES)
        status = sha256(&(struct iovec){(void *)(uintptr_t)key, key_size}, 1, pad);
    else if (key_size > 0)
        memcpy(pad, key, key_size);
    for (size_t i = 0; i < BLOCK_BYTES; i++)
        pad[i] ^= 0x36;
    if (status == BW_OK)
        status =
            sha256((struct iovec[]){piece_of(pad, BLOCK_BYTES), piece_of(bytes, size)}, 2, inner);
    for (size_t i = 0; i < BLOCK_BYTES; i++)
        pad[i] ^= 0x36 ^ 0x5c;
    if (status == BW_OK)
        status = sha256((struct iovec[]){piece_of(pad, BLOCK_BYTES), piece_of(inner, sizeof inner)},
                        2, out);
    secret_wipe(pad, sizeof pad);
    secret_wipe(inner, sizeof inner);
    return status;
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void digest_base64(const void *bytes, size_t size, char *out)
{
    const uint8_t *from = bytes;
    for (size_t at = 0; at < size; at += 3) {
        const size_t left = size - at;
        const uint32_t three = (uint32_t)from[at] << 16 |
                               (left > 1 ? (uint32_t)from[at + 1] << 8 : 0) |
                               (left > 2 ? (uint32_t)from[at + 2] : 0);
        *out++ = digits[three >> 18];
        *out++ = digits[three >> 12 & 63];
        *out++ = left > 1 ? digits[three >> 6 & 63] : '=';
        *out++ = left > 2 ? digits[three & 63] : '=';
    }
    *out = '\0';
}

void digest_base64url(const void *bytes, size_t size, char *out)
{
    digest_base64(bytes, size, out);
    for (; *out != '\0' && *out != '='; out++)
        *out = (char)(*out == '+' ? '-' : *out == '/' ? '_' : *out);
    *out = '\0';
}

bool digest_base64_decode(const char *text, size_t size, uint8_t *out, size_t *count)
{
    size_t digit_count = size;
    while (digit_count > 0 && size - digit_count < 2 && text[digit_count - 1] == '=')
        digit_count--;
    if (size % 4 != 0 || (digit_count < size && digit_count % 4 < 2))
        return false;
    uint32_t bits = 0;
    *count = 0;
    for (size_t i = 0; i < digit_count; i++) {
        const char *digit = text[i] == '\0' ? NULL : strchr(digits, text[i]);
        if (digit == NULL)
            return false;
        bits = bits << 6 | (uint32_t)(digit - digits);
        if (i % 4 != 0)
            out[(*count)++] = (uint8_t)(bits >> (6 - i % 4 * 2));
    }
    return true;
}
