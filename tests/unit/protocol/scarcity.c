// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "scarcity.h"

#include <stdlib.h>

struct scarcity scarcity;
static rng dice;

static bool fails(void)
{
    if (!scarcity.scarce)
        return false;
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

/* The linker gives these names. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
bw_status __real_hash_bytes(const void *bytes, size_t size, hash128 *out);
bw_status __real_hash_pieces(const hash_piece *pieces, size_t count, hash128 *out);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
bw_status __wrap_hash_bytes(const void *bytes, size_t size, hash128 *out);
bw_status __wrap_hash_pieces(const hash_piece *pieces, size_t count, hash128 *out);

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return fails() ? NULL : __real_realloc(memory, bytes);
}

bw_status __wrap_hash_bytes(const void *bytes, size_t size, hash128 *out)
{
    return fails() ? BW_NOMEM : __real_hash_bytes(bytes, size, out);
}

bw_status __wrap_hash_pieces(const hash_piece *pieces, size_t count, hash128 *out)
{
    return fails() ? BW_NOMEM : __real_hash_pieces(pieces, count, out);
}

static void machines_turn(bool its)
{
    scarcity.scarce = its;
}

void scarcity_begin(uint64_t seed, uint32_t odds)
{
    rng_seed(&dice, seed);
    scarcity.one_in = odds;
    world_turn = machines_turn;
}

void scarcity_end(void)
{
    world_turn = NULL;
    scarcity.scarce = false;
}

void insist_open(actor *a, bool reopen)
{
    for (uint32_t tries = 0; tries < TRIES_MAX; tries++) {
        actor_begin_open(a, reopen);
        assert_true(actor_drive(a));
        const commit_report *r = actor_report(a);
        if (r->end == COMMIT_DONE) {
            actor_settle(a);
            return;
        }
        assert_int_equal(r->status, BW_NOMEM);
    }
    fail_msg("%u tries were not enough", TRIES_MAX);
}
