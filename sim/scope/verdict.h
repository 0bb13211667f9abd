// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The rules that every state, and every step between two, must keep. */
#ifndef SCOPE_VERDICT_H
#define SCOPE_VERDICT_H

#include "world.h"

void verdict_begin(void);
/** The first one of a step is kept. */
void violate(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool violated(void);

/* Before it is applied: the next version of the chain; a manifest under a name that was deleted; a
 * marker; a delete of what is there. */
void verdict_extended(const world *w, uint32_t number);
void verdict_ghost(const world *w, uint32_t number);
void verdict_marked(const world *w, uint32_t block);
void verdict_deleted(const world *w, uint32_t version);

/** Gives the process its answer, and judges what it was told. */
void verdict_answered(world *w, uint32_t process, const answer *a);
/** In world.c: what one more pass makes of an end. */
void world_sweep_calmly(const world *end);
/** Forgets what the chain has decided meanwhile. */
void verdict_settle(world *w);

#endif
