// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** CRC-32C (Castagnoli, reflected, initial and final complement). Hardware where there is any,
 * tables elsewhere. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/** crc32c(0, …) starts; crc32c(previous, …) goes on: crc32c(crc32c(0,a),b) == crc32c(0,ab).
 * "123456789" → 0xe3069283. */
uint32_t crc32c(uint32_t previous, const void *bytes, size_t size);
/** Of two pieces, by theirs alone: crc32c_join(crc32c(0,a), crc32c(0,b), size of b) ==
 * crc32c(0,ab). A microsecond. */
uint32_t crc32c_join(uint32_t first, uint32_t second, uint64_t second_bytes);
/** The table version, for tests and for machines without the instruction. */
uint32_t crc32c_portable(uint32_t previous, const void *bytes, size_t size);

#endif
