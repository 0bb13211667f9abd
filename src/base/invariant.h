// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * invariant: what is true whatever stores, networks and callers do. A broken one is a defect of
 * this library; it is checked in release builds too, and ends the handle, never the host process:
 *
 *     MUST(condition);             states it, notes when it does not hold, and goes on
 *     MUST_OR(condition, leave);   leaves too (`return …`), where going on would touch memory that
 *                                  is not there, or say something that is not so
 *
 * The first broken one is noted for the thread. Whoever called into the protocol for a handle takes
 * the note before he believes a result, and fails that handle for good with BW_BUG: drive_run for
 * machines, the holder of a handle's lock for the rest. Conditions have no side effects, are one
 * fact each, and cost a comparison or two.
 */
#ifndef BASE_INVARIANT_H
#define BASE_INVARIANT_H

#include "base/error.h"
#include <stdbool.h>

#if defined(__clang_analyzer__) || defined(BW_ANALYZE)
/* Analysers may take them for true. */
#define HOLDS(condition) ((condition) ? true : (__builtin_unreachable(), false))
#elif defined(BW_COVERAGE)
/* A call, not a branch: no test takes the other way of a condition that always holds. */
#define HOLDS(condition) invariant_holds((condition), #condition, __func__)
#else
#define HOLDS(condition)                                                                           \
    (__builtin_expect((condition) ? 1 : 0, 1) != 0 ||                                              \
     (invariant_holds(false, #condition, __func__), false))
#endif

#define MUST(condition) ((void)HOLDS(condition))
#define MUST_OR(condition, leave)                                                                  \
    do {                                                                                           \
        if (!HOLDS(condition)) {                                                                   \
            leave;                                                                                 \
        }                                                                                          \
    } while (0)

/** Returns `condition`; notes for this thread that `what` in `function` does not hold. Both texts
 * live as long as the library. */
bool invariant_holds(bool condition, const char *what, const char *function) __attribute__((cold));

/** True when one was broken in this thread since the last call: fills `error` (NULL is fine) with
 * BW_BUG and what was broken. */
bool invariant_taken(bw_error *error);

/** Tests and the simulator end at once instead: called at each broken one, in the thread that broke
 * it. NULL: nobody. */
typedef void invariant_observer(const char *what, const char *function);
void invariant_observe(invariant_observer *observer);

#endif
