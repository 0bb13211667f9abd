// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Writing JSON into a buf, in the order of the calls; commas come by themselves. Failures are the
 * buf's (sticky). */
#ifndef CLIENT_JSON_H
#define CLIENT_JSON_H

#include "codec/wire.h"

/* `key` is NULL for elements of an array and for the outermost value. Keys are plain ASCII. */
void json_put_object(buf *out, const char *key);
void json_put_object_end(buf *out);
void json_put_array(buf *out, const char *key);
void json_put_array_end(buf *out);
void json_put_u64(buf *out, const char *key, uint64_t value);
void json_put_i64(buf *out, const char *key, int64_t value);
void json_put_bool(buf *out, const char *key, bool value);
void json_put_null(buf *out, const char *key);
/** Bytes that are no UTF-8 are written as the code points of the same number, so that the line is
 * always legal. */
void json_put_text(buf *out, const char *key, const char *text);
void json_put_view(buf *out, const char *key, view text);
/** Lower-case hex. */
void json_put_hex(buf *out, const char *key, const void *bytes, size_t size);
/** A text that is JSON already. */
void json_put_raw(buf *out, const char *key, const char *json);
/** As 16 hex digits, as in object names. */
void json_put_nonce(buf *out, const char *key, uint64_t nonce);

/** Hands a finished text to a caller's buffer: `*length` = bytes without NUL; BW_TOO_LARGE when it
 * does not fit. */
bw_status json_hand_out(buf *text, char *to, size_t cap, size_t *length, bw_error *error);

#endif
