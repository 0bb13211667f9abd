// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "handle.h"

#include <stdio.h>

#define REPORT_BYTES_MAX 65536u

bw_status handle_made(work *w, void *opened, const handle_kind *kind, owned *parent)
{
    w->made = owned_new(opened, kind->close, parent);
    return w->made == NULL ? BW_NOMEM : BW_OK;
}

PyObject *handle_open(PyTypeObject *type, const handle_kind *kind, wait_run run, work *w,
                      bool ready)
{
    wait_call *call = work_run(PyType_GetModuleState(type), run, w, ready);
    if (call == NULL)
        return NULL;
    handle_object *self = (handle_object *)PyType_GenericAlloc(type, 0);
    if (self != NULL) {
        self->kind = kind;
        self->handle = w->made;
        w->made = NULL;
    }
    wait_end(call);
    return (PyObject *)self;
}

owned *handle_hold(PyObject *self)
{
    handle_object *o = (handle_object *)self;
    if (o->handle != NULL)
        return owned_ref(o->handle);
    char message[64];
    (void)snprintf(message, sizeof message, "the %s was closed", o->kind->name);
    core_raise_plain(core_of(self), BW_INVALID, message);
    return NULL;
}

work *handle_work(PyObject *self)
{
    owned *held = handle_hold(self);
    if (held == NULL)
        return NULL;
    work *w = work_new(held);
    owned_unref(held);
    return w;
}

PyObject *handle_interrupt(PyObject *self, PyObject *on)
{
    int wanted = PyObject_IsTrue(on);
    owned *held = wanted < 0 ? NULL : handle_hold(self);
    if (held == NULL)
        return NULL;
    ((handle_object *)self)->kind->interrupt(held->handle, wanted);
    owned_drop(&held);
    Py_RETURN_NONE;
}

PyObject *handle_report(PyObject *self, handle_report_fn report)
{
    owned *held = handle_hold(self);
    if (held == NULL)
        return NULL;
    bw_error *error = bw_error_new();
    char *json = malloc(REPORT_BYTES_MAX);
    PyObject *text = NULL;
    if (json == NULL || error == NULL) {
        PyErr_NoMemory();
    } else {
        size_t length;
        bw_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = report(held->handle, json, REPORT_BYTES_MAX, &length, error);
        Py_END_ALLOW_THREADS;
        text = status == BW_OK ? PyUnicode_DecodeUTF8(json, (Py_ssize_t)length, "replace")
                               : core_raise(core_of(self), error);
    }
    free(json);
    bw_error_free(error);
    owned_drop(&held);
    return text;
}

void handle_close(PyObject *self, PyObject **lent)
{
    handle_object *o = (handle_object *)self;
    if (o->handle != NULL) {
        if (o->kind->interrupt != NULL)
            o->kind->interrupt(o->handle->handle, 1);
        if (lent != NULL && *lent != NULL && !owned_alone(o->handle))
            Py_INCREF(*lent);
        owned_drop(&o->handle);
    }
    if (lent != NULL)
        Py_CLEAR(*lent);
}
