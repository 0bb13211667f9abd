// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Small files with secrets in them. */
#ifndef STORE_NET_NET_FILE_H
#define STORE_NET_NET_FILE_H

#include "base/error.h"
#include "http/secret.h"

#define NET_PATH_MAX 1024u

/** A small file as text, to be wiped with its NUL and freed (net_file_free); NULL in `*text` when
 * there is no such file. */
bw_status net_file_read(const char *path, char **text, size_t *size, bw_error *error);
void net_file_free(char *text, size_t size); /* NULL is fine */
/** What a file holds, without the blanks and line ends behind it. BW_INVALID when it is not there,
 * or empty. */
bw_status net_file_secret(const char *path, secret *out, bw_error *error);

#endif
