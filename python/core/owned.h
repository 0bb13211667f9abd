// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * owned: a handle of the library, counted, so that it is closed when neither its Python object nor
 * a call in another thread uses it any more, and never before what was opened from it.
 */
#ifndef PYTHON_OWNED_H
#define PYTHON_OWNED_H

#include "core.h"

#include <stdatomic.h>

typedef struct owned {
    atomic_uint references;
    struct owned *parent; /* held, or NULL */
    void *handle;
    void (*close)(void *handle);
} owned;

/** Takes over `handle` (closed at once when memory is out: NULL) and holds `parent`. */
owned *owned_new(void *handle, void (*close)(void *handle), owned *parent);
owned *owned_ref(owned *o);
/** Any thread, with the interpreter's lock or without: closing may wait, so see owned_drop. */
void owned_unref(owned *o);
/** Waits, at most a second and with the interpreter's lock released, until the caller's reference
 * is the only one. Whether it is. */
bool owned_alone(owned *o);
/** Takes *slot out and lets go of it, with the interpreter's lock released while it is closed. */
void owned_drop(owned **slot);

#endif
