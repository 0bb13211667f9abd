// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include "base/alloc.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

bw_error *bw_error_new(void)
{
    bw_error *error = mem_alloc(sizeof *error);
    if (error != NULL)
        error_clear(error);
    return error;
}

void bw_error_free(bw_error *error)
{
    mem_free(error);
}

bw_status bw_error_code(const bw_error *error)
{
    return error != NULL ? error->code : BW_OK;
}

bw_class bw_error_class(const bw_error *error)
{
    return bw_status_class(bw_error_code(error));
}

const char *bw_error_key(const bw_error *error)
{
    return error != NULL ? error->key : "";
}

int64_t bw_error_step(const bw_error *error)
{
    return error != NULL ? error->step : -1;
}

uint32_t bw_error_attempts(const bw_error *error)
{
    return error != NULL ? error->attempts : 0;
}

const char *bw_error_message(const bw_error *error)
{
    return error != NULL ? error->message : "";
}

/* Everything but the message, which a caller may be formatting from. */
static void clear_facts(bw_error *error, bw_status code)
{
    error->code = code;
    error->attempts = 0;
    error->step = -1;
    error->key[0] = '\0';
}

void error_clear(bw_error *error)
{
    if (error == NULL)
        return;
    clear_facts(error, BW_OK);
    error->message[0] = '\0';
}

bw_status error_vset(bw_error *error, bw_status code, const char *format, va_list args)
{
    if (error == NULL)
        return code;
    const int saved_errno = errno;
    clear_facts(error, code);
    if (vsnprintf(error->message, sizeof error->message, format, args) < 0)
        error->message[0] = '\0';
    errno = saved_errno;
    return code;
}

bw_status(error_set)(bw_error *error, bw_status code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)error_vset(error, code, format, args);
    va_end(args);
    return code;
}

void error_prefix(bw_error *error, const char *format, ...)
{
    if (error == NULL)
        return;
    const int saved_errno = errno;
    char prefix[ERROR_MESSAGE_MAX + 1];
    va_list args;
    va_start(args, format);
    const int written = vsnprintf(prefix, sizeof prefix - 2, format, args);
    va_end(args);
    if (written >= 0) {
        size_t size = strlen(prefix);
        prefix[size++] = ':';
        prefix[size++] = ' ';
        size_t rest = strlen(error->message);
        if (rest > ERROR_MESSAGE_MAX - size)
            rest = ERROR_MESSAGE_MAX - size;
        memmove(error->message + size, error->message, rest);
        memcpy(error->message, prefix, size);
        error->message[size + rest] = '\0';
    }
    errno = saved_errno;
}

void error_set_key(bw_error *error, const char *key)
{
    if (error == NULL)
        return;
    const size_t size = strnlen(key, ERROR_KEY_MAX);
    memcpy(error->key, key, size);
    error->key[size] = '\0';
}

void error_set_step(bw_error *error, uint64_t step)
{
    if (error != NULL)
        error->step = step <= INT64_MAX ? (int64_t)step : INT64_MAX;
}

void error_set_attempts(bw_error *error, uint32_t attempts)
{
    if (error != NULL)
        error->attempts = attempts;
}

void error_copy(bw_error *to, const bw_error *from)
{
    if (to != NULL && from != NULL && to != from)
        *to = *from;
}
