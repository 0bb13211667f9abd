// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The body of bw_error, and how layers fill it. No allocation, no locale, no errno left behind.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <batchweave/error.h>
#include <stdarg.h>
#include <stdint.h>

#define ERROR_KEY_MAX 1024u
#define ERROR_MESSAGE_MAX 1024u

struct bw_error {
    bw_status code;
    uint32_t attempts;
    int64_t step;
    char key[ERROR_KEY_MAX + 1];
    char message[ERROR_MESSAGE_MAX + 1];
};

void error_clear(bw_error *error);

/** Fills code and message, clears key, step and attempts; returns `code`, so that callers can write
 *  `return error_set(error, BW_INVALID, "...")`. `error` may be NULL. */
bw_status error_set(bw_error *error, bw_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bw_status error_vset(bw_error *error, bw_status code, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
#if defined(__clang_analyzer__) || defined(BW_ANALYZE)
/* An analyser sees one file at a time and would take a failure for BW_OK. */
static inline bw_status error_same(bw_status returned, bw_status code)
{
    (void)returned;
    return code;
}
#define error_set(error, code, ...) error_same(error_set(error, code, __VA_ARGS__), code)
#endif
/** Puts `prefix: ` before the message that is there. */
void error_prefix(bw_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
void error_set_key(bw_error *error, const char *key);
void error_set_step(bw_error *error, uint64_t step);
void error_set_attempts(bw_error *error, uint32_t attempts);
void error_copy(bw_error *to, const bw_error *from);

/** Forwards a failure on pure paths that own nothing (STYLE 11). */
#define BW_TRY(expression)                                                                         \
    do {                                                                                           \
        const bw_status try_status_ = (expression);                                                \
        if (try_status_ != BW_OK)                                                                  \
            return try_status_;                                                                    \
    } while (0)

#endif
