// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** CRC-64/NVME (reflected, initial and final complement), which Azure verifies. By carry-less
 * multiplication where there is any, tables elsewhere. */
#ifndef BASE_CRC64_H
#define BASE_CRC64_H

#include <stddef.h>
#include <stdint.h>

/** crc64(0, …) starts; crc64(previous, …) goes on. "123456789" → 0xae8b14860a799888. */
uint64_t crc64(uint64_t previous, const void *bytes, size_t size);
/** The table version, for tests and for machines without the instruction. */
uint64_t crc64_portable(uint64_t previous, const void *bytes, size_t size);

#endif
