// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The only place that calls the C allocator. Sizes are checked; nothing aborts: NULL means out of
 * memory.
 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stddef.h>

void *mem_alloc(size_t bytes);
void *mem_zalloc(size_t bytes);
/** count × size with overflow check, zeroed. */
void *mem_array(size_t count, size_t size);
void *mem_realloc(void *memory, size_t bytes);
/** Grows an array for at least `need` elements, doubling; 0 on success, -1 when out of memory or
 * overflowing. */
int mem_grow(void **array, size_t *capacity, size_t need, size_t size);
void *mem_aligned(size_t alignment, size_t bytes);
char *mem_strdup(const char *text);
void *mem_dup(const void *bytes, size_t size);
void mem_free(void *memory);

#endif
