// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/executor.h"

#include "base/alloc.h"
#include <assert.h>

typedef struct worker {
    executor *owner;
    uint32_t index;
    pthread_t thread;
} worker;

typedef struct job_list {
    job *first;
    job **last;
    uint32_t count;
} job_list;

struct executor {
    lock lock;
    condition work;
    struct {
        uint32_t started;
        uint32_t threads_max;
        uint32_t idle;
        bool stopping;
        job_list ready;   /* first in, first out */
        job_list delayed; /* by hand-in; few: retries only */
    } locked;
    worker workers[EXECUTOR_THREADS_MAX];
};

static void list_init(job_list *list)
{
    list->first = NULL;
    list->last = &list->first;
    list->count = 0;
}

static void list_append(job_list *list, job *j)
{
    j->next = NULL;
    *list->last = j;
    list->last = &j->next;
    list->count++;
}

static void list_unlink(job_list *list, job **at)
{
    job *j = *at;
    *at = j->next;
    list->count--;
    if (list->last == &j->next)
        list->last = at;
    j->next = NULL;
}

static bool list_remove(job_list *list, const job *j)
{
    for (job **at = &list->first; *at != NULL; at = &(*at)->next)
        if (*at == j) {
            list_unlink(list, at);
            return true;
        }
    return false;
}

/* Moves what has become due to the ready list; returns when the next delayed job is due. */
static int64_t promote_locked(executor *e, int64_t now_ns)
{
    int64_t due_ns = TIME_NEVER;
    for (job **at = &e->locked.delayed.first; *at != NULL;) {
        job *j = *at;
        if (j->due_ns <= now_ns) {
            list_unlink(&e->locked.delayed, at);
            list_append(&e->locked.ready, j);
        } else {
            due_ns = j->due_ns < due_ns ? j->due_ns : due_ns;
            at = &j->next;
        }
    }
    return due_ns;
}

static job *take_locked(executor *e)
{
    while (!e->locked.stopping) {
        int64_t due_ns = TIME_NEVER;
        if (e->locked.delayed.first != NULL)
            due_ns = promote_locked(e, clock_now(clock_system()));
        job *j = e->locked.ready.first;
        if (j != NULL) {
            list_unlink(&e->locked.ready, &e->locked.ready.first);
            return j;
        }
        e->locked.idle++;
        (void)condition_wait_until(&e->work, &e->lock, due_ns);
        e->locked.idle--;
    }
    return NULL;
}

static void *worker_run(void *context)
{
    worker *w = context;
    executor *e = w->owner;
    thread_stand_back();
    lock_acquire(&e->lock);
    for (job *j = take_locked(e); j != NULL; j = take_locked(e)) {
        lock_release(&e->lock);
        j->run(j, w->index);
        lock_acquire(&e->lock);
    }
    lock_release(&e->lock);
    return NULL;
}

bw_status executor_new(uint32_t threads, executor **out)
{
    assert(threads >= 1 && threads <= EXECUTOR_THREADS_MAX);
    executor *e = mem_zalloc(sizeof *e);
    if (e == NULL)
        return BW_NOMEM;
    e->locked.threads_max = threads;
    list_init(&e->locked.ready);
    list_init(&e->locked.delayed);
    if (lock_init(&e->lock) != BW_OK) {
        mem_free(e);
        return BW_NOMEM;
    }
    if (condition_init(&e->work) != BW_OK) {
        lock_destroy(&e->lock);
        mem_free(e);
        return BW_NOMEM;
    }
    *out = e;
    return BW_OK;
}

void executor_free(executor *e)
{
    if (e == NULL)
        return;
    lock_acquire(&e->lock);
    assert(e->locked.ready.first == NULL && e->locked.delayed.first == NULL);
    e->locked.stopping = true;
    const uint32_t started = e->locked.started;
    condition_broadcast(&e->work);
    lock_release(&e->lock);
    for (uint32_t i = 0; i < started; i++)
        (void)pthread_join(e->workers[i].thread, NULL);
    condition_destroy(&e->work);
    lock_destroy(&e->lock);
    mem_free(e);
}

static bool start_one_locked(executor *e)
{
    worker *w = &e->workers[e->locked.started];
    w->owner = e;
    w->index = e->locked.started;
    if (thread_start(&w->thread, "bw-work", worker_run, w) != BW_OK)
        return false; /* fewer threads are slower, not wrong */
    e->locked.started++;
    return true;
}

bw_status executor_start(executor *e)
{
    lock_acquire(&e->lock);
    const bool running = e->locked.started > 0 || start_one_locked(e);
    lock_release(&e->lock);
    return running ? BW_OK : BW_NOMEM;
}

void executor_widen(executor *e)
{
    lock_acquire(&e->lock);
    e->locked.threads_max = EXECUTOR_THREADS_MAX;
    lock_release(&e->lock);
}

void executor_submit(executor *e, job *j)
{
    lock_acquire(&e->lock);
    assert(e->locked.started > 0);
    list_append(&e->locked.ready, j);
    const bool wakes = e->locked.idle > 0;
    if (e->locked.ready.count > e->locked.idle && e->locked.started < e->locked.threads_max)
        (void)start_one_locked(e);
    lock_release(&e->lock);
    if (wakes) /* without the lock, or it would wake to wait for that */
        condition_signal(&e->work);
}

void executor_submit_at(executor *e, job *j, int64_t due_ns)
{
    lock_acquire(&e->lock);
    assert(e->locked.started > 0);
    j->due_ns = due_ns;
    list_append(&e->locked.delayed, j);
    const bool wakes = e->locked.idle > 0;
    lock_release(&e->lock);
    if (wakes)
        condition_signal(&e->work);
}

bool executor_cancel(executor *e, job *j)
{
    lock_acquire(&e->lock);
    const bool removed = list_remove(&e->locked.ready, j) || list_remove(&e->locked.delayed, j);
    lock_release(&e->lock);
    return removed;
}
