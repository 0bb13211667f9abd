// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Scarcity while machines have their turn, and never while the world has its own. */
#ifndef TESTS_PROTOCOL_INSIST_H
#define TESTS_PROTOCOL_INSIST_H

#include "tests/unit/scarcity.h"
#include "world.h"

#define SEEDS 40u
#define TRIES_MAX 200u

void scarcity_begin(uint64_t seed, uint32_t odds);
void scarcity_end(void);
/** Until it is done; each failure is for want of memory. */
void insist_open(actor *a, bool reopen);

#endif
