// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * core: what the files of the extension `batchweave._core` share.
 *
 * The extension is thin: it turns Python objects into calls of the C interface and back, keeps
 * memory that the library borrows, and never waits with the interpreter's lock held. Everything
 * that can be written in Python is written there. It keeps to the limited API of Python 3.11, so
 * that one wheel serves all versions from there on.
 */
#ifndef PYTHON_CORE_H
#define PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#include <Python.h>

#include <batchweave/batchweave.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct core_state {
    PyObject *exception_of; /* batchweave.errors.exception_of, once something failed */
    PyTypeObject *space, *report, *consumer, *item, *producer, *batch, *packed;
} core_state;

core_state *core_of_module(PyObject *module);
/** Of an object of one of the types above. */
core_state *core_of(PyObject *self);

/** Sets the exception that `error` says. Returns NULL. */
PyObject *core_raise(core_state *state, const bw_error *error);
/** The same for what the extension itself finds: `code`, with a message. */
PyObject *core_raise_plain(core_state *state, bw_status code, const char *message);

/** Seconds (int or float; None: no limit) as the library's nanoseconds. False: exception set. */
int core_timeout(PyObject *seconds, void *timeout_ns); /* a converter of PyArg_Parse */
/** A mapping of strings to strings as settings, for bw_config_free. NULL: exception set. */
bw_config *core_config(core_state *state, PyObject *settings);

/** Each adds its types to the module. */
int space_ready(PyObject *module, core_state *state);
int report_ready(PyObject *module, core_state *state);
int consumer_ready(PyObject *module, core_state *state);
int item_ready(PyObject *module, core_state *state);
int producer_ready(PyObject *module, core_state *state);
int batch_ready(PyObject *module, core_state *state);
int packed_ready(PyObject *module, core_state *state);
/** Makes a type of `spec` and adds it; kept in *slot. */
int core_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **slot);

extern PyMethodDef packed_functions[], cursor_functions[];

#endif
