// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Numbers in bytes, little-endian, at any alignment.
 */
#ifndef BASE_ENDIAN_H
#define BASE_ENDIAN_H

#include <stdint.h>

/* Inline: they are most of what decoding a descriptor costs. */
static inline uint16_t load_u16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static inline uint32_t load_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static inline uint64_t load_u64(const uint8_t *bytes)
{
    return (uint64_t)load_u32(bytes) | (uint64_t)load_u32(bytes + 4) << 32;
}

static inline void store_u16(uint8_t *bytes, uint16_t value)
{
    bytes[0] = (uint8_t)value;
    bytes[1] = (uint8_t)(value >> 8);
}

static inline void store_u32(uint8_t *bytes, uint32_t value)
{
    store_u16(bytes, (uint16_t)value);
    store_u16(bytes + 2, (uint16_t)(value >> 16));
}

static inline void store_u64(uint8_t *bytes, uint64_t value)
{
    store_u32(bytes, (uint32_t)value);
    store_u32(bytes + 4, (uint32_t)(value >> 32));
}

#endif
