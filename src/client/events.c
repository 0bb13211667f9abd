// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/producer.h"

#include "base/alloc.h"
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

bw_status events_init(event_queue *q, bw_error *error)
{
    q->first = NULL;
    q->last = &q->first;
    q->count = 0;
    q->spare = NULL;
    q->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (q->fd < 0) {
        char text[128];
        return error_set(error, BW_IO, "eventfd: %s", strerror_r(errno, text, sizeof text));
    }
    return BW_OK;
}

void events_destroy(event_queue *q)
{
    while (q->first != NULL)
        event_free(events_pop(q));
    while (q->spare != NULL) {
        bw_event *e = q->spare;
        q->spare = e->next;
        event_free(e);
    }
    if (q->fd >= 0)
        (void)close(q->fd);
}

bw_event *event_new(bw_event_kind kind, bool with_message)
{
    bw_event *e = mem_zalloc(sizeof *e + 1 + (with_message ? EVENT_MESSAGE_MAX : 0));
    if (e != NULL)
        e->kind = kind;
    return e;
}

void event_free(bw_event *e)
{
    mem_free(e);
}

/* The descriptor changes only when the queue turns empty or non-empty: a busy queue costs no system
 * call. */
void events_push(event_queue *q, bw_event *e)
{
    const uint64_t one = 1;
    e->next = NULL;
    *q->last = e;
    q->last = &e->next;
    if (q->count++ == 0 && write(q->fd, &one, sizeof one) < 0)
        return; /* cannot happen to a counter of 0; waiters are woken by the gate in any case */
}

bw_event *events_pop(event_queue *q)
{
    bw_event *e = q->first;
    if (e == NULL)
        return NULL;
    q->first = e->next;
    if (q->first == NULL)
        q->last = &q->first;
    uint64_t counter;
    if (--q->count == 0 && read(q->fd, &counter, sizeof counter) < 0)
        return e;
    return e;
}
