// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "ranks.h"

#include "cli.h"

#include <signal.h>

#define SLICE_NS 500000000ll

static bool stopped(crew *c)
{
    pthread_mutex_lock(&c->mutex);
    const bool stop = c->stop;
    pthread_mutex_unlock(&c->mutex);
    return stop;
}

/** One voice for all ranks: they mostly wait for the same thing. */
static void tell_why(rank *r)
{
    crew *c = r->crew;
    pthread_mutex_lock(&c->mutex);
    patience_tell(&c->waiting, bw_error_message(r->error));
    pthread_mutex_unlock(&c->mutex);
}

/* Over because the slice is: the library is still at it, although the store fails (IO). What it has
 * given up comes at once. */
static bool waits_on(bw_status status, int64_t took_ns, int64_t slice_ns)
{
    return status == BW_STARVED || status == BW_TIMEOUT || (status == BW_IO && took_ns >= slice_ns);
}

/** The next item, waited for in slices. */
static bw_status next_item(rank *r, bw_item **item)
{
    const int64_t began = now_ns();
    for (;;) {
        const int64_t limit = r->crew->timeout_ns;
        const int64_t now = now_ns();
        const int64_t left = limit < 0 ? SLICE_NS : limit - (now - began);
        const int64_t slice = left < 0 ? 0 : left < SLICE_NS ? left : SLICE_NS;
        const bw_status status = bw_consumer_next(r->consumer, slice, item, r->error);
        if (!waits_on(status, now_ns() - now, slice))
            return status;
        if (left <= SLICE_NS && limit >= 0)
            return status;
        if (stopped(r->crew))
            return BW_INTERRUPTED;
        tell_why(r);
    }
}

/** Ranks read different steps where several are one training step, but all go on at one. */
static bw_status where_next(rank *r)
{
    bw_cursor *cursor;
    const bw_status status = bw_consumer_cursor(r->consumer, &cursor, r->error);
    if (status != BW_OK)
        return status;
    r->next_step = bw_cursor_step(cursor);
    bw_cursor_free(cursor);
    return BW_OK;
}

/** All items of one step. */
static bw_status one_step(rank *r)
{
    for (bool whole = false; !whole;) {
        bw_item *item;
        bw_status status = next_item(r, &item);
        if (status != BW_OK)
            return status;
        whole = bw_item_order(item) + 1 == bw_item_total(item);
        r->step = bw_item_step(item);
        if (r->primary)
            status = delivery_item(&r->delivery, item, r->error);
        bw_item_release(item);
        if (status != BW_OK)
            return status;
    }
    r->line = delivery_step(&r->delivery);
    return where_next(r);
}

/** Ends the run for all: whoever waits in the library is interrupted. */
static void stop_locked(crew *c, bw_status why, rank *failed)
{
    if (c->stop)
        return;
    c->stop = true;
    c->ended = why;
    c->failed = failed;
    for (uint32_t i = 0; i < c->count; i++)
        bw_consumer_interrupt(c->ranks[i].consumer, 1);
    pthread_cond_broadcast(&c->changed);
}

/** All have arrived: they stand at the same step, or all at the end. */
static void finish_round_locked(crew *c, rank *last)
{
    for (uint32_t i = 0; i < c->count; i++) {
        const rank *r = &c->ranks[i];
        if (r->status != last->status || (r->status == BW_OK && r->next_step != last->next_step)) {
            cli_notice("rank %u stands at step %llu, rank %u at %llu", r->index,
                       (unsigned long long)r->next_step, last->index,
                       (unsigned long long)last->next_step);
            stop_locked(c, BW_BUG, NULL);
            return;
        }
    }
    patience_reset(&c->waiting);
    const bw_status status = last->status == BW_OK ? c->on_step(c->context, last) : last->status;
    if (status != BW_OK)
        stop_locked(c, status, status == BW_END ? NULL : last);
    c->arrived = 0;
    c->round++;
    pthread_cond_broadcast(&c->changed);
}

/** Waits for all others; false when the run has ended. */
static bool arrive(rank *r)
{
    crew *c = r->crew;
    pthread_mutex_lock(&c->mutex);
    if (r->status != BW_OK && r->status != BW_END)
        stop_locked(c, r->status, r);
    if (!c->stop && ++c->arrived == c->count) {
        finish_round_locked(c, r);
    } else {
        const uint64_t round = c->round;
        while (!c->stop && c->round == round)
            pthread_cond_wait(&c->changed, &c->mutex);
    }
    const bool go_on = !c->stop;
    pthread_mutex_unlock(&c->mutex);
    return go_on;
}

static void *run_rank(void *context)
{
    rank *r = context;
    do {
        r->status = one_step(r);
    } while (arrive(r));
    return NULL;
}

bw_status crew_run(crew *c)
{
    sigset_t all, before;
    uint32_t started = 0;
    pthread_mutex_init(&c->mutex, NULL);
    pthread_cond_init(&c->changed, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < c->count &&
           pthread_create(&c->ranks[started].thread, NULL, run_rank, &c->ranks[started]) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started < c->count) {
        cli_notice("only %u of %u threads could be started", started, c->count);
        pthread_mutex_lock(&c->mutex);
        stop_locked(c, BW_NOMEM, NULL);
        pthread_mutex_unlock(&c->mutex);
    }
    for (uint32_t i = 0; i < started; i++)
        pthread_join(c->ranks[i].thread, NULL);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->mutex);
    return c->ended;
}
