// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/ask.h"

#include "base/invariant.h"

/* Ids stay below this bit, which a machine that owns another one uses to tell the two apart. */
#define ASK_ID_MASK 0x3fffffffu

void ask_open(ask_table *t, ask *slots, uint32_t count, int64_t rest_min_ns, int64_t rest_max_ns,
              rng *random)
{
    MUST(slots != NULL);
    MUST(count > 0);
    MUST(rest_min_ns <= rest_max_ns);
    *t = (ask_table){.slots = slots,
                     .count = count,
                     .rest_min_ns = rest_min_ns,
                     .rest_max_ns = rest_max_ns,
                     .random = random};
}

ask *ask_add(ask_table *t, uint8_t role, store_op_kind kind, uint64_t number)
{
    uint32_t i = 0;
    MUST(role != ASK_DEAD);
    MUST(t->used <= t->count);
    while (i < t->used && t->slots[i].state != ASK_FREE)
        i++;
    MUST_OR(i < t->count, return NULL);
    if (i == t->used)
        t->used++;
    t->next_id = (t->next_id + 1) & ASK_ID_MASK;
    t->slots[i] =
        (ask){.state = ASK_READY, .id = t->next_id, .role = role, .kind = kind, .number = number};
    return &t->slots[i];
}

ask *ask_take(ask_table *t)
{
    MUST(t->used <= t->count);
    for (uint32_t i = 0; i < t->used; i++) {
        ask *a = &t->slots[i];
        if (a->state == ASK_READY) {
            MUST(a->role != ASK_DEAD);
            a->state = ASK_SENT;
            return a;
        }
    }
    return NULL;
}

ask *ask_find(ask_table *t, uint32_t id)
{
    MUST(id <= ASK_ID_MASK);
    MUST(t->used <= t->count);
    for (uint32_t i = 0; i < t->used; i++) {
        ask *a = &t->slots[i];
        if (a->state != ASK_SENT || a->id != id)
            continue;
        if (a->role != ASK_DEAD)
            return a;
        ask_done(t, a);
        return NULL;
    }
    return NULL;
}

static void shrink(ask_table *t)
{
    while (t->used > 0 && t->slots[t->used - 1].state == ASK_FREE)
        t->used--;
}

void ask_done(ask_table *t, ask *a)
{
    MUST_OR(a >= t->slots && a < t->slots + t->used, return );
    MUST(a->state != ASK_FREE);
    a->state = ASK_FREE;
    shrink(t);
}

int64_t ask_jitter(rng *random, uint32_t n, int64_t min_ns, int64_t max_ns)
{
    MUST_OR(n > 0, return 1);
    int64_t most = min_ns > 0 ? min_ns : 1;
    while (--n > 0 && most < max_ns)
        most *= 2;
    if (most > max_ns && max_ns > 0)
        most = max_ns;
    MUST_OR(most > 0, return 1);
    return (int64_t)rng_below(random, (uint64_t)most) + 1;
}

void ask_rest(ask_table *t, ask *a, int64_t now_ns)
{
    MUST(a->state == ASK_SENT);
    a->attempts++;
    a->state = ASK_RESTING;
    a->due_ns = now_ns + ask_jitter(t->random, a->attempts, t->rest_min_ns, t->rest_max_ns);
    MUST(a->due_ns > now_ns);
}

void ask_give_up(ask_table *t)
{
    MUST(t->used <= t->count);
    for (uint32_t i = 0; i < t->used; i++) {
        if (t->slots[i].state == ASK_SENT)
            t->slots[i].role = ASK_DEAD;
        else
            t->slots[i].state = ASK_FREE;
    }
    shrink(t);
    MUST(t->used == 0 || t->slots[t->used - 1].role == ASK_DEAD);
}

bool ask_any(const ask_table *t)
{
    return t->used > 0;
}

void ask_tick(ask_table *t, int64_t now_ns)
{
    for (uint32_t i = 0; i < t->used; i++)
        if (t->slots[i].state == ASK_RESTING && t->slots[i].due_ns <= now_ns)
            t->slots[i].state = ASK_READY;
}

int64_t ask_due(const ask_table *t)
{
    int64_t due = TIME_NEVER;
    for (uint32_t i = 0; i < t->used; i++)
        if (t->slots[i].state == ASK_RESTING && t->slots[i].due_ns < due)
            due = t->slots[i].due_ns;
    return due;
}
