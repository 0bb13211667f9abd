// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include "base/endian.h"
#include "base/sha256.h"
#include <string.h>

bw_status hash_pieces(const hash_piece *pieces, size_t count, hash128 *out)
{
    sha256 hash;
    uint8_t digest[SHA256_BYTES];
    sha256_begin(&hash);
    for (size_t i = 0; i < count; i++)
        sha256_add(&hash, pieces[i].bytes, pieces[i].size);
    const bw_status status = sha256_end(&hash, digest);
    if (status == BW_OK)
        memcpy(out->bytes, digest, HASH_BYTES);
    return status;
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
    const uint64_t added = load_u64(term->bytes), low = load_u64(sum->bytes) + added;
    const uint64_t high = load_u64(sum->bytes + 8) + load_u64(term->bytes + 8) + (low < added);
    store_u64(sum->bytes, low);
    store_u64(sum->bytes + 8, high);
}

void hash_subtract(hash128 *sum, const hash128 *term)
{
    const uint64_t low = load_u64(sum->bytes), taken = load_u64(term->bytes);
    const uint64_t high = load_u64(sum->bytes + 8) - load_u64(term->bytes + 8) - (low < taken);
    store_u64(sum->bytes, low - taken);
    store_u64(sum->bytes + 8, high);
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
