// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The documents of a text input: every regular file at or beneath the given paths, in one order
 * that any machine finds again.
 *
 * Symbolic links are followed (a loop is refused); anything that is neither file nor directory, or
 * whose name is not UTF-8, is refused by name rather than left out. A document's name is its path
 * beneath the one given input; with several inputs the input as it was given stands before it.
 * Documents are sorted by the bytes of their names.
 */
#ifndef INPUT_DOCUMENTS_H
#define INPUT_DOCUMENTS_H

#include <batchweave/error.h>
#include <stddef.h>
#include <stdint.h>

/** More is refused: the list is held in memory. */
#define DOCUMENTS_MAX (1u << 24)

typedef struct document {
    char *path; /* to open */
    char *name;
    uint64_t size;
} document;

typedef struct documents {
    document *list;
    size_t count;
    size_t capacity;
} documents;

/**
 * Lists `inputs`. BW_INPUT_BAD names the path, also when there is no file at all; BW_INVALID when
 * one document is reached under one name twice. Free `out` in any case.
 */
bw_status documents_list(const char *const *inputs, size_t count, documents *out, bw_error *error);
void documents_free(documents *docs);
/** Bytes of those of the first `count` that are the shard's: document k with k mod n = i. */
double documents_bytes(const documents *docs, size_t count, uint32_t shard, uint32_t shards);

#endif
