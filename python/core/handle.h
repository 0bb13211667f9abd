// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * handle: the Python object over one handle of the library: Space, Consumer, Producer. It is
 * opened apart (wait.h), held while a call uses it, interrupted, asked for its reports, and closed.
 */
#ifndef PYTHON_HANDLE_H
#define PYTHON_HANDLE_H

#include "work.h"

typedef struct handle_kind {
    const char *name; /* for messages: "consumer" */
    void (*close)(void *handle);
    void (*interrupt)(void *handle, int on); /* NULL: nothing waits on it */
} handle_kind;

/** The first member of the structures of these types. */
typedef struct handle_object {
    PyObject head;
    const handle_kind *kind;
    owned *handle; /* NULL: closed */
} handle_object;

/** For the `run` of an open: `opened` becomes what was made, opened from `parent`. */
bw_status handle_made(work *w, void *opened, const handle_kind *kind, owned *parent);
/** Runs it and makes the object; like work_run, drops `w`. NULL: exception set. */
PyObject *handle_open(PyTypeObject *type, const handle_kind *kind, wait_run run, work *w,
                      bool ready);
/** The open handle, held for the caller. NULL: closed; exception set. */
owned *handle_hold(PyObject *self);
/** Work on the open handle. NULL: exception set. */
work *handle_work(PyObject *self);
/** A method of one argument: whether its waits are to end. */
PyObject *handle_interrupt(PyObject *self, PyObject *on);

typedef bw_status (*handle_report_fn)(void *handle, char *json, size_t cap, size_t *length,
                                      bw_error *error);
/** What `report` says, as str. */
PyObject *handle_report(PyObject *self, handle_report_fn report);

/**
 * Calls in other threads end with BW_INTERRUPTED; the last of them closes the handle. `*lent` (lent
 * may be NULL) holds the memory that the library borrows: it is let go of once nobody else uses the
 * handle, and never should a call not end.
 */
void handle_close(PyObject *self, PyObject **lent);

#endif
