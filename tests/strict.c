// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Linked into every test: a broken invariant (base/invariant.h) ends the process at once. The
 * product goes on and fails the handle; tests of that switch this off. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* As in base/invariant.h. Weak: tests of the shared library see exported functions only. */
typedef void invariant_observer(const char *what, const char *function);
void invariant_observe(invariant_observer *observer);
#pragma weak invariant_observe

static void end_here(const char *what, const char *function)
{
    (void)fprintf(stderr, "broken invariant in %s: %s\n", function, what);
    abort();
}

__attribute__((constructor)) static void watch(void)
{
    if (invariant_observe != NULL)
        invariant_observe(end_here);
}
