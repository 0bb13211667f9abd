// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "dlpack.h"

#define DLPACK_UINT 1

/* The structures of the standard, by its layout. */
typedef struct dlpack_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t dimensions;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape;
    int64_t *strides; /* NULL: row-major */
    uint64_t byte_offset;
} dlpack_tensor;

typedef struct dlpack_managed {
    dlpack_tensor tensor;
    void *context;
    void (*deleter)(struct dlpack_managed *);
} dlpack_managed;

typedef struct dlpack_view {
    dlpack_managed managed;
    int64_t length;
    Py_buffer buffer;
} dlpack_view;

/* Called by who took the tensor, with or without the interpreter's lock. */
static void delete_view(dlpack_managed *managed)
{
    dlpack_view *view = managed->context;
    if (Py_IsInitialized()) {
        PyGILState_STATE lock = PyGILState_Ensure();
        PyBuffer_Release(&view->buffer);
        PyGILState_Release(lock);
    }
    free(view);
}

static void delete_capsule(PyObject *capsule)
{
    /* Who takes the tensor renames the capsule. */
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        dlpack_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
        managed->deleter(managed);
    }
}

PyObject *dlpack_of(PyObject *owner)
{
    dlpack_view *view = calloc(1, sizeof *view);
    if (view == NULL)
        return PyErr_NoMemory();
    if (PyObject_GetBuffer(owner, &view->buffer, PyBUF_WRITABLE) != 0) {
        free(view);
        return NULL;
    }
    view->length = view->buffer.len;
    dlpack_tensor *tensor = &view->managed.tensor;
    tensor->data = view->buffer.buf;
    tensor->device.type = DLPACK_CPU;
    tensor->dimensions = 1;
    tensor->dtype.code = DLPACK_UINT;
    tensor->dtype.bits = 8;
    tensor->dtype.lanes = 1;
    tensor->shape = &view->length;
    view->managed.context = view;
    view->managed.deleter = delete_view;
    PyObject *capsule = PyCapsule_New(&view->managed, "dltensor", delete_capsule);
    if (capsule == NULL)
        delete_view(&view->managed);
    return capsule;
}
