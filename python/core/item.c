// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "item.h"

#include "dlpack.h"

typedef struct item_object {
    PyObject head;
    bw_item *item; /* NULL: released */
    PyObject *lent;
    Py_ssize_t exports; /* views of its memory */
} item_object;

PyObject *item_new(core_state *state, bw_item *item, PyObject *lent)
{
    item_object *self = (item_object *)PyType_GenericAlloc(state->item, 0);
    if (self == NULL) {
        bw_item_release(item);
        return NULL;
    }
    self->item = item;
    self->lent = lent;
    Py_XINCREF(lent);
    return (PyObject *)self;
}

static bw_item *item_of(PyObject *self)
{
    item_object *o = (item_object *)self;
    if (o->item == NULL)
        core_raise_plain(core_of(self), BW_INVALID, "the item was released");
    return o->item;
}

static void let_go(item_object *self)
{
    bw_item *item = self->item;
    self->item = NULL;
    if (item != NULL)
        bw_item_release(item);
    Py_CLEAR(self->lent);
}

static PyObject *item_release_now(PyObject *self, PyObject *unused)
{
    (void)unused;
    item_object *o = (item_object *)self;
    if (o->exports > 0) {
        PyErr_SetString(PyExc_BufferError,
                        "an array or a tensor still looks at the item: drop it first");
        return NULL;
    }
    let_go(o);
    Py_RETURN_NONE;
}

static void item_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    let_go((item_object *)self);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- its bytes ---- */

static int get_bytes(PyObject *self, void **data, size_t *size)
{
    static uint8_t nothing;
    const bw_item *item = item_of(self);
    if (item == NULL)
        return -1;
    const void *view;
    bw_item_view(item, &view, size);
    /* The bytes are this item's alone: a private map, or memory of the library or of the caller. */
    *data = *size == 0 ? &nothing : (void *)(uintptr_t)view;
    return 0;
}

static int item_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    void *data;
    size_t size;
    view->obj = NULL;
    if (get_bytes(self, &data, &size) != 0 ||
        PyBuffer_FillInfo(view, self, data, (Py_ssize_t)size, 0, flags) != 0)
        return -1;
    ((item_object *)self)->exports++;
    return 0;
}

static void item_releasebuffer(PyObject *self, Py_buffer *view)
{
    (void)view;
    ((item_object *)self)->exports--;
}

static PyObject *item_dlpack(PyObject *self, PyObject *args, PyObject *names)
{
    (void)args; /* stream, max_version, …: of no concern to bytes in main memory */
    (void)names;
    return dlpack_of(self);
}

static PyObject *item_dlpack_device(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return Py_BuildValue("(ii)", DLPACK_CPU, 0);
}

/* Views that need numpy or torch are made in Python (batchweave.views). */
static PyObject *view_by(const char *maker, PyObject *self, PyObject *args, PyObject *names)
{
    PyObject *views = PyImport_ImportModule("batchweave.views");
    PyObject *make = views == NULL ? NULL : PyObject_GetAttrString(views, maker);
    PyObject *all = PyTuple_New(PyTuple_Size(args) + 1);
    PyObject *view = NULL;
    if (make != NULL && all != NULL && PyTuple_SetItem(all, 0, Py_NewRef(self)) == 0) {
        for (Py_ssize_t i = 0; i < PyTuple_Size(args); i++)
            PyTuple_SetItem(all, i + 1, Py_NewRef(PyTuple_GetItem(args, i)));
        view = PyObject_Call(make, all, names);
    }
    Py_XDECREF(all);
    Py_XDECREF(make);
    Py_XDECREF(views);
    return view;
}

#define VIEW(name)                                                                                 \
    static PyObject *item_##name(PyObject *self, PyObject *args, PyObject *names)                  \
    {                                                                                              \
        return view_by(#name, self, args, names);                                                  \
    }
VIEW(numpy)
VIEW(torch)
VIEW(tensors)
VIEW(samples)
#undef VIEW

static Py_ssize_t item_length(PyObject *self)
{
    const bw_item *item = item_of(self);
    if (item == NULL)
        return -1;
    const void *data;
    size_t size;
    bw_item_view(item, &data, &size);
    return (Py_ssize_t)size;
}

/* ---- what it is ---- */

#define NUMBER(name)                                                                               \
    static PyObject *item_##name(PyObject *self, void *unused)                                     \
    {                                                                                              \
        (void)unused;                                                                              \
        const bw_item *item = item_of(self);                                                       \
        return item == NULL ? NULL : PyLong_FromUnsignedLongLong(bw_item_##name(item));            \
    }
NUMBER(step)
NUMBER(d)
NUMBER(c)
NUMBER(index)
NUMBER(count)
NUMBER(order)
NUMBER(total)
NUMBER(tag)
NUMBER(tokens)
#undef NUMBER

static PyObject *item_pad(PyObject *self, void *unused)
{
    (void)unused;
    const bw_item *item = item_of(self);
    return item == NULL ? NULL : PyBool_FromLong(bw_item_pad(item));
}

static PyObject *item_kind_name(PyObject *self, void *unused)
{
    (void)unused;
    const bw_item *item = item_of(self);
    return item == NULL ? NULL : PyUnicode_FromString(bw_item_kind(item));
}

static PyObject *item_is_lent(PyObject *self, void *unused)
{
    (void)unused;
    uint64_t token;
    const bw_item *item = item_of(self);
    if (item == NULL)
        return NULL;
    if (!bw_item_lent(item, &token))
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(token);
}

static PyGetSetDef attributes[] = {
    {"step", item_step, NULL, "of the namespace", NULL},
    {"d", item_d, NULL, "data-parallel position of its slice", NULL},
    {"c", item_c, NULL, "context-parallel position of its slice", NULL},
    {"index", item_index, NULL, "within the slice", NULL},
    {"count", item_count, NULL, "items of the slice", NULL},
    {"order", item_order, NULL, "among the rank's own items of the step", NULL},
    {"total", item_total, NULL, "the rank's own items of the step", NULL},
    {"pad", item_pad, NULL, "True: holds no data", NULL},
    {"tag", item_tag, NULL, "of the step", NULL},
    {"tokens", item_tokens, NULL, "of the whole step", NULL},
    {"kind", item_kind_name, NULL, "raw, samples or safetensors", NULL},
    {"lent", item_is_lent, NULL, "token of the lent buffer that it lies in, or None", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

#define VIEW_ROW(name, text)                                                                       \
    {                                                                                              \
#name, (PyCFunction)(uintptr_t)item_##name, METH_VARARGS | METH_KEYWORDS, text             \
    }

static PyMethodDef methods[] = {
    VIEW_ROW(numpy, "numpy(dtype=None): its bytes as an array, without a copy"),
    VIEW_ROW(torch, "torch(dtype=None): its bytes as a tensor, without a copy"),
    VIEW_ROW(tensors, "tensors(framework=None): its tensors by name, without a copy"),
    VIEW_ROW(samples, "samples(): its samples, each a dict of memoryviews, without a copy"),
    {"release", item_release_now, METH_NOARGS, "release(): give its memory back now"},
    {"__dlpack__", (PyCFunction)(uintptr_t)item_dlpack, METH_VARARGS | METH_KEYWORDS,
     "its bytes as a DLPack tensor of uint8"},
    {"__dlpack_device__", item_dlpack_device, METH_NOARGS, "the CPU"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, (void *)(uintptr_t)item_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_bf_getbuffer, (void *)(uintptr_t)item_getbuffer},
    {Py_bf_releasebuffer, (void *)(uintptr_t)item_releasebuffer},
    {Py_sq_length, (void *)(uintptr_t)item_length},
    {Py_tp_doc, (void *)"The bytes of one item (microbatch): verified, writable, nobody else's."},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "batchweave._core.Item",
    .basicsize = sizeof(item_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

int item_ready(PyObject *module, core_state *state)
{
    return core_add_type(module, &spec, &state->item);
}
