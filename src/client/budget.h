// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The byte budget of a runtime: reserve before request; memory within it; and who gives memory
 * back to it later. Counted, because items outlive their runtime. Any thread. */
#ifndef CLIENT_BUDGET_H
#define CLIENT_BUDGET_H

#include "client/slicebuffers.h"
#include "client/unmapper.h"

typedef struct budget budget;

bw_status budget_new(uint64_t bytes_max, budget **out);
budget *budget_ref(budget *b);
void budget_unref(budget *b);

/** False when it does not fit now; then the unmapper releases at once what waits for it, but never
 * this thread: it may be a trainer's. `force` takes it all the same (what a caller waits for right
 * now must go on). */
bool budget_take(budget *b, uint64_t bytes, bool force);
void budget_give(budget *b, uint64_t bytes);
uint64_t budget_used(budget *b);
/** Memory for `bytes` that are reserved. */
slice_buffer budget_buffer(budget *b, uint64_t bytes);
/** Keeps memory that nobody holds for a next one, and takes back its reservation. False: both are
 * still the caller's. */
bool budget_keep(budget *b, slice_buffer one, uint64_t reserved);
/** Frees what is kept, and keeps nothing from now on. */
void budget_stop_keeping(budget *b);
/** Takes nothing before it is started. */
unmapper *budget_unmapper(budget *b);

#endif
