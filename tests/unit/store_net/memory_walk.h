// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Memory runs out anywhere while keys are looked for: it says BW_NOMEM or finds them, owns nothing
 * afterwards (the leak checker looks), and shows nothing. By the linker (memory_walk_dep), and not
 * that of the whole process: the server of the test lives in it.
 */
#ifndef MEMORY_WALK_H
#define MEMORY_WALK_H

#include "chain_stand.h"

/** The n-th request for memory fails, once and from then on, for each n until there are fewer. Each
 * time `set` prepares the stand, and `make` the chain: both with all memory. */
void memory_walk(const script_step *steps, size_t count, void (*set)(chain_stand *t),
                 net_chain *(*make)(chain_stand *t));

#endif
