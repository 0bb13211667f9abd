// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The members of one tar archive, one after the other, with the headers that belong to each. */
#ifndef INPUT_TARMEMBER_H
#define INPUT_TARMEMBER_H

#include "input/filereader.h"

/** Longer names are refused. */
#define TAR_PATH_BYTES_MAX 4096u

typedef struct tar_member {
    uint64_t at; /* of its first header */
    uint64_t size;
    uint64_t left; /* of its data and what fills its last block, not read yet */
    char type;
    char name[TAR_PATH_BYTES_MAX + 1];
    size_t name_bytes; /* 0: there is no member */
} tar_member;

/**
 * The header of the next member; what is left of the one before is passed over. BW_END behind the
 * last, once the rest of the file proved empty. BW_INPUT_BAD: nothing behind it can be read.
 */
bw_status tar_member_next(filereader *f, tar_member *m, bw_error *error);
/** All of its data, appended to `out`, which has room for it. BW_INPUT_BAD as above. */
bw_status tar_member_read(filereader *f, tar_member *m, buf *out, bw_error *error);

#endif
