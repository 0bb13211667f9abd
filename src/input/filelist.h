// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Files given by name or by brace pattern, in the order given: `data-{000..127}.tar` is 128 files,
 * `{train,more}.jsonl` two. A file that has the very name of a pattern is that file. "-" is
 * standard input, and must be alone.
 */
#ifndef INPUT_FILELIST_H
#define INPUT_FILELIST_H

#include "input/documents.h"

/**
 * `out` lists each file with its size; a pipe has size 0. BW_INVALID for a pattern that is none,
 * a file given twice, or "-" beside others; BW_INPUT_BAD names a path that cannot be read or is a
 * directory; BW_TOO_LARGE. Free `out` in any case (documents_free).
 */
bw_status filelist_expand(const char *const *patterns, size_t count, documents *out,
                          bw_error *error);

#endif
