// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Report: the lines of bw_space_report, one at a time, while it goes on in a thread. */
#include "space.h"
#include "wait.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define QUEUE_LINES_MAX 256u
#define LOOK_NS 50000000l

typedef struct feed {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    owned *space;
    bw_config *config;
    bw_error *error;
    char *what;
    char *lines[QUEUE_LINES_MAX];
    unsigned first, count;
    unsigned holders;
    bool unwanted, ended;
    bw_status status;
} feed;

typedef struct report_object {
    PyObject head;
    feed *feed;
} report_object;

static void feed_free(feed *f)
{
    for (; f->count > 0; f->count--)
        free(f->lines[f->first++ % QUEUE_LINES_MAX]);
    owned_unref(f->space);
    bw_config_free(f->config);
    bw_error_free(f->error);
    free(f->what);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->mutex);
    free(f);
}

/* By the reader: it wants no more. */
static void feed_release(feed *f)
{
    bw_config_interrupt(f->config, 1);
    pthread_mutex_lock(&f->mutex);
    f->unwanted = true;
    bool last = --f->holders == 0;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->mutex);
    if (last)
        feed_free(f);
}

static int take_line(void *context, const char *json)
{
    feed *f = context;
    size_t bytes = strlen(json) + 1;
    char *copy = malloc(bytes);
    if (copy == NULL)
        return 1;
    memcpy(copy, json, bytes);
    pthread_mutex_lock(&f->mutex);
    while (f->count == QUEUE_LINES_MAX && !f->unwanted)
        pthread_cond_wait(&f->changed, &f->mutex);
    bool stop = f->unwanted;
    if (!stop) {
        f->lines[(f->first + f->count++) % QUEUE_LINES_MAX] = copy;
        pthread_cond_broadcast(&f->changed);
    }
    pthread_mutex_unlock(&f->mutex);
    if (stop)
        free(copy);
    return stop ? 1 : 0;
}

static void *feed_thread(void *context)
{
    feed *f = context;
    bw_status status =
        bw_space_report(space_of(f->space), f->what, f->config, take_line, f, f->error);
    pthread_mutex_lock(&f->mutex);
    f->status = status;
    f->ended = true;
    bool last = --f->holders == 0;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->mutex);
    if (last)
        feed_free(f);
    return NULL;
}

static feed *feed_new(owned *space, bw_config *config, const char *what)
{
    feed *f = calloc(1, sizeof *f);
    size_t bytes = strlen(what) + 1;
    char *copy = malloc(bytes);
    bw_error *error = bw_error_new();
    if (f == NULL || copy == NULL || error == NULL) {
        free(f);
        free(copy);
        bw_error_free(error);
        bw_config_free(config);
        PyErr_NoMemory();
        return NULL;
    }
    memcpy(copy, what, bytes);
    pthread_mutex_init(&f->mutex, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&f->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    f->space = owned_ref(space);
    f->config = config;
    f->error = error;
    f->what = copy;
    f->holders = 2;
    return f;
}

static PyObject *report_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    static char *keywords[] = {"space", "what", "settings", NULL};
    core_state *state = PyType_GetModuleState(type);
    PyObject *space, *settings;
    const char *what;
    if (!PyArg_ParseTupleAndKeywords(args, names, "OsO:Report", keywords, &space, &what, &settings))
        return NULL;
    owned *held = space_hold(state, space);
    if (held == NULL)
        return NULL;
    bw_config *config = core_config(state, settings);
    feed *f = config == NULL ? NULL : feed_new(held, config, what);
    owned_unref(held);
    if (f == NULL)
        return NULL;
    report_object *self = (report_object *)PyType_GenericAlloc(type, 0);
    if (self == NULL) {
        f->holders = 1;
        feed_release(f);
        return NULL;
    }
    self->feed = f;
    if (wait_thread(feed_thread, f) != 0) {
        f->holders = 1;
        Py_DECREF(self);
        return core_raise_plain(state, BW_NOMEM, "no thread could be started");
    }
    return (PyObject *)self;
}

static void report_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    feed *f = ((report_object *)self)->feed;
    if (f != NULL) {
        Py_BEGIN_ALLOW_THREADS;
        feed_release(f);
        Py_END_ALLOW_THREADS;
    }
    PyObject_Free(self);
    Py_DECREF(type);
}

/* The next line; NULL: none yet, or, with *ended, none any more. */
static char *next_line(feed *f, bool *ended)
{
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_nsec += LOOK_NS;
    if (deadline.tv_nsec >= 1000000000l) {
        deadline.tv_nsec -= 1000000000l;
        deadline.tv_sec++;
    }
    pthread_mutex_lock(&f->mutex);
    int passed = 0;
    while (f->count == 0 && !f->ended && passed == 0)
        passed = pthread_cond_timedwait(&f->changed, &f->mutex, &deadline);
    char *line = NULL;
    if (f->count > 0) {
        line = f->lines[f->first++ % QUEUE_LINES_MAX];
        f->first %= QUEUE_LINES_MAX;
        f->count--;
        pthread_cond_broadcast(&f->changed);
    }
    *ended = line == NULL && f->ended;
    pthread_mutex_unlock(&f->mutex);
    return line;
}

static PyObject *report_next(PyObject *self)
{
    feed *f = ((report_object *)self)->feed;
    for (;;) {
        bool ended;
        char *line;
        Py_BEGIN_ALLOW_THREADS;
        line = next_line(f, &ended);
        Py_END_ALLOW_THREADS;
        if (line != NULL) {
            PyObject *text = PyUnicode_FromString(line);
            free(line);
            return text;
        }
        if (ended) {
            bw_status status = f->status;
            f->status = BW_OK; /* the next call says that it is through */
            return status == BW_OK ? NULL : core_raise(core_of(self), f->error);
        }
        if (PyErr_CheckSignals() != 0)
            return NULL;
    }
}

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)(uintptr_t)report_new},
    {Py_tp_dealloc, (void *)(uintptr_t)report_dealloc},
    {Py_tp_iter, (void *)(uintptr_t)PyObject_SelfIter},
    {Py_tp_iternext, (void *)(uintptr_t)report_next},
    {Py_tp_doc, (void *)"Report(space, what, settings): an iterator over its lines of JSON"},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "batchweave._core.Report",
    .basicsize = sizeof(report_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int report_ready(PyObject *module, core_state *state)
{
    return core_add_type(module, &spec, &state->report);
}
