// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What `produce` reads: items one after the other, from packed text, frames, a child's frames, or
 * records, and the position behind each, so that a restart goes on with the very next one.
 */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

#include "cli.h"

#include "input/resume_state.h"

typedef struct source_item {
    void *bytes;
    void (*release)(void *bytes);
    size_t size;
    char **ids; /* of its samples */
    size_t id_count;
    uint64_t tokens;
    resume behind; /* the resume state of a producer that published up to here */
} source_item;

typedef struct source source;

/** Called several times a second while input is waited for; non-zero ends the wait. */
typedef int (*source_tick)(void *context);

/**
 * From the operands and options of `produce`: lists and fingerprints the input, starts nothing.
 * BW_INPUT_BAD, BW_INVALID.
 */
bw_status source_new(cli *c, source **out);
/** "samples" for text, lines and archives, "safetensors" for tokens, else "raw": what items are
 * unless the setting `kind` says otherwise. */
const char *source_kind(const source *s);
/**
 * Sequences are cut over `cp` > 1 positions by `layout` ("": the namespace declares none).
 * BW_MESH_MISMATCH for items that cannot be cut so; items of the user's own are the user's to cut.
 */
bw_status source_split(source *s, uint32_t cp, const char *layout);
/** Bad records that were skipped, those of runs before this one included. */
uint64_t source_skipped(const source *s);
/** Whether a resume state, in hex digits, is of another input than this one. */
bool source_differs(const source *s, const char *state_digits);
/**
 * Takes over where the producer stands: `offset` and the resume state of the chain.
 * BW_INPUT_CHANGED when that was another input, unless `new_input`.
 */
bw_status source_resume(source *s, uint64_t offset, const void *state, size_t state_bytes,
                        bool new_input);
/** Then goes there. For --exec the child starts here. */
bw_status source_begin(source *s, uint64_t offset, source_tick tick, void *context);
/** Bytes that were read so far: whether the input moves. Text never waits. */
uint64_t source_bytes(const source *s);
/** How far the input was read, of how much, in units of its own; false where that is not known: a
 * child, a pipe. */
bool source_extent(const source *s, double *done, double *all);
/** The next item. BW_END at the end of all input; else the failure of the input: everything before
 * it was given. */
bw_status source_next(source *s, source_item *item);
void source_item_free(source_item *item);
void source_free(source *s);

#endif
