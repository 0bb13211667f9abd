// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * unmapper: gives the memory of slices back that nobody holds any more, in a thread of its own:
 * unmapping megabytes takes as long as the trainer's whole call of `next` may not.
 *
 * What lies here is still reserved in the byte budget, and so is never more than that; whoever
 * finds no room there hurries the thread. The thread looks every few milliseconds while something
 * comes, so that handing over wakes nobody, as a rule. Bounded: what finds no place is not taken,
 * nor is anything before the start and after the stop; then whoever brings it releases it.
 */
#ifndef CLIENT_UNMAPPER_H
#define CLIENT_UNMAPPER_H

#include "store/store.h"

#define UNMAPPER_PIECES_MAX 256u

typedef struct unmapper unmapper;

/** The memory of one slice. */
typedef struct unmapper_piece {
    store_mapping mapping; /* release NULL: none */
    uint8_t *buffer;       /* of mem_aligned, or NULL */
    uint8_t *unpacked;     /* as well */
    uint64_t reserved;     /* bytes to tell when it was released */
} unmapper_piece;

/** `released` is told the bytes of what was released, in the thread that released it. More than
 * `bytes_max` that wait wake the thread at once. */
bw_status unmapper_new(void (*released)(void *context, uint64_t bytes), void *context,
                       uint64_t bytes_max, unmapper **out);
/** Stopped; NULL is fine. In a forked child: what waited is the parent's. */
void unmapper_free(unmapper *u);
/** Starts the thread unless it runs; without memory for one nothing is taken. */
void unmapper_start(unmapper *u);
/** All of it is released when this returns, and nothing more is taken. */
void unmapper_stop(unmapper *u);
/** Any thread, and never waits. False: not taken. */
bool unmapper_give(unmapper *u, const unmapper_piece *piece);
/** The thread releases now what waits, if anything does. Any thread, and never waits. */
void unmapper_hurry(unmapper *u);
/** At once, by whoever has it. */
void unmapper_release(const unmapper_piece *piece);

#endif
