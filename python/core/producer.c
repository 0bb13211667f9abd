// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The Python type Producer. It takes the library's events whenever it is called, so that borrowed
 * memory is given back and a queue nobody reads never stops a put; what a caller may want to know
 * (commits, hold-ups) is kept for `events`. */
#include "batch.h"
#include "handle.h"
#include "space.h"

/* Of commits nobody asked for, the newest are kept. */
#define NEWS_MAX 65536

typedef struct producer_object {
    handle_object base;
    PyObject *lent; /* dict: token → Batch whose memory is borrowed */
    PyObject *news; /* list of (kind, token, step, version, message) */
    uint64_t next_token;
} producer_object;

static bw_producer *producer_of(const owned *o)
{
    return o->handle;
}

/* Not committed: without a deadline of its own. */
static void close_producer(void *producer)
{
    bw_producer_close(producer, 0, NULL);
}

static void interrupt_producer(void *producer, int on)
{
    bw_producer_interrupt(producer, on);
}

static const handle_kind kind = {
    .name = "producer", .close = close_producer, .interrupt = interrupt_producer};

static bw_status run_open(void *context, bw_error *error)
{
    work *w = context;
    bw_producer *producer;
    bw_status status =
        bw_producer_open(space_of(w->on), w->id, w->config, w->timeout_ns, &producer, error);
    return status != BW_OK ? status : handle_made(w, producer, &kind, w->on);
}

static PyObject *producer_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    static char *keywords[] = {"space", "id", "settings", "timeout", NULL};
    core_state *state = PyType_GetModuleState(type);
    PyObject *space, *id, *settings;
    work *w = work_new(NULL);
    bool ready = w != NULL &&
                 PyArg_ParseTupleAndKeywords(args, names, "OUO|O&:Producer", keywords, &space, &id,
                                             &settings, core_timeout, &w->timeout_ns) &&
                 (w->on = space_hold(state, space)) != NULL && work_text(&w->id, id) &&
                 work_config(state, w, settings);
    producer_object *self = (producer_object *)handle_open(type, &kind, run_open, w, ready);
    if (self == NULL)
        return NULL;
    self->lent = PyDict_New();
    self->news = PyList_New(0);
    if (self->lent == NULL || self->news == NULL)
        Py_CLEAR(self);
    return (PyObject *)self;
}

/* ---- events ---- */

static int keep_news(producer_object *self, const bw_event *event)
{
    PyObject *row = Py_BuildValue(
        "(iKKKs)", (int)bw_event_what(event), (unsigned long long)bw_event_token(event),
        (unsigned long long)bw_event_step(event), (unsigned long long)bw_event_version(event),
        bw_event_message(event));
    int failed = row == NULL || PyList_Append(self->news, row) != 0;
    Py_XDECREF(row);
    if (!failed && PyList_Size(self->news) > NEWS_MAX)
        failed = PyList_SetSlice(self->news, 0, NEWS_MAX / 2, NULL);
    return failed ? -1 : 0;
}

/* The batch's object goes, and with it the views of the caller's memory. */
static int give_back(producer_object *self, uint64_t token)
{
    PyObject *key = PyLong_FromUnsignedLongLong(token);
    int failed = key == NULL || PyDict_DelItem(self->lent, key) != 0;
    Py_XDECREF(key);
    return failed ? -1 : 0;
}

static int take_event(producer_object *self, bw_event *event)
{
    int failed = bw_event_what(event) == BW_EVENT_RELEASED ? give_back(self, bw_event_token(event))
                                                           : keep_news(self, event);
    bw_event_free(event);
    return failed;
}

/* All that are queued, without waiting. */
static int take_events(producer_object *self, bw_producer *producer)
{
    bw_event *event;
    while (bw_producer_event(producer, 0, &event, NULL) == BW_OK)
        if (take_event(self, event) != 0)
            return -1;
    return 0;
}

typedef struct event_wait {
    bw_producer *producer;
    bw_event *event;
} event_wait;

static bw_status event_slice(void *context, int64_t timeout_ns, bw_error *error)
{
    event_wait *p = context;
    return bw_producer_event(p->producer, timeout_ns, &p->event, error);
}

/* Waits for one more. */
static int wait_event(PyObject *self, bw_producer *producer, int64_t timeout_ns)
{
    bw_error *error = bw_error_new();
    event_wait wanted = {.producer = producer};
    bw_status status = BW_TIMEOUT;
    int failed = error == NULL ||
                 wait_sliced(event_slice, &wanted, BW_TIMEOUT, timeout_ns, error, &status) != 0;
    if (!failed && status == BW_OK) {
        failed = take_event((producer_object *)self, wanted.event);
    } else if (!failed && status != BW_TIMEOUT) {
        core_raise(core_of(self), error);
        failed = 1;
    }
    bw_error_free(error);
    return failed ? -1 : 0;
}

static PyObject *producer_events(PyObject *self, PyObject *args)
{
    producer_object *p = (producer_object *)self;
    int64_t timeout_ns = 0;
    if (!PyArg_ParseTuple(args, "|O&:events", core_timeout, &timeout_ns))
        return NULL;
    owned *held = handle_hold(self);
    if (held == NULL)
        return NULL;
    int failed = take_events(p, producer_of(held));
    if (!failed && PyList_Size(p->news) == 0 && timeout_ns != 0) {
        failed = wait_event(self, producer_of(held), timeout_ns);
        failed = failed || take_events(p, producer_of(held));
    }
    owned_drop(&held);
    PyObject *fresh = failed ? NULL : PyList_New(0);
    if (fresh == NULL)
        return NULL;
    PyObject *news = p->news;
    p->news = fresh;
    return news;
}

/* ---- putting ---- */

typedef struct put_work {
    bw_producer *producer;
    bw_batch *batch;
    uint64_t end_offset, token;
    const void *state;
    size_t state_bytes;
} put_work;

static bw_status put_slice(void *context, int64_t timeout_ns, bw_error *error)
{
    put_work *p = context;
    return bw_producer_put(p->producer, p->batch, p->end_offset, p->state, p->state_bytes, p->token,
                           timeout_ns, error);
}

/* Waits in slices, and takes events in between: among them those that make room. */
static int put_waiting(producer_object *self, put_work *put, int64_t timeout_ns, bw_error *error,
                       bw_status *status)
{
    int64_t slice_ns = 20000000;
    for (;;) {
        int64_t wanted = timeout_ns >= 0 && timeout_ns < slice_ns ? timeout_ns : slice_ns;
        if (wait_sliced(put_slice, put, BW_TIMEOUT, wanted, error, status) != 0 ||
            take_events(self, put->producer) != 0)
            return -1;
        if (*status != BW_TIMEOUT || timeout_ns == wanted)
            return 0;
        if (PyErr_CheckSignals() != 0)
            return -1;
        if (timeout_ns >= 0)
            timeout_ns -= wanted;
    }
}

static PyObject *put_batch(PyObject *self, owned *held, PyObject *batch, put_work *put,
                           int64_t timeout_ns)
{
    producer_object *p = (producer_object *)self;
    core_state *state = core_of(self);
    put->producer = producer_of(held);
    put->token = p->next_token++;
    put->batch = batch_handle(state, batch);
    if (put->batch == NULL || take_events(p, put->producer) != 0)
        return NULL;
    /* Before the put: its release may be told at once. */
    PyObject *token = PyLong_FromUnsignedLongLong(put->token);
    if (token == NULL || PyDict_SetItem(p->lent, token, batch) != 0) {
        Py_XDECREF(token);
        return NULL;
    }
    bw_error *error = bw_error_new();
    bw_status status = BW_TIMEOUT;
    int failed = error == NULL || put_waiting(p, put, timeout_ns, error, &status) != 0;
    if (!failed && status != BW_OK)
        core_raise(state, error);
    bw_error_free(error);
    if (status == BW_OK) {
        batch_taken(batch);
    } else {
        PyDict_DelItem(p->lent, token);
    }
    if (failed || status != BW_OK)
        Py_CLEAR(token);
    return token;
}

static PyObject *producer_put(PyObject *self, PyObject *args)
{
    PyObject *batch;
    unsigned long long end_offset;
    put_work put = {0};
    Py_ssize_t state_bytes;
    const char *state;
    int64_t timeout_ns = BW_FOREVER;
    if (!PyArg_ParseTuple(args, "OKy#|O&:put", &batch, &end_offset, &state, &state_bytes,
                          core_timeout, &timeout_ns))
        return NULL;
    put.end_offset = end_offset;
    put.state = state;
    put.state_bytes = (size_t)state_bytes;
    owned *held = handle_hold(self);
    if (held == NULL)
        return NULL;
    PyObject *token = put_batch(self, held, batch, &put, timeout_ns);
    owned_drop(&held);
    return token;
}

static PyObject *producer_batch(PyObject *self, PyObject *items)
{
    unsigned long count = PyLong_AsUnsignedLong(items);
    if (PyErr_Occurred() != NULL)
        return NULL;
    if (count > UINT32_MAX)
        return core_raise_plain(core_of(self), BW_INVALID, "more items than a slice may have");
    owned *held = handle_hold(self);
    if (held == NULL)
        return NULL;
    PyObject *batch = batch_make(core_of(self), held, (uint32_t)count);
    owned_drop(&held);
    return batch;
}

/* ---- flush, finish, close ---- */

static bw_status run_flush(void *context, bw_error *error)
{
    work *w = context;
    return bw_producer_flush(producer_of(w->on), w->force ? BW_URGENT : 0, w->timeout_ns, error);
}

static bw_status run_finish(void *context, bw_error *error)
{
    work *w = context;
    return bw_producer_finish(producer_of(w->on), w->timeout_ns, error);
}

static PyObject *end_waiting(PyObject *self, wait_run run, bool urgent, int64_t timeout_ns)
{
    owned *held = handle_hold(self);
    work *w = held == NULL ? NULL : work_new(held);
    if (w != NULL) {
        w->force = urgent;
        w->timeout_ns = timeout_ns;
    }
    PyObject *answer = work_none(core_of(self), run, w, w != NULL);
    if (answer != NULL && take_events((producer_object *)self, producer_of(held)) != 0)
        Py_CLEAR(answer);
    owned_drop(&held);
    return answer;
}

static PyObject *producer_flush(PyObject *self, PyObject *args)
{
    int urgent = 0;
    int64_t timeout_ns = BW_FOREVER;
    if (!PyArg_ParseTuple(args, "|pO&:flush", &urgent, core_timeout, &timeout_ns))
        return NULL;
    return end_waiting(self, run_flush, urgent != 0, timeout_ns);
}

static PyObject *producer_finish(PyObject *self, PyObject *args)
{
    int64_t timeout_ns = BW_FOREVER;
    if (!PyArg_ParseTuple(args, "|O&:finish", core_timeout, &timeout_ns))
        return NULL;
    return end_waiting(self, run_finish, false, timeout_ns);
}

/* Nothing is committed any more. */
static PyObject *producer_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    handle_close(self, &((producer_object *)self)->lent);
    Py_RETURN_NONE;
}

static void producer_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    handle_close(self, &((producer_object *)self)->lent);
    Py_CLEAR(((producer_object *)self)->news);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- what it is ---- */

static PyObject *producer_resume(PyObject *self, PyObject *unused)
{
    (void)unused;
    owned *held = handle_hold(self);
    if (held == NULL)
        return NULL;
    uint64_t offset;
    const void *state;
    size_t bytes;
    bw_status status = bw_producer_resume(producer_of(held), &offset, &state, &bytes);
    PyObject *pair =
        status == BW_OK ? Py_BuildValue("(Ky#)", (unsigned long long)offset,
                                        state == NULL ? "" : (const char *)state, (Py_ssize_t)bytes)
                        : core_raise_plain(core_of(self), status, bw_status_text(status));
    owned_drop(&held);
    return pair;
}

static bw_status report_stats(void *producer, char *json, size_t cap, size_t *length,
                              bw_error *error)
{
    return bw_producer_stats(producer, json, cap, length, error);
}

static PyObject *producer_stats(PyObject *self, PyObject *unused)
{
    (void)unused;
    return handle_report(self, report_stats);
}

static PyObject *producer_fileno(PyObject *self, PyObject *unused)
{
    (void)unused;
    owned *held = handle_hold(self);
    if (held == NULL)
        return NULL;
    int fd = bw_producer_event_fd(producer_of(held));
    owned_drop(&held);
    return PyLong_FromLong(fd);
}

static PyMethodDef methods[] = {
    {"resume", producer_resume, METH_NOARGS, "resume() -> (offset, state)"},
    {"batch", producer_batch, METH_O, "batch(items_per_slice) -> Batch"},
    {"put", producer_put, METH_VARARGS, "put(batch, end_offset, state, timeout=None) -> token"},
    {"events", producer_events, METH_VARARGS,
     "events(timeout=0) -> list of (kind, token, step, version, message)"},
    {"flush", producer_flush, METH_VARARGS, "flush(urgent=False, timeout=None)"},
    {"finish", producer_finish, METH_VARARGS, "finish(timeout=None)"},
    {"stats", producer_stats, METH_NOARGS, "stats() -> JSON"},
    {"interrupt", handle_interrupt, METH_O, "interrupt(on)"},
    {"fileno", producer_fileno, METH_NOARGS, "fileno(): readable while events are queued"},
    {"close", producer_close, METH_NOARGS, "close()"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)(uintptr_t)producer_new},
    {Py_tp_dealloc, (void *)(uintptr_t)producer_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, (void *)"Producer(space, id, settings, timeout=None)"},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "batchweave._core.Producer",
    .basicsize = sizeof(producer_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int producer_ready(PyObject *module, core_state *state)
{
    return core_add_type(module, &spec, &state->producer);
}
