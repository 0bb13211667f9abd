// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/secret.h"

#include "base/alloc.h"
#include <string.h>

#define PIECE_BYTES 8u

void secret_wipe(void *bytes, size_t size)
{
    explicit_bzero(bytes, size);
}

bw_status secret_set(secret *s, const char *text, size_t size)
{
    secret_clear(s);
    if (size > SECRET_BYTES_MAX)
        return BW_TOO_LARGE;
    char *copy = mem_alloc(size + 1);
    if (copy == NULL)
        return BW_NOMEM;
    memcpy(copy, text, size);
    copy[size] = '\0';
    *s = (secret){copy, size};
    return BW_OK;
}

void secret_clear(secret *s)
{
    if (s->text != NULL)
        secret_wipe(s->text, s->size);
    mem_free(s->text);
    *s = (secret){NULL, 0};
}

bool secret_is_set(const secret *s)
{
    return s->size > 0;
}

const char *secret_text(const secret *s)
{
    return s->text != NULL ? s->text : "";
}

bool secret_is_told(const char *hidden, const char *text)
{
    const size_t size = strlen(hidden), room = strlen(text);
    const size_t piece = size < PIECE_BYTES ? size : PIECE_BYTES;
    for (size_t at = 0; piece > 0 && at + piece <= size; at++)
        if (memmem(text, room, hidden + at, piece) != NULL)
            return true;
    return false;
}
