// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Lines of JSON, a record each: fields `json` (the line without its end), `doc` (the file's name)
 * and `at` (its first byte, u64 little-endian).
 *
 * A line ends with LF or CR LF; the last one may end with its file. A byte order mark at the
 * beginning of a file is passed over, and so are lines of nothing but white space. A line that is
 * no JSON value, is no UTF-8, holds a NUL, or is longer than a record may be, is bad. Line j of all
 * files, counted from 0, is of shard j mod n.
 */
#ifndef INPUT_JSONLINES_H
#define INPUT_JSONLINES_H

#include "input/record.h"

/** Close `*out` with its own close. */
bw_status jsonlines_open(const reader_options *options, reader **out, bw_error *error);

#endif
