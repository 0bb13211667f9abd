// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * buf: a growable byte buffer that is created with a maximum and remembers failure.
 *
 * Appends after a failure do nothing, so an encoder writes straight through and asks once at the
 * end (buf_status). One owner, one thread.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <batchweave/status.h>
#include <stddef.h>
#include <stdint.h>

typedef struct buf {
    uint8_t *data;
    size_t size;      /* bytes in use */
    size_t capacity;  /* bytes allocated */
    size_t max;       /* never grows beyond */
    bw_status failed; /* BW_OK, BW_NOMEM or BW_TOO_LARGE; sticky until buf_reset */
} buf;

void buf_init(buf *b, size_t max);
/** Frees the memory; `b` is as after buf_init with the same maximum. */
void buf_free(buf *b);
/** Empties, keeps the memory, forgets a failure. */
void buf_reset(buf *b);
bw_status buf_status(const buf *b);
/** Room for `more` bytes; BW_OK, BW_NOMEM or BW_TOO_LARGE. */
bw_status buf_reserve(buf *b, size_t more);
void buf_put(buf *b, const void *bytes, size_t size);
void buf_put_zero(buf *b, size_t size);
void buf_put_u8(buf *b, uint8_t value);
void buf_put_u16(buf *b, uint16_t value); /* little-endian, as all below */
void buf_put_u32(buf *b, uint32_t value);
void buf_put_u64(buf *b, uint64_t value);
/** Appends text (no NUL). */
void buf_put_text(buf *b, const char *text);
void buf_printf(buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Makes data end in a NUL that `size` does not count, and returns it; "" when empty or failed. */
const char *buf_text(buf *b);
/** Hands the memory to the caller (release with mem_free); `b` is empty afterwards. */
uint8_t *buf_take(buf *b, size_t *size);

#endif
