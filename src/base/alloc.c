// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Zero bytes are asked for as one: NULL always and only means out of memory. */
static size_t at_least_one(size_t bytes)
{
    return bytes > 0 ? bytes : 1;
}

void *mem_alloc(size_t bytes)
{
    return bytes <= PTRDIFF_MAX ? malloc(at_least_one(bytes)) : NULL;
}

void *mem_zalloc(size_t bytes)
{
    return bytes <= PTRDIFF_MAX ? calloc(1, at_least_one(bytes)) : NULL;
}

void *mem_array(size_t count, size_t size)
{
    if (size != 0 && count > PTRDIFF_MAX / size)
        return NULL;
    return mem_zalloc(count * size);
}

void *mem_realloc(void *memory, size_t bytes)
{
    return bytes <= PTRDIFF_MAX ? realloc(memory, at_least_one(bytes)) : NULL;
}

int mem_grow(void **array, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity)
        return 0;
    if (size == 0 || need > PTRDIFF_MAX / size)
        return -1;
    size_t grown = *capacity <= PTRDIFF_MAX / size / 2 ? *capacity * 2 : need;
    if (grown < need)
        grown = need;
    void *memory = mem_realloc(*array, grown * size);
    if (memory == NULL)
        return -1;
    *array = memory;
    *capacity = grown;
    return 0;
}

void *mem_aligned(size_t alignment, size_t bytes)
{
    void *memory = NULL;
    if (bytes > PTRDIFF_MAX || posix_memalign(&memory, alignment, at_least_one(bytes)) != 0)
        return NULL;
    return memory;
}

char *mem_strdup(const char *text)
{
    return mem_dup(text, strlen(text) + 1);
}

void *mem_dup(const void *bytes, size_t size)
{
    void *copy = mem_alloc(size);
    if (copy != NULL && size > 0)
        memcpy(copy, bytes, size);
    return copy;
}

void mem_free(void *memory)
{
    free(memory);
}
