// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** How often the site of the mutant that is on was reached; 0 in builds without mutants. */
#ifndef SIM_MUTANT_SWITCH_H
#define SIM_MUTANT_SWITCH_H

#include "base/mutant.h"

static inline uint64_t mutant_reached(void)
{
#ifdef BW_MUTANTS
    return mutant_hits;
#else
    return 0;
#endif
}

#endif
