// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The states that were met, 8 bytes each, in one table of a fixed size.
 *
 * A mark is 58 bits of a hash of the state, beside the bucket that it was looked for first, which
 * is as good as some more bits. Two states with equal marks would be taken for one, and what only
 * the second leads to would not be seen: marks_doubt says how many such pairs to expect.
 */
#ifndef SCOPE_MARKS_H
#define SCOPE_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mark {
    uint64_t home, rest;
} mark;

/** Room for this many, and a little more; the memory is taken page by page as they come. */
void marks_setup(uint64_t count_max);
/** Of whole words; has the memory where it is looked for fetched. */
mark marks_of(const uint64_t *words, size_t count);
/** False: it was there. */
bool marks_put(const mark *m);
/** Pairs of different states with equal marks that are to be expected among those met. */
double marks_doubt(void);
uint64_t marks_bytes(void);

#endif
