// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/invariant.h"

#include <stdatomic.h>
#include <stddef.h>

/* The first broken one since it was last taken: what follows may follow from it. */
static _Thread_local const char *broken_what;
static _Thread_local const char *broken_function;

static _Atomic(invariant_observer *) observing;

bool invariant_holds(bool condition, const char *what, const char *function)
{
    if (condition)
        return true;
    invariant_observer *observer = atomic_load(&observing);
    if (observer != NULL)
        observer(what, function);
    if (broken_what == NULL) {
        broken_what = what;
        broken_function = function;
    }
    return false;
}

bool invariant_taken(bw_error *error)
{
    if (broken_what == NULL)
        return false;
    (void)error_set(
        error, BW_BUG,
        "a rule inside the library was broken (%s: %s): this handle is closed, what was "
        "not acknowledged before may be done or not",
        broken_function, broken_what);
    broken_what = NULL;
    return true;
}

void invariant_observe(invariant_observer *observer)
{
    atomic_store(&observing, observer);
}
