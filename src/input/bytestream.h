// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Buffered reading of a descriptor (file, pipe, terminal) that counts bytes and never blocks
 * without saying so: while nothing comes, `tick` is called several times a second and may end the
 * wait.
 */
#ifndef INPUT_BYTESTREAM_H
#define INPUT_BYTESTREAM_H

#include "base/buf.h"

#include <batchweave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bytestream {
    int fd;
    const char *name; /* for messages; borrowed */
    uint64_t offset;  /* of the next byte to hand out */
    uint8_t *buffer;
    size_t at, fill;            /* what of the buffer is not handed out yet */
    bool regular;               /* a file: may be skipped by seeking */
    uint64_t file_end;          /* of a regular file, when it was opened */
    bool failed;                /* the system could not read it */
    int (*tick)(void *context); /* NULL: none; non-zero ends the wait with BW_INTERRUPTED */
    void *context;
} bytestream;

/** Reads `fd`, which stays the caller's. Close in any case. */
bw_status bytestream_open(bytestream *s, int fd, const char *name, int (*tick)(void *),
                          void *context, bw_error *error);
/** `size` bytes, fewer only at the end of the stream. */
bw_status bytestream_read(bytestream *s, void *out, size_t size, size_t *got, bw_error *error);
/**
 * Shows up to `size` ≤ BYTESTREAM_PEEK_MAX of the next bytes, not taken; fewer only at the end of
 * the stream. Valid until the next call.
 */
#define BYTESTREAM_PEEK_MAX 4096u
bw_status bytestream_peek(bytestream *s, size_t size, const uint8_t **bytes, size_t *got,
                          bw_error *error);
/**
 * Takes all bytes up to `stop` and `stop` itself: the first `max` of them are appended to `out`
 * (NULL: none), `*taken` counts all. `*found`: the stream did not end before it. BW_NOMEM.
 */
bw_status bytestream_until(bytestream *s, uint8_t stop, buf *out, size_t max, uint64_t *taken,
                           bool *found, bw_error *error);
/** Passes over `size` bytes; `*got` is less only at the end of the stream. */
bw_status bytestream_skip(bytestream *s, uint64_t size, uint64_t *got, bw_error *error);
void bytestream_close(bytestream *s);

#endif
