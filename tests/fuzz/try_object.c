// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"

#include "base/alloc.h"
#include "base/crc32c.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CRC_BYTES 4u
#define AT_BODY_BYTES 8u

_Noreturn void promise_broken(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: broken promise: %s\n", file, line, what);
    abort();
}

void check_told(bw_status status, const bw_error *error)
{
    PROMISE(status != BW_OK);
    PROMISE(error->code == status);
    PROMISE(error->message[0] != '\0');
    PROMISE(memchr(error->message, '\0', sizeof error->message) != NULL);
}

size_t decode_bytes_max(size_t size)
{
    return 8192 + 6 * size;
}

/* A copy of exactly this size, so that a sanitizer sees what is read beyond it. */
static void try_copy(const object_case *c, const uint8_t *object, size_t size, uint32_t slices)
{
    static _Alignas(max_align_t) uint8_t decoded[DECODED_BYTES_MAX];
    bw_error error = {.code = BW_OK};
    meter_start();
    const bw_status status = c->decode(view_of(object, size), slices, decoded, &error);
    PROMISE(meter_peak() <= decode_bytes_max(size));
    if (status != BW_OK) {
        PROMISE(status == BW_CORRUPT || status == BW_FORMAT);
        check_told(status, &error);
        return;
    }
    if (c->walk != NULL)
        c->walk(decoded);
    buf out;
    buf_init(&out, SIZE_MAX);
    PROMISE(c->encode(decoded, &out) == BW_OK);
    PROMISE(out.size == size && memcmp(out.data, object, size) == 0);
    buf_free(&out);
    if (c->release != NULL)
        c->release(decoded);
}

void object_try(const object_case *c, const uint8_t *data, size_t size)
{
    /* 512: of the golden objects; more than 204 allow the footer form. */
    static const uint32_t slices[] = {512, 1, 4, 205};
    try_copy(c, data, size, slices[0]);
    if (size < OBJECT_EXTRA_BYTES)
        return;
    uint8_t *copy = mem_dup(data, size);
    PROMISE(copy != NULL);
    uint8_t *crc = copy + size - CRC_BYTES;
    const uint32_t chosen = slices[crc[0] % 4];
    if (crc[1] % 16 != 15)
        store_u64(copy + AT_BODY_BYTES, size - OBJECT_EXTRA_BYTES);
    store_u32(crc, crc32c(0, copy, size - CRC_BYTES));
    try_copy(c, copy, size, chosen);
    mem_free(copy);
}
