// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "core.h"

#include <math.h>

static const char *const class_names[] = {"OK", "USAGE", "WAIT", "STATE", "STORE", "DATA", "FATAL"};

core_state *core_of_module(PyObject *module)
{
    return PyModule_GetState(module);
}

core_state *core_of(PyObject *self)
{
    return PyType_GetModuleState(Py_TYPE(self));
}

static PyObject *exception_of(core_state *state)
{
    if (state->exception_of == NULL) {
        PyObject *errors = PyImport_ImportModule("batchweave.errors");
        if (errors != NULL)
            state->exception_of = PyObject_GetAttrString(errors, "exception_of");
        Py_XDECREF(errors);
    }
    return state->exception_of;
}

static PyObject *raise_fields(core_state *state, bw_status code, const char *message,
                              const char *key, int64_t step, uint32_t attempts)
{
    PyObject *make = exception_of(state);
    PyObject *raised = make == NULL
                           ? NULL
                           : PyObject_CallFunction(make, "sssLI", bw_status_name(code), message,
                                                   key, (long long)step, (unsigned)attempts);
    if (raised != NULL)
        PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
    Py_XDECREF(raised);
    return NULL;
}

PyObject *core_raise(core_state *state, const bw_error *error)
{
    return raise_fields(state, bw_error_code(error), bw_error_message(error), bw_error_key(error),
                        bw_error_step(error), bw_error_attempts(error));
}

PyObject *core_raise_plain(core_state *state, bw_status code, const char *message)
{
    return raise_fields(state, code, message, "", -1, 0);
}

int core_timeout(PyObject *seconds, void *timeout_ns)
{
    int64_t *ns = timeout_ns;
    *ns = BW_FOREVER;
    if (seconds == Py_None)
        return 1;
    double s = PyFloat_AsDouble(seconds);
    if (PyErr_Occurred() != NULL)
        return 0;
    if (isnan(s) || s < 0) {
        PyErr_SetString(PyExc_ValueError, "a timeout is None or seconds, 0 or more");
        return 0;
    }
    /* Beyond a century it is no limit; the product must fit the integer. */
    if (s < 3.2e9)
        *ns = (int64_t)(s * 1e9);
    return 1;
}

bw_config *core_config(core_state *state, PyObject *settings)
{
    bw_config *config = bw_config_new();
    bw_error *error = bw_error_new();
    if (config == NULL || error == NULL) {
        PyErr_NoMemory();
        goto failed;
    }
    if (!PyDict_Check(settings)) {
        PyErr_SetString(PyExc_TypeError, "settings are a dict of str to str");
        goto failed;
    }
    PyObject *name, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(settings, &position, &name, &value)) {
        const char *n = PyUnicode_AsUTF8AndSize(name, NULL);
        const char *v = n == NULL ? NULL : PyUnicode_AsUTF8AndSize(value, NULL);
        if (v == NULL)
            goto failed;
        if (bw_config_set(config, n, v, error) != BW_OK) {
            core_raise(state, error);
            goto failed;
        }
    }
    bw_error_free(error);
    return config;
failed:
    bw_error_free(error);
    bw_config_free(config);
    return NULL;
}

int core_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **slot)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type == NULL)
        return -1;
    *slot = (PyTypeObject *)type;
    return PyModule_AddType(module, *slot);
}

/* ---- tables ---- */

static PyObject *status_table(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *table = PyList_New(0);
#define ROW(number, name, class_name, text)                                                        \
    if (table != NULL) {                                                                           \
        PyObject *row = Py_BuildValue("(isss)", number, #name,                                     \
                                      class_names[bw_status_class((bw_status)(number))], text);    \
        if (row == NULL || PyList_Append(table, row) != 0)                                         \
            Py_CLEAR(table);                                                                       \
        Py_XDECREF(row);                                                                           \
    }
    BW_STATUS_MAP(ROW)
#undef ROW
    return table;
}

static PyObject *settings_table(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *table = PyList_New(0);
    for (size_t i = 0; table != NULL && i < bw_config_count(); i++) {
        PyObject *row = Py_BuildValue("(ssszs)", bw_config_name(i), bw_config_scope(i),
                                      bw_config_type(i), bw_config_default(i), bw_config_help(i));
        if (row == NULL || PyList_Append(table, row) != 0)
            Py_CLEAR(table);
        Py_XDECREF(row);
    }
    return table;
}

/* ---- module ---- */

static PyMethodDef functions[] = {
    {"status_table", status_table, METH_NOARGS,
     "status_table() -> list of (number, name, class, text)"},
    {"settings_table", settings_table, METH_NOARGS,
     "settings_table() -> list of (name, scopes, type, default, help)"},
    {NULL, NULL, 0, NULL},
};

static int add_event_kinds(PyObject *module)
{
    static const struct {
        const char *name;
        bw_event_kind kind;
    } kinds[] = {
        {"EVENT_RELEASED", BW_EVENT_RELEASED}, {"EVENT_COMMITTED", BW_EVENT_COMMITTED},
        {"EVENT_BLOCKED", BW_EVENT_BLOCKED},   {"EVENT_UNKNOWN", BW_EVENT_UNKNOWN},
        {"EVENT_FENCED", BW_EVENT_FENCED},     {"EVENT_FAILED", BW_EVENT_FAILED},
    };
    int failed = 0;
    for (size_t i = 0; !failed && i < sizeof kinds / sizeof kinds[0]; i++)
        failed = PyModule_AddIntConstant(module, kinds[i].name, kinds[i].kind);
    return failed;
}

static int exec_module(PyObject *module)
{
    core_state *state = core_of_module(module);
    if (PyModule_AddFunctions(module, packed_functions) != 0 ||
        PyModule_AddFunctions(module, cursor_functions) != 0 ||
        PyModule_AddStringConstant(module, "version", bw_version()) != 0 ||
        add_event_kinds(module) != 0)
        return -1;
    int failed = space_ready(module, state) | report_ready(module, state) |
                 consumer_ready(module, state) | item_ready(module, state) |
                 producer_ready(module, state) | batch_ready(module, state) |
                 packed_ready(module, state);
    return failed == 0 ? 0 : -1;
}

static int traverse_module(PyObject *module, visitproc visit, void *arg)
{
    core_state *state = core_of_module(module);
    Py_VISIT(state->exception_of);
    Py_VISIT(state->space);
    Py_VISIT(state->report);
    Py_VISIT(state->consumer);
    Py_VISIT(state->item);
    Py_VISIT(state->producer);
    Py_VISIT(state->batch);
    Py_VISIT(state->packed);
    return 0;
}

static int clear_module(PyObject *module)
{
    core_state *state = core_of_module(module);
    Py_CLEAR(state->exception_of);
    Py_CLEAR(state->space);
    Py_CLEAR(state->report);
    Py_CLEAR(state->consumer);
    Py_CLEAR(state->item);
    Py_CLEAR(state->producer);
    Py_CLEAR(state->batch);
    Py_CLEAR(state->packed);
    return 0;
}

static void free_module(void *module)
{
    clear_module(module);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)(uintptr_t)exec_module},
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "batchweave._core",
    .m_doc = "The C interface of BatchWeave; use the package batchweave instead.",
    .m_size = sizeof(core_state),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = traverse_module,
    .m_clear = clear_module,
    .m_free = free_module,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
