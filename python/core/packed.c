// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Packed: an item in the making as a buffer: named tensors in safetensors layout, or samples. */
#include "core.h"

#define PIECES_MAX 65536
#define RANK_MAX 64

typedef struct packed_object {
    PyObject head;
    bw_tensors *tensors; /* one of the two */
    bw_samples *samples;
    const void *bytes;
    size_t size;
} packed_object;

static void packed_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    packed_object *packed = (packed_object *)self;
    bw_tensors_free(packed->tensors);
    bw_samples_free(packed->samples);
    PyObject_Free(self);
    Py_DECREF(type);
}

static int packed_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    packed_object *packed = (packed_object *)self;
    return PyBuffer_FillInfo(view, self, (void *)(uintptr_t)packed->bytes, (Py_ssize_t)packed->size,
                             1, flags);
}

static Py_ssize_t packed_length(PyObject *self)
{
    return (Py_ssize_t)((packed_object *)self)->size;
}

/* ---- buffers borrowed for the length of a call ---- */

typedef struct loans {
    Py_buffer *views;
    Py_ssize_t count;
} loans;

static bool loans_begin(loans *l, Py_ssize_t room)
{
    l->count = 0;
    l->views = calloc((size_t)room + 1, sizeof *l->views);
    if (l->views == NULL)
        PyErr_NoMemory();
    return l->views != NULL;
}

static Py_buffer *loan(loans *l, PyObject *object)
{
    Py_buffer *view = &l->views[l->count];
    if (PyObject_GetBuffer(object, view, PyBUF_SIMPLE) != 0)
        return NULL;
    l->count++;
    return view;
}

static void loans_end(loans *l)
{
    for (Py_ssize_t i = 0; i < l->count; i++)
        PyBuffer_Release(&l->views[i]);
    free(l->views);
}

/* ---- tensors ---- */

static bool shape_of(PyObject *tuple, uint64_t shape[RANK_MAX], size_t *rank)
{
    Py_ssize_t count = PyTuple_Size(tuple);
    if (count < 0)
        return false;
    if (count > RANK_MAX) {
        PyErr_SetString(PyExc_ValueError, "a tensor of more than 64 dimensions");
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        shape[i] = PyLong_AsUnsignedLongLong(PyTuple_GetItem(tuple, i));
        if (PyErr_Occurred() != NULL)
            return false;
    }
    *rank = (size_t)count;
    return true;
}

static bw_status add_tensors(packed_object *packed, PyObject *rows, loans *l, bw_error *error)
{
    Py_ssize_t count = PyList_Size(rows);
    for (Py_ssize_t i = 0; i < count; i++) {
        const char *name, *dtype;
        PyObject *shape, *buffer;
        uint64_t sizes[RANK_MAX];
        size_t rank;
        Py_buffer *view = NULL;
        if (!PyArg_ParseTuple(PyList_GetItem(rows, i), "ssO!O", &name, &dtype, &PyTuple_Type,
                              &shape, &buffer) ||
            !shape_of(shape, sizes, &rank) || (view = loan(l, buffer)) == NULL)
            return BW_BUG; /* an exception is set */
        bw_status status = bw_tensors_add(packed->tensors, name, dtype, sizes, rank, view->buf,
                                          (size_t)view->len, error);
        if (status != BW_OK)
            return status;
    }
    return BW_OK;
}

static bw_status add_notes(packed_object *packed, PyObject *notes, bw_error *error)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(notes, &position, &key, &value)) {
        const char *k = PyUnicode_AsUTF8AndSize(key, NULL);
        const char *v = k == NULL ? NULL : PyUnicode_AsUTF8AndSize(value, NULL);
        if (v == NULL)
            return BW_BUG;
        bw_status status = bw_tensors_note(packed->tensors, k, v, error);
        if (status != BW_OK)
            return status;
    }
    return BW_OK;
}

/* The end of a call: `made`, or NULL with the exception that `status` and `error` say, unless one
 * is set. Takes over `made` and `error`; either may be NULL. */
static PyObject *conclude(PyObject *made, core_state *state, bw_status status, bw_error *error)
{
    if (status != BW_OK) {
        Py_CLEAR(made);
        if (PyErr_Occurred() == NULL && error == NULL)
            PyErr_NoMemory();
        else if (PyErr_Occurred() == NULL)
            core_raise(state, error);
    }
    bw_error_free(error);
    return made;
}

static PyObject *tensors_pack(PyObject *module, PyObject *args)
{
    core_state *state = core_of_module(module);
    PyObject *rows, *notes;
    unsigned long long bytes_max;
    loans l;
    if (!PyArg_ParseTuple(args, "O!O!K:tensors_pack", &PyList_Type, &rows, &PyDict_Type, &notes,
                          &bytes_max) ||
        !loans_begin(&l, PyList_Size(rows)))
        return NULL;
    bw_error *error = bw_error_new();
    packed_object *packed = (packed_object *)PyType_GenericAlloc(state->packed, 0);
    bw_status status = BW_NOMEM;
    if (packed != NULL && error != NULL)
        packed->tensors = bw_tensors_new(bytes_max);
    if (packed != NULL && packed->tensors != NULL)
        status = add_tensors(packed, rows, &l, error);
    if (status == BW_OK)
        status = add_notes(packed, notes, error);
    if (status == BW_OK) {
        Py_BEGIN_ALLOW_THREADS;
        status = bw_tensors_view(packed->tensors, &packed->bytes, &packed->size, error);
        Py_END_ALLOW_THREADS;
    }
    loans_end(&l);
    return conclude((PyObject *)packed, state, status, error);
}

typedef struct rows_of {
    PyObject *rows;
    const uint8_t *base;
} rows_of;

static int tensor_row(void *context, const char *name, size_t name_bytes, const char *dtype,
                      const uint64_t *shape, size_t rank, const void *bytes, size_t size)
{
    rows_of *r = context;
    PyObject *sizes = PyTuple_New((Py_ssize_t)rank);
    for (size_t i = 0; sizes != NULL && i < rank; i++) {
        PyObject *extent = PyLong_FromUnsignedLongLong(shape[i]);
        if (extent == NULL || PyTuple_SetItem(sizes, (Py_ssize_t)i, extent) != 0)
            Py_CLEAR(sizes);
    }
    if (sizes == NULL)
        return 1;
    PyObject *row = Py_BuildValue("(s#sNnn)", name, (Py_ssize_t)name_bytes, dtype, sizes,
                                  (Py_ssize_t)((const uint8_t *)bytes - r->base), (Py_ssize_t)size);
    int failed = row == NULL || PyList_Append(r->rows, row) != 0;
    Py_XDECREF(row);
    return failed;
}

static PyObject *tensors_read(PyObject *module, PyObject *buffer)
{
    Py_buffer view;
    if (PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE) != 0)
        return NULL;
    rows_of r = {.rows = PyList_New(0), .base = view.buf};
    bw_error *error = bw_error_new();
    bw_status status = BW_NOMEM;
    if (r.rows != NULL && error != NULL)
        status = bw_tensors_read(view.buf, (size_t)view.len, tensor_row, &r, error);
    PyBuffer_Release(&view);
    return conclude(r.rows, core_of_module(module), status, error);
}

static PyObject *tensors_remap(PyObject *module, PyObject *args)
{
    core_state *state = core_of_module(module);
    const char *layout;
    PyObject *items;
    unsigned cp, rank;
    unsigned long long bytes_max;
    loans l;
    if (!PyArg_ParseTuple(args, "sO!IIK:tensors_remap", &layout, &PyList_Type, &items, &cp, &rank,
                          &bytes_max) ||
        !loans_begin(&l, PyList_Size(items)))
        return NULL;
    Py_ssize_t count = PyList_Size(items);
    const void **bytes = calloc((size_t)count + 1, sizeof *bytes);
    size_t *sizes = calloc((size_t)count + 1, sizeof *sizes);
    bw_error *error = bw_error_new();
    packed_object *packed = (packed_object *)PyType_GenericAlloc(state->packed, 0);
    bw_status status = BW_NOMEM;
    if (bytes != NULL && sizes != NULL && error != NULL && packed != NULL &&
        (packed->tensors = bw_tensors_new(bytes_max)) != NULL)
        status = BW_OK;
    for (Py_ssize_t i = 0; status == BW_OK && i < count; i++) {
        const Py_buffer *view = loan(&l, PyList_GetItem(items, i));
        if (view == NULL) {
            status = BW_BUG;
        } else {
            bytes[i] = view->buf;
            sizes[i] = (size_t)view->len;
        }
    }
    if (status == BW_OK) {
        Py_BEGIN_ALLOW_THREADS;
        status = bw_tensors_remap(packed->tensors, layout, bytes, sizes, (uint32_t)count, cp, rank,
                                  &packed->bytes, &packed->size, error);
        Py_END_ALLOW_THREADS;
    }
    loans_end(&l);
    free(bytes);
    free(sizes);
    return conclude((PyObject *)packed, state, status, error);
}

/* ---- samples ---- */

static bw_status add_fields(packed_object *packed, PyObject *fields, loans *l, bw_error *error)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;
    bw_status status = bw_samples_begin(packed->samples, error);
    while (status == BW_OK && PyDict_Next(fields, &position, &key, &value)) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        const Py_buffer *view = name == NULL ? NULL : loan(l, value);
        if (view == NULL)
            return BW_BUG;
        status = bw_samples_field(packed->samples, name, view->buf, (size_t)view->len, error);
    }
    return status;
}

static PyObject *samples_pack(PyObject *module, PyObject *args)
{
    core_state *state = core_of_module(module);
    PyObject *rows;
    unsigned long long bytes_max;
    loans l;
    if (!PyArg_ParseTuple(args, "O!K:samples_pack", &PyList_Type, &rows, &bytes_max))
        return NULL;
    Py_ssize_t count = PyList_Size(rows), fields = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *row = PyList_GetItem(rows, i);
        if (!PyDict_Check(row)) {
            PyErr_SetString(PyExc_TypeError, "a sample is a dict of str to bytes");
            return NULL;
        }
        fields += PyDict_Size(row);
    }
    if (!loans_begin(&l, fields))
        return NULL;
    bw_error *error = bw_error_new();
    packed_object *packed = (packed_object *)PyType_GenericAlloc(state->packed, 0);
    bw_status status = BW_NOMEM;
    if (packed != NULL && error != NULL && (packed->samples = bw_samples_new(bytes_max)) != NULL)
        status = BW_OK;
    for (Py_ssize_t i = 0; status == BW_OK && i < count; i++)
        status = add_fields(packed, PyList_GetItem(rows, i), &l, error);
    if (status == BW_OK)
        status = bw_samples_view(packed->samples, &packed->bytes, &packed->size);
    loans_end(&l);
    return conclude((PyObject *)packed, state, status, error);
}

static int field_row(void *context, uint32_t sample, const char *key, size_t key_bytes,
                     const void *value, size_t value_bytes)
{
    rows_of *r = context;
    PyObject *row =
        Py_BuildValue("(Is#nn)", (unsigned)sample, key, (Py_ssize_t)key_bytes,
                      (Py_ssize_t)((const uint8_t *)value - r->base), (Py_ssize_t)value_bytes);
    int failed = row == NULL || PyList_Append(r->rows, row) != 0;
    Py_XDECREF(row);
    return failed;
}

static PyObject *samples_read(PyObject *module, PyObject *buffer)
{
    Py_buffer view;
    if (PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE) != 0)
        return NULL;
    rows_of r = {.rows = PyList_New(0), .base = view.buf};
    bw_error *error = bw_error_new();
    bw_status status = BW_NOMEM;
    if (r.rows != NULL && error != NULL)
        status = bw_samples_read(view.buf, (size_t)view.len, field_row, &r, error);
    PyBuffer_Release(&view);
    return conclude(r.rows, core_of_module(module), status, error);
}

PyMethodDef packed_functions[] = {
    {"tensors_pack", tensors_pack, METH_VARARGS,
     "tensors_pack([(name, dtype, shape, buffer)], {key: value}, bytes_max) -> Packed"},
    {"tensors_read", tensors_read, METH_O,
     "tensors_read(buffer) -> [(name, dtype, shape, offset, size)]"},
    {"tensors_remap", tensors_remap, METH_VARARGS,
     "tensors_remap(layout, items, cp, rank, bytes_max) -> Packed"},
    {"samples_pack", samples_pack, METH_VARARGS,
     "samples_pack([{key: buffer}], bytes_max) -> Packed"},
    {"samples_read", samples_read, METH_O, "samples_read(buffer) -> [(sample, key, offset, size)]"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, (void *)(uintptr_t)packed_dealloc},
    {Py_bf_getbuffer, (void *)(uintptr_t)packed_getbuffer},
    {Py_sq_length, (void *)(uintptr_t)packed_length},
    {Py_tp_doc, (void *)"The bytes of an item that was packed: a buffer, read-only."},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "batchweave._core.Packed",
    .basicsize = sizeof(packed_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

int packed_ready(PyObject *module, core_state *state)
{
    return core_add_type(module, &spec, &state->packed);
}
