// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/crc64.h"

#include <pthread.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define POLYNOMIAL 0x9a6c9329ac4bc9b5u /* 0xad93d23594c93659 with its bits reversed */

/* Slicing by 8: table[k][b] is the CRC of byte b followed by k zero bytes. */
static uint64_t table[8][256];

static void make_table(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint64_t crc = b;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? POLYNOMIAL : 0);
        table[0][b] = crc;
    }
    for (uint32_t b = 0; b < 256; b++) {
        for (int k = 1; k < 8; k++)
            table[k][b] = (table[k - 1][b] >> 8) ^ table[0][table[k - 1][b] & 0xff];
    }
}

/* Without the complements. */
static uint64_t go_on(uint64_t crc, const uint8_t *at, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make_table);
    for (; size >= 8; size -= 8, at += 8) {
        for (unsigned k = 0; k < 8; k++)
            crc ^= (uint64_t)at[k] << (8 * k);
        uint64_t next = 0;
        for (unsigned k = 0; k < 8; k++)
            next ^= table[7 - k][crc >> (8 * k) & 0xff];
        crc = next;
    }
    for (; size > 0; size--, at++)
        crc = (crc >> 8) ^ table[0][(crc ^ *at) & 0xff];
    return crc;
}

uint64_t crc64_portable(uint64_t previous, const void *bytes, size_t size)
{
    return ~go_on(~previous, bytes, size);
}

#if defined(__x86_64__)

#define LANES 4u
#define STRIDE (LANES * 16u)

/*
 * 16 bytes are moved over the `bits` behind them by two carry-less multiplications, of their first
 * half by x^(bits + 64 − 1) mod P and of their second by x^(bits − 1) mod P (1: a product of
 * reversed numbers comes out shifted by one). Four such lanes hide the instruction's latency; what
 * they end as has the CRC of all, and goes through the tables.
 */
__attribute__((target("sse4.1,pclmul"))) static __m128i fold(__m128i at, __m128i powers,
                                                             __m128i next)
{
    const __m128i first = _mm_clmulepi64_si128(at, powers, 0x00);
    const __m128i second = _mm_clmulepi64_si128(at, powers, 0x11);
    return _mm_xor_si128(next, _mm_xor_si128(first, second));
}

__attribute__((target("sse4.1,pclmul"))) static uint64_t crc_x86(uint64_t crc, const uint8_t *at,
                                                                 size_t size)
{
    const __m128i over_stride = _mm_set_epi64x(0x62242240ace5045a, 0x0c32cdb31e18a84a);
    const __m128i over_lane = _mm_set_epi64x(0x21e9761e252621ac, (int64_t)0xeadc41fd2ba3d420u);
    __m128i lanes[LANES];
    uint8_t last[16];
    for (size_t i = 0; i < LANES; i++)
        lanes[i] = _mm_loadu_si128((const __m128i_u *)(const void *)(at + 16 * i));
    lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi64_si128((int64_t)crc));
    for (at += STRIDE, size -= STRIDE; size >= STRIDE; at += STRIDE, size -= STRIDE) {
        for (size_t i = 0; i < LANES; i++)
            lanes[i] = fold(lanes[i], over_stride,
                            _mm_loadu_si128((const __m128i_u *)(const void *)(at + 16 * i)));
    }
    __m128i all = lanes[0];
    for (size_t i = 1; i < LANES; i++)
        all = fold(all, over_lane, lanes[i]);
    _mm_storeu_si128((__m128i_u *)(void *)last, all);
    return go_on(go_on(0, last, sizeof last), at, size);
}

uint64_t crc64(uint64_t previous, const void *bytes, size_t size)
{
    if (size >= STRIDE && __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("pclmul"))
        return ~crc_x86(~previous, bytes, size);
    return crc64_portable(previous, bytes, size);
}

#else

uint64_t crc64(uint64_t previous, const void *bytes, size_t size)
{
    return crc64_portable(previous, bytes, size);
}

#endif
