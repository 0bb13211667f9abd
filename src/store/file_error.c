// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/file_store.h"

#include <errno.h>
#include <string.h>

/* What an errno means to whoever waits for the operation, and what to tell the user beside the
 * system's text. */
typedef struct errno_meaning {
    int number;
    store_outcome outcome;
    bw_status code;
    const char *advice;
} errno_meaning;

static const errno_meaning meanings[] = {
    {ENOSPC, STORE_RETRY, BW_NO_SPACE, "; make room"},
    {EDQUOT, STORE_RETRY, BW_NO_SPACE, "; the quota is used up"},
    {EROFS, STORE_DENIED, BW_DENIED, ""},
    {EACCES, STORE_DENIED, BW_DENIED, ""},
    {EPERM, STORE_DENIED, BW_DENIED, ""},
    {ELOOP, STORE_DENIED, BW_DENIED, "; the store never follows symbolic links"},
    {EMFILE, STORE_RETRY, BW_IO, "; raise the limit of open files (ulimit -n)"},
    {ENFILE, STORE_RETRY, BW_IO, "; the machine is out of file handles"},
    {ENOMEM, STORE_RETRY, BW_NOMEM, ""},
    {EINTR, STORE_RETRY, BW_IO, ""},
    {EAGAIN, STORE_RETRY, BW_IO, ""},
    {EBUSY, STORE_RETRY, BW_IO, ""},
    {EIO, STORE_RETRY, BW_IO, "; look at the device"},
    {EFBIG, STORE_FATAL, BW_TOO_LARGE, "; look at ulimit -f"},
    {ENAMETOOLONG, STORE_FATAL, BW_INVALID, ""},
    {ENOTDIR, STORE_FATAL, BW_INVALID, "; part of the key names an object"},
    {EISDIR, STORE_FATAL, BW_INVALID, "; the key names a directory"},
    {ENOENT, STORE_FATAL, BW_IO, "; the directory vanished"},
    {ESTALE, STORE_FATAL, BW_IO, "; the mount went away"},
    {ENODEV, STORE_FATAL, BW_IO, "; the mount went away"},
    {ENXIO, STORE_FATAL, BW_IO, "; the mount went away"},
};

void file_fail(file_backend *b, store_op *op, int number, const char *what)
{
    static const errno_meaning other = {0, STORE_FATAL, BW_IO, ""};
    const errno_meaning *meaning = &other;
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if (meanings[i].number == number)
            meaning = &meanings[i];
    }
    if (number == ENOENT && file_root_is_gone(b)) {
        op->lost = true;
        store_op_end(op, STORE_FATAL, BW_IO, "%s: the store's directory was removed", what);
        return;
    }
    store_outcome outcome = meaning->outcome;
    if (outcome == STORE_DENIED && op->kind == STORE_CREATE)
        outcome = STORE_FATAL; /* a create has no DENIED */
    char text[128];
    store_op_end(op, outcome, meaning->code, "%s: %s%s", what,
                 strerror_r(number, text, sizeof text), meaning->advice);
}

void file_unknown(store_op *op, int number, const char *what)
{
    char text[128];
    store_op_end(op, STORE_UNKNOWN, BW_IO, "%s: %s; it may have landed", what,
                 strerror_r(number, text, sizeof text));
}
