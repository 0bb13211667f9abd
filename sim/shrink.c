// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "shrink.h"

#include "base/alloc.h"
#include "campaign.h"
#include "tape.h"
#include <string.h>

#define CLASS_SHIFT 56
#define PROCESS_SHIFT 48
/* Parts of the time there is. */
#define UNTIL_SMALL 0.35
#define UNTIL_CLASSES 0.45
#define UNTIL_PROCESSES 0.5
#define UNTIL_FEWEST 0.6
/* Of the whole time, for one class or process. */
#define ONE_TRY 0.02
#define THIN_MAX 4u

typedef struct span {
    double began, seconds_max;
} span;

static double at(const span *w, double part)
{
    return w->began + w->seconds_max * part;
}

static double soon(const span *w, double part)
{
    const double one = campaign_clock() + w->seconds_max * ONE_TRY, end = at(w, part);
    return one < end ? one : end;
}

static bool hunt(shrunk *s, const setting *with, bool first, double until)
{
    const size_t fewer_than = first ? SIZE_MAX : s->best->fired_count;
    return trial_hunt(with, s->invariant, fewer_than, first, until, s->best, &s->trials);
}

/* The same failure in a short run of the same plan. */
static bool look_for_small(shrunk *s, const span *w)
{
    static const uint32_t versions[] = {12, 24, 48, 96, 200};
    const size_t count = sizeof versions / sizeof *versions;
    /* What broke when faults were over may break before, and most of it is found sooner there. */
    for (size_t i = 0; i < 2 * count; i++) {
        setting with = s->best->setting;
        with.versions = versions[i / 2];
        with.dice = s->trials; /* others than before */
        with.only_faults |= s->best->ended && i % 2 == 0;
        if (hunt(s, &with, true, at(w, UNTIL_SMALL * (double)(i + 1) / (double)(2 * count))))
            return true;
    }
    return false;
}

static bool fired(const trial *t, uint64_t class)
{
    for (size_t i = 0; i < t->fired_count; i++)
        if (t->fired[i] >> CLASS_SHIFT == class)
            return true;
    return false;
}

static void without_classes(shrunk *s, const span *w)
{
    for (uint64_t class = 0; class < FAULT_CLASSES; class ++) {
        setting with = s->best->setting;
        with.left_out |= (uint64_t)1 << class;
        if (!fired(s->best, class))
            s->best->setting.left_out = with.left_out;
        else if (campaign_clock() < at(w, UNTIL_CLASSES))
            (void)hunt(s, &with, true, soon(w, UNTIL_CLASSES));
    }
}

/* Only where nothing is asked of what follows the faults: who is not there cannot settle. */
static void without_processes(shrunk *s, const span *w)
{
    if (!s->best->setting.only_faults)
        return;
    for (uint32_t i = PROCESSES_MAX; i > 0 && campaign_clock() < at(w, UNTIL_PROCESSES); i--) {
        setting with = s->best->setting;
        with.absent |= 1u << (i - 1);
        (void)hunt(s, &with, true, soon(w, UNTIL_PROCESSES));
    }
}

static void fewest(shrunk *s, const span *w)
{
    setting with = s->best->setting;
    for (uint32_t thin = 0; thin <= THIN_MAX; thin++) {
        const double part = (UNTIL_FEWEST - UNTIL_PROCESSES) / (THIN_MAX + 1);
        with.thin = thin;
        (void)hunt(s, &with, false, at(w, UNTIL_PROCESSES + part * (thin + 1)));
    }
}

/* Some of the faults: of [from, to) in the order of time, those that look like this. */
typedef struct part {
    size_t from, to;
    uint64_t mask, like;
} part;

static bool is_in(const part *p, const trial *t, size_t i)
{
    return i >= p->from && i < p->to && (t->fired[i] & p->mask) == p->like;
}

/* True when it still fails without this part. */
static bool try_without(shrunk *s, const part *out, trial *t)
{
    trial *best = s->best;
    uint64_t *kept = sim_alloc((best->fired_count + 1) * sizeof *kept);
    size_t left = 0;
    for (size_t i = 0; i < best->fired_count; i++)
        if (!is_in(out, best, i))
            kept[left++] = best->fired[i];
    const bool any = left < best->fired_count;
    s->trials += any;
    if (any)
        trial_run(&best->setting, kept, left, false, t);
    mem_free(kept);
    if (!any || !trial_fails(t, s->invariant))
        return false;
    trial_copy(best, t); /* often with fewer than were allowed */
    return true;
}

/* All at once that have the same in this byte of their names. */
static void without_alike(shrunk *s, int shift, uint64_t count, double until, trial *t)
{
    for (uint64_t i = 0; i < count && campaign_clock() < until; i++) {
        const part alike = {0, SIZE_MAX, (uint64_t)0xff << shift, i << shift};
        (void)try_without(s, &alike, t);
    }
}

/* True when something was left out. */
static bool backwards(shrunk *s, size_t size, double until, trial *t)
{
    bool changed = false;
    for (size_t to = s->best->fired_count; to > 0 && campaign_clock() < until;) {
        const size_t from = to > size ? to - size : 0;
        changed |= try_without(s, &(part){.from = from, .to = to}, t);
        to = from < s->best->fired_count ? from : s->best->fired_count;
    }
    return changed;
}

/* The schedule of the best run is pinned, where that alone makes no difference. */
static void keep_schedule(shrunk *s, trial *t)
{
    setting *with = &s->best->setting;
    with->tape = trial_tape();
    trial_run(with, NULL, 0, false, t);
    tape_rewind(with->tape);
    trial_run(with, s->best->fired, s->best->fired_count, false, t);
    s->trials += 2;
    if (trial_fails(t, s->invariant))
        return;
    trial_tape_free(with->tape);
    with->tape = NULL;
}

static void leave_out(shrunk *s, const span *w)
{
    const double until = at(w, 1);
    trial *t = trial_new();
    keep_schedule(s, t);
    without_alike(s, CLASS_SHIFT, FAULT_CLASSES, until, t);
    without_alike(s, PROCESS_SHIFT, PROCESSES_MAX, until, t);
    for (size_t size = (s->best->fired_count + 1) / 2; size > 0; size /= 2)
        while (backwards(s, size, until, t) && size == 1)
            continue;
    trial_free(t);
}

void shrink(uint64_t seed, double seconds_max, shrunk *out)
{
    const span w = {campaign_clock(), seconds_max};
    const setting whole = {.seed = seed};
    *out = (shrunk){.best = trial_new(), .trials = 1};
    trial_run(&whole, NULL, 0, false, out->best);
    const sim_result *r = &out->best->result;
    out->failed = r->violated;
    out->before = out->best->fired_count;
    memcpy(out->invariant, r->invariant, sizeof out->invariant);
    if (out->failed) {
        const bool died = !out->best->ended;
        out->best->setting.only_faults = !died && !r->calm;
        if (look_for_small(out, &w)) {
            without_classes(out, &w);
            without_processes(out, &w);
            fewest(out, &w);
        }
        leave_out(out, &w);
    }
    out->seconds = campaign_clock() - w.began;
}

void shrunk_free(shrunk *s)
{
    trial_tape_free(s->best->setting.tape);
    trial_free(s->best);
}
