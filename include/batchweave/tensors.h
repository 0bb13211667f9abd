// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Items of kind `safetensors`: named tensors as in safetensors files, which every framework reads.
 * Pure; one thread an object.
 */
#ifndef BATCHWEAVE_TENSORS_H
#define BATCHWEAVE_TENSORS_H

#include <batchweave/error.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bw_tensors bw_tensors;

/** A writer; `bytes_max` bounds the item. NULL only when out of memory. */
bw_tensors *bw_tensors_new(size_t bytes_max);
void bw_tensors_free(bw_tensors *tensors);
void bw_tensors_reset(bw_tensors *tensors);
/**
 * Adds a tensor: `dtype` by the format's name ("BF16", "F8_E4M3", "I64", "BOOL", …), `shape`
 * outermost first, `bytes` little-endian and row-major. Name and shape are copied; the bytes are
 * borrowed until bw_tensors_view. BW_INVALID: an unknown dtype.
 */
bw_status bw_tensors_add(bw_tensors *tensors, const char *name, const char *dtype,
                         const uint64_t *shape, size_t rank, const void *bytes, size_t size,
                         bw_error *error);
/** Adds a pair to the item's metadata; both are copied. */
bw_status bw_tensors_note(bw_tensors *tensors, const char *key, const char *value, bw_error *error);
/**
 * Makes the item, valid until the next call on `tensors`. Its data begin at a multiple of 64.
 * BW_INVALID names a tensor whose size is not its shape's or whose name is given twice;
 * BW_TOO_LARGE.
 */
bw_status bw_tensors_view(bw_tensors *tensors, const void **bytes, size_t *size, bw_error *error);

/**
 * Calls back for each tensor in the order of the bytes; stops at the first non-zero answer
 * (BW_INTERRUPTED). BW_CORRUPT for bytes that are no whole item; then nothing was called back.
 */
typedef int (*bw_tensor_fn)(void *context, const char *name, size_t name_bytes, const char *dtype,
                            const uint64_t *shape, size_t rank, const void *bytes, size_t size);
bw_status bw_tensors_read(const void *bytes, size_t size, bw_tensor_fn tensor, void *context,
                          bw_error *error);

/**
 * Makes in `tensors` the item of context-parallel position `rank` of `cp` from the items of all
 * `old_cp` positions, and shows it like bw_tensors_view. `layout` is "contiguous" or "headtail". A
 * tensor is cut along the axis that metadata `batchweave.axis.<name>` declares ("1"); one without
 * must be the same in all items. BW_MESH_MISMATCH when a sequence cannot be cut so, BW_CORRUPT when
 * the items do not fit each other.
 */
bw_status bw_tensors_remap(bw_tensors *tensors, const char *layout, const void *const *items,
                           const size_t *sizes, uint32_t old_cp, uint32_t cp, uint32_t rank,
                           const void **bytes, size_t *size, bw_error *error);

#ifdef __cplusplus
}
#endif
#endif
