// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * lending: memory of the caller's that slices are read into, one slice a buffer.
 *
 * A buffer is free, or taken: from before its slice is read until nobody holds that any more.
 * Counted: each buffer taken holds the ring, since items outlive their consumer. Any thread.
 */
#ifndef CLIENT_LENDING_H
#define CLIENT_LENDING_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LENT_ALIGNMENT 64u
#define LENT_BUFFERS_MAX 65536u

typedef struct lending lending;

typedef struct lent_buffer {
    uint8_t *data;
    uint64_t bytes;
    uint64_t token;
    lending *ring;
    struct lent_buffer *next;
    bool taken;
} lent_buffer;

typedef struct lending_counts {
    uint64_t buffers, free;
} lending_counts;

typedef enum lending_answer {
    LENDING_TAKEN,
    LENDING_FULL, /* none that is large enough is free; or none was lent yet */
    LENDING_SMALL /* none is large enough */
} lending_answer;

bw_status lending_new(lending **out);
/** Nothing is taken from now on; freed with the last buffer that is given back. NULL is fine. */
void lending_close(lending *l);
/** BW_INVALID: misaligned, smaller than LENT_ALIGNMENT, overlaps one lent before, or one too many;
 * BW_NOMEM. */
bw_status lending_add(lending *l, void *data, size_t bytes, uint64_t token, bw_error *error);
/** The smallest free buffer of at least `bytes`. */
lending_answer lending_take(lending *l, uint64_t bytes, lent_buffer **out);
void lending_give(lent_buffer *b);
lending_counts lending_count(lending *l);

#endif
