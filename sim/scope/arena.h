// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The memory of one process, at one place: while the arena is open every allocation of the machines
 * comes from it, so that a process is the bytes of its arena, and can be put aside and taken up
 * again. Only one process is in the arena at a time; all of them live at the same addresses.
 *
 * Two more things enter the machines from here: no wait has a length (a timer fires when the search
 * lets it), and the nonces of candidates follow from what the process is doing, so that equal
 * situations have equal bytes whatever led to them.
 */
#ifndef SCOPE_ARENA_H
#define SCOPE_ARENA_H

#include "base/hash.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A process put aside: the lines of its arena (lines.h). */
typedef struct snapshot {
    uint32_t *lines;
    uint32_t count;
} snapshot;

/** Empties the arena. */
void arena_clear(void);
void arena_open(bool open);
/** The process itself: the first allocation. */
void *arena_root(void);
/** The bytes of the arena, packed into a buffer that is the arena's until the next call. */
snapshot arena_pack(hash128 *hash);
void arena_unpack(const snapshot *s);
/** What the next nonces follow from. */
void arena_nonce_seed(uint64_t seed);
/** A generator in a few operations; for hashes of states too. */
uint64_t arena_mix(uint64_t x);
/** Overwrites the stack below the caller, so that what calls leave in unset bytes is always the
 * same. */
void arena_scrub_stack(void);

/** Ends the program: a defect of the search, or no memory. */
void scope_defect(const char *what) __attribute__((noreturn));
void *scope_alloc(size_t bytes);

#endif
