// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What readers of files share: one file after the other, opened at a byte, checked unchanged. */
#ifndef INPUT_FILEREADER_H
#define INPUT_FILEREADER_H

#include "input/bytestream.h"
#include "input/record.h"

typedef struct filereader {
    reader_options options;
    uint64_t file, at; /* the one that is open, or to open next, and where */
    bool is_open, owns_fd;
    bytestream bytes;
    uint64_t bytes_before; /* of the files that were closed */
    bool broken;           /* a file could not be opened or read */
} filereader;

/** Opens the file at the place unless it is. BW_INPUT_CHANGED when it is another than was listed,
 * BW_INPUT_BAD when it cannot be read or is compressed. */
bw_status filereader_open(filereader *f, bw_error *error);
/** Byte of the open file that is read next. */
uint64_t filereader_at(const filereader *f);
const document *filereader_document(const filereader *f);
/** Closes; the next open is of this file and place. */
void filereader_go(filereader *f, uint64_t file, uint64_t at);
/** Whether a file could not be opened, or the system could not read it, so far. */
bool filereader_broken(const filereader *f);
uint64_t filereader_bytes(const filereader *f);

#endif
