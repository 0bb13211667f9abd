// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "history.h"

#include "base/alloc.h"
#include "check.h"
#include <string.h>

history *history_new(void)
{
    history *h = sim_alloc(sizeof *h);
    h->model = sim_alloc(sizeof *h->model);
    return h;
}

void history_free(history *h)
{
    for (size_t i = 0; i < h->tgb_count; i++) {
        tgb *t = h->tgbs[i];
        for (uint32_t k = 0; k < TGB_PARTS_MAX; k++)
            blob_unref(t->contents[k]);
        blob_unref(t->state);
        mem_free(t);
    }
    mem_free(h->tgbs);
    mem_free(h->attempts);
    mem_free(h->deliveries);
    mem_free(h->opens);
    mem_free(h->launches);
    mem_free(h->pins);
    mem_free(h->releases);
    mem_free(h->removals);
    model_free(h->model);
    mem_free(h);
}

static void *grown(void *array, size_t *capacity, size_t need, size_t size)
{
    if (mem_grow(&array, capacity, need, size) != 0)
        sim_defect("no memory");
    return array;
}

tgb *history_tgb(sim *s, uint64_t nonce)
{
    history *h = s->history;
    h->tgbs = grown(h->tgbs, &h->tgb_capacity, h->tgb_count + 1, sizeof *h->tgbs);
    tgb *t = sim_alloc(sizeof *t);
    t->nonce = nonce;
    t->invoked_ns = s->now_ns;
    t->bucket_next = h->buckets[nonce % TGB_BUCKETS];
    h->buckets[nonce % TGB_BUCKETS] = t;
    return h->tgbs[h->tgb_count++] = t;
}

tgb *history_find(const history *h, uint64_t nonce)
{
    tgb *t = h->buckets[nonce % TGB_BUCKETS];
    while (t != NULL && t->nonce != nonce)
        t = t->bucket_next;
    return t;
}

attempt_note *history_attempt(history *h)
{
    h->attempts =
        grown(h->attempts, &h->attempt_capacity, h->attempt_count + 1, sizeof *h->attempts);
    attempt_note *a = &h->attempts[h->attempt_count++];
    *a = (attempt_note){0};
    return a;
}

delivery *history_delivery(history *h)
{
    h->deliveries =
        grown(h->deliveries, &h->delivery_capacity, h->delivery_count + 1, sizeof *h->deliveries);
    delivery *d = &h->deliveries[h->delivery_count++];
    *d = (delivery){0};
    return d;
}

open_note *history_open(history *h)
{
    h->opens = grown(h->opens, &h->open_capacity, h->open_count + 1, sizeof *h->opens);
    open_note *o = &h->opens[h->open_count++];
    *o = (open_note){0};
    return o;
}

launch_note *history_launch(history *h)
{
    h->launches = grown(h->launches, &h->launch_capacity, h->launch_count + 1, sizeof *h->launches);
    launch_note *n = &h->launches[h->launch_count++];
    *n = (launch_note){0};
    return n;
}

pin_note *history_pin(history *h)
{
    h->pins = grown(h->pins, &h->pin_capacity, h->pin_count + 1, sizeof *h->pins);
    pin_note *n = &h->pins[h->pin_count++];
    *n = (pin_note){0};
    return n;
}

release_note *history_release(history *h)
{
    h->releases =
        grown(h->releases, &h->release_capacity, h->release_count + 1, sizeof *h->releases);
    release_note *n = &h->releases[h->release_count++];
    *n = (release_note){0};
    return n;
}

removal_note *history_removal(history *h)
{
    h->removals =
        grown(h->removals, &h->removal_capacity, h->removal_count + 1, sizeof *h->removals);
    removal_note *n = &h->removals[h->removal_count++];
    *n = (removal_note){0};
    return n;
}

const open_note *history_open_find(const history *h, const token128 *token)
{
    for (size_t i = h->open_count; i > 0; i--)
        if (token_equal(&h->opens[i - 1].token, token))
            return &h->opens[i - 1];
    return NULL;
}

void history_sum_up(const sim *s, sim_result *r)
{
    const history *h = s->history;
    r->steps = h->model->step_count;
    r->commits = h->commits;
    r->slices = h->slices;
    r->rollbacks = h->rollbacks;
    r->sweeps = h->sweeps;
}
