// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Digests that clients send with a body. */
#ifndef TESTSTORE_DIGESTS_H
#define TESTSTORE_DIGESTS_H

#include "exchange.h"

/** Each: the header `name` of the request, if there, against `b` (NULL: no bytes). */
failure digest_md5(const exchange *x, const char *name, const blob *b);
failure digest_crc32c(const exchange *x, const char *name, const blob *b);
failure digest_crc64(const exchange *x, const char *name, const blob *b);
/** CRC-32C as S3 and GCS write it: base64 of four bytes, the highest first. */
void put_crc32c(buf *out, uint32_t crc);
bool read_crc32c(const char *text, uint32_t *crc);
/** As Azure writes it: the lowest first. */
void put_crc64(buf *out, uint64_t crc);
/** CRC-64 as Azure and NVMe have it; "123456789" gives 0xae8b14860a799888. */
uint64_t azure_crc64(const void *bytes, size_t size);

#endif
