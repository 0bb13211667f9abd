// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "wait.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

/* Ctrl-C is to be noticed within 0.2 s, also on a busy machine. */
#define SLICE_NS 50000000ll
#define NS_A_SECOND 1000000000ll
/* What is stopped looks at it every 20 ms; the rest is for a machine that is busy. What hangs in
 * the system all the same is left alone then. */
#define STOPPED_SLICES 2

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS_A_SECOND + t.tv_nsec;
}

int wait_sliced(wait_slice attempt, void *work, bw_status again, int64_t timeout_ns,
                bw_error *error, bw_status *status)
{
    int64_t start = now_ns();
    for (;;) {
        int64_t slice = SLICE_NS;
        if (timeout_ns >= 0) {
            int64_t left = timeout_ns - (now_ns() - start);
            slice = left < 0 ? 0 : left < slice ? left : slice;
        }
        Py_BEGIN_ALLOW_THREADS;
        *status = attempt(work, slice, error);
        Py_END_ALLOW_THREADS;
        if (*status != again || (timeout_ns >= 0 && now_ns() - start >= timeout_ns))
            return 0;
        if (PyErr_CheckSignals() != 0)
            return -1;
    }
}

struct wait_call {
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    wait_run run;
    wait_drop drop;
    void *work;
    bw_error *error;
    /* Under the mutex. */
    bool done;
    unsigned holders; /* the caller and the thread */
    bw_status status;
};

static void call_free(wait_call *call)
{
    call->drop(call->work);
    bw_error_free(call->error);
    pthread_cond_destroy(&call->ended);
    pthread_mutex_destroy(&call->mutex);
    free(call);
}

static void call_release(wait_call *call)
{
    pthread_mutex_lock(&call->mutex);
    bool last = --call->holders == 0;
    pthread_mutex_unlock(&call->mutex);
    if (last)
        call_free(call);
}

static void *call_thread(void *context)
{
    wait_call *call = context;
    bw_status status = call->run(call->work, call->error);
    /* Lets go of it as it tells: what the caller then closes is closed when the caller returns. */
    pthread_mutex_lock(&call->mutex);
    call->status = status;
    call->done = true;
    bool last = --call->holders == 0;
    pthread_cond_signal(&call->ended);
    pthread_mutex_unlock(&call->mutex);
    if (last)
        call_free(call);
    return NULL;
}

int wait_thread(void *(*run)(void *context), void *context)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int failed = pthread_create(&thread, &detached, run, context);
    pthread_attr_destroy(&detached);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

static wait_call *call_new(wait_run run, wait_drop drop, void *work)
{
    wait_call *call = calloc(1, sizeof *call);
    bw_error *error = bw_error_new();
    if (call == NULL || error == NULL) {
        free(call);
        bw_error_free(error);
        drop(work);
        return NULL;
    }
    pthread_mutex_init(&call->mutex, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&call->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    call->run = run;
    call->drop = drop;
    call->work = work;
    call->error = error;
    call->holders = 2;
    return call;
}

/* Until it is done or a slice has passed. */
static bool call_done(wait_call *call)
{
    int64_t until = now_ns() + SLICE_NS;
    struct timespec deadline = {.tv_sec = (time_t)(until / NS_A_SECOND),
                                .tv_nsec = (long)(until % NS_A_SECOND)};
    pthread_mutex_lock(&call->mutex);
    int passed = 0;
    while (!call->done && passed == 0)
        passed = pthread_cond_timedwait(&call->ended, &call->mutex, &deadline);
    bool done = call->done;
    pthread_mutex_unlock(&call->mutex);
    return done;
}

/* A handler raised. */
static void call_abandon(wait_call *call, wait_stop stop)
{
    Py_BEGIN_ALLOW_THREADS;
    int looks = stop(call->work) ? STOPPED_SLICES : 0;
    while (looks > 0 && !call_done(call))
        looks--;
    call_release(call);
    Py_END_ALLOW_THREADS;
}

wait_call *wait_apart(core_state *state, wait_run run, wait_stop stop, wait_drop drop, void *work)
{
    wait_call *call = call_new(run, drop, work);
    if (call == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (wait_thread(call_thread, call) != 0) {
        call->holders = 1;
        call_release(call);
        core_raise_plain(state, BW_NOMEM, "no thread could be started");
        return NULL;
    }
    bool done = false;
    while (!done) {
        Py_BEGIN_ALLOW_THREADS;
        done = call_done(call);
        Py_END_ALLOW_THREADS;
        if (!done && PyErr_CheckSignals() != 0) {
            call_abandon(call, stop);
            return NULL;
        }
    }
    if (call->status != BW_OK) {
        core_raise(state, call->error);
        wait_end(call);
        return NULL;
    }
    return call;
}

void wait_end(wait_call *call)
{
    Py_BEGIN_ALLOW_THREADS;
    call_release(call);
    Py_END_ALLOW_THREADS;
}
