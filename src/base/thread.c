// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include "base/clock.h"
#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

/* A failing lock operation is a broken invariant (a lock not initialised, or not ours); debug
 * builds stop. */
static void expect_zero(int rc)
{
    assert(rc == 0);
    (void)rc;
}

bw_status lock_init(lock *l)
{
    return pthread_mutex_init(&l->mutex, NULL) == 0 ? BW_OK : BW_NOMEM;
}

void lock_destroy(lock *l)
{
    expect_zero(pthread_mutex_destroy(&l->mutex));
}

void lock_acquire(lock *l)
{
    expect_zero(pthread_mutex_lock(&l->mutex));
}

bool lock_try(lock *l)
{
    const int code = pthread_mutex_trylock(&l->mutex);
    if (code != EBUSY)
        expect_zero(code);
    return code == 0;
}

void lock_release(lock *l)
{
    expect_zero(pthread_mutex_unlock(&l->mutex));
}

bw_status condition_init(condition *c)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return BW_NOMEM;
    int rc = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (rc == 0)
        rc = pthread_cond_init(&c->cond, &attributes);
    pthread_condattr_destroy(&attributes);
    return rc == 0 ? BW_OK : BW_NOMEM;
}

void condition_destroy(condition *c)
{
    expect_zero(pthread_cond_destroy(&c->cond));
}

void condition_signal(condition *c)
{
    expect_zero(pthread_cond_signal(&c->cond));
}

void condition_broadcast(condition *c)
{
    expect_zero(pthread_cond_broadcast(&c->cond));
}

void condition_wait(condition *c, lock *l)
{
    expect_zero(pthread_cond_wait(&c->cond, &l->mutex));
}

bool condition_wait_until(condition *c, lock *l, int64_t deadline_ns)
{
    if (deadline_ns == TIME_NEVER) {
        condition_wait(c, l);
        return true;
    }
    if (deadline_ns < 0)
        deadline_ns = 0;
    const struct timespec deadline = {(time_t)(deadline_ns / NS_PER_S),
                                      (long)(deadline_ns % NS_PER_S)};
    const int rc = pthread_cond_timedwait(&c->cond, &l->mutex, &deadline);
    assert(rc == 0 || rc == ETIMEDOUT);
    return rc != ETIMEDOUT;
}

bw_status thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *context)
{
    /* The new thread inherits the mask: signals stay the business of the host's own threads. */
    sigset_t all, before;
    sigfillset(&all);
    expect_zero(pthread_sigmask(SIG_SETMASK, &all, &before));
    const int rc = pthread_create(thread, NULL, run, context);
    expect_zero(pthread_sigmask(SIG_SETMASK, &before, NULL));
    if (rc != 0)
        return BW_NOMEM;
    (void)pthread_setname_np(*thread, name); /* for debuggers only */
    return BW_OK;
}

void thread_stand_back(void)
{
    const struct sched_param none = {0};
    (void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
}
