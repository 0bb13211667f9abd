// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * jsonmembers: the members of a JSON object that is not trusted, and those of objects in it, one by
 * one. What they say may be secret: it is decoded into memory that is zeroed, and in no message.
 */
#ifndef HTTP_JSONMEMBERS_H
#define HTTP_JSONMEMBERS_H

#include <batchweave/status.h>
#include <stddef.h>

#define JSONMEMBERS_DEPTH_MAX 4u
#define JSONMEMBERS_PATH_MAX 256u
#define JSONMEMBERS_TEXT_MAX 32768u

/** `path`: names from the outermost object on, as in `error/code`. `text`: a string's, or a number,
 * true or false as written; it has no NUL but the one behind its `size` bytes, and is the reader's.
 * Null, lists, what is nested deeper, and names with a slash are passed over. BW_OK, or what
 * reading shall end with. */
typedef bw_status (*jsonmembers_fn)(void *context, const char *path, const char *text, size_t size);

/** BW_CORRUPT when it is no JSON object, or beyond a limit; BW_NOMEM; or what `member` returned.
 * `bad` says why then, without a word of the text. */
bw_status jsonmembers_each(const void *json, size_t size, jsonmembers_fn member, void *context,
                           const char **bad);

#endif
