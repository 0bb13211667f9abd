// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Memory that runs out, or a hash that cannot be computed, by the linker: no hook in the product.
 */
#ifndef TESTS_SCARCITY_H
#define TESTS_SCARCITY_H

#include <stdbool.h>
#include <stdint.h>

extern struct scarcity {
    bool scarce;  /* a request is counted, and may fail */
    uint64_t nth; /* this one from now on fails; 0: see one_in */
    bool ever;    /* … and all after it */
    uint32_t one_in;
    uint64_t seen, failed;
    int64_t live; /* allocations, scarce or not */
} scarcity;

/** The dice of `one_in`; 0: none fails by chance. */
void scarcity_dice(uint64_t seed, uint32_t one_in);

#endif
