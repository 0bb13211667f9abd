// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * The history checker against a checker by brute force, on small histories, good and bad.
 *
 * The brute force is a specification that runs: from nothing it appends one batch after the other
 * in every way that the rules allow, and says whether the log that was observed is one of the
 * outcomes. It shares nothing with the checker but the history itself.
 */
#include "check.h"

#include "base/alloc.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define BATCHES_MAX 6u
#define HISTORIES 60000u

typedef struct scene {
    sim *s;
    rng r;
    tgb *batches[BATCHES_MAX];
    uint32_t count;
    tgb *log[BATCHES_MAX + 2];
    uint32_t length;
} scene;

static uint32_t below(scene *c, uint32_t bound)
{
    return (uint32_t)rng_below(&c->r, bound);
}

/* ---- a good history ---- */

/* Batches of two producers, in the order in which they are committed. */
static void make_batches(scene *c)
{
    uint64_t seq[2] = {0}, offset[2] = {0};
    uint32_t epoch[2] = {1, 1};
    c->count = 1 + below(c, BATCHES_MAX);
    for (uint32_t i = 0; i < c->count; i++) {
        tgb *t = history_tgb(c->s, rng_u64(&c->r));
        t->id = below(c, 2);
        epoch[t->id] += below(c, 4) == 0;
        t->epoch = epoch[t->id];
        t->seq = ++seq[t->id];
        t->start = offset[t->id];
        t->end = offset[t->id] += 1 + below(c, 3);
        t->items = 1 + below(c, 2);
        /* Committed at 10, 20, …; begun before, acknowledged after. */
        t->invoked_ns = (int64_t)(10 * i) - (int64_t)below(c, 25);
        t->acked_ns = (int64_t)(10 * i) + (int64_t)below(c, 25);
        t->acked_step = i;
        t->fate = below(c, 3) == 0 ? FATE_UNKNOWN : FATE_ACKED;
        c->batches[i] = c->log[i] = t;
    }
    c->length = c->count;
    /* The last of a producer may have been lost, or not been made although nobody knows. */
    if (below(c, 3) == 0) {
        tgb *t = c->log[--c->length];
        t->fate = below(c, 2) == 0 ? FATE_LOST : FATE_UNKNOWN;
    }
}

static void hand_out(scene *c)
{
    const uint32_t from = below(c, c->length + 1);
    for (uint32_t k = from; k < c->length; k++)
        for (uint32_t item = 0; item < c->log[k]->items; item++)
            *history_delivery(c->s->history) = (delivery){.process = 0,
                                                          .life = 1,
                                                          .step = k,
                                                          .item = item,
                                                          .nonce = c->log[k]->nonce,
                                                          .begins = k == from && item == 0};
}

/* ---- one thing wrong with it, perhaps ---- */

static void spoil_log(scene *c, uint32_t what)
{
    const uint32_t a = below(c, c->length), b = below(c, c->length);
    tgb *kept = c->log[a];
    switch (what) {
    case 0: /* exchanged */
        c->log[a] = c->log[b];
        c->log[b] = kept;
        break;
    case 1: /* twice */
        c->log[c->length++] = kept;
        break;
    default: /* dropped */
        memmove(&c->log[a], &c->log[a + 1], (c->length - a - 1) * sizeof *c->log);
        c->length--;
    }
}

static void spoil(scene *c)
{
    history *h = c->s->history;
    tgb *t = c->batches[below(c, c->count)];
    const uint32_t what = below(c, 14);
    if (what < 3 && c->length > 0)
        spoil_log(c, what);
    else if (what == 3)
        t->fate = FATE_LOST;
    else if (what == 4)
        t->acked_step += 1;
    else if (what == 5)
        t->start += 1;
    else if (what == 6)
        t->seq += 1;
    else if (what == 7)
        t->epoch = 1;
    else if (what == 8)
        t->invoked_ns += 40;
    else if (what == 9 && h->delivery_count > 0)
        h->deliveries[below(c, (uint32_t)h->delivery_count)].nonce ^= 1;
    else if (what == 10 && h->delivery_count > 0)
        h->deliveries[below(c, (uint32_t)h->delivery_count)].item ^= 1;
    else if (what == 11 && h->delivery_count > 1)
        memmove(&h->deliveries[1], &h->deliveries[2],
                (--h->delivery_count - 1) * sizeof *h->deliveries);
}

/* ---- brute force ---- */

typedef struct spec {
    const scene *c;
    tgb *placed[BATCHES_MAX + 2];
    uint32_t count;
    uint64_t seq[IDS_MAX], offset[IDS_MAX];
    uint32_t epoch[IDS_MAX];
    bool found;
} spec;

static bool is_placed(const spec *p, const tgb *t)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (p->placed[i] == t)
            return true;
    return false;
}

/* May `t` be appended now? Not before what was acknowledged before it was begun. */
static bool may_append(const spec *p, const tgb *t)
{
    if (is_placed(p, t) || t->fate == FATE_LOST || t->seq != p->seq[t->id] + 1 ||
        t->start != p->offset[t->id] || t->epoch < p->epoch[t->id])
        return false;
    for (uint32_t i = 0; i < p->c->count; i++) {
        const tgb *other = p->c->batches[i];
        if (other != t && other->fate == FATE_ACKED && other->acked_ns < t->invoked_ns &&
            !is_placed(p, other))
            return false;
    }
    return t->fate != FATE_ACKED || t->acked_step == p->count;
}

static bool may_end(const spec *p)
{
    for (uint32_t i = 0; i < p->c->count; i++)
        if (p->c->batches[i]->fate == FATE_ACKED && !is_placed(p, p->c->batches[i]))
            return false;
    return true;
}

static void append_all(spec *p)
{
    if (may_end(p) && p->count == p->c->length &&
        memcmp(p->placed, p->c->log, p->count * sizeof *p->placed) == 0)
        p->found = true;
    for (uint32_t i = 0; i < p->c->count && !p->found; i++) {
        tgb *t = p->c->batches[i];
        if (!may_append(p, t))
            continue;
        const spec before = *p;
        p->placed[p->count++] = t;
        p->seq[t->id] = t->seq;
        p->offset[t->id] = t->end;
        p->epoch[t->id] = t->epoch;
        append_all(p);
        const bool found = p->found;
        *p = before;
        p->found = found;
    }
}

/* Item by item from where the rank began: is what it handed out what stands there? */
static bool deliveries_are_right(const scene *c)
{
    const history *h = c->s->history;
    uint64_t step = 0;
    uint32_t item = 0;
    for (size_t i = 0; i < h->delivery_count; i++) {
        const delivery *d = &h->deliveries[i];
        if (i == 0 || d->begins) {
            step = d->step;
            item = d->item;
        }
        if (d->step != step || d->item != item || step >= c->length ||
            c->log[step]->nonce != d->nonce)
            return false;
        if (++item == c->log[step]->items) {
            item = 0;
            step++;
        }
    }
    return true;
}

static bool brute_force(const scene *c)
{
    spec p = {.c = c};
    append_all(&p);
    return p.found && deliveries_are_right(c);
}

/* ---- both ---- */

static bool checker(scene *c)
{
    model *m = c->s->history->model;
    m->steps = sim_alloc((c->length + 1) * sizeof *m->steps);
    for (uint32_t k = 0; k < c->length; k++)
        m->steps[k].tgb = c->log[k];
    m->step_count = c->length;
    check_all(c->s);
    return !c->s->violated;
}

static void checker_and_brute_force_agree(void **state)
{
    (void)state;
    uint32_t good = 0, bad = 0;
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        scene c = {.s = sim_alloc(sizeof(sim))};
        rng_seed(&c.r, seed);
        c.s->history = history_new();
        c.s->store = vstore_new();
        make_batches(&c);
        hand_out(&c);
        spoil(&c);
        const bool expected = brute_force(&c);
        const bool told = checker(&c);
        if (expected != told)
            print_error("history %u: brute force says %d, the checker %d (%s)\n", (unsigned)seed,
                        expected, told, c.s->violation);
        assert_int_equal(expected, told);
        good += expected;
        bad += !expected;
        history_free(c.s->history);
        vstore_free(c.s->store);
        mem_free(c.s);
    }
    print_message("%u good histories, %u bad ones\n", good, bad);
    assert_true(good > HISTORIES / 10 && bad > HISTORIES / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checker_and_brute_force_agree),
    };
    return cmocka_run_group_tests_name("sim_checker", tests, NULL, NULL);
}
