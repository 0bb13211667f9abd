// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What failed, where, after how many attempts.
 *
 * The caller makes one `bw_error` and passes it to any number of calls; NULL is allowed everywhere.
 * A failing call fills it without allocating; a succeeding call leaves it alone. One thread at a
 * time.
 */
#ifndef BATCHWEAVE_ERROR_H
#define BATCHWEAVE_ERROR_H

#include <batchweave/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bw_error bw_error;

/** NULL only when out of memory. Release with bw_error_free (NULL is fine). */
bw_error *bw_error_new(void);
void bw_error_free(bw_error *error);

bw_status bw_error_code(const bw_error *error);
bw_class bw_error_class(const bw_error *error);
/** The object or file that was worked on; "" when none. Valid until the next call that fills
 * `error`. */
const char *bw_error_key(const bw_error *error);
/** The step that was worked on, or -1. */
int64_t bw_error_step(const bw_error *error);
/** Requests made before giving up; 0 when no request was made. */
uint32_t bw_error_attempts(const bw_error *error);
/** A sentence for people: what failed, on what, the likely cause, the next command. */
const char *bw_error_message(const bw_error *error);

#ifdef __cplusplus
}
#endif
#endif
