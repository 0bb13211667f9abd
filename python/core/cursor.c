// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Cursors are canonical JSON on the Python side; here is what needs to know what is in them. */
#include "core.h"

static bw_cursor *parse(core_state *state, const char *json, Py_ssize_t size, bw_error *error)
{
    bw_cursor *cursor;
    if (bw_cursor_parse(json, (size_t)size, &cursor, error) == BW_OK)
        return cursor;
    core_raise(state, error);
    return NULL;
}

static PyObject *told(bw_cursor *cursor)
{
    PyObject *row =
        Py_BuildValue("(sKI)", bw_cursor_json(cursor), (unsigned long long)bw_cursor_step(cursor),
                      (unsigned)bw_cursor_item(cursor));
    bw_cursor_free(cursor);
    return row;
}

static PyObject *cursor_parse(PyObject *module, PyObject *args)
{
    const char *json;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "s#:cursor_parse", &json, &size))
        return NULL;
    bw_error *error = bw_error_new();
    if (error == NULL)
        return PyErr_NoMemory();
    bw_cursor *cursor = parse(core_of_module(module), json, size, error);
    bw_error_free(error);
    return cursor == NULL ? NULL : told(cursor);
}

static PyObject *cursor_skip(PyObject *module, PyObject *args)
{
    const char *json;
    Py_ssize_t size;
    unsigned long long first, end;
    if (!PyArg_ParseTuple(args, "s#KK:cursor_skip", &json, &size, &first, &end))
        return NULL;
    bw_error *error = bw_error_new();
    if (error == NULL)
        return PyErr_NoMemory();
    bw_cursor *from = parse(core_of_module(module), json, size, error);
    bw_cursor *cursor = NULL;
    if (from != NULL) {
        if (bw_cursor_skip(from, first, end, &cursor, error) != BW_OK) {
            core_raise(core_of_module(module), error);
            cursor = NULL;
        }
        bw_cursor_free(from);
    }
    bw_error_free(error);
    return cursor == NULL ? NULL : told(cursor);
}

PyMethodDef cursor_functions[] = {
    {"cursor_parse", cursor_parse, METH_VARARGS,
     "cursor_parse(json) -> (canonical json, step, item)"},
    {"cursor_skip", cursor_skip, METH_VARARGS,
     "cursor_skip(json, first, end) -> (canonical json, step, item)"},
    {NULL, NULL, 0, NULL},
};
