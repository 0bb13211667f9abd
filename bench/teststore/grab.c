// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "grab.h"

#include "base/alloc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *memory)
{
    if (memory == NULL) {
        fputs("batchweave-teststore: out of memory\n", stderr);
        exit(4);
    }
    return memory;
}

void *grab(size_t bytes)
{
    return must(mem_alloc(bytes));
}

void *grab_zeroed(size_t bytes)
{
    return must(mem_zalloc(bytes));
}

char *grab_text(const char *text)
{
    return must(mem_strdup(text));
}

void grab_grow(void **array, size_t *capacity, size_t need, size_t size)
{
    must(mem_grow(array, capacity, need, size) == 0 ? *array : NULL);
}
