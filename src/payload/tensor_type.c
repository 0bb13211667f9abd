// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "payload/safetensors.h"

#include <string.h>

static const struct {
    const char *name;
    unsigned bits;
} types[TENSOR_TYPES] = {
#define TENSOR_TYPE_ROW(name, bits) {#name, bits},
    TENSOR_TYPE_MAP(TENSOR_TYPE_ROW)
#undef TENSOR_TYPE_ROW
};

const char *tensor_type_name(tensor_type type)
{
    return types[type].name;
}

unsigned tensor_type_bits(tensor_type type)
{
    return types[type].bits;
}

bool tensor_type_find(const void *name, size_t size, tensor_type *type)
{
    for (unsigned i = 0; i < TENSOR_TYPES; i++)
        if (strlen(types[i].name) == size && memcmp(types[i].name, name, size) == 0) {
            *type = (tensor_type)i;
            return true;
        }
    return false;
}

bool tensor_size(tensor_type type, const uint64_t *shape, size_t rank, uint64_t *size)
{
    uint64_t elements = 1;
    bool empty = false;
    for (size_t i = 0; i < rank; i++) {
        empty = empty || shape[i] == 0;
        /* A zero further on does not excuse a product that no machine can hold. */
        if (shape[i] > 0 && __builtin_mul_overflow(elements, shape[i], &elements))
            return false;
    }
    uint64_t bits;
    if (__builtin_mul_overflow(elements, types[type].bits, &bits) || bits > INT64_MAX)
        return false;
    *size = empty ? 0 : bits / 8;
    return empty || bits % 8 == 0;
}
