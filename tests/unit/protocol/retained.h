// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What a store must still have, and what it may have, by a reader of its own of the newest
 * manifest: the judge of sweepers. And requests that outlive who sent them. */
#ifndef TESTS_PROTOCOL_RETAINED_H
#define TESTS_PROTOCOL_RETAINED_H

#include "world.h"

/** Nothing that can be reached is gone: descriptors and segments from the swept step on, parts from
 * the trim step on, the page, the resume states that map and page name. */
void retained_whole(world *w);
/** Nothing else is left, strangers apart: no part or state that no manifest can name any more, no
 * segment, page or manifest that none refers to. Of a sealed namespace nothing is in flight. */
void retained_only(world *w);

/** Puts the parts of `count` batches, every third one's resume state as an object, and begins to
 * publish them. `refs`: 64 of them, the actor's until it has ended. */
void retained_begin_publish(actor *a, uint32_t count, bool finish, state_ref *refs);

/** A request and what it points to. */
typedef struct errand {
    machine_request request;
    uint8_t *bytes;
    object_key *keys;
} errand;
void errand_keep(errand *e, const machine_request *request);
/** As often as called. `list` NULL: nobody waits for it. */
void errand_apply(world *w, const errand *e, machine_reply *reply, store_list *list);
/** Applied and forgotten: its sender is dead. */
void errand_late(world *w, const errand *e);
void errand_drop(errand *e);
/** Gives the machine this reply, and frees what it left of it. */
void errand_answer(world *w, const machine_type *type, void *self, machine_reply *reply);

#endif
