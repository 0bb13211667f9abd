// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "digests.h"

#include "base/crc32c.h"
#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>

#define MD5_BYTES 16u
#define CRC64_POLYNOMIAL 0x9a6c9329ac4bc9b5ull /* reflected */

static uint64_t crc64_tables[8][256];
static pthread_once_t crc64_once = PTHREAD_ONCE_INIT;

/** Table k: a byte, and k bytes of zero behind it; eight of them take eight bytes a turn. */
static void make_tables(void)
{
    for (unsigned i = 0; i < 256; i++) {
        uint64_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? CRC64_POLYNOMIAL : 0);
        crc64_tables[0][i] = crc;
    }
    for (unsigned k = 1; k < 8; k++)
        for (unsigned i = 0; i < 256; i++) {
            const uint64_t before = crc64_tables[k - 1][i];
            crc64_tables[k][i] = (before >> 8) ^ crc64_tables[0][before & 0xff];
        }
}

uint64_t azure_crc64(const void *bytes, size_t size)
{
    pthread_once(&crc64_once, make_tables);
    const uint8_t *at = bytes;
    uint64_t crc = ~0ull;
    for (; size >= 8; at += 8, size -= 8) {
        for (unsigned k = 0; k < 8; k++)
            crc ^= (uint64_t)at[k] << (8 * k);
        uint64_t next = 0;
        for (unsigned k = 0; k < 8; k++)
            next ^= crc64_tables[7 - k][(crc >> (8 * k)) & 0xff];
        crc = next;
    }
    for (; size > 0; at++, size--)
        crc = (crc >> 8) ^ crc64_tables[0][(crc ^ *at) & 0xff];
    return ~crc;
}

static const void *bytes_of(const blob *b)
{
    return b == NULL ? (const void *)"" : b->bytes;
}

static size_t size_of(const blob *b)
{
    return b == NULL ? 0 : b->size;
}

failure digest_md5(const exchange *x, const char *name, const blob *b)
{
    const char *text = request_header(&x->request, name);
    uint8_t claimed[MD5_BYTES], digest[EVP_MAX_MD_SIZE];
    if (text == NULL)
        return FAILURE_NONE;
    if (!read_base64(text, claimed, sizeof claimed))
        return FAILURE_BAD_DIGEST_FORM;
    if (EVP_Digest(bytes_of(b), size_of(b), digest, NULL, EVP_md5(), NULL) != 1)
        return FAILURE_INTERNAL;
    return memcmp(claimed, digest, MD5_BYTES) == 0 ? FAILURE_NONE : FAILURE_BAD_DIGEST;
}

bool read_crc32c(const char *text, uint32_t *crc)
{
    uint8_t raw[4];
    if (!read_base64(text, raw, sizeof raw))
        return false;
    *crc = (uint32_t)raw[0] << 24 | (uint32_t)raw[1] << 16 | (uint32_t)raw[2] << 8 | raw[3];
    return true;
}

void put_crc32c(buf *out, uint32_t crc)
{
    const uint8_t raw[4] = {(uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8),
                            (uint8_t)crc};
    put_base64(out, raw, sizeof raw);
}

void put_crc64(buf *out, uint64_t crc)
{
    uint8_t raw[8];
    for (unsigned k = 0; k < 8; k++)
        raw[k] = (uint8_t)(crc >> (8 * k));
    put_base64(out, raw, sizeof raw);
}

failure digest_crc32c(const exchange *x, const char *name, const blob *b)
{
    const char *text = request_header(&x->request, name);
    uint32_t claimed = 0;
    if (text == NULL)
        return FAILURE_NONE;
    if (!read_crc32c(text, &claimed))
        return FAILURE_BAD_DIGEST_FORM;
    return claimed == crc32c(0, bytes_of(b), size_of(b)) ? FAILURE_NONE : FAILURE_BAD_CRC;
}

failure digest_crc64(const exchange *x, const char *name, const blob *b)
{
    const char *text = request_header(&x->request, name);
    uint8_t raw[8];
    if (text == NULL)
        return FAILURE_NONE;
    if (!read_base64(text, raw, sizeof raw))
        return FAILURE_BAD_DIGEST_FORM;
    const uint64_t crc = azure_crc64(bytes_of(b), size_of(b));
    for (unsigned k = 0; k < 8; k++)
        if (raw[k] != (uint8_t)(crc >> (8 * k)))
            return FAILURE_BAD_CRC;
    return FAILURE_NONE;
}
