// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Tar archives in a buffer, right or wrong in any field. */
#ifndef TESTS_TARMAKER_H
#define TESTS_TARMAKER_H

#include "base/buf.h"

#include <stdio.h>
#include <string.h>

/** Puts the sum of a header's bytes where it belongs. */
static inline void tar_seal(uint8_t *block)
{
    unsigned sum = 0;
    memset(block + 148, ' ', 8);
    for (unsigned i = 0; i < 512; i++)
        sum += block[i];
    snprintf((char *)block + 148, 8, "%06o", sum);
}

/** A POSIX header; names beyond 100 bytes are cut. */
static inline void tar_header_put(buf *out, const char *name, char type, unsigned long long size)
{
    uint8_t block[512] = {0};
    const size_t length = strlen(name);
    memcpy(block, name, length < 100 ? length : 100);
    memcpy(block + 100, "0000644", 8);
    snprintf((char *)block + 124, 12, "%011llo", size & 077777777777);
    block[156] = (uint8_t)type;
    memcpy(block + 257,
           "ustar\0"
           "00",
           8);
    tar_seal(block);
    buf_put(out, block, sizeof block);
}

static inline void tar_pad(buf *out, size_t size)
{
    buf_put_zero(out, (512 - size % 512) % 512);
}

static inline void tar_put(buf *out, const char *name, char type, const void *data, size_t size)
{
    tar_header_put(out, name, type, size);
    buf_put(out, data, size);
    tar_pad(out, size);
}

static inline void tar_file(buf *out, const char *name, const char *text)
{
    tar_put(out, name, '0', text, strlen(text));
}

static inline void tar_end(buf *out)
{
    buf_put_zero(out, 1024);
}

#endif
