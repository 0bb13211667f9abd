// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * wait: waiting that the user can end with Ctrl-C.
 *
 * Python runs signal handlers in its main thread and only between two of its own instructions, so
 * a call that waits must come back to look. What can be asked again without harm is asked in short
 * slices; what cannot (to open, to pin) runs in a thread of its own. When a handler raises, an open
 * is stopped, and nothing of it goes on; what cannot be stopped is left alone, and cleans up behind
 * itself.
 */
#ifndef PYTHON_WAIT_H
#define PYTHON_WAIT_H

#include "core.h"

/** One attempt, without the interpreter's lock. `again` of wait_sliced: not yet. */
typedef bw_status (*wait_slice)(void *work, int64_t timeout_ns, bw_error *error);
/**
 * Attempts until the answer is not `again`, at most until `timeout_ns`. 0 with *status (what
 * `error` then says); -1: a signal handler raised.
 */
int wait_sliced(wait_slice attempt, void *work, bw_status again, int64_t timeout_ns,
                bw_error *error, bw_status *status);

/** `run` is called in a thread without the interpreter's lock; `stop`, when a signal handler
 * raised, makes it end soon: whether it can; `drop`, once nobody needs `work`. */
typedef bw_status (*wait_run)(void *work, bw_error *error);
typedef bool (*wait_stop)(void *work);
typedef void (*wait_drop)(void *work);
typedef struct wait_call wait_call;
/**
 * Runs it and waits. On success the results in `work` may be taken out, then wait_end. NULL: an
 * exception is set, and `work` is dropped now or when its thread is through; `work` may hold no
 * Python object.
 */
wait_call *wait_apart(core_state *state, wait_run run, wait_stop stop, wait_drop drop, void *work);
void wait_end(wait_call *call);

/** Starts a thread that nobody joins, with all signals blocked, so that they reach the trainer's. 0
 * on success. */
int wait_thread(void *(*run)(void *context), void *context);

#endif
