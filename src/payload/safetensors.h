// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Items of kind `safetensors`: named tensors in the layout of the safetensors files that every
 * framework reads.
 *
 * A length u64, that many bytes of JSON header, the tensors' bytes: little-endian, row-major,
 * without holes. The reader is strict: a header that is cut, names a tensor or a field twice, has
 * a field that is not of the format, a size that is not the shape's, bytes that no tensor or two
 * tensors own, or numbers written otherwise than as plain decimals, is refused. White space and
 * any order of fields are fine: other writers have theirs. The writer makes the data begin at a
 * multiple of 64 by spaces behind the header, sorts by descending element size and then by name,
 * and writes no white space.
 *
 *     status = safetensors_open(&s, bytes, size, error);
 *     if (safetensors_find(&s, "tokens", 6, &i))
 *         use(safetensors_bytes(&s, i), &s.tensors[i]);
 *     safetensors_close(&s);
 */
#ifndef PAYLOAD_SAFETENSORS_H
#define PAYLOAD_SAFETENSORS_H

#include "base/buf.h"
#include "base/error.h"
#include "base/jsontext.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The format's own limit. */
#define SAFETENSORS_HEADER_BYTES_MAX 100000000u
#define TENSOR_RANK_MAX 64u
#define SAFETENSORS_ALIGNMENT 64u

/** X(name, bits of an element): the dtypes of the format. */
#define TENSOR_TYPE_MAP(X)                                                                         \
    X(BOOL, 8)                                                                                     \
    X(F4, 4)                                                                                       \
    X(F6_E2M3, 6)                                                                                  \
    X(F6_E3M2, 6)                                                                                  \
    X(U8, 8)                                                                                       \
    X(I8, 8)                                                                                       \
    X(F8_E5M2, 8)                                                                                  \
    X(F8_E4M3, 8)                                                                                  \
    X(F8_E8M0, 8)                                                                                  \
    X(F8_E4M3FNUZ, 8)                                                                              \
    X(F8_E5M2FNUZ, 8)                                                                              \
    X(I16, 16)                                                                                     \
    X(U16, 16)                                                                                     \
    X(F16, 16)                                                                                     \
    X(BF16, 16)                                                                                    \
    X(I32, 32)                                                                                     \
    X(U32, 32)                                                                                     \
    X(F32, 32)                                                                                     \
    X(C64, 64)                                                                                     \
    X(F64, 64)                                                                                     \
    X(I64, 64)                                                                                     \
    X(U64, 64)

typedef enum tensor_type {
#define TENSOR_TYPE_ENUM(name, bits) TENSOR_##name,
    TENSOR_TYPE_MAP(TENSOR_TYPE_ENUM)
#undef TENSOR_TYPE_ENUM
        TENSOR_TYPES
} tensor_type;

const char *tensor_type_name(tensor_type type);
unsigned tensor_type_bits(tensor_type type);
/** The type of that name; false when there is none. */
bool tensor_type_find(const void *name, size_t size, tensor_type *type);
/** Bytes of a tensor; false when they are no whole number or beyond 2^63. */
bool tensor_size(tensor_type type, const uint64_t *shape, size_t rank, uint64_t *size);

/** One tensor of an item that was read. 32 bytes, fewer than its shortest entry in a header. */
typedef struct tensor_entry {
    uint64_t begin, end;          /* of its bytes, within the data */
    uint32_t name_at, name_bytes; /* as written, within the header */
    uint32_t shape_at;            /* within the header */
    uint8_t type, rank;
} tensor_entry;

typedef struct safetensors {
    const uint8_t *header, *data; /* within the item */
    size_t header_bytes, data_bytes;
    tensor_entry *tensors; /* in the order of their bytes */
    uint32_t *by_name;
    size_t count;
    uint32_t notes_at; /* of the object `__metadata__` within the header; 0: there is none */
} safetensors;

/**
 * Checks the whole item, so that what follows cannot fail; `bytes` must outlive `s`. Memory is at
 * most that of the header and is taken once all of it was read. BW_CORRUPT says what and where,
 * BW_NOMEM. After a failure `s` needs no close.
 */
bw_status safetensors_open(safetensors *s, const void *bytes, size_t size, bw_error *error);
void safetensors_close(safetensors *s);
bool safetensors_find(const safetensors *s, const void *name, size_t size, size_t *index);
jsonstring safetensors_name(const safetensors *s, size_t index);
/** The dimensions, outermost first; room for the tensor's rank, TENSOR_RANK_MAX at most. */
void safetensors_shape(const safetensors *s, size_t index, uint64_t *shape);
const uint8_t *safetensors_bytes(const safetensors *s, size_t index);
/** The next pair of `__metadata__`; `*at` is 0 at first. False behind the last. */
bool safetensors_note(const safetensors *s, uint32_t *at, jsonstring *key, jsonstring *value);

/** A tensor to write; everything is borrowed. */
typedef struct tensor {
    const char *name;
    size_t name_bytes;
    tensor_type type;
    const uint64_t *shape;
    size_t rank;
    const void *bytes;
    size_t size;
} tensor;

typedef struct tensor_note {
    const char *key, *value; /* UTF-8 */
} tensor_note;

/**
 * Appends one item to `out`. BW_INVALID names the tensor whose size is not its shape's, whose name
 * is given twice, is no UTF-8 or is `__metadata__`; BW_TOO_LARGE, BW_NOMEM. What `out` held before
 * stays, also after a failure.
 */
bw_status safetensors_write(const tensor *tensors, size_t count, const tensor_note *notes,
                            size_t note_count, buf *out, bw_error *error);

#endif
