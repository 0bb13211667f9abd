// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The Python type Consumer: one rank. */
#include "handle.h"
#include "item.h"
#include "space.h"

typedef struct consumer_object {
    handle_object base;
    bw_error *error; /* of next; one thread calls that */
    PyObject *lent;  /* token → Py_buffer in a capsule; NULL: none */
} consumer_object;

static bw_consumer *consumer_of(const owned *o)
{
    return o->handle;
}

static void close_consumer(void *consumer)
{
    bw_consumer_close(consumer);
}

static void interrupt_consumer(void *consumer, int on)
{
    bw_consumer_interrupt(consumer, on);
}

static const handle_kind kind = {
    .name = "consumer", .close = close_consumer, .interrupt = interrupt_consumer};

/* ---- opening and closing ---- */

static bw_status run_open(void *context, bw_error *error)
{
    work *w = context;
    bw_consumer *consumer;
    bw_status status = bw_consumer_open(space_of(w->on), w->group, w->config, w->cursor,
                                        w->timeout_ns, &consumer, error);
    return status != BW_OK ? status : handle_made(w, consumer, &kind, w->on);
}

static PyObject *consumer_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    static char *keywords[] = {"space", "group", "settings", "cursor", "timeout", NULL};
    core_state *state = PyType_GetModuleState(type);
    PyObject *space, *group, *settings, *cursor = Py_None;
    work *w = work_new(NULL);
    bool ready =
        w != NULL &&
        PyArg_ParseTupleAndKeywords(args, names, "OOO|OO&:Consumer", keywords, &space, &group,
                                    &settings, &cursor, core_timeout, &w->timeout_ns) &&
        (w->on = space_hold(state, space)) != NULL && work_text(&w->group, group) &&
        work_config(state, w, settings) && work_cursor(state, w, cursor);
    consumer_object *self = (consumer_object *)handle_open(type, &kind, run_open, w, ready);
    if (self != NULL && (self->error = bw_error_new()) == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static PyObject *consumer_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    handle_close(self, &((consumer_object *)self)->lent);
    Py_RETURN_NONE;
}

static void consumer_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    handle_close(self, &((consumer_object *)self)->lent);
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
    owned *held = handle_hold(self);
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
    owned *held = handle_hold(self);
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

static bw_status report_wait(void *consumer, char *json, size_t cap, size_t *length,
                             bw_error *error)
{
    return bw_consumer_wait_reason(consumer, json, cap, length, error);
}

static PyObject *consumer_wait_reason(PyObject *self, PyObject *unused)
{
    (void)unused;
    return handle_report(self, report_wait);
}

static bw_status report_stats(void *consumer, char *json, size_t cap, size_t *length,
                              bw_error *error)
{
    return bw_consumer_stats(consumer, json, cap, length, error);
}

static PyObject *consumer_stats(PyObject *self, PyObject *unused)
{
    (void)unused;
    return handle_report(self, report_stats);
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
    owned *held = handle_hold(self);
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
    work *w = handle_work(self);
    bool ready = w != NULL &&
                 PyArg_ParseTuple(args, "UUO|O&:pin", &id, &cursor, &release, core_timeout,
                                  &w->timeout_ns) &&
                 work_text(&w->id, id) && work_cursor(state, w, cursor) && work_ids(w, release);
    return work_none(state, run_pin, w, ready);
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
    work *w = handle_work(self);
    bool ready = w != NULL &&
                 PyArg_ParseTuple(args, "O|O&:release", &ids, core_timeout, &w->timeout_ns) &&
                 work_ids(w, ids);
    return work_none(core_of(self), run_release, w, ready);
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
    work *w = handle_work(self);
    bool ready = w != NULL &&
                 PyArg_ParseTuple(args, "O|O&:reconcile", &ids, core_timeout, &w->timeout_ns) &&
                 work_ids(w, ids);
    wait_call *call = work_run(core_of(self), run_reconcile, w, ready);
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
    owned *held = handle_hold(self);
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
    {"interrupt", handle_interrupt, METH_O, "interrupt(on)"},
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
