// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "explore.h"

#include "arena.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROGRESS_SECONDS 10.0
#define PATH_MAX_LENGTH 256u

typedef struct mark {
    uint64_t a, b; /* 0, 0: free */
} mark;

typedef struct step {
    uint32_t parent;
    choice choice;
} step;

typedef struct layer {
    world *worlds;
    uint32_t *numbers;
    uint64_t count, capacity;
} layer;

static struct {
    const explore_options *options;
    explore_result *result;
    mark *marks;
    uint64_t slots;
    step *steps;
    uint64_t step_capacity;
    layer now, next;
    double started, told;
    bool stopped;
} run;

static double seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* 128 bits of every byte of the state: with 10^8 states two fall together once in 10^22 searches.
 */
static mark mark_of(const world *w)
{
    uint64_t words[sizeof(world) / 8];
    mark m = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu};
    _Static_assert(sizeof(world) % 8 == 0, "a world is whole words");
    memcpy(words, w, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        m.a = (m.a ^ words[i]) * 0xff51afd7ed558ccdu;
        m.a ^= m.a >> 32;
        m.b = (m.b + words[i]) * 0xc4ceb9fe1a85ec53u;
        m.b ^= m.b >> 29;
    }
    m.a = arena_mix(m.a);
    m.b = arena_mix(m.b ^ m.a) | 1;
    return m;
}

static mark *find(const mark *m)
{
    uint64_t at = m->a & (run.slots - 1);
    while (run.marks[at].b != 0 && (run.marks[at].a != m->a || run.marks[at].b != m->b))
        at = (at + 1) & (run.slots - 1);
    return &run.marks[at];
}

static void grow_marks(void)
{
    if (run.slots > 0 && 10 * (run.result->states + 1) < 7 * run.slots)
        return;
    mark *old = run.marks;
    const uint64_t slots = run.slots;
    run.slots = slots > 0 ? 2 * slots : 1u << 16;
    run.marks = scope_alloc(run.slots * sizeof *run.marks);
    for (uint64_t i = 0; i < slots; i++)
        if (old[i].b != 0)
            *find(&old[i]) = old[i];
    free(old);
}

static void push(layer *l, const world *w, uint32_t number)
{
    if (l->count == l->capacity) {
        l->capacity = l->capacity > 0 ? l->capacity * 3 / 2 : 1024;
        l->worlds = realloc(l->worlds, l->capacity * sizeof *l->worlds);
        l->numbers = realloc(l->numbers, l->capacity * sizeof *l->numbers);
        if (l->worlds == NULL || l->numbers == NULL)
            scope_defect("no memory");
    }
    l->worlds[l->count] = *w;
    l->numbers[l->count++] = number;
}

static void keep_step(uint64_t number, uint32_t parent, const choice *c)
{
    if (!run.options->keeps_paths)
        return;
    if (number >= run.step_capacity) {
        run.step_capacity = run.step_capacity > 0 ? run.step_capacity * 3 / 2 : 1024;
        run.steps = realloc(run.steps, run.step_capacity * sizeof *run.steps);
        if (run.steps == NULL)
            scope_defect("no memory");
    }
    run.steps[number] = (step){parent, *c};
}

static void meet(const world *w, uint32_t parent, const choice *c)
{
    const mark m = mark_of(w);
    grow_marks();
    mark *slot = find(&m);
    if (slot->b != 0)
        return;
    *slot = m;
    const uint64_t number = run.result->states++;
    if (number >= UINT32_MAX)
        scope_defect("too many states");
    keep_step(number, parent, c);
    push(&run.next, w, (uint32_t)number);
}

static void progress(bool always)
{
    const explore_result *r = run.result;
    const double now = seconds();
    if (run.options->quiet || (!always && now - run.told < PROGRESS_SECONDS))
        return;
    run.told = now;
    (void)fprintf(stderr,
                  "scope: %.0f s, depth %" PRIu64 ", %" PRIu64 " states (%" PRIu64
                  " at this depth), %" PRIu64
                  " transitions, %u situations (%.0f MB), %u manifests\n",
                  now - run.started, r->depth, r->states, run.now.count, r->transitions,
                  locals_count(), (double)locals_bytes() / 1e6, contents_count());
}

static void broken(uint32_t number, const choice *last)
{
    explore_result *r = run.result;
    r->violations = 1;
    (void)snprintf(r->violation, sizeof r->violation, "%s", world_violation());
    run.stopped = true;
    if (!run.options->keeps_paths)
        return;
    uint32_t length = 0;
    for (uint32_t at = number; at != 0; at = run.steps[at].parent)
        length++;
    r->path_length = length + (last != NULL ? 1 : 0);
    if (r->path_length > PATH_MAX_LENGTH)
        scope_defect("a path too long to be told");
    if (last != NULL)
        r->path[length] = *last;
    for (uint32_t at = number; at != 0; at = run.steps[at].parent)
        r->path[--length] = run.steps[at].choice;
}

static void leave(const world *w, uint32_t number)
{
    choice choices[CHOICES_MAX];
    world next;
    const uint32_t count = world_choices(w, choices);
    if (count == 0) {
        run.result->ends++;
        if (!world_judge_end(w))
            broken(number, NULL);
        return;
    }
    for (uint32_t i = 0; i < count && !run.stopped; i++) {
        run.result->transitions++;
        if (world_take(w, &choices[i], &next))
            meet(&next, number, &choices[i]);
        else
            broken(number, &choices[i]);
    }
}

static void check_limits(void)
{
    const explore_options *o = run.options;
    if ((o->states_max > 0 && run.result->states >= o->states_max) ||
        (o->seconds_max > 0 && seconds() - run.started >= o->seconds_max))
        run.stopped = true;
}

void explore(const explore_options *options, explore_result *result)
{
    world first;
    memset(result, 0, sizeof *result);
    memset(&run, 0, sizeof run);
    run.options = options;
    run.result = result;
    run.started = run.told = seconds();
    world_begin(&first);
    meet(&first, 0, &(choice){0});
    while (run.next.count > 0 && !run.stopped) {
        layer done = run.now;
        run.now = run.next;
        done.count = 0;
        run.next = done;
        for (uint64_t i = 0; i < run.now.count && !run.stopped; i++) {
            leave(&run.now.worlds[i], run.now.numbers[i]);
            if (i % 4096 == 0) {
                progress(false);
                check_limits();
            }
        }
        result->depth++;
    }
    result->complete = !run.stopped;
    result->seconds = seconds() - run.started;
    progress(true);
}
