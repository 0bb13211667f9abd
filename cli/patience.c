// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "patience.h"

#include "cli.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

#define SECOND_NS 1000000000ll
#define FIRST_NS (2 * SECOND_NS)
#define GAP_NS_MAX (60 * SECOND_NS)

void patience_reset(patience *p)
{
    *p = (patience){0};
}

void patience_tell(patience *p, const char *reason)
{
    const int64_t now = now_ns();
    if (p->since_ns == 0) {
        *p = (patience){.since_ns = now, .next_ns = now + FIRST_NS, .gap_ns = 2 * FIRST_NS};
        return;
    }
    if (now < p->next_ns)
        return;
    cli_notice("waiting for %.0f s: %s", (double)(now - p->since_ns) / SECOND_NS, reason);
    p->next_ns = now + p->gap_ns;
    p->gap_ns = p->gap_ns * 2 < GAP_NS_MAX ? p->gap_ns * 2 : GAP_NS_MAX;
}

int64_t patience_waited(const patience *p)
{
    return p->since_ns == 0 ? 0 : now_ns() - p->since_ns;
}

static struct {
    pthread_t thread;
    bool started;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    const char *what; /* NULL: end */
    patience wait;
} watch = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *watch_run(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&watch.mutex);
    patience_reset(&watch.wait);
    while (watch.what != NULL) {
        patience_tell(&watch.wait, watch.what);
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 1;
        pthread_cond_timedwait(&watch.changed, &watch.mutex, &until);
    }
    pthread_mutex_unlock(&watch.mutex);
    return NULL;
}

void patience_begin(const char *what)
{
    sigset_t all, before;
    sigfillset(&all);
    watch.what = what;
    pthread_sigmask(SIG_SETMASK, &all, &before);
    watch.started = pthread_create(&watch.thread, NULL, watch_run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void patience_moved(void)
{
    pthread_mutex_lock(&watch.mutex);
    patience_reset(&watch.wait);
    pthread_mutex_unlock(&watch.mutex);
}

void patience_end(void)
{
    if (!watch.started)
        return;
    pthread_mutex_lock(&watch.mutex);
    watch.what = NULL;
    pthread_cond_signal(&watch.changed);
    pthread_mutex_unlock(&watch.mutex);
    pthread_join(watch.thread, NULL);
    watch.started = false;
}
