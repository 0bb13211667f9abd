// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What a producer of the command line keeps in its resume state: which input it reads (a
 * fingerprint), and how far.
 *
 * The state is canonical JSON of at most 256 bytes, so that it fits the manifest:
 * `{"input":"text","fingerprint":"<32 hex>","document":N,"at":N,"base":N}`, and of records (jsonl,
 * tar, tokens) `{"input":"tar","fingerprint":"<32 hex>","epoch":N,"document":N,"at":N,"index":N,
 * "taken":N,"skipped":N,"base":N}` in one line (input/mixer.h says what they are).
 */
#ifndef INPUT_RESUME_STATE_H
#define INPUT_RESUME_STATE_H

#include "input/documents.h"

#include <batchweave/error.h>
#include <stddef.h>
#include <stdint.h>

#define RESUME_BYTES_MAX 256u
#define FINGERPRINT_HEX_BYTES 33u /* with NUL */

typedef enum resume_kind {
    RESUME_TEXT,
    RESUME_FRAMES,
    RESUME_EXEC,
    RESUME_JSONL, /* from here on: records */
    RESUME_TAR,
    RESUME_TOKENS,
    RESUME_KINDS
} resume_kind;

typedef struct resume {
    resume_kind kind;
    char fingerprint[FINGERPRINT_HEX_BYTES];
    uint64_t document, at; /* text, records: the position; else 0 */
    uint64_t index;        /* records: the rest of the position, else 0 */
    uint32_t epoch, taken;
    uint64_t skipped;
    uint64_t base; /* the producer's offset at which this input began */
} resume;

/** Text: names and sizes of all documents, shard, sequence length. */
bw_status resume_fingerprint_text(const documents *docs, uint32_t shard, uint32_t shards,
                                  uint64_t seq_len, char out[FINGERPRINT_HEX_BYTES],
                                  bw_error *error);
/**
 * Frames: each path and, of a regular file, its size; shard. BW_INPUT_BAD names a path that cannot
 * be read.
 */
bw_status resume_fingerprint_frames(const char *const *paths, size_t count, uint32_t shard,
                                    uint32_t shards, char out[FINGERPRINT_HEX_BYTES],
                                    bw_error *error);
/** A child: the command, shard. */
bw_status resume_fingerprint_exec(const char *command, uint32_t shard, uint32_t shards,
                                  char out[FINGERPRINT_HEX_BYTES], bw_error *error);

/**
 * Records: each name and size, shard, and the numbers that the order rests on (seed, window, length
 * and type of sequences).
 */
bw_status resume_fingerprint_records(resume_kind kind, const documents *files, uint32_t shard,
                                     uint32_t shards, const uint64_t *numbers, size_t count,
                                     char out[FINGERPRINT_HEX_BYTES], bw_error *error);

/** Writes the state with a NUL that `*size` does not count. */
void resume_encode(const resume *state, char out[RESUME_BYTES_MAX], size_t *size);
/** BW_INPUT_CHANGED when the bytes are no such state (another program produced under this id). */
bw_status resume_decode(const void *bytes, size_t size, resume *state, bw_error *error);
/** The same from the hex digits that reports show. */
bw_status resume_decode_hex(const char *digits, resume *state, bw_error *error);

#endif
