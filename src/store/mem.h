// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The memory store. By default an operation is applied and answered at once. In stepped mode
 * nothing happens by itself: the test or the simulator looks at what was sent, applies each request
 * zero, one or two times at any later moment, and answers it truthfully, falsely or never
 * (three-phase requests).
 */
#ifndef STORE_MEM_H
#define STORE_MEM_H

#include "store/store.h"

typedef struct mem_space mem_space; /* the shared contents; counted by its stores */

bw_status mem_space_new(mem_space **out);
void mem_space_free(mem_space *space); /* once all its stores are closed */
bw_status store_mem_open(mem_space *space, store **out, bw_error *error);

/* Direct access for tests, beside any store. */
bool mem_space_get(mem_space *space, const char *key, const uint8_t **bytes, size_t *size);
bw_status mem_space_set(mem_space *space, const char *key, const void *bytes, size_t size);
bool mem_space_remove(mem_space *space, const char *key);
size_t mem_space_count(mem_space *space, const char *prefix);
/** Calls back in key order until non-zero; the callback must not touch the space. */
int mem_space_each(mem_space *space, const char *prefix,
                   int (*each)(void *, const char *key, const uint8_t *bytes, size_t size),
                   void *context);
/** Operations applied so far, by kind. */
uint64_t mem_space_applied(mem_space *space, store_op_kind kind);

/*
 * Stepped mode, of one store; a clone starts in the mode of its original. Another thread than the
 * store's may do the stepping: a poll with a timeout then waits for it.
 */
void store_mem_set_stepped(store *s, bool stepped);
/** Requests sent and not answered, oldest first. */
size_t store_mem_sent(store *s, store_op **ops, size_t max);
/** Applies a sent request to the contents now, without answering; may be repeated, also after the
 * answer (a late duplicate: use store_mem_keep). Returns the outcome that this application had. */
store_outcome store_mem_apply(store *s, store_op *op);
/** Answers a sent request: with the outcome of its last application (STORE_PENDING as `as`; RETRY
 * when it was never applied), or with the given one. The next poll returns it. */
void store_mem_answer(store *s, store_op *op, store_outcome as);
/** A copy of a sent write that can be applied later, whatever happened to the original; release
 * with store_mem_drop. */
typedef struct mem_late mem_late;
mem_late *store_mem_keep(store *s, const store_op *op);
store_outcome store_mem_apply_late(store *s, mem_late *late);
void store_mem_drop(mem_late *late);

#endif
