// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The hash of the format: SHA-256 cut to its first 128 bits, and 128-bit little-endian sums of such
 * hashes.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <batchweave/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_BYTES 16u
#define HASH_HEX_BYTES 33u /* with NUL */

typedef struct hash128 {
    uint8_t bytes[HASH_BYTES];
} hash128;

/** BW_OK, or BW_NOMEM when the crypto library fails. Takes no memory. Any thread. */
bw_status hash_bytes(const void *bytes, size_t size, hash128 *out);
/** Hash of several pieces as if they were one. */
typedef struct hash_piece {
    const void *bytes;
    size_t size;
} hash_piece;
bw_status hash_pieces(const hash_piece *pieces, size_t count, hash128 *out);

bool hash_equal(const hash128 *a, const hash128 *b);
bool hash_is_zero(const hash128 *a);
/** sum += term, sum -= term, mod 2^128, byte 0 least significant. */
void hash_add(hash128 *sum, const hash128 *term);
void hash_subtract(hash128 *sum, const hash128 *term);

/** Lower-case hex; `hex` has room for 2·size + 1. */
void hex_encode(const void *bytes, size_t size, char *hex);
/** Exactly 2·size lower-case hex digits and no more; 0 or -1. */
int hex_decode(const char *hex, size_t hex_size, void *bytes, size_t size);

#endif
