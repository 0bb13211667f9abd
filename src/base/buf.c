// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"

#include "base/alloc.h"
#include "base/endian.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BUF_FIRST_CAPACITY 64u

void buf_init(buf *b, size_t max)
{
    *b = (buf){.max = max};
}

void buf_free(buf *b)
{
    mem_free(b->data);
    buf_init(b, b->max);
}

void buf_reset(buf *b)
{
    b->size = 0;
    b->failed = BW_OK;
}

bw_status buf_status(const buf *b)
{
    return b->failed;
}

/* Capacity for `bytes`, doubling; `bytes` may exceed the maximum by the NUL of buf_text only. */
static bw_status grow(buf *b, size_t bytes)
{
    if (bytes <= b->capacity)
        return BW_OK;
    size_t capacity = b->capacity > SIZE_MAX / 2 ? bytes : b->capacity * 2;
    if (capacity < BUF_FIRST_CAPACITY)
        capacity = BUF_FIRST_CAPACITY;
    if (capacity > b->max)
        capacity = b->max;
    if (capacity < bytes)
        capacity = bytes;
    uint8_t *data = mem_realloc(b->data, capacity);
    if (data == NULL)
        return b->failed = BW_NOMEM;
    b->data = data;
    b->capacity = capacity;
    return BW_OK;
}

bw_status buf_reserve(buf *b, size_t more)
{
    if (b->failed != BW_OK)
        return b->failed;
    if (more > b->max - b->size)
        return b->failed = BW_TOO_LARGE;
    return grow(b, b->size + more);
}

/* Where the next bytes go; NULL: no room. */
static inline uint8_t *extend(buf *b, size_t more)
{
    if (buf_reserve(b, more) != BW_OK)
        return NULL;
    uint8_t *at = b->data + b->size;
    b->size += more;
    return at;
}

void buf_put(buf *b, const void *bytes, size_t size)
{
    uint8_t *at = size > 0 ? extend(b, size) : NULL;
    if (at != NULL)
        memcpy(at, bytes, size);
}

void buf_put_zero(buf *b, size_t size)
{
    uint8_t *at = size > 0 ? extend(b, size) : NULL;
    if (at != NULL)
        memset(at, 0, size);
}

void buf_put_u8(buf *b, uint8_t value)
{
    uint8_t *at = extend(b, sizeof value);
    if (at != NULL)
        *at = value;
}

void buf_put_u16(buf *b, uint16_t value)
{
    uint8_t *at = extend(b, sizeof value);
    if (at != NULL)
        store_u16(at, value);
}

void buf_put_u32(buf *b, uint32_t value)
{
    uint8_t *at = extend(b, sizeof value);
    if (at != NULL)
        store_u32(at, value);
}

void buf_put_u64(buf *b, uint64_t value)
{
    uint8_t *at = extend(b, sizeof value);
    if (at != NULL)
        store_u64(at, value);
}

void buf_put_text(buf *b, const char *text)
{
    buf_put(b, text, strlen(text));
}

void buf_printf(buf *b, const char *format, ...)
{
    if (b->failed != BW_OK)
        return;
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    const int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    /* vsnprintf writes a NUL, for which grow makes room beyond the size that counts. */
    if (length < 0)
        b->failed = BW_TOO_LARGE;
    else if (buf_reserve(b, (size_t)length) == BW_OK &&
             grow(b, b->size + (size_t)length + 1) == BW_OK) {
        (void)vsnprintf((char *)b->data + b->size, (size_t)length + 1, format, again);
        b->size += (size_t)length;
    }
    va_end(again);
}

const char *buf_text(buf *b)
{
    if (b->failed != BW_OK || b->size == 0 || grow(b, b->size + 1) != BW_OK)
        return "";
    b->data[b->size] = '\0';
    return (const char *)b->data;
}

uint8_t *buf_take(buf *b, size_t *size)
{
    uint8_t *data = b->data;
    *size = b->size;
    buf_init(b, b->max);
    return data;
}
