// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "counting.h"

#include <stdio.h>

/** The field of the same place in each thread's counts, added up. */
static json_t *total(counting *const *all, size_t threads, size_t offset)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < threads; i++)
        sum += atomic_load((tally *)(void *)((char *)all[i] + offset));
    return json_integer((json_int_t)sum);
}

static json_t *statuses(counting *const *all, size_t threads, unsigned v)
{
    json_t *object = json_object();
    for (unsigned status = 0; status < STATUS_COUNT; status++) {
        json_t *sum =
            total(all, threads,
                  offsetof(counting, by_status) + (v * STATUS_COUNT + status) * sizeof(tally));
        char name[12];
        snprintf(name, sizeof name, "%u", status);
        if (json_integer_value(sum) != 0)
            json_object_set(object, name, sum);
        json_decref(sum);
    }
    return object;
}

json_t *counting_report(counting *const *all, size_t threads)
{
    json_t *report = json_object(), *requests = json_object(), *lost = json_object();
    json_t *in = json_object(), *out = json_object();
    for (unsigned v = 0; v < VERB_CONTROL; v++) {
        const char *name = verb_name((verb)v);
        const size_t at = v * sizeof(tally);
        json_object_set_new(requests, name, statuses(all, threads, v));
        json_object_set_new(lost, name, total(all, threads, offsetof(counting, lost) + at));
        json_object_set_new(in, name, total(all, threads, offsetof(counting, bytes_in) + at));
        json_object_set_new(out, name, total(all, threads, offsetof(counting, bytes_out) + at));
    }
    json_object_set_new(report, "requests", requests);
    json_object_set_new(report, "lost", lost);
    json_object_set_new(report, "bytes_in", in);
    json_object_set_new(report, "bytes_out", out);
    json_object_set_new(report, "connections",
                        total(all, threads, offsetof(counting, connections)));
    json_object_set_new(report, "late_pending",
                        total(all, threads, offsetof(counting, late_pending)));
    json_object_set_new(report, "late_applied",
                        total(all, threads, offsetof(counting, late_applied)));
    return report;
}

void counting_reset(counting *c)
{
    for (unsigned v = 0; v < VERB_COUNT; v++) {
        for (unsigned status = 0; status < STATUS_COUNT; status++)
            atomic_store(&c->by_status[v][status], 0);
        atomic_store(&c->lost[v], 0);
        atomic_store(&c->bytes_in[v], 0);
        atomic_store(&c->bytes_out[v], 0);
    }
    atomic_store(&c->connections, 0);
    atomic_store(&c->late_applied, 0);
}

void gauge_up(gauge *g)
{
    const uint64_t now = 1 + atomic_fetch_add(&g->now, 1);
    uint64_t most = atomic_load(&g->most);
    while (now > most && !atomic_compare_exchange_weak(&g->most, &most, now))
        ;
}

void gauge_down(gauge *g)
{
    atomic_fetch_sub(&g->now, 1);
}

void gauge_reset(gauge *g)
{
    atomic_store(&g->most, atomic_load(&g->now));
}
