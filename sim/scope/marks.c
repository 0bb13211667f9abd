// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "marks.h"

#include "arena.h"
#include <sys/mman.h>

/* A line of the cache. */
#define BUCKET 8u
/* A state that finds its bucket full goes on to one as far away as its mark and the number of the
 * try say; that number, from 1, is in the low bits. So a mark says which bucket was its first. With
 * 7 of 8 places taken 58 % of the buckets are full; 63 in a row once in 10^15 states. */
#define TRY_BITS 6u
#define TRIES ((1u << TRY_BITS) - 1)

static struct {
    uint64_t *slots; /* 0: free */
    uint64_t buckets, count;
} all;

void marks_setup(uint64_t count_max)
{
    all.count = 0;
    all.buckets = count_max / (BUCKET - 1) + 1;
    all.slots = mmap(NULL, marks_bytes(), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all.slots == MAP_FAILED)
        scope_defect("no memory");
    /* Nearly every look is at another page. */
    (void)madvise(all.slots, marks_bytes(), MADV_HUGEPAGE);
}

uint64_t marks_bytes(void)
{
    return all.buckets * BUCKET * sizeof *all.slots;
}

mark marks_of(const uint64_t *words, size_t count)
{
    uint64_t a = 0x9e3779b97f4a7c15u, b = 0xc2b2ae3d27d4eb4fu;
    for (size_t i = 0; i < count; i++) {
        a = (a ^ words[i]) * 0xff51afd7ed558ccdu;
        a ^= a >> 32;
        b = (b + words[i]) * 0xc4ceb9fe1a85ec53u;
        b ^= b >> 29;
    }
    a = arena_mix(a);
    b = arena_mix(b ^ a);
    const mark m = {a % all.buckets, b >> TRY_BITS};
    __builtin_prefetch(all.slots + m.home * BUCKET, 1);
    return m;
}

bool marks_put(const mark *m)
{
    uint64_t at = m->home;
    for (uint64_t tries = 1; tries <= TRIES; tries++) {
        const uint64_t wanted = m->rest << TRY_BITS | tries;
        uint64_t *slots = all.slots + at * BUCKET;
        for (uint32_t i = 0; i < BUCKET; i++) {
            if (slots[i] == wanted)
                return false;
            if (slots[i] != 0)
                continue;
            slots[i] = wanted;
            all.count++;
            return true;
        }
        at = (m->home + (arena_mix(wanted) >> TRY_BITS)) % all.buckets;
    }
    scope_defect("a bucket of marks and all that follow are full");
}

double marks_doubt(void)
{
    const double pairs = (double)all.count * (double)all.count / 2;
    return pairs / (double)all.buckets / (double)(1ull << (64 - TRY_BITS));
}
