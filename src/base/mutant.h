// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Mutants: single faults planted in the code, one switched on at run time, in builds with
 * -Dmutants=true only; everywhere else MUTANT(x) is the constant false and leaves no trace. They
 * prove that the checks notice (docs/design/simulator.md): sim/mutants switches each on, and
 * something named must fail.
 */
#ifndef BASE_MUTANT_H
#define BASE_MUTANT_H

#include <stdbool.h>

#ifdef BW_MUTANTS

#include "base/mutant_list.h"
#include <stdatomic.h>
#include <stdint.h>

#define MUTANT_ENUM(name, by, text) MUTANT_##name,
typedef enum mutant_id { MUTANT_LIST(MUTANT_ENUM) MUTANT_COUNT } mutant_id;

/** How often the site of the one that is on was reached. */
extern atomic_uint_least64_t mutant_hits;
const char *mutant_name(mutant_id id);
const char *mutant_by(mutant_id id);
const char *mutant_text(mutant_id id);
/** MUTANT_COUNT: none. Tests that are no simulator name it in BATCHWEAVE_MUTANT instead, and find
 * the file BATCHWEAVE_MUTANT_REACHED made when its site was reached. */
void mutant_switch(mutant_id id);
bool mutant_here(mutant_id id);

#define MUTANT(name) mutant_here(MUTANT_##name)

#else

#define MUTANT(name) false

#endif

#endif
