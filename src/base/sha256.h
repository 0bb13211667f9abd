// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** SHA-256 of pieces, one after the other. It takes no memory; one thread. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <batchweave/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32u
#define SHA256_HEX_BYTES 65u /* with NUL */

typedef struct sha256 {
    uint64_t state[14];
    bool failed;
} sha256;

void sha256_begin(sha256 *hash);
/** Adds a piece; a failure is kept and reported at the end. */
void sha256_add(sha256 *hash, const void *bytes, size_t size);
/** Adds a text with its terminating NUL, so that no two lists of texts hash alike. */
void sha256_add_text(sha256 *hash, const char *text);
/** The hash of what was added, of which nothing stays in memory: sha256_begin comes next. BW_OK, or
 * BW_NOMEM when the crypto library fails. */
bw_status sha256_end(sha256 *hash, uint8_t out[SHA256_BYTES]);
/** The same in lower-case hex. */
bw_status sha256_end_hex(sha256 *hash, char hex[SHA256_HEX_BYTES]);

#endif
