// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Headers of tar archives: ustar, pax and GNU; pure. */
#ifndef INPUT_TARHEADER_H
#define INPUT_TARHEADER_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAR_BLOCK_BYTES 512u
#define TAR_NAME_BYTES_MAX 256u /* of one header: prefix, slash, name */

typedef struct tar_header {
    char type;
    uint64_t size; /* of what follows */
    char name[TAR_NAME_BYTES_MAX + 1];
} tar_header;

/** Whether the block is all zero: the end of an archive. */
bool tar_is_end(const uint8_t *block);
/** NULL, or what is wrong with the block. */
const char *tar_read_header(const uint8_t *block, tar_header *out);

/** What a pax header says that matters here. */
typedef struct tar_pax {
    const uint8_t *path; /* within the record; NULL: not said */
    size_t path_bytes;
    uint64_t size;
    bool has_size;
} tar_pax;

/** NULL, or what is wrong with the records. */
const char *tar_read_pax(const uint8_t *records, size_t size, tar_pax *out);

#endif
