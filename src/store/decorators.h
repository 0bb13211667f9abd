// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Decorators: fault and trace for tests, meter for reports, hedge and admit for stores with a
 * network between. Each takes `inner` on success.
 */
#ifndef STORE_DECORATORS_H
#define STORE_DECORATORS_H

#include "store/store.h"
#include <stdatomic.h>

/**
 * Faults by rules, separated by `;`: `action:kind:prefix:n`. kind is an operation name or `any`
 * (then the kinds that the action can have); prefix matches the key's start ("" = all); n = the
 * n-th matching operation (0 = every one). Every matching rule counts; the first that fires
 * decides. Counters are shared by clones, so n counts over all threads. Actions:
 *
 * - retry-before: answer RETRY, not applied
 * - retry-after: apply, then answer RETRY (put, delete)
 * - unknown-before, unknown-after: create answers UNKNOWN, not applied or applied
 * - short-read: the last byte is missing, RETRY (get, read, map)
 * - flip: one bit of what was read is flipped (get, read, map)
 * - not-found: answer NOT_FOUND (get, read, map, head)
 * - denied, fatal, no-space (put, create): answer so, not applied
 * - slow-down: answer RETRY, a create UNKNOWN, as a store that is asked too much; not applied
 * - kill, stop: raise SIGKILL or SIGSTOP on this process before the operation
 * - kill-after, stop-after: after it was applied, before it is answered
 */
bw_status store_fault_wrap(store *inner, const char *rules, store **out, bw_error *error);

/** Calls back before an operation is passed on (outcome PENDING) and when it completed. Called on
 * the store's thread; shared by clones. */
typedef void (*store_trace_fn)(void *context, const store_op *op);
bw_status store_trace_wrap(store *inner, store_trace_fn trace, void *context, store **out,
                           bw_error *error);

/**
 * Counts requests by kind as they are sent and by outcome as they are answered; bytes written as
 * sent, whatever came of them, bytes read as delivered. The caller's; shared by clones; read at any
 * time. The last ones are counted by the decorators below, when they are given the meter.
 */
typedef struct store_meter {
    atomic_uint_least64_t ops[STORE_OP_KINDS];
    atomic_uint_least64_t outcomes[STORE_OUTCOMES];
    atomic_uint_least64_t bytes_read, bytes_written;
    atomic_uint_least64_t throttled;          /* answers that want fewer requests */
    atomic_uint_least64_t hedges, hedges_won; /* second requests, and those that were first */
    atomic_uint_least64_t waits;              /* operations that had to wait for the window */
} store_meter;
bw_status store_meter_wrap(store *inner, store_meter *meter, store **out, bw_error *error);

/**
 * Reads that are late are asked for a second time (store/hedging.h), on a connection of its own;
 * the first good answer counts and the other request is taken back. What is late is learnt by all
 * clones together. Changes nothing over stores that are local or take nothing back.
 */
bw_status store_hedge_wrap(store *inner, const clock_source *clock, store_meter *meter, store **out,
                           bw_error *error);

/**
 * At most as many requests at once as the store bears (store/congestion.h), over all clones; others
 * wait for their turn, in order. Whoever has nothing in flight waits for some seconds at most: a
 * handle may keep its requests without polling, and must not stop the others.
 */
bw_status store_admit_wrap(store *inner, const clock_source *clock, uint32_t window_max,
                           store_meter *meter, store **out, bw_error *error);

#endif
