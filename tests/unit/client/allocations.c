// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "allocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_HOOKS
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_HOOKS
#endif

static atomic_uint_least64_t count;

uint64_t allocations(void)
{
    return atomic_load(&count);
}

static void add(void)
{
    (void)atomic_fetch_add_explicit(&count, 1u, memory_order_relaxed);
}

#if defined(HAS_HOOKS)

int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void *, size_t),
                                              void (*freed)(const volatile void *));

static void allocated(const volatile void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
    add();
}

static void freed(const volatile void *memory)
{
    (void)memory;
}

__attribute__((constructor)) static void install(void)
{
    if (__sanitizer_install_malloc_and_free_hooks(allocated, freed) == 0)
        abort();
}

#else

/* The names under which glibc keeps its own for whoever replaces malloc. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t number, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);

void *malloc(size_t bytes)
{
    add();
    return __libc_malloc(bytes);
}

void *calloc(size_t number, size_t bytes)
{
    add();
    return __libc_calloc(number, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    add();
    return __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    add();
    return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    add();
    *memory = __libc_memalign(alignment, bytes);
    return *memory != NULL ? 0 : ENOMEM;
}

void free(void *memory)
{
    __libc_free(memory);
}

#endif
