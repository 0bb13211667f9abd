// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "meter.h"

#include <jansson.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t bytes);
int __real_posix_memalign(void **memory, size_t alignment, size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t bytes);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes);
void __wrap_free(void *memory);

/* Signed: memory that came before the meter, or from a shared library, may be freed through it. */
static atomic_long live, peak, base;

static void gained(long bytes)
{
    const long now = atomic_fetch_add(&live, bytes) + bytes;
    long seen = atomic_load(&peak);
    while (now > seen && !atomic_compare_exchange_weak(&peak, &seen, now))
        continue;
}

static long size_of(void *memory)
{
    return memory != NULL ? (long)malloc_usable_size(memory) : 0;
}

void *__wrap_malloc(size_t bytes)
{
    void *memory = __real_malloc(bytes);
    gained(size_of(memory));
    return memory;
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *memory = __real_calloc(count, size);
    gained(size_of(memory));
    return memory;
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    const long before = size_of(memory);
    void *moved = __real_realloc(memory, bytes);
    if (moved != NULL)
        gained(size_of(moved) - before);
    return moved;
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    const int status = __real_posix_memalign(memory, alignment, bytes);
    if (status == 0)
        gained(size_of(*memory));
    return status;
}

void __wrap_free(void *memory)
{
    gained(-size_of(memory));
    __real_free(memory);
}

void meter_start(void)
{
    const long now = atomic_load(&live);
    atomic_store(&base, now);
    atomic_store(&peak, now);
}

size_t meter_peak(void)
{
    return (size_t)(atomic_load(&peak) - atomic_load(&base));
}

void meter_jansson(void)
{
    json_set_alloc_funcs(malloc, free);
}
