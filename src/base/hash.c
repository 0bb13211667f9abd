// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/*
 * Two things are kept because making them costs more than hashing a descriptor: the algorithm,
 * looked up once for the process, and one context per thread, freed when the thread ends. Neither
 * is state that a caller could notice.
 */
static EVP_MD *sha256;
static pthread_key_t context_key;
static pthread_mutex_t preparing = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool ready;

static void free_context(void *context)
{
    EVP_MD_CTX_free(context);
}

/* Not pthread_once: memory that runs out at the very first hash must not fail all later ones. */
static bool prepare(void)
{
    if (atomic_load_explicit(&ready, memory_order_acquire))
        return true;
    pthread_mutex_lock(&preparing);
    if (sha256 == NULL)
        sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    if (sha256 != NULL && !atomic_load(&ready))
        atomic_store(&ready, pthread_key_create(&context_key, free_context) == 0);
    const bool done = atomic_load(&ready);
    pthread_mutex_unlock(&preparing);
    return done;
}

/* When the library is unloaded, threads that live on must not call free_context. */
__attribute__((destructor)) static void forget_key(void)
{
    if (atomic_load(&ready))
        (void)pthread_key_delete(context_key);
}

static EVP_MD_CTX *thread_context(void)
{
    if (!prepare())
        return NULL;
    EVP_MD_CTX *context = pthread_getspecific(context_key);
    if (context != NULL)
        return context;
    context = EVP_MD_CTX_new();
    if (context == NULL)
        return NULL;
    if (EVP_DigestInit_ex2(context, sha256, NULL) != 1 ||
        pthread_setspecific(context_key, context) != 0) {
        EVP_MD_CTX_free(context);
        return NULL;
    }
    return context;
}

bw_status hash_pieces(const hash_piece *pieces, size_t count, hash128 *out)
{
    EVP_MD_CTX *context = thread_context();
    /* Without an algorithm argument the context starts again with the one it has. */
    if (context == NULL || EVP_DigestInit_ex2(context, NULL, NULL) != 1)
        return BW_NOMEM;
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].size > 0 && EVP_DigestUpdate(context, pieces[i].bytes, pieces[i].size) != 1)
            return BW_NOMEM;
    }
    uint8_t digest[EVP_MAX_MD_SIZE];
    if (EVP_DigestFinal_ex(context, digest, NULL) != 1)
        return BW_NOMEM;
    memcpy(out->bytes, digest, HASH_BYTES);
    return BW_OK;
}

bw_status hash_bytes(const void *bytes, size_t size, hash128 *out)
{
    return hash_pieces(&(hash_piece){bytes, size}, 1, out);
}

bool hash_equal(const hash128 *a, const hash128 *b)
{
    return memcmp(a->bytes, b->bytes, HASH_BYTES) == 0;
}

bool hash_is_zero(const hash128 *a)
{
    return hash_equal(a, &(hash128){{0}});
}

void hash_add(hash128 *sum, const hash128 *term)
{
    unsigned carry = 0;
    for (size_t i = 0; i < HASH_BYTES; i++) {
        carry += (unsigned)sum->bytes[i] + term->bytes[i];
        sum->bytes[i] = (uint8_t)carry;
        carry >>= 8;
    }
}

void hash_subtract(hash128 *sum, const hash128 *term)
{
    unsigned borrow = 0;
    for (size_t i = 0; i < HASH_BYTES; i++) {
        const unsigned take = term->bytes[i] + borrow;
        borrow = sum->bytes[i] < take;
        sum->bytes[i] = (uint8_t)(sum->bytes[i] - take);
    }
}

void hex_encode(const void *bytes, size_t size, char *hex)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *from = bytes;
    for (size_t i = 0; i < size; i++) {
        *hex++ = digits[from[i] >> 4];
        *hex++ = digits[from[i] & 15];
    }
    *hex = '\0';
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

int hex_decode(const char *hex, size_t hex_size, void *bytes, size_t size)
{
    uint8_t *to = bytes;
    if (hex_size / 2 != size || hex_size % 2 != 0)
        return -1;
    for (size_t i = 0; i < size; i++) {
        const int high = hex_value(hex[2 * i]);
        const int low = hex_value(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return -1;
        to[i] = (uint8_t)(high * 16 + low);
    }
    return 0;
}
