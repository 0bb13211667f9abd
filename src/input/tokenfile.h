// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * One file of tokens: little-endian numbers without a head (GPT-style trainers), or the `.bin` of
 * a Megatron pair, whose `.idx` tells the type and where documents begin.
 */
#ifndef INPUT_TOKENFILE_H
#define INPUT_TOKENFILE_H

#include "input/documents.h"

#include <stdbool.h>

typedef enum token_type {
    TOKEN_U8,
    TOKEN_I8,
    TOKEN_I16,
    TOKEN_U16,
    TOKEN_I32,
    TOKEN_U32,
    TOKEN_I64
} token_type;

/** "u16" or "u32". */
bool token_type_find(const char *name, token_type *type);

typedef struct tokenfile {
    int fd, index_fd; /* -1: closed */
    bool indexed;     /* else one document, nothing known of it */
    document *bin;    /* borrowed */
    token_type type;
    uint64_t tokens;
    uint64_t sequences, documents; /* of the index */
} tokenfile;

/**
 * `path` in the list: `NAME.idx` opens the pair and makes it `NAME.bin`'s entry; anything else is a
 * flat file of `type`. The whole index is read and checked against itself and the `.bin`.
 * BW_INPUT_BAD names file and byte. Close in any case.
 */
bw_status tokenfile_open(document *entry, token_type type, tokenfile *out, bw_error *error);
/** Opens again what was closed. BW_INPUT_CHANGED when a size is not the one that was checked. */
bw_status tokenfile_reopen(tokenfile *t, bw_error *error);
void tokenfile_close(tokenfile *t);
/**
 * `count` tokens from token `at` on. BW_INPUT_BAD names the byte of one that is negative or beyond
 * 2^31 − 1; BW_INPUT_CHANGED when the file became shorter.
 */
bw_status tokenfile_read(const tokenfile *t, uint64_t at, size_t count, int32_t *out,
                         bw_error *error);
/** The place of each within its document. */
bw_status tokenfile_positions(const tokenfile *t, uint64_t at, size_t count, int32_t *out,
                              bw_error *error);

#endif
