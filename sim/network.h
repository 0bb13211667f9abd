// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Requests on their way: sent; applied never, once or twice, at any later moment; answered
 * truthfully, doubtfully or not at all. What a process sent lives on when the process dies.
 */
#ifndef SIM_NETWORK_H
#define SIM_NETWORK_H

#include "process.h"
#include "vstore.h"

#define LIST_PAGE 7u
#define NAMES_PAGE 40u
#define NO_FAULT 255u

typedef enum damage { DAMAGE_NONE, DAMAGE_FLIP, DAMAGE_CUT, DAMAGE_TOO_LARGE } damage;

struct flight {
    flight *next; /* of the spare ones */
    flight *next_made, *previous_made;
    process *process;
    uint32_t life;
    bool own; /* asked for by the actor, not by its machine */
    uint32_t id;
    store_op_kind kind;
    object *object; /* NULL: list and delete */
    object_key after;
    blob *body;
    object_key *keys;
    uint32_t key_count;
    uint64_t offset, length; /* of a read; length 0: the whole */
    uint64_t where;          /* names it in the seed */
    int64_t sent_ns;
    const struct beat *beat; /* what it was on the tape that is played; NULL: nothing */
    bool held;               /* it waited in a frozen process */
    bool waited;             /* its answer did */

    /* what will become of it */
    bool applies, late;
    store_outcome say; /* PENDING: the truth */
    bw_status code;
    damage damage;
    uint8_t apply_fault, reply_fault;
    bool lists_stale, lists_unordered, slow, slow_reply;

    /* what became of it */
    bool applied;
    store_outcome outcome;
    blob *read;
    uint32_t listed;
    uint64_t versions[LIST_PAGE];
    object_key prefix;    /* of a list of other names than manifests */
    const object **names; /* listed below it */
    bool more;
};

/** `own` requests are ranged reads and puts of the actor; `length` 0 otherwise. */
void network_send(process *p, const machine_request *request, bool own, uint64_t offset,
                  uint64_t length);
void network_apply(sim *s, flight *f);
/** Gives the answer to its process, or drops it. */
void network_reply(sim *s, flight *f);
/** Marks the objects that requests on their way mean. */
void network_want(const sim *s);
/** Faults are over: what was to land late lands now. The caller puts the queue in order again. */
void network_calm(sim *s);
void network_free(sim *s);

#endif
