// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "tape.h"

#include <stdlib.h>

/* As long as a slow request may take on one way. */
#define WAIT_NS (2100 * NS_PER_MS)
/* Who runs ahead of the tape by no more than this waits at each request until it is in step. */
#define AHEAD_NS (30 * NS_PER_S)
/* Of the place of a request that is not on the tape: no life has so many. Faults spare it. */
#define NEW_BIT ((uint64_t)1 << 30)
/* Boundaries of one moment are told apart. */
#define BOUNDARIES_PER_NS 16

static int by_who_and_time(const void *a, const void *b)
{
    const beat *x = a, *y = b;
    if (x->who != y->who)
        return x->who < y->who ? -1 : 1;
    if (x->sent_ns != y->sent_ns)
        return x->sent_ns < y->sent_ns ? -1 : 1;
    return x->where < y->where ? -1 : x->where > y->where;
}

void tape_rewind(tape *t)
{
    qsort(t->beats, t->count, sizeof *t->beats, by_who_and_time);
    t->plays = true;
}

bool tape_is_over(tape *t, int64_t now_ns, bool over)
{
    if (t->plays)
        return now_ns >= t->over_ns;
    t->over_ns = now_ns + (over ? 0 : WAIT_NS); /* this look may be the last */
    return over;
}

static void add(tape *t, const beat *b)
{
    if (t->count < BEATS_MAX)
        t->beats[t->count++] = *b;
}

static bool is_of(const tape *t, size_t i, uint64_t who)
{
    return i < t->count && t->beats[i].who == who;
}

/* The first of `who` from `from_ns` on, or of whoever comes next. */
static size_t search(const tape *t, uint64_t who, int64_t from_ns)
{
    const beat from = {.who = who, .sent_ns = from_ns};
    size_t low = 0, high = t->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (by_who_and_time(&t->beats[middle], &from) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const beat *find(const tape *t, bool *taken, uint64_t who, int64_t now_ns)
{
    size_t i = search(t, who, now_ns);
    const bool is_now = is_of(t, i, who) && t->beats[i].sent_ns == now_ns;
    if (!is_now && i > 0 && is_of(t, i - 1, who) && t->beats[i - 1].apply_ns > now_ns)
        i--; /* late, but in time to be applied when it was */
    while (is_of(t, i, who) && taken[i])
        i++;
    if (!is_of(t, i, who) || t->beats[i].apply_ns - now_ns > AHEAD_NS)
        return NULL;
    taken[i] = true;
    return &t->beats[i];
}

static uint64_t name_of(const flight *f)
{
    const char *key = f->object != NULL  ? f->object->key.text
                      : f->key_count > 0 ? f->keys[0].text
                                         : f->prefix.text;
    return ((vstore_key_hash(key) ^ f->offset << 8) << 16) + ((uint64_t)f->process->index << 8) +
           (uint64_t)f->kind;
}

void tape_recognise(sim *s, flight *f)
{
    if (!s->tape->plays)
        return;
    f->beat = find(s->tape, s->taken, name_of(f), s->now_ns);
    f->where = f->beat != NULL ? f->beat->where : f->where | NEW_BIT;
}

int64_t tape_moment(int64_t from_ns, int64_t on_tape_ns, int64_t drawn_ns, bool long_waits)
{
    if (on_tape_ns <= from_ns)
        return drawn_ns;
    const int64_t slow_ns = from_ns + (long_waits ? WAIT_NS : TAPE_LONG_WAIT_NS);
    const int64_t last_ns = drawn_ns > slow_ns ? drawn_ns : slow_ns;
    return on_tape_ns < last_ns ? on_tape_ns : last_ns;
}

void tape_note(sim *s, const flight *f, int64_t apply_ns, int64_t reply_ns, bool split)
{
    const beat b = {name_of(f), f->where, s->now_ns, apply_ns, reply_ns, split};
    if (!s->tape->plays)
        add(s->tape, &b);
}

bool tape_kills(process *p, uint64_t where)
{
    sim *s = p->sim;
    const uint64_t who = UINT64_MAX - p->index; /* a name that no request has */
    const int64_t from = p->boundary_at + 1, now = s->now_ns * BOUNDARIES_PER_NS;
    p->boundary_at = now > from ? now : from;
    if (s->tape->plays) {
        const size_t i = search(s->tape, who, from);
        return is_of(s->tape, i, who) && s->tape->beats[i].sent_ns <= p->boundary_at &&
               fault_fires(s, FAULT_KILL, s->tape->beats[i].where);
    }
    const bool killed = fault_fires(s, FAULT_KILL, where);
    if (killed)
        add(s->tape, &(beat){.who = who, .where = where, .sent_ns = p->boundary_at});
    return killed;
}
