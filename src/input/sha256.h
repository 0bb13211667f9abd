// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** SHA-256 in pieces, for digests that people compare and for fingerprints of inputs. */
#ifndef INPUT_SHA256_H
#define INPUT_SHA256_H

#include <batchweave/status.h>
#include <stddef.h>

#define SHA256_BYTES 32u
#define SHA256_HEX_BYTES 65u /* with NUL */

typedef struct sha256 sha256;

/** NULL when the crypto library cannot give a context. One thread. */
sha256 *sha256_new(void);
void sha256_free(sha256 *hash);
/** Adds a piece; a failure is kept and reported by sha256_hex. */
void sha256_add(sha256 *hash, const void *bytes, size_t size);
/** Adds a text with its terminating NUL, so that no two lists of texts hash alike. */
void sha256_add_text(sha256 *hash, const char *text);
/** Lower-case hex of what was added; the hash starts anew. BW_OK or BW_NOMEM. */
bw_status sha256_hex(sha256 *hash, char hex[SHA256_HEX_BYTES]);

#endif
