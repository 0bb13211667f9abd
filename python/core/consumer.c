// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The Python type Consumer: one rank. */
#include "item.h"
#include "space.h"
#include "work.h"

#define REPORT_BYTES_MAX 65536u

typedef struct consumer_object {
    PyObject head;
    owned *handle;   /* NULL: closed */
    bw_error *error; /* of next; one thread calls that */
    PyObject *lent;  /* token → Py_buffer in a capsule; NULL: none */
} consumer_object;

static bw_consumer *consumer_of(const owned *o)
{
    return o->handle;
}

static owned *hold(PyObject *self)
{
    consumer_object *consumer = (consumer_object *)self;
    if (consumer->handle == NULL) {
        core_raise_plain(core_of(self), BW_INVALID, "the consumer was closed");
        return NULL;
    }
    return owned_ref(consumer->handle);
}

static work *consumer_work(PyObject *self)
{
    owned *held = hold(self);
    if (held == NULL)
        return NULL;
    work *w = work_new(held);
    owned_unref(held);
    return w;
}

static void close_consumer(void *consumer)
{
    bw_consumer_close(consumer);
}

/* ---- opening and closing ---- */

static bw_status run_open(void *context, bw_error *error)
{
    work *w = context;
    bw_consumer *consumer;
    bw_status status = bw_consumer_open(space_of(w->on), w->group, w->config, w->cursor,
                                        w->timeout_ns, &consumer, error);
    if (status != BW_OK)
        return status;
    w->made = owned_new(consumer, close_consumer, w->on);
    return w->made == NULL ? BW_NOMEM : BW_OK;
}

static PyObject *consumer_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    static char *keywords[] = {"space", "group", "settings", "cursor", "timeout", NULL};
    core_state *state = PyType_GetModuleState(type);
    PyObject *space, *group, *settings, *cursor = Py_None;
    int64_t timeout_ns = BW_FOREVER;
    if (!PyArg_ParseTupleAndKeywords(args, names, "OOO|OO&:Consumer", keywords, &space, &group,
                                     &settings, &cursor, core_timeout, &timeout_ns))
        return NULL;
    owned *held = space_hold(state, space);
    if (held == NULL)
        return NULL;
    work *w = work_new(held);
    owned_unref(held);
    if (w == NULL)
        return NULL;
    w->timeout_ns = timeout_ns;
    if (!work_text(&w->group, group) || !work_config(state, w, settings) ||
        !work_cursor(state, w, cursor)) {
        work_drop(w);
        return NULL;
    }
    wait_call *call = wait_apart(state, run_open, work_drop, w);
    if (call == NULL)
        return NULL;
    consumer_object *self = (consumer_object *)PyType_GenericAlloc(type, 0);
    if (self != NULL) {
        self->handle = w->made;
        w->made = NULL;
        self->error = bw_error_new();
        if (self->error == NULL) {
            Py_CLEAR(self);
            PyErr_NoMemory();
        }
    }
    wait_end(call);
    return (PyObject *)self;
}

/* Calls in other threads end with BW_INTERRUPTED; the last of them closes the handle. */
static void close_now(consumer_object *self)
{
    owned *handle = self->handle;
    if (handle == NULL)
        return;
    bw_consumer_interrupt(consumer_of(handle), 1);
    /* Lent memory may be given back only when the library is through with it. */
    if (self->lent != NULL && !owned_alone(handle))
        Py_INCREF(self->lent);
    owned_drop(&self->handle);
    Py_CLEAR(self->lent);
}

static PyObject *consumer_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    close_now((consumer_object *)self);
    Py_RETURN_NONE;
}

static void consumer_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    close_now((consumer_object *)self);
    bw_error_free(((consumer_object *)self)->error);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- items ---- */

typedef struct next_work {
    bw_consumer *consumer;
    bw_item *item;
} next_work;

static bw_status next_slice(void *context, int64_t timeout_ns, bw_error *error)
{
    next_work *n = context;
    return bw_consumer_next(n->consumer, timeout_ns, &n->item, error);
}

/* The object whose memory the item lies in; NULL: none. Borrowed. */
static PyObject *lender_of(consumer_object *self, const bw_item *item)
{
    uint64_t token;
    if (self->lent == NULL || !bw_item_lent(item, &token))
        return NULL;
    return PyList_GetItem(self->lent, (Py_ssize_t)token);
}

/* Hot: an item that was read ahead is handed out without giving the interpreter's lock away. */
static PyObject *consumer_next(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    consumer_object *consumer = (consumer_object *)self;
    int64_t timeout_ns = BW_FOREVER;
    if (count > 1) {
        PyErr_SetString(PyExc_TypeError, "next(timeout=None)");
        return NULL;
    }
    if (count == 1 && !core_timeout(args[0], &timeout_ns))
        return NULL;
    owned *held = hold(self);
    if (held == NULL)
        return NULL;
    next_work n = {.consumer = consumer_of(held)};
    bw_status status = bw_consumer_next(n.consumer, 0, &n.item, consumer->error);
    int waited = 0;
    if (status == BW_STARVED && timeout_ns != 0)
        waited = wait_sliced(next_slice, &n, BW_STARVED, timeout_ns, consumer->error, &status);
    PyObject *item = NULL;
    if (waited == 0) {
        core_state *state = core_of(self);
        item = status == BW_OK ? item_new(state, n.item, lender_of(consumer, n.item))
                               : core_raise(state, consumer->error);
    }
    owned_drop(&held);
    return item;
}

static PyObject *consumer_cursor(PyObject *self, PyObject *unused)
{
    (void)unused;
    owned *held = hold(self);
    if (held == NULL)
        return NULL;
    bw_error *error = bw_error_new();
    bw_cursor *cursor;
    PyObject *json;
    bw_status status = bw_consumer_cursor(consumer_of(held), &cursor, error);
    if (status == BW_OK) {
        json = PyUnicode_FromString(bw_cursor_json(cursor));
        bw_cursor_free(cursor);
    } else {
        json = core_raise(core_of(self), error);
    }
    bw_error_free(error);
    owned_drop(&held);
    return json;
}

typedef bw_status (*report_fn)(bw_consumer *consumer, char *json, size_t cap, size_t *length,
                               bw_error *error);

static PyObject *report_of(PyObject *self, report_fn report)
{
    owned *held = hold(self);
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
        status = report(consumer_of(held), json, REPORT_BYTES_MAX, &length, error);
        Py_END_ALLOW_THREADS;
        text = status == BW_OK ? PyUnicode_DecodeUTF8(json, (Py_ssize_t)length, "replace")
                               : core_raise(core_of(self), error);
    }
    free(json);
    bw_error_free(error);
    owned_drop(&held);
    return text;
}

static PyObject *consumer_wait_reason(PyObject *self, PyObject *unused)
{
    (void)unused;
    return report_of(self, bw_consumer_wait_reason);
}

static PyObject *consumer_stats(PyObject *self, PyObject *unused)
{
    (void)unused;
    return report_of(self, bw_consumer_stats);
}

static PyObject *consumer_interrupt(PyObject *self, PyObject *on)
{
    int wanted = PyObject_IsTrue(on);
    owned *held = wanted < 0 ? NULL : hold(self);
    if (held == NULL)
        return NULL;
    bw_consumer_interrupt(consumer_of(held), wanted);
    owned_drop(&held);
    Py_RETURN_NONE;
}

/* ---- lent memory ---- */

static void release_view(PyObject *capsule)
{
    Py_buffer *view = PyCapsule_GetPointer(capsule, NULL);
    PyBuffer_Release(view);
    free(view);
}

/* `buffer` stays held in a capsule, until neither the consumer nor an item needs it. */
static PyObject *view_of(PyObject *buffer, Py_buffer **out)
{
    Py_buffer *view = calloc(1, sizeof *view);
    if (view == NULL)
        return PyErr_NoMemory();
    if (PyObject_GetBuffer(buffer, view, PyBUF_WRITABLE) != 0) {
        free(view);
        return NULL;
    }
    PyObject *capsule = PyCapsule_New(view, NULL, release_view);
    if (capsule == NULL) {
        PyBuffer_Release(view);
        free(view);
        return NULL;
    }
    *out = view;
    return capsule;
}

static PyObject *consumer_lend(PyObject *self, PyObject *buffer)
{
    consumer_object *consumer = (consumer_object *)self;
    if (consumer->lent == NULL && (consumer->lent = PyList_New(0)) == NULL)
        return NULL;
    owned *held = hold(self);
    if (held == NULL)
        return NULL;
    PyObject *answer = NULL;
    Py_buffer *view = NULL;
    PyObject *capsule = view_of(buffer, &view);
    Py_ssize_t token = PyList_Size(consumer->lent);
    bw_error *error = bw_error_new();
    if (capsule != NULL && PyList_Append(consumer->lent, capsule) == 0) {
        bw_status status = bw_consumer_lend(consumer_of(held), view->buf, (size_t)view->len,
                                            (uint64_t)token, error);
        if (status == BW_OK) {
            answer = PyLong_FromSsize_t(token);
        } else {
            PyList_SetSlice(consumer->lent, token, token + 1, NULL);
            core_raise(core_of(self), error);
        }
    }
    Py_XDECREF(capsule);
    bw_error_free(error);
    owned_drop(&held);
    return answer;
}

/* ---- checkpoints ---- */

static bw_status run_pin(void *context, bw_error *error)
{
    work *w = context;
    return bw_consumer_pin(consumer_of(w->on), w->id, w->cursor, (const char *const *)w->ids,
                           w->id_count, w->timeout_ns, error);
}

static PyObject *consumer_pin(PyObject *self, PyObject *args)
{
    core_state *state = core_of(self);
    PyObject *id, *cursor, *release;
    work *w = consumer_work(self);
    if (w == NULL)
        return NULL;
    if (!PyArg_ParseTuple(args, "UUO|O&:pin", &id, &cursor, &release, core_timeout,
                          &w->timeout_ns) ||
        !work_text(&w->id, id) || !work_cursor(state, w, cursor) || !work_ids(w, release)) {
        work_drop(w);
        return NULL;
    }
    return work_none(state, run_pin, w);
}

static bw_status run_release(void *context, bw_error *error)
{
    work *w = context;
    return bw_consumer_release(consumer_of(w->on), (const char *const *)w->ids, w->id_count,
                               w->timeout_ns, error);
}

static PyObject *consumer_release(PyObject *self, PyObject *args)
{
    PyObject *ids;
    work *w = consumer_work(self);
    if (w == NULL)
        return NULL;
    if (!PyArg_ParseTuple(args, "O|O&:release", &ids, core_timeout, &w->timeout_ns) ||
        !work_ids(w, ids)) {
        work_drop(w);
        return NULL;
    }
    return work_none(core_of(self), run_release, w);
}

static bw_status run_reconcile(void *context, bw_error *error)
{
    work *w = context;
    return bw_consumer_reconcile(consumer_of(w->on), (const char *const *)w->ids, w->id_count,
                                 &w->count_made, w->timeout_ns, error);
}

static PyObject *consumer_reconcile(PyObject *self, PyObject *args)
{
    PyObject *ids;
    work *w = consumer_work(self);
    if (w == NULL)
        return NULL;
    if (!PyArg_ParseTuple(args, "O|O&:reconcile", &ids, core_timeout, &w->timeout_ns) ||
        !work_ids(w, ids)) {
        work_drop(w);
        return NULL;
    }
    wait_call *call = wait_apart(core_of(self), run_reconcile, work_drop, w);
    if (call == NULL)
        return NULL;
    PyObject *released = PyLong_FromUnsignedLong(w->count_made);
    wait_end(call);
    return released;
}

/* ---- what it is ---- */

static PyObject *consumer_about(PyObject *self, void *unused)
{
    (void)unused;
    owned *held = hold(self);
    if (held == NULL)
        return NULL;
    const bw_consumer *consumer = consumer_of(held);
    PyObject *about =
        Py_BuildValue("(ssII)", bw_consumer_group(consumer), bw_consumer_launch(consumer),
                      (unsigned)bw_consumer_d(consumer), (unsigned)bw_consumer_c(consumer));
    owned_drop(&held);
    return about;
}

static PyMethodDef methods[] = {
    {"next", (PyCFunction)(uintptr_t)consumer_next, METH_FASTCALL, "next(timeout=None) -> Item"},
    {"cursor", consumer_cursor, METH_NOARGS, "cursor() -> JSON"},
    {"wait_reason", consumer_wait_reason, METH_NOARGS, "wait_reason() -> JSON"},
    {"stats", consumer_stats, METH_NOARGS, "stats() -> JSON"},
    {"interrupt", consumer_interrupt, METH_O, "interrupt(on)"},
    {"lend", consumer_lend, METH_O, "lend(buffer) -> token"},
    {"pin", consumer_pin, METH_VARARGS, "pin(id, cursor, release, timeout=None)"},
    {"release", consumer_release, METH_VARARGS, "release(ids, timeout=None)"},
    {"reconcile", consumer_reconcile, METH_VARARGS, "reconcile(keep, timeout=None) -> released"},
    {"close", consumer_close, METH_NOARGS, "close()"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"about", consumer_about, NULL, "(group, launch, d, c)", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)(uintptr_t)consumer_new},
    {Py_tp_dealloc, (void *)(uintptr_t)consumer_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_tp_doc, (void *)"Consumer(space, group, settings, cursor=None, timeout=None)"},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "batchweave._core.Consumer",
    .basicsize = sizeof(consumer_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int consumer_ready(PyObject *module, core_state *state)
{
    return core_add_type(module, &spec, &state->consumer);
}
