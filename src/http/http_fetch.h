// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** One request, and its whole answer waited for: token endpoints and metadata services. */
#ifndef HTTP_HTTP_FETCH_H
#define HTTP_HTTP_FETCH_H

#include "base/buf.h"
#include "http/http_client.h"
#include <stdatomic.h>

#define HTTP_ANSWER_BYTES_MAX 65536u

/** Sends `request` (its sink and owner are set here) over a connection of its own. BW_OK when there
 * is an answer, of whatever status: its body is in `answer`, which was made by http_answer_init.
 * BW_INTERRUPTED when `stop` (NULL is fine) became true; BW_IO, BW_TOO_LARGE, BW_NOMEM. The text of
 * an error has nothing of URL, headers or bodies. */
bw_status http_fetch(const http_options *options, http_request *request, const atomic_bool *stop,
                     buf *answer, bw_error *error);

/** Answers hold secrets: room for all of it at once, and zeroed at the end. */
bw_status http_answer_init(buf *answer);
void http_answer_free(buf *answer);

#endif
