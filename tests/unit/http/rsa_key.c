// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "rsa_key.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdlib.h>
#include <string.h>

struct rsa_key {
    EVP_PKEY *key;
    char pem[4096];
};

rsa_key *rsa_key_new(void)
{
    rsa_key *k = calloc(1, sizeof *k);
    k->key = EVP_RSA_gen(2048);
    return k;
}

void rsa_key_free(rsa_key *k)
{
    EVP_PKEY_free(k->key);
    free(k);
}

const char *rsa_key_pem(rsa_key *k, const char *password)
{
    BIO *to = BIO_new(BIO_s_mem());
    (void)PEM_write_bio_PKCS8PrivateKey(to, k->key, password != NULL ? EVP_aes_128_cbc() : NULL,
                                        password, password != NULL ? (int)strlen(password) : 0,
                                        NULL, NULL);
    const int size = BIO_read(to, k->pem, sizeof k->pem - 1);
    k->pem[size > 0 ? size : 0] = '\0';
    (void)BIO_free(to);
    return k->pem;
}

/* Base64 with the alphabet of URLs, without padding; by libcrypto, not by the code under test. */
static int decode(const char *text, size_t size, unsigned char *out, size_t capacity)
{
    char padded[8192];
    if (size + 4 > sizeof padded || size / 4 * 3 + 3 > capacity)
        return -1;
    memset(padded, '=', sizeof padded);
    for (size_t i = 0; i < size; i++)
        padded[i] = (char)(text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i]);
    const size_t whole = (size + 3) / 4 * 4;
    const int count = EVP_DecodeBlock(out, (const unsigned char *)padded, (int)whole);
    return count < 0 ? -1 : count - (int)(whole - size);
}

static bool decode_text(const char *text, size_t size, char *out, size_t capacity)
{
    const int count = decode(text, size, (unsigned char *)out, capacity - 1);
    if (count >= 0)
        out[count] = '\0';
    return count >= 0;
}

bool rsa_key_signed(rsa_key *k, const char *token, char *head, char *claims, size_t capacity)
{
    unsigned char signature[1024];
    const char *middle = strchr(token, '.');
    const char *last = middle != NULL ? strchr(middle + 1, '.') : NULL;
    if (last == NULL || !decode_text(token, (size_t)(middle - token), head, capacity) ||
        !decode_text(middle + 1, (size_t)(last - middle) - 1, claims, capacity))
        return false;
    const int size = decode(last + 1, strlen(last + 1), signature, sizeof signature);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const bool good = size > 0 &&
                      EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, k->key) == 1 &&
                      EVP_DigestVerify(context, signature, (size_t)size,
                                       (const unsigned char *)token, (size_t)(last - token)) == 1;
    EVP_MD_CTX_free(context);
    return good;
}
