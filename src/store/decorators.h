// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Decorators that normal work does without: fault, trace, meter. Each takes `inner` on success. */
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
 * time.
 */
typedef struct store_meter {
    atomic_uint_least64_t ops[STORE_OP_KINDS];
    atomic_uint_least64_t outcomes[STORE_OUTCOMES];
    atomic_uint_least64_t bytes_read, bytes_written;
} store_meter;
bw_status store_meter_wrap(store *inner, store_meter *meter, store **out, bw_error *error);

#endif
