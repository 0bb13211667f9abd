// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "space.h"

#include "handle.h"
#include "item.h"

bw_space *space_of(const owned *o)
{
    return o->handle;
}

owned *space_hold(core_state *state, PyObject *self)
{
    if (Py_TYPE(self) == state->space)
        return handle_hold(self);
    PyErr_SetString(PyExc_TypeError, "not a Space");
    return NULL;
}

/* ---- opening ---- */

static void close_runtime(void *runtime)
{
    bw_runtime_close(runtime);
}

static void close_space(void *space)
{
    bw_space_close(space);
}

static const handle_kind kind = {.name = "namespace", .close = close_space};

static bw_status open_runtime(work *w, owned **out, bw_error *error)
{
    bw_runtime *runtime;
    bw_status status = bw_runtime_open(w->config, &runtime, error);
    if (status != BW_OK)
        return status;
    *out = owned_new(runtime, close_runtime, NULL);
    return *out == NULL ? BW_NOMEM : BW_OK;
}

static bw_status run_init(void *context, bw_error *error)
{
    work *w = context;
    bw_status status = open_runtime(w, &w->on, error);
    return status != BW_OK ? status : bw_space_init(w->on->handle, w->url, w->config, error);
}

static bw_status run_open(void *context, bw_error *error)
{
    work *w = context;
    bw_status status = open_runtime(w, &w->on, error);
    if (status != BW_OK)
        return status;
    bw_space *space;
    status =
        bw_space_resume(w->on->handle, w->url, w->config, w->cursor, w->timeout_ns, &space, error);
    return status != BW_OK ? status : handle_made(w, space, &kind, w->on);
}

static PyObject *space_init(PyObject *module, PyObject *args)
{
    core_state *state = core_of_module(module);
    PyObject *url, *settings;
    work *w = work_new(NULL);
    bool ready = w != NULL && PyArg_ParseTuple(args, "UO:init", &url, &settings) &&
                 work_text(&w->url, url) && work_config(state, w, settings);
    return work_none(state, run_init, w, ready);
}

static PyObject *space_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    static char *keywords[] = {"url", "settings", "cursor", "timeout", NULL};
    core_state *state = PyType_GetModuleState(type);
    PyObject *url, *settings, *cursor = Py_None;
    work *w = work_new(NULL);
    bool ready = w != NULL &&
                 PyArg_ParseTupleAndKeywords(args, names, "UO|OO&:Space", keywords, &url, &settings,
                                             &cursor, core_timeout, &w->timeout_ns) &&
                 work_text(&w->url, url) && work_config(state, w, settings) &&
                 work_cursor(state, w, cursor);
    return handle_open(type, &kind, run_open, w, ready);
}

static PyObject *space_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    handle_close(self, NULL);
    Py_RETURN_NONE;
}

static void space_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    handle_close(self, NULL);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- calls ---- */

static bw_status run_item(void *context, bw_error *error)
{
    work *w = context;
    return bw_space_item(space_of(w->on), w->step, w->d, w->c, w->item, w->timeout_ns,
                         &w->item_made, error);
}

static PyObject *space_item(PyObject *self, PyObject *args)
{
    work *w = handle_work(self);
    unsigned long long step;
    bool ready = w != NULL && PyArg_ParseTuple(args, "KIII|O&:item", &step, &w->d, &w->c, &w->item,
                                               core_timeout, &w->timeout_ns);
    if (ready)
        w->step = step;
    wait_call *call = work_run(core_of(self), run_item, w, ready);
    if (call == NULL)
        return NULL;
    PyObject *item = item_new(core_of(self), w->item_made, NULL);
    w->item_made = NULL;
    wait_end(call);
    return item;
}

static bw_status run_step_meta(void *context, bw_error *error)
{
    work *w = context;
    return bw_space_step_meta(space_of(w->on), w->step, w->timeout_ns, &w->text_made, error);
}

static PyObject *space_step_meta(PyObject *self, PyObject *args)
{
    work *w = handle_work(self);
    unsigned long long step;
    bool ready =
        w != NULL && PyArg_ParseTuple(args, "K|O&:step_meta", &step, core_timeout, &w->timeout_ns);
    if (ready)
        w->step = step;
    wait_call *call = work_run(core_of(self), run_step_meta, w, ready);
    if (call == NULL)
        return NULL;
    PyObject *text = PyUnicode_FromString(w->text_made);
    wait_end(call);
    return text;
}

static bw_status run_begin(void *context, bw_error *error)
{
    work *w = context;
    return bw_cursor_begin(space_of(w->on), w->config, w->cursor, w->timeout_ns, &w->cursor_made,
                           error);
}

static PyObject *space_begin(PyObject *self, PyObject *args)
{
    core_state *state = core_of(self);
    work *w = handle_work(self);
    PyObject *settings, *cursor = Py_None;
    bool ready =
        w != NULL &&
        PyArg_ParseTuple(args, "O|OO&:begin", &settings, &cursor, core_timeout, &w->timeout_ns) &&
        work_config(state, w, settings) && work_cursor(state, w, cursor);
    wait_call *call = work_run(state, run_begin, w, ready);
    if (call == NULL)
        return NULL;
    PyObject *json = PyUnicode_FromString(bw_cursor_json(w->cursor_made));
    wait_end(call);
    return json;
}

static bw_status run_seal(void *context, bw_error *error)
{
    work *w = context;
    return bw_space_seal(space_of(w->on), w->force ? BW_SEAL_FORCE : 0, w->timeout_ns, error);
}

static PyObject *space_seal(PyObject *self, PyObject *args)
{
    int force = 0;
    work *w = handle_work(self);
    bool ready =
        w != NULL && PyArg_ParseTuple(args, "|pO&:seal", &force, core_timeout, &w->timeout_ns);
    if (ready)
        w->force = force != 0;
    return work_none(core_of(self), run_seal, w, ready);
}

static bw_status run_pin(void *context, bw_error *error)
{
    work *w = context;
    return bw_space_pin(space_of(w->on), w->group, w->launch, w->id, w->cursor, w->timeout_ns,
                        error);
}

static PyObject *space_pin(PyObject *self, PyObject *args)
{
    core_state *state = core_of(self);
    PyObject *group, *launch, *id, *cursor;
    work *w = handle_work(self);
    bool ready = w != NULL &&
                 PyArg_ParseTuple(args, "UOUU|O&:pin", &group, &launch, &id, &cursor, core_timeout,
                                  &w->timeout_ns) &&
                 work_text(&w->group, group) && work_text(&w->launch, launch) &&
                 work_text(&w->id, id) && work_cursor(state, w, cursor);
    return work_none(state, run_pin, w, ready);
}

static bw_status run_release(void *context, bw_error *error)
{
    work *w = context;
    return bw_space_release(space_of(w->on), w->group, w->launch, (const char *const *)w->ids,
                            w->id_count, w->timeout_ns, error);
}

static PyObject *space_release(PyObject *self, PyObject *args)
{
    PyObject *group, *launch, *ids;
    work *w = handle_work(self);
    bool ready = w != NULL &&
                 PyArg_ParseTuple(args, "UOO|O&:release", &group, &launch, &ids, core_timeout,
                                  &w->timeout_ns) &&
                 work_text(&w->group, group) && work_text(&w->launch, launch) && work_ids(w, ids);
    return work_none(core_of(self), run_release, w, ready);
}

static bw_status run_group_rm(void *context, bw_error *error)
{
    work *w = context;
    return bw_space_group_rm(space_of(w->on), w->group, w->launch, w->timeout_ns, error);
}

static PyObject *space_group_rm(PyObject *self, PyObject *args)
{
    PyObject *group, *launch = Py_None;
    work *w = handle_work(self);
    bool ready =
        w != NULL &&
        PyArg_ParseTuple(args, "U|OO&:group_rm", &group, &launch, core_timeout, &w->timeout_ns) &&
        work_text(&w->group, group) && work_text(&w->launch, launch);
    return work_none(core_of(self), run_group_rm, w, ready);
}

static bw_status run_forget(void *context, bw_error *error)
{
    work *w = context;
    return bw_space_forget(space_of(w->on), w->id, w->epoch, w->timeout_ns, error);
}

static PyObject *space_forget(PyObject *self, PyObject *args)
{
    PyObject *id;
    work *w = handle_work(self);
    bool ready =
        w != NULL &&
        PyArg_ParseTuple(args, "U|IO&:forget", &id, &w->epoch, core_timeout, &w->timeout_ns) &&
        work_text(&w->id, id);
    return work_none(core_of(self), run_forget, w, ready);
}

/* ---- what it is ---- */

static PyObject *space_about(PyObject *self, void *unused)
{
    (void)unused;
    owned *held = handle_hold(self);
    if (held == NULL)
        return NULL;
    const bw_space *space = space_of(held);
    PyObject *about =
        Py_BuildValue("(sIII)", bw_space_uuid(space), (unsigned)bw_space_dp(space),
                      (unsigned)bw_space_cp(space), (unsigned)bw_space_items_default(space));
    owned_unref(held);
    return about;
}

static PyMethodDef methods[] = {
    {"item", space_item, METH_VARARGS, "item(step, d, c, item, timeout=None) -> Item"},
    {"step_meta", space_step_meta, METH_VARARGS, "step_meta(step, timeout=None) -> JSON"},
    {"begin", space_begin, METH_VARARGS, "begin(settings, cursor=None, timeout=None) -> cursor"},
    {"seal", space_seal, METH_VARARGS, "seal(force=False, timeout=None)"},
    {"pin", space_pin, METH_VARARGS, "pin(group, launch, id, cursor, timeout=None)"},
    {"release", space_release, METH_VARARGS, "release(group, launch, ids, timeout=None)"},
    {"group_rm", space_group_rm, METH_VARARGS, "group_rm(group, launch=None, timeout=None)"},
    {"forget", space_forget, METH_VARARGS, "forget(id, epoch=0, timeout=None)"},
    {"close", space_close, METH_NOARGS, "close()"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"about", space_about, NULL, "(uuid, dp, cp, items by default)", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)(uintptr_t)space_new},
    {Py_tp_dealloc, (void *)(uintptr_t)space_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_tp_doc, (void *)"Space(url, settings, cursor=None, timeout=None)"},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "batchweave._core.Space",
    .basicsize = sizeof(handle_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

static PyMethodDef functions[] = {
    {"init", space_init, METH_VARARGS, "init(url, settings)"},
    {NULL, NULL, 0, NULL},
};

int space_ready(PyObject *module, core_state *state)
{
    return core_add_type(module, &spec, &state->space) | PyModule_AddFunctions(module, functions);
}
