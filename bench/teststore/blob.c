// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "objects.h"

#include "base/alloc.h"
#include "base/crc32c.h"
#include "grab.h"

blob *blob_new(size_t size)
{
    blob *b = grab(sizeof *b + size);
    *b = (blob){.size = size};
    atomic_init(&b->references, 1);
    b->bytes = (uint8_t *)b + sizeof *b;
    return b;
}

blob *blob_keep(blob *b)
{
    atomic_fetch_add_explicit(&b->references, 1, memory_order_relaxed);
    return b;
}

void blob_drop(blob *b)
{
    if (b != NULL && atomic_fetch_sub_explicit(&b->references, 1, memory_order_acq_rel) == 1)
        mem_free(b);
}

void blob_seal(blob *b, bool digest)
{
    b->crc32c = crc32c(0, b->bytes, b->size);
    if (digest)
        hash_bytes(b->bytes, b->size, &b->digest);
}
