// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Memory that runs out, or a hash that cannot be computed, while machines have their turn. By the
 * linker: no hook in the product. */
#ifndef TESTS_PROTOCOL_SCARCITY_H
#define TESTS_PROTOCOL_SCARCITY_H

#include "world.h"

#define SEEDS 40u
#define TRIES_MAX 200u

extern struct scarcity {
    bool scarce; /* a request may fail */
    uint32_t one_in;
    uint32_t nth; /* this request from now on fails; 0: see one_in */
    bool ever;    /* … and all after it */
    uint64_t failed;
} scarcity;

void scarcity_begin(uint64_t seed, uint32_t odds);
void scarcity_end(void);
/** Until it is done; each failure is for want of memory. */
void insist_open(actor *a, bool reopen);

#endif
