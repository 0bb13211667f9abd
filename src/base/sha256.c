// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include "base/hash.h"

/*
 * The plain functions, and not EVP, which wants others to use it: EVP of OpenSSL 3.0 asks for
 * memory at each start, and the name of an object holds a hash, so that every step of a rank would
 * allocate.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>

/* OpenSSL's own, which is told of here only. */
static SHA256_CTX *context_of(sha256 *hash)
{
    _Static_assert(sizeof(SHA256_CTX) <= sizeof hash->state, "OpenSSL's context has grown");
    return (SHA256_CTX *)(void *)hash->state;
}

void sha256_begin(sha256 *hash)
{
    hash->failed = SHA256_Init(context_of(hash)) != 1;
}

void sha256_add(sha256 *hash, const void *bytes, size_t size)
{
    if (size > 0 && SHA256_Update(context_of(hash), bytes, size) != 1)
        hash->failed = true;
}

void sha256_add_text(sha256 *hash, const char *text)
{
    sha256_add(hash, text, strlen(text) + 1);
}

bw_status sha256_end(sha256 *hash, uint8_t out[SHA256_BYTES])
{
    const bool good = SHA256_Final(out, context_of(hash)) == 1 && !hash->failed;
    OPENSSL_cleanse(hash->state, sizeof hash->state);
    return good ? BW_OK : BW_NOMEM;
}

bw_status sha256_end_hex(sha256 *hash, char hex[SHA256_HEX_BYTES])
{
    uint8_t digest[SHA256_BYTES];
    const bw_status status = sha256_end(hash, digest);
    if (status == BW_OK)
        hex_encode(digest, sizeof digest, hex);
    return status;
}
