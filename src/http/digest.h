// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Digests as the object stores want them. Any thread; they take no memory. */
#ifndef HTTP_DIGEST_H
#define HTTP_DIGEST_H

#include <batchweave/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define DIGEST_SHA256_BYTES 32u
#define DIGEST_MD5_BYTES 16u
/** Of `size` bytes, with NUL. */
#define DIGEST_BASE64_BYTES(size) (((size) + 2) / 3 * 4 + 1)

/** BW_NOMEM when the crypto library fails, as all below. */
bw_status digest_sha256(const struct iovec *pieces, size_t count, uint8_t out[DIGEST_SHA256_BYTES]);
bw_status digest_md5(const struct iovec *pieces, size_t count, uint8_t out[DIGEST_MD5_BYTES]);
/** HMAC-SHA256 (RFC 2104). */
bw_status digest_hmac(const void *key, size_t key_size, const void *bytes, size_t size,
                      uint8_t out[DIGEST_SHA256_BYTES]);
/** RFC 4648 with padding; `out` has room for DIGEST_BASE64_BYTES(size). */
void digest_base64(const void *bytes, size_t size, char *out);
/** As tokens have it (RFC 7515): another alphabet, no padding. */
void digest_base64url(const void *bytes, size_t size, char *out);
/** The bytes of `size` characters, at most three for each four; false when it is none. */
bool digest_base64_decode(const char *text, size_t size, uint8_t *out, size_t *count);

#endif
