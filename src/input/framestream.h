// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Frames: records of a 4-byte little-endian length and that many bytes, from files read one after
 * the other or from an open descriptor. Shard i of n takes frame j when j mod n = i.
 *
 * A declared length above the maximum, or a frame that the stream ends within, is BW_INPUT_BAD:
 * file, byte and frame are named, and every frame before it was given. Memory grows with the bytes
 * that came, never with a declared length.
 */
#ifndef INPUT_FRAMESTREAM_H
#define INPUT_FRAMESTREAM_H

#include <batchweave/error.h>
#include <stddef.h>
#include <stdint.h>

typedef struct framestream_options {
    const char *const *paths; /* borrowed; "-" is standard input */
    size_t count;
    int fd;           /* read instead of paths when ≥ 0; stays the caller's */
    const char *name; /* of fd, for messages */
    uint32_t shard, shards;
    uint32_t frame_bytes_max;
    int (*tick)(void *context); /* see bytestream */
    void *context;
} framestream_options;

typedef struct framestream framestream;

bw_status framestream_open(const framestream_options *options, framestream **stream,
                           bw_error *error);
/** Passes over `frames` frames of this shard; BW_INPUT_CHANGED when the input holds fewer. */
bw_status framestream_skip(framestream *stream, uint64_t frames, bw_error *error);
/** The next frame of this shard, the caller's: release with framestream_free. BW_END at the end. */
bw_status framestream_next(framestream *stream, void **frame, size_t *size, bw_error *error);
/** Bytes read and passed over so far: whether the input moves. */
uint64_t framestream_bytes(const framestream *stream);
void framestream_free(void *frame);
void framestream_close(framestream *stream);

#endif
