// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "timers.h"

#include "base/alloc.h"
#include "grab.h"

void timers_free(timers *t)
{
    mem_free(t->heap);
    *t = (timers){0};
}

static void put(timers *t, size_t place, timer *one)
{
    t->heap[place - 1] = one;
    one->place = place;
}

static void rise(timers *t, size_t place, timer *one)
{
    while (place > 1 && t->heap[place / 2 - 1]->at_ns > one->at_ns) {
        put(t, place, t->heap[place / 2 - 1]);
        place /= 2;
    }
    put(t, place, one);
}

static void sink(timers *t, size_t place, timer *one)
{
    while (2 * place <= t->count) {
        size_t child = 2 * place;
        if (child < t->count && t->heap[child]->at_ns < t->heap[child - 1]->at_ns)
            child++;
        if (t->heap[child - 1]->at_ns >= one->at_ns)
            break;
        put(t, place, t->heap[child - 1]);
        place = child;
    }
    put(t, place, one);
}

void timer_disarm(timers *t, timer *one)
{
    const size_t place = one->place;
    if (place == 0)
        return;
    one->place = 0;
    timer *last = t->heap[--t->count];
    if (last == one)
        return;
    sink(t, place, last);
    rise(t, last->place, last);
}

void timer_arm(timers *t, timer *one, int64_t at_ns)
{
    timer_disarm(t, one);
    void *heap = t->heap;
    grab_grow(&heap, &t->capacity, t->count + 1, sizeof *t->heap);
    t->heap = heap;
    one->at_ns = at_ns;
    rise(t, ++t->count, one);
}

void timers_run(timers *t, int64_t now_ns)
{
    while (t->count > 0 && t->heap[0]->at_ns <= now_ns) {
        timer *due = t->heap[0];
        timer_disarm(t, due);
        due->fire(due);
    }
}

int64_t timers_next_ns(const timers *t)
{
    return t->count == 0 ? INT64_MAX : t->heap[0]->at_ns;
}
