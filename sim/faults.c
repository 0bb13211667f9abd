// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "faults.h"

#include "sim.h"

#define FAULT_NAME(name, rate, rows, text) #name,
#define FAULT_RATE(name, rate, rows, text) rate,
#define FAULT_ROWS(name, rate, rows, text) rows,
#define FAULT_TEXT(name, rate, rows, text) text,

static const char *const names[] = {FAULT_LIST(FAULT_NAME)};
static const uint32_t rates[] = {FAULT_LIST(FAULT_RATE)};
static const char *const rows_of[] = {FAULT_LIST(FAULT_ROWS)};
static const char *const texts[] = {FAULT_LIST(FAULT_TEXT)};

#define MILLION 1000000u
#define MONTH_RARER 10u
#define FAULT_BITS 56u
#define LOUDER_SHIFT 3

const char *fault_name(fault_class class)
{
    return names[class];
}

const char *fault_text(fault_class class)
{
    return texts[class];
}

const char *fault_rows(fault_class class)
{
    return rows_of[class];
}

void faults_open(sim *s)
{
    /* Half of the classes are left out; the others are rare, middling or frequent. */
    static const uint32_t factors[] = {1, 2, 2, 5};
    static const bool stormy[FAULT_CLASSES] = {
        [FAULT_CREATE_VERY_LATE] = true, [FAULT_CREATE_LATE] = true,
        [FAULT_WRITE_TWICE_LATE] = true, [FAULT_FREEZE_SEND] = true,
        [FAULT_FREEZE_LONG] = true,      [FAULT_CREATE_DROPPED] = true,
    };
    s->faults.on = true;
    for (uint32_t i = 0; s->plan.month && i < FAULT_CLASSES; i++) /* all of them, and rare */
        s->faults.rates[i] = rates[i] / MONTH_RARER;
    if (s->plan.month)
        return;
    for (uint32_t i = 0; i < FAULT_CLASSES; i++) {
        const bool out = rng_below(&s->random, 2) == 0;
        const uint32_t factor = factors[rng_below(&s->random, 4)];
        const bool storms = s->plan.storm && stormy[i];
        s->faults.rates[i] = storms ? rates[i] * 4 : out ? 0 : rates[i] * factor / 2;
    }
}

void faults_tune(faults *f, uint32_t thin, uint64_t louder)
{
    for (uint32_t i = 0; i < FAULT_CLASSES; i++)
        f->rates[i] = f->rates[i] << ((louder >> i & 1) != 0 ? LOUDER_SHIFT : 0) >> thin;
}

static uint64_t id_of(fault_class class, uint64_t where)
{
    return (uint64_t) class << FAULT_BITS | where;
}

bool fault_is_kept(const faults *f, fault_class class, uint64_t where)
{
    const uint64_t id = id_of(class, where);
    size_t low = 0, high = f->kept_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (f->kept[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return f->kept == NULL || (low < f->kept_count && f->kept[low] == id);
}

void fault_note(faults *f, fault_class class, uint64_t where)
{
    if (f->fired != NULL && *f->fired_count < f->fired_max)
        f->fired[(*f->fired_count)++] = id_of(class, where);
}

bool fault_fires(sim *s, fault_class class, uint64_t where)
{
    faults *f = &s->faults;
    if (f->rates[class] == 0 || !f->on || (f->left_out >> class & 1) != 0)
        return false;
    if (sim_draw_below(s, class, where, MILLION) >= f->rates[class])
        return false;
    if (!fault_is_kept(f, class, where))
        return false;
    fault_note(f, class, where);
    return true;
}

void fault_hit(sim *s, fault_class class)
{
    s->faults.hits[class]++;
}

uint64_t faults_total(const faults *f)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < FAULT_CLASSES; i++)
        total += f->hits[i];
    return total;
}
