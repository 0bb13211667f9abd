// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Every situation that a process was ever in, once each, and where each answer leads from it.
 *
 * A machine is a function of its memory and of what it is given. So the real code runs once for
 * each pair of situation and answer; whoever meets the pair again, with the other processes and the
 * store in whatever state, looks up what it did.
 */
#ifndef SCOPE_LOCALS_H
#define SCOPE_LOCALS_H

#include "actor.h"

/** The situation of the process that is in the arena; takes it out. */
uint32_t locals_put(void);
const actor_face *locals_face(uint32_t local);
/** Where the answer leads; what the process is told on the way. */
uint32_t locals_answer(uint32_t local, const answer *a, const told **told, uint32_t *told_count);

uint32_t locals_count(void);
uint64_t locals_runs(void);  /* of the real code */
uint64_t locals_bytes(void); /* of all that are kept */

#endif
