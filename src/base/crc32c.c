// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include "base/endian.h"
#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include <asm/hwcap.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/auxv.h>
#define HAS_ARM_PATH
#endif

#define POLYNOMIAL 0x82f63b78u /* 0x1edc6f41 with its bits reversed */

/* Slicing by 8: table[k][b] is the CRC of byte b followed by k zero bytes. */
static uint32_t table[8][256];

static void make_table(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? POLYNOMIAL : 0);
        table[0][b] = crc;
    }
    for (uint32_t b = 0; b < 256; b++) {
        for (int k = 1; k < 8; k++)
            table[k][b] = (table[k - 1][b] >> 8) ^ table[0][table[k - 1][b] & 0xff];
    }
}

uint32_t crc32c_portable(uint32_t previous, const void *bytes, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make_table);
    const uint8_t *at = bytes;
    uint32_t crc = ~previous;
    for (; size >= 8; size -= 8, at += 8) {
        const uint32_t low = crc ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
                                    (uint32_t)at[3] << 24);
        crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^
              table[4][low >> 24] ^ table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^
              table[0][at[7]];
    }
    for (; size > 0; size--, at++)
        crc = (crc >> 8) ^ table[0][(crc ^ *at) & 0xff];
    return ~crc;
}

/* a·b mod P, of reversed numbers: x^0 is the highest bit. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
        if ((a & bit) != 0)
            product ^= b;
        b = (b >> 1) ^ ((b & 1) != 0 ? POLYNOMIAL : 0);
    }
    return product;
}

/* The complements of the two cancel out: the first one is moved over the bytes behind it, that is,
 * multiplied by x^(8 · bytes). */
uint32_t crc32c_join(uint32_t first, uint32_t second, uint64_t second_bytes)
{
    uint32_t power = 1u << 23; /* x^8 */
    for (; second_bytes > 0; second_bytes >>= 1) {
        if ((second_bytes & 1) != 0)
            first = multiply(first, power);
        power = multiply(power, power);
    }
    return first ^ second;
}

#if defined(__x86_64__)

/*
 * The instruction takes 3 cycles but starts one each cycle, so three streams of `lane` bytes run
 * side by side. They are joined by moving the first two over the bytes behind them, which is a
 * multiplication by a power of x: carry-less multiply by x^(bits - 33) mod P (33: the 32 that
 * crc32q adds, and one because a product of reversed numbers comes out shifted by one), then crc32q
 * reduces the product.
 */
typedef struct lane_constants {
    size_t lane;
    int64_t over_two; /* x^(8 · 2 · lane − 33) mod P, bits reversed */
    int64_t over_one; /* x^(8 · lane − 33) mod P, bits reversed */
} lane_constants;

static const lane_constants long_lanes = {1024, 0xa51b6135, 0x170076fa};
static const lane_constants short_lanes = {128, 0xb9e02b86, 0x0d3b6092};

/* Streams that jump are none that the processor sees coming: asked for two blocks ahead, bytes that
 * are in no cache come three times as fast. Beyond the end it asks for nothing that could fail. */
#define LINE_BYTES 64u

__attribute__((target("sse4.2,pclmul"))) static uint64_t
crc_three_lanes(uint64_t crc, const uint8_t *at, const lane_constants *c)
{
    uint64_t first = crc, second = 0, third = 0;
    for (size_t line = 0; line < c->lane; line += LINE_BYTES) {
        const uintptr_t ahead = (uintptr_t)at + 6 * c->lane + 3 * line;
        for (size_t i = 0; i < 3; i++)
            _mm_prefetch((const char *)(ahead + i * LINE_BYTES), _MM_HINT_T0);
        for (size_t i = line; i < line + LINE_BYTES; i += 8) {
            first = _mm_crc32_u64(first, load_u64(at + i));
            second = _mm_crc32_u64(second, load_u64(at + c->lane + i));
            third = _mm_crc32_u64(third, load_u64(at + 2 * c->lane + i));
        }
    }
    const __m128i moved = _mm_xor_si128(
        _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)first), _mm_cvtsi64_si128(c->over_two), 0),
        _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)second), _mm_cvtsi64_si128(c->over_one),
                             0));
    return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(moved)) ^ third;
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t crc_x86(uint32_t previous,
                                                                 const uint8_t *at, size_t size)
{
    uint64_t crc = ~previous;
    for (; size >= 3 * long_lanes.lane; size -= 3 * long_lanes.lane, at += 3 * long_lanes.lane)
        crc = crc_three_lanes(crc, at, &long_lanes);
    for (; size >= 3 * short_lanes.lane; size -= 3 * short_lanes.lane, at += 3 * short_lanes.lane)
        crc = crc_three_lanes(crc, at, &short_lanes);
    for (; size >= 8; size -= 8, at += 8)
        crc = _mm_crc32_u64(crc, load_u64(at));
    for (; size > 0; size--, at++)
        crc = _mm_crc32_u8((uint32_t)crc, *at);
    return ~(uint32_t)crc;
}

uint32_t crc32c(uint32_t previous, const void *bytes, size_t size)
{
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
        return crc_x86(previous, bytes, size);
    return crc32c_portable(previous, bytes, size);
}

#elif defined(HAS_ARM_PATH)

/* Optional in ARMv8.0, there in whatever runs servers: asked for at run time, so that one build
 * does for all. The intrinsics would need a compiler that was told of it. */
static bool has_instruction(void)
{
    enum { NOT_ASKED, HAS, LACKS };
    static atomic_int known = NOT_ASKED;
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == NOT_ASKED) {
        answer = (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0 ? HAS : LACKS;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == HAS;
}

static uint32_t crc_arm(uint32_t previous, const uint8_t *at, size_t size)
{
    uint32_t crc = ~previous;
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t value;
        memcpy(&value, at, sizeof value);
        __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(value));
    }
    for (; size > 0; size--, at++)
        __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"((uint32_t)*at));
    return ~crc;
}

uint32_t crc32c(uint32_t previous, const void *bytes, size_t size)
{
    return has_instruction() ? crc_arm(previous, bytes, size)
                             : crc32c_portable(previous, bytes, size);
}

#else

uint32_t crc32c(uint32_t previous, const void *bytes, size_t size)
{
    return crc32c_portable(previous, bytes, size);
}

#endif
