// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/sha256.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <openssl/evp.h>
#include <stdbool.h>
#include <string.h>

struct sha256 {
    EVP_MD_CTX *context;
    bool failed;
};

sha256 *sha256_new(void)
{
    sha256 *hash = mem_zalloc(sizeof *hash);
    if (hash == NULL)
        return NULL;
    hash->context = EVP_MD_CTX_new();
    if (hash->context == NULL || EVP_DigestInit_ex(hash->context, EVP_sha256(), NULL) != 1) {
        sha256_free(hash);
        return NULL;
    }
    return hash;
}

void sha256_free(sha256 *hash)
{
    if (hash == NULL)
        return;
    EVP_MD_CTX_free(hash->context);
    mem_free(hash);
}

void sha256_add(sha256 *hash, const void *bytes, size_t size)
{
    if (size > 0 && EVP_DigestUpdate(hash->context, bytes, size) != 1)
        hash->failed = true;
}

void sha256_add_text(sha256 *hash, const char *text)
{
    sha256_add(hash, text, strlen(text) + 1);
}

bw_status sha256_hex(sha256 *hash, char hex[SHA256_HEX_BYTES])
{
    unsigned char digest[SHA256_BYTES];
    if (EVP_DigestFinal_ex(hash->context, digest, NULL) != 1 ||
        EVP_DigestInit_ex(hash->context, NULL, NULL) != 1)
        hash->failed = true;
    if (hash->failed)
        return BW_NOMEM;
    hex_encode(digest, sizeof digest, hex);
    return BW_OK;
}
