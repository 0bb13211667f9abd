// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Samples of WebDataset shards (tar archives), a record each: field `__key__`, then a field for
 * each member, named by its extension, in the order of the archive.
 *
 * The key of `a/b.seg.png` is `a/b`, its extension `seg.png`: the base name is cut at its first
 * dot. Members in a row that have one key are one sample. Names are only compared, never opened.
 * Bad is a sample with a member that is no regular file, has no key or extension, whose name is no
 * UTF-8, begins with a slash, or has an empty, `.` or `..` segment; with an extension twice; or
 * larger than a record may be. Directories are passed over. An archive that is damaged, or ends
 * without its end-of-archive block, is bad from there to its end, with the sample that is not
 * known to be whole. File k of the list is of shard k mod n.
 */
#ifndef INPUT_TARSAMPLES_H
#define INPUT_TARSAMPLES_H

#include "input/record.h"

#define TAR_KEY_BYTES_MAX 1024u

/** Close `*out` with its own close. */
bw_status tarsamples_open(const reader_options *options, reader **out, bw_error *error);

#endif
