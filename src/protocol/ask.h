// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * ask: the requests that a machine has ready, in flight, or resting before it repeats them. Shared
 * by all machines.
 *
 * A machine says what an ask means by `role` and `number`, and builds the request when the driver
 * takes it.
 */
#ifndef PROTOCOL_ASK_H
#define PROTOCOL_ASK_H

#include "base/clock.h"
#include "base/rng.h"
#include "protocol/machine.h"

/** The role of a request that nobody waits for any more. */
#define ASK_DEAD 255u

typedef enum ask_state { ASK_FREE, ASK_READY, ASK_SENT, ASK_RESTING } ask_state;

typedef struct ask {
    ask_state state;
    uint32_t id;
    uint8_t role;
    store_op_kind kind;
    uint64_t number;   /* version, block, … */
    uint32_t attempts; /* that failed */
    int64_t due_ns;    /* resting until */
} ask;

typedef struct ask_table {
    ask *slots;
    uint32_t count;
    uint32_t used; /* slots beyond are free */
    uint32_t next_id;
    int64_t rest_min_ns, rest_max_ns;
    rng *random;
} ask_table;

/** `slots` is the machine's, zeroed. */
void ask_open(ask_table *t, ask *slots, uint32_t count, int64_t rest_min_ns, int64_t rest_max_ns,
              rng *random);
/** A new ask, ready to be taken. There must be a free slot. */
ask *ask_add(ask_table *t, uint8_t role, store_op_kind kind, uint64_t number);
/** The next ready one, now sent; NULL when none is. */
ask *ask_take(ask_table *t);
/** The sent one of that id; NULL when there is none. A dead one is taken off and not found. */
ask *ask_find(ask_table *t, uint32_t id);
void ask_done(ask_table *t, ask *a);
/** Repeats it after a rest with full jitter, which doubles from failure to failure. */
void ask_rest(ask_table *t, ask *a, int64_t now_ns);
/** Gives everything up: what is in flight waits for its reply under the role ASK_DEAD. */
void ask_give_up(ask_table *t);
bool ask_any(const ask_table *t);
void ask_tick(ask_table *t, int64_t now_ns);
int64_t ask_due(const ask_table *t);

/** A rest with full jitter before the n-th repetition, n ≥ 1. */
int64_t ask_jitter(rng *random, uint32_t n, int64_t min_ns, int64_t max_ns);

#endif
