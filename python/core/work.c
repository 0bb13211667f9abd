// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "work.h"

#include <string.h>

work *work_new(owned *on)
{
    work *w = calloc(1, sizeof *w);
    if (w == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    w->on = on == NULL ? NULL : owned_ref(on);
    w->timeout_ns = BW_FOREVER;
    return w;
}

void work_drop(void *context)
{
    work *w = context;
    if (w == NULL)
        return;
    if (w->item_made != NULL)
        bw_item_release(w->item_made);
    owned_unref(w->made);
    if (w->cursor_made != NULL)
        bw_cursor_free(w->cursor_made);
    bw_text_free(w->text_made);
    owned_unref(w->on);
    bw_config_free(w->config);
    if (w->cursor != NULL)
        bw_cursor_free(w->cursor);
    free(w->url);
    free(w->group);
    free(w->launch);
    free(w->id);
    for (size_t i = 0; i < w->id_count; i++)
        free(w->ids[i]);
    free(w->ids);
    free(w);
}

bool work_text(char **slot, PyObject *text)
{
    if (text == NULL || text == Py_None)
        return true;
    Py_ssize_t size;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &size);
    if (utf8 == NULL)
        return false;
    if (strlen(utf8) != (size_t)size) {
        PyErr_SetString(PyExc_ValueError, "a text has a NUL character");
        return false;
    }
    *slot = malloc((size_t)size + 1);
    if (*slot == NULL) {
        PyErr_NoMemory();
        return false;
    }
    memcpy(*slot, utf8, (size_t)size + 1);
    return true;
}

bool work_ids(work *w, PyObject *ids)
{
    if (PyUnicode_Check(ids)) {
        PyErr_SetString(PyExc_TypeError, "ids are a sequence of str, not one str");
        return false;
    }
    Py_ssize_t count = PySequence_Size(ids);
    if (count < 0)
        return false;
    w->ids = calloc((size_t)count + 1, sizeof *w->ids);
    if (w->ids == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *id = PySequence_GetItem(ids, i);
        bool copied = id != NULL && work_text(&w->ids[i], id);
        w->id_count = (size_t)i + 1;
        if (copied && w->ids[i] == NULL)
            PyErr_SetString(PyExc_TypeError, "an id is None");
        Py_XDECREF(id);
        if (!copied || w->ids[i] == NULL)
            return false;
    }
    return true;
}

bool work_cursor(core_state *state, work *w, PyObject *json)
{
    if (json == NULL || json == Py_None)
        return true;
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(json, &size);
    if (text == NULL)
        return false;
    bw_error *error = bw_error_new();
    if (error == NULL) {
        PyErr_NoMemory();
        return false;
    }
    bw_status status = bw_cursor_parse(text, (size_t)size, &w->cursor, error);
    if (status != BW_OK) {
        w->cursor = NULL;
        core_raise(state, error);
    }
    bw_error_free(error);
    return status == BW_OK;
}

bool work_config(core_state *state, work *w, PyObject *settings)
{
    w->config = core_config(state, settings);
    return w->config != NULL;
}

/* What was given settings is stopped by them. */
static bool work_stop(void *context)
{
    work *w = context;
    bw_config_interrupt(w->config, 1);
    return w->config != NULL;
}

wait_call *work_run(core_state *state, wait_run run, work *w, bool ready)
{
    if (ready)
        return wait_apart(state, run, work_stop, work_drop, w);
    work_drop(w);
    return NULL;
}

PyObject *work_none(core_state *state, wait_run run, work *w, bool ready)
{
    wait_call *call = work_run(state, run, w, ready);
    if (call == NULL)
        return NULL;
    wait_end(call);
    Py_RETURN_NONE;
}
