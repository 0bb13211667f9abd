// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "owned.h"

#include <time.h>

owned *owned_new(void *handle, void (*close)(void *handle), owned *parent)
{
    owned *o = malloc(sizeof *o);
    if (o == NULL) {
        close(handle);
        return NULL;
    }
    atomic_init(&o->references, 1);
    o->parent = parent == NULL ? NULL : owned_ref(parent);
    o->handle = handle;
    o->close = close;
    return o;
}

owned *owned_ref(owned *o)
{
    atomic_fetch_add(&o->references, 1);
    return o;
}

void owned_unref(owned *o)
{
    while (o != NULL && atomic_fetch_sub(&o->references, 1) == 1) {
        owned *parent = o->parent;
        o->close(o->handle);
        free(o);
        o = parent;
    }
}

bool owned_alone(owned *o)
{
    const struct timespec while_ending = {.tv_nsec = 10000000};
    Py_BEGIN_ALLOW_THREADS;
    for (int i = 0; i < 100 && atomic_load(&o->references) > 1; i++)
        nanosleep(&while_ending, NULL);
    Py_END_ALLOW_THREADS;
    return atomic_load(&o->references) == 1;
}

void owned_drop(owned **slot)
{
    owned *o = *slot;
    *slot = NULL;
    if (o == NULL)
        return;
    /* Hot: who is not the last keeps the interpreter's lock. Given away, it comes back when all
     * other threads of a process with many ranks have had it. */
    unsigned references = atomic_load(&o->references);
    while (references > 1)
        if (atomic_compare_exchange_weak(&o->references, &references, references - 1))
            return;
    Py_BEGIN_ALLOW_THREADS;
    owned_unref(o);
    Py_END_ALLOW_THREADS;
}
