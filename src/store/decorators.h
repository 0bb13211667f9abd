// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Decorators that are not needed in normal work: fault, trace, meter. Each takes over `inner` on
 * success. */
#ifndef STORE_DECORATORS_H
#define STORE_DECORATORS_H

#include "store/store.h"
#include <stdatomic.h>

/**
 * Faults by rules, separated by `;`: `action:kind:prefix:n`. kind is an operation name or `any`;
 * prefix matches the key's start ("" = all); n = the n-th matching operation (0 = every one).
 * Actions: retry-before  answer RETRY, not applied            retry-after    apply, then answer
 * RETRY (writes but create) unknown-before / unknown-after                     create answers
 * UNKNOWN, not applied / applied short-read    the last byte is missing: RETRY      flip one bit of
 * what was read is flipped not-found     answer NOT_FOUND                     denied, fatal,
 * no-space kill / stop   raise SIGKILL / SIGSTOP on this process before the operation;  kill-after
 * / stop-after  after it was applied Counters are shared by clones, so n counts over all threads.
 */
bw_status store_fault_wrap(store *inner, const char *rules, store **out, bw_error *error);

/** Calls back before an operation is passed on (outcome PENDING) and when it completed. Called on
 * the store's thread; shared by clones. */
typedef void (*store_trace_fn)(void *context, const store_op *op);
bw_status store_trace_wrap(store *inner, store_trace_fn trace, void *context, store **out,
                           bw_error *error);

/** Counts by kind and outcome, and bytes; shared by clones; read at any time. */
typedef struct store_meter {
    atomic_uint_least64_t ops[STORE_OP_KINDS];
    atomic_uint_least64_t outcomes[STORE_OUTCOMES];
    atomic_uint_least64_t bytes_read, bytes_written;
} store_meter;
bw_status store_meter_wrap(store *inner, store_meter *meter, store **out, bw_error *error);

#endif
