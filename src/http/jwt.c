// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/jwt.h"

#include "base/buf.h"
#include "http/digest.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>

/* Of 8,192 bits. */
#define SIGNATURE_BYTES_MAX 1024u
#define PART_BYTES_MAX 4096u
#define TOKEN_BYTES_MAX (3u * DIGEST_BASE64_BYTES(PART_BYTES_MAX))

/* Nobody is there to type one: libcrypto would ask at the terminal. */
static int no_password(char *to, int capacity, int writing, void *context)
{
    (void)to;
    (void)capacity;
    (void)writing;
    (void)context;
    return -1;
}

static EVP_PKEY *read_key(const secret *pem)
{
    BIO *from = BIO_new_mem_buf(secret_text(pem), (int)pem->size);
    EVP_PKEY *key = from != NULL ? PEM_read_bio_PrivateKey(from, NULL, no_password, NULL) : NULL;
    (void)BIO_free(from);
    if (key != NULL && EVP_PKEY_is_a(key, "RSA") == 1)
        return key;
    EVP_PKEY_free(key);
    return NULL;
}

/* The size, or 0. */
static size_t sign(EVP_PKEY *key, const buf *text, uint8_t out[SIGNATURE_BYTES_MAX])
{
    size_t size = SIGNATURE_BYTES_MAX;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const bool good = context != NULL &&
                      EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
                      EVP_DigestSign(context, out, &size, text->data, text->size) == 1;
    EVP_MD_CTX_free(context);
    return good ? size : 0;
}

static void put_part(buf *out, const void *bytes, size_t size)
{
    char text[DIGEST_BASE64_BYTES(PART_BYTES_MAX)];
    digest_base64url(bytes, size, text);
    buf_put_text(out, text);
    secret_wipe(text, sizeof text);
}

static bw_status put_token(EVP_PKEY *key, const char *key_id, const char *claims, buf *out,
                           bw_error *error)
{
    char head[512];
    uint8_t signature[SIGNATURE_BYTES_MAX];
    const int size = *key_id != '\0'
                         ? snprintf(head, sizeof head,
                                    "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"%s\"}", key_id)
                         : snprintf(head, sizeof head, "{\"alg\":\"RS256\",\"typ\":\"JWT\"}");
    if (size < 0 || (size_t)size >= sizeof head || strlen(claims) > PART_BYTES_MAX)
        return error_set(error, BW_INVALID, "what is to be signed is too long");
    put_part(out, head, (size_t)size);
    buf_put_u8(out, '.');
    put_part(out, claims, strlen(claims));
    const size_t signed_bytes = buf_status(out) == BW_OK ? sign(key, out, signature) : 0;
    if (buf_status(out) == BW_OK && signed_bytes == 0)
        return error_set(error, BW_INVALID, "the private key cannot sign");
    buf_put_u8(out, '.');
    put_part(out, signature, signed_bytes);
    return buf_status(out) == BW_OK ? BW_OK
                                    : error_set(error, buf_status(out), "no memory for a token");
}

bw_status jwt_sign(const secret *pem, const char *key_id, const char *claims, secret *out,
                   bw_error *error)
{
    buf text;
    bw_status status = BW_OK;
    EVP_PKEY *key = read_key(pem);
    buf_init(&text, TOKEN_BYTES_MAX);
    (void)buf_reserve(&text, TOKEN_BYTES_MAX); /* growing would leave copies behind */
    if (key == NULL)
        status = error_set(error, BW_INVALID,
                           "the private key is none of RSA in PEM without a password");
    else
        status = put_token(key, key_id, claims, &text, error);
    if (status == BW_OK) {
        status = secret_set(out, (const char *)text.data, text.size);
        if (status != BW_OK)
            (void)error_set(error, status, "no memory for a token");
    }
    EVP_PKEY_free(key);
    ERR_clear_error(); /* libcurl looks into the same queue */
    if (text.data != NULL)
        secret_wipe(text.data, text.capacity);
    buf_free(&text);
    return status;
}
