// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "batch.h"

#define PIECES_MAX 4096

typedef struct batch_object {
    PyObject head;
    owned *producer;
    bw_batch *batch; /* NULL: put */
    Py_buffer *views;
    size_t view_count, view_room;
} batch_object;

PyObject *batch_make(core_state *state, owned *producer, uint32_t items_per_slice)
{
    bw_error *error = bw_error_new();
    bw_batch *batch;
    if (error == NULL)
        return PyErr_NoMemory();
    batch_object *self = NULL;
    if (bw_batch_new(producer->handle, items_per_slice, &batch, error) != BW_OK) {
        core_raise(state, error);
    } else if ((self = (batch_object *)PyType_GenericAlloc(state->batch, 0)) == NULL) {
        bw_batch_free(batch);
    } else {
        self->batch = batch;
        self->producer = owned_ref(producer);
    }
    bw_error_free(error);
    return (PyObject *)self;
}

bw_batch *batch_handle(core_state *state, PyObject *self)
{
    if (Py_TYPE(self) != state->batch) {
        PyErr_SetString(PyExc_TypeError, "not a Batch");
        return NULL;
    }
    batch_object *batch = (batch_object *)self;
    if (batch->batch == NULL)
        core_raise_plain(state, BW_INVALID, "the batch was put already");
    return batch->batch;
}

void batch_taken(PyObject *self)
{
    batch_object *batch = (batch_object *)self;
    batch->batch = NULL;
    owned_drop(&batch->producer);
}

static void batch_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    batch_object *batch = (batch_object *)self;
    if (batch->batch != NULL)
        bw_batch_free(batch->batch);
    for (size_t i = 0; i < batch->view_count; i++)
        PyBuffer_Release(&batch->views[i]);
    free(batch->views);
    owned_drop(&batch->producer);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* Room for `more` views; those that are there may move (a Py_buffer may be copied). */
static bool make_room(batch_object *batch, size_t more)
{
    if (batch->view_room - batch->view_count >= more)
        return true;
    size_t room = batch->view_room * 2 + more;
    Py_buffer *views = realloc(batch->views, room * sizeof *views);
    if (views == NULL) {
        PyErr_NoMemory();
        return false;
    }
    batch->views = views;
    batch->view_room = room;
    return true;
}

static bool borrow(batch_object *batch, PyObject *piece, struct iovec *out)
{
    Py_buffer *view = &batch->views[batch->view_count];
    if (PyObject_GetBuffer(piece, view, PyBUF_SIMPLE) != 0)
        return false;
    batch->view_count++;
    *out = (struct iovec){.iov_base = view->buf, .iov_len = (size_t)view->len};
    return true;
}

static PyObject *set_item(PyObject *self, uint32_t d, uint32_t c, uint32_t item, PyObject *pieces)
{
    batch_object *batch = (batch_object *)self;
    Py_ssize_t count = PyTuple_Size(pieces);
    if (count > PIECES_MAX)
        return core_raise_plain(core_of(self), BW_TOO_LARGE, "an item of more than 4096 pieces");
    struct iovec *vector = calloc((size_t)count + 1, sizeof *vector);
    bw_error *error = bw_error_new();
    bool borrowed = vector != NULL && error != NULL && make_room(batch, (size_t)count);
    for (Py_ssize_t i = 0; borrowed && i < count; i++)
        borrowed = borrow(batch, PyTuple_GetItem(pieces, i), &vector[i]);
    bool set = borrowed;
    if (borrowed && bw_batch_item(batch->batch, d, c, item, vector, (int)count, error) != BW_OK) {
        core_raise(core_of(self), error);
        set = false;
    }
    if (vector == NULL || error == NULL)
        PyErr_NoMemory();
    free(vector);
    bw_error_free(error);
    if (!set)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *batch_item(PyObject *self, PyObject *args)
{
    unsigned d, c, item;
    PyObject *pieces;
    if (!PyArg_ParseTuple(args, "IIIO:item", &d, &c, &item, &pieces) ||
        batch_handle(core_of(self), self) == NULL)
        return NULL;
    PyObject *tuple = PyList_Check(pieces)    ? PyList_AsTuple(pieces)
                      : PyTuple_Check(pieces) ? Py_NewRef(pieces)
                                              : PyTuple_Pack(1, pieces);
    if (tuple == NULL)
        return NULL;
    PyObject *answer = set_item(self, d, c, item, tuple);
    Py_DECREF(tuple);
    return answer;
}

static PyObject *batch_pad(PyObject *self, PyObject *args)
{
    unsigned d, c, item;
    bw_batch *batch;
    if (!PyArg_ParseTuple(args, "III:pad", &d, &c, &item) ||
        (batch = batch_handle(core_of(self), self)) == NULL)
        return NULL;
    bw_error *error = bw_error_new();
    bw_status status = bw_batch_pad(batch, d, c, item, error);
    PyObject *answer = status == BW_OK ? Py_NewRef(Py_None) : core_raise(core_of(self), error);
    bw_error_free(error);
    return answer;
}

static PyObject *batch_samples(PyObject *self, PyObject *args)
{
    unsigned d, c;
    PyObject *ids;
    unsigned long long tokens;
    bw_batch *batch;
    if (!PyArg_ParseTuple(args, "IIOK:samples", &d, &c, &ids, &tokens) ||
        (batch = batch_handle(core_of(self), self)) == NULL)
        return NULL;
    Py_ssize_t count = PySequence_Size(ids);
    if (count < 0)
        return NULL;
    const char **texts = calloc((size_t)count + 1, sizeof *texts);
    PyObject *kept = PySequence_Tuple(ids);
    bw_error *error = bw_error_new();
    PyObject *answer = NULL;
    bool good = texts != NULL && kept != NULL && error != NULL;
    for (Py_ssize_t i = 0; good && i < count; i++)
        good = (texts[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(kept, i), NULL)) != NULL;
    if (good) {
        bw_status status = bw_batch_samples(batch, d, c, texts, (size_t)count, tokens, error);
        answer = status == BW_OK ? Py_NewRef(Py_None) : core_raise(core_of(self), error);
    } else if (PyErr_Occurred() == NULL) {
        PyErr_NoMemory();
    }
    free(texts);
    Py_XDECREF(kept);
    bw_error_free(error);
    return answer;
}

static PyObject *batch_meta(PyObject *self, PyObject *args)
{
    unsigned long long tag;
    const char *json;
    Py_ssize_t size;
    bw_batch *batch;
    if (!PyArg_ParseTuple(args, "Ks#:meta", &tag, &json, &size) ||
        (batch = batch_handle(core_of(self), self)) == NULL)
        return NULL;
    bw_error *error = bw_error_new();
    bw_status status = bw_batch_meta(batch, tag, json, (size_t)size, error);
    PyObject *answer = status == BW_OK ? Py_NewRef(Py_None) : core_raise(core_of(self), error);
    bw_error_free(error);
    return answer;
}

static PyMethodDef methods[] = {
    {"item", batch_item, METH_VARARGS, "item(d, c, item, buffer or list of buffers)"},
    {"pad", batch_pad, METH_VARARGS, "pad(d, c, item)"},
    {"samples", batch_samples, METH_VARARGS, "samples(d, c, ids, tokens)"},
    {"meta", batch_meta, METH_VARARGS, "meta(tag, json)"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, (void *)(uintptr_t)batch_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, (void *)"One global batch in the making (Producer.batch)."},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "batchweave._core.Batch",
    .basicsize = sizeof(batch_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

int batch_ready(PyObject *module, core_state *state)
{
    return core_add_type(module, &spec, &state->batch);
}
