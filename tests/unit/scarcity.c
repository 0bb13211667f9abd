// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/scarcity.h"

#include "base/hash.h"
#include "base/rng.h"
#include <stdlib.h>

struct scarcity scarcity;
static rng dice;

void scarcity_dice(uint64_t seed, uint32_t one_in)
{
    rng_seed(&dice, seed);
    scarcity.one_in = one_in;
}

static bool fails(void)
{
    if (!scarcity.scarce)
        return false;
    scarcity.seen++;
    if (scarcity.nth > 0) {
        if (scarcity.nth > 1) {
            scarcity.nth--;
            return false;
        }
        scarcity.nth = scarcity.ever ? 1 : 0;
    } else if (scarcity.one_in == 0 || rng_below(&dice, scarcity.one_in) != 0) {
        return false;
    }
    scarcity.failed++;
    return true;
}

static void *counted(void *memory)
{
    scarcity.live += memory != NULL;
    return memory;
}

/* The linker gives these names. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void __real_free(void *memory);
bw_status __real_hash_bytes(const void *bytes, size_t size, hash128 *out);
bw_status __real_hash_pieces(const hash_piece *pieces, size_t count, hash128 *out);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void __wrap_free(void *memory);
bw_status __wrap_hash_bytes(const void *bytes, size_t size, hash128 *out);
bw_status __wrap_hash_pieces(const hash_piece *pieces, size_t count, hash128 *out);

void *__wrap_malloc(size_t bytes)
{
    return counted(fails() ? NULL : __real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return counted(fails() ? NULL : __real_calloc(count, bytes));
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    void *moved = fails() ? NULL : __real_realloc(memory, bytes);
    scarcity.live += memory == NULL && moved != NULL;
    return moved;
}

void __wrap_free(void *memory)
{
    scarcity.live -= memory != NULL;
    __real_free(memory);
}

bw_status __wrap_hash_bytes(const void *bytes, size_t size, hash128 *out)
{
    return fails() ? BW_NOMEM : __real_hash_bytes(bytes, size, out);
}

bw_status __wrap_hash_pieces(const hash_piece *pieces, size_t count, hash128 *out)
{
    return fails() ? BW_NOMEM : __real_hash_pieces(pieces, count, out);
}
