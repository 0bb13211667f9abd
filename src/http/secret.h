// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * secret: the one type that holds keys, tokens and passwords. Its bytes are zeroed before their
 * memory is given back, and nothing formats it: no log line, no error, no report. Who signs or
 * sends reads it by secret_text.
 */
#ifndef HTTP_SECRET_H
#define HTTP_SECRET_H

#include <batchweave/status.h>
#include <stdbool.h>
#include <stddef.h>

#define SECRET_BYTES_MAX 65536u

typedef struct secret {
    char *text; /* with a NUL behind it */
    size_t size;
} secret;

/** Zeroes what was there. BW_NOMEM; BW_TOO_LARGE. */
bw_status secret_set(secret *s, const char *text, size_t size);
/** Of a zeroed one it does nothing. */
void secret_clear(secret *s);
bool secret_is_set(const secret *s);
/** "" when not set. */
const char *secret_text(const secret *s);
/** Whether `text`, which came from outside, has a piece of `hidden` in it: servers tell what they
 * were sent, and cut it anywhere. */
bool secret_is_told(const char *hidden, const char *text);
/** Zeroes memory that held one, whatever the compiler thinks of it. */
void secret_wipe(void *bytes, size_t size);

#endif
