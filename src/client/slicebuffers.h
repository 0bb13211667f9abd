// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * slice_buffers: memory of slices that nobody holds, kept for the next ones: fresh memory costs a
 * fault a page.
 *
 * What is kept is not reserved: it is no more than the byte budget has left, and whoever needs
 * fresh memory frees what is beyond that first. Any thread.
 */
#ifndef CLIENT_SLICEBUFFERS_H
#define CLIENT_SLICEBUFFERS_H

#include <batchweave/status.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct slice_buffers slice_buffers;

/** 64-aligned memory; `data` NULL: none. */
typedef struct slice_buffer {
    uint8_t *data;
    uint64_t bytes;
} slice_buffer;

bw_status slice_buffers_new(slice_buffers **out);
/** Frees what is kept. NULL is fine. */
void slice_buffers_free(slice_buffers *b);
/** For `bytes`: one that was kept and is hardly larger, else fresh; `data` NULL when out of memory.
 * Then no more than `kept_max` are kept. */
slice_buffer slice_buffers_take(slice_buffers *b, uint64_t bytes, uint64_t kept_max);
/** Keeps it for a next one, when no more than `kept_max` are kept with it. False: it is still the
 * caller's. Never waits: a trainer may call this. */
bool slice_buffers_keep(slice_buffers *b, slice_buffer one, uint64_t kept_max);
/** Nothing is kept from now on. */
void slice_buffers_stop(slice_buffers *b);

void slice_buffer_free(slice_buffer *one);

#endif
