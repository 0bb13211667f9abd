// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "shrink.h"

#include "base/alloc.h"
#include "tape.h"
#include <string.h>

#define CLASS_SHIFT 56
#define PROCESS_SHIFT 48
/* Of the time there is. */
#define SEARCH 0.5
#define ROUND_SECONDS 0.2
#define LEAST_SECONDS 0.5

/* Each length has as much of the time as any other. */
static uint32_t draw_versions(rng *r)
{
    static const uint32_t versions[] = {12, 24, 48, 96, 200};
    size_t i = 0;
    while (i + 1 < sizeof versions / sizeof *versions && rng_below(r, 3) == 0)
        i++;
    return versions[i];
}

/* A rare fault among many that are in the way is found with the others left out and that one more
 * frequent; nobody knows which. */
static void shake(setting *s, const trial *best, rng *r)
{
    const uint32_t versions = draw_versions(r);
    if (s->versions == 0 || versions < s->versions)
        s->versions = versions;
    const uint64_t rarely = (uint64_t)2 << rng_below(r, 4);
    const bool shouts = rng_below(r, 2) == 0;
    for (uint32_t class = 0; class < FAULT_CLASSES; class ++) {
        if (rng_below(r, rarely) == 0)
            s->left_out |= (uint64_t)1 << class;
        if (shouts && rng_below(r, rarely) == 0)
            s->louder ^= (uint64_t)1 << class;
    }
    s->thin = (uint32_t)rng_below(r, 3);
    /* What broke when faults were over may break before, and most of it is found sooner there. */
    s->only_faults |= best->ended && rng_below(r, 2) == 0;
    /* Who is not there cannot settle. */
    for (uint32_t i = 0; i < PROCESSES_MAX && s->only_faults; i++)
        if (rng_below(r, 2 * rarely) == 0)
            s->absent |= 1u << i;
}

/* The same failure in short runs of the same plan. Over when nothing better has come for as long as
 * it all took before. */
static void search(shrunk *s, double until)
{
    double give_up = until;
    while (s->seconds < give_up) {
        const size_t count = s->best->fired_count;
        trial_search(shake, s->invariant, ROUND_SECONDS, s->best, &s->trials);
        s->seconds += ROUND_SECONDS;
        if (s->best->fired_count == count)
            continue;
        give_up = 2 * s->seconds + LEAST_SECONDS;
        give_up = give_up < until ? give_up : until;
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

/* 0: there is nothing to leave out. */
static pid_t begin_without(shrunk *s, const part *out, trial *t)
{
    const trial *best = s->best;
    uint64_t *kept = sim_alloc((best->fired_count + 1) * sizeof *kept);
    size_t left = 0;
    for (size_t i = 0; i < best->fired_count; i++)
        if (!is_in(out, best, i))
            kept[left++] = best->fired[i];
    pid_t pid = 0;
    if (left < best->fired_count)
        pid = trial_begin(&best->setting, kept, left, false, t);
    mem_free(kept);
    return pid;
}

/* Leaves out one of two parts, the first rather. How many of them are done with: where both could
 * have been left out the second is to be tried again. */
static size_t try_without(shrunk *s, const part out[2], trial *t[2])
{
    pid_t pids[2];
    double seconds = 0;
    for (size_t i = 0; i < 2; i++)
        pids[i] = begin_without(s, &out[i], t[i]);
    for (size_t i = 0; i < 2; i++) {
        if (pids[i] == 0)
            continue;
        trial_end(pids[i], t[i]);
        seconds = t[i]->seconds > seconds ? t[i]->seconds : seconds;
        s->trials++;
    }
    s->seconds += seconds;
    bool fails[2];
    for (size_t i = 0; i < 2; i++)
        fails[i] = pids[i] != 0 && trial_fails(t[i], s->invariant);
    if (fails[0] || fails[1])
        trial_copy(s->best, t[fails[0] ? 0 : 1]); /* often with fewer than were allowed */
    return fails[0] && fails[1] ? 1 : 2;
}

/* All at once that have the same in this byte of their names. */
static void without_alike(shrunk *s, int shift, uint64_t count, double until, trial *t[2])
{
    const uint64_t mask = (uint64_t)0xff << shift;
    for (uint64_t i = 0; i < count && s->seconds < until;) {
        const part alike[2] = {{0, SIZE_MAX, mask, i << shift},
                               {0, SIZE_MAX, mask, (i + 1) << shift}};
        i += try_without(s, alike, t);
    }
}

/* True when something was left out. */
static bool backwards(shrunk *s, size_t size, double until, trial *t[2])
{
    const size_t before = s->best->fired_count;
    for (size_t to = before; to > 0 && s->seconds < until;) {
        const size_t middle = to > size ? to - size : 0, from = middle > size ? middle - size : 0;
        const part out[2] = {{.from = middle, .to = to}, {.from = from, .to = middle}};
        to = try_without(s, out, t) == 1 ? middle : from;
        to = to < s->best->fired_count ? to : s->best->fired_count;
    }
    return s->best->fired_count < before;
}

/* The schedule of the best run is pinned, where that alone makes no difference. */
static void keep_schedule(shrunk *s, trial *t)
{
    setting *with = &s->best->setting;
    with->tape = trial_tape();
    trial_run(with, NULL, 0, false, t);
    tape_rewind(with->tape);
    s->seconds += t->seconds;
    trial_run(with, s->best->fired, s->best->fired_count, false, t);
    s->seconds += t->seconds;
    s->trials += 2;
    if (trial_fails(t, s->invariant))
        return;
    trial_tape_free(with->tape);
    with->tape = NULL;
}

static void leave_out(shrunk *s, double until)
{
    trial *t[2] = {trial_new(), trial_new()};
    keep_schedule(s, t[0]);
    without_alike(s, CLASS_SHIFT, FAULT_CLASSES + 1, until, t);
    without_alike(s, PROCESS_SHIFT, PROCESSES_MAX, until, t);
    for (size_t size = (s->best->fired_count + 1) / 2; size > 0; size /= 2)
        while (backwards(s, size, until, t) && size == 1)
            continue;
    trial_free(t[0]);
    trial_free(t[1]);
}

void shrink(uint64_t seed, double seconds_max, shrunk *out)
{
    const setting whole = {.seed = seed};
    *out = (shrunk){.best = trial_new(), .trials = 1};
    trial_run(&whole, NULL, 0, false, out->best);
    const sim_result *r = &out->best->result;
    out->failed = r->violated;
    out->seconds = out->best->seconds;
    memcpy(out->invariant, r->invariant, sizeof out->invariant);
    shrunk_count(out->best, &out->before, &(size_t){0});
    if (!out->failed)
        return;
    out->best->setting.only_faults = out->best->ended && !r->calm;
    search(out, seconds_max * SEARCH);
    leave_out(out, seconds_max);
}

void shrunk_free(shrunk *s)
{
    trial_tape_free(s->best->setting.tape);
    trial_free(s->best);
}

void shrunk_count(const trial *t, size_t *fault_count, size_t *wait_count)
{
    *wait_count = 0;
    for (size_t i = 0; i < t->fired_count; i++)
        *wait_count += t->fired[i] >> CLASS_SHIFT == FAULT_WAIT;
    *fault_count = t->fired_count - *wait_count;
}
