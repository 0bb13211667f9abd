// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Items of kind `samples`: a framed list of samples, each a list of ⟨key, bytes⟩
 * (docs/format.md 5.3). Pure; any thread.
 */
#ifndef BATCHWEAVE_SAMPLES_H
#define BATCHWEAVE_SAMPLES_H

#include <batchweave/error.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bw_samples bw_samples;

/** A writer; `bytes_max` bounds the framed size. NULL only when out of memory. */
bw_samples *bw_samples_new(size_t bytes_max);
void bw_samples_free(bw_samples *samples);
void bw_samples_reset(bw_samples *samples);
/** Starts a sample; then bw_samples_field as often as wanted. */
bw_status bw_samples_begin(bw_samples *samples, bw_error *error);
bw_status bw_samples_field(bw_samples *samples, const char *key, const void *bytes, size_t size,
                           bw_error *error);
/** The framed item; valid until the next call on `samples`. */
bw_status bw_samples_view(const bw_samples *samples, const void **bytes, size_t *size);

/** Calls back for each field, in order; stops at the first non-zero answer (BW_INTERRUPTED).
 * BW_CORRUPT for bytes that are no such list. */
typedef int (*bw_field_fn)(void *context, uint32_t sample, const char *key, size_t key_bytes,
                           const void *value, size_t value_bytes);
bw_status bw_samples_read(const void *bytes, size_t size, bw_field_fn field, void *context,
                          bw_error *error);

#ifdef __cplusplus
}
#endif
#endif
