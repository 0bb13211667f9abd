// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "explore.h"

#include "arena.h"
#include "marks.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROGRESS_SECONDS 10.0
#define PATH_MAX_LENGTH 256u

/* Looked up together, so that their marks arrive from memory while others are made. */
#define BATCH 64u
#define CHUNK 4096u

typedef struct step {
    uint32_t parent;
    choice choice;
} step;

/* A state to be left; `number` as met, when paths are kept. */
typedef struct entry {
    world world;
    uint32_t number;
} entry;

typedef struct chunk {
    struct chunk *next;
    uint32_t put, taken;
    entry entries[CHUNK];
} chunk;

typedef struct candidate {
    world world;
    mark mark;
    step step;
} candidate;

static struct {
    const explore_options *options;
    explore_result *result;
    step *steps;
    chunk *first, *last;
    uint64_t waiting; /* states in all chunks */
    uint64_t width;   /* states of this depth */
    candidate batch[BATCH];
    uint32_t batched;
    double started, told;
    bool stopped;
} run;

static double seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- states to be left: first in, first out ---- */

static void push(const world *w, uint64_t number)
{
    if (run.last == NULL || run.last->put == CHUNK) {
        chunk *c = scope_alloc(sizeof *c);
        if (run.last != NULL)
            run.last->next = c;
        else
            run.first = c;
        run.last = c;
    }
    run.last->entries[run.last->put++] = (entry){*w, (uint32_t)number};
    run.waiting++;
}

static entry pop(void)
{
    chunk *c = run.first;
    const entry e = c->entries[c->taken++];
    run.waiting--;
    if (c->taken == c->put) {
        run.first = c->next;
        if (run.first == NULL)
            run.last = NULL;
        free(c);
    }
    return e;
}

/* ---- states met ---- */

static void meet(const candidate *c)
{
    if (!marks_put(&c->mark))
        return;
    if (run.result->states == run.options->states_max) {
        run.result->full = run.stopped = true;
        return;
    }
    const uint64_t number = run.result->states++;
    if (run.steps != NULL)
        run.steps[number] = c->step;
    push(&c->world, number);
}

static void meet_batch(void)
{
    for (uint32_t i = 0; i < run.batched && !run.stopped; i++)
        meet(&run.batch[i]);
    run.batched = 0;
}

static void add(const world *w, uint32_t parent, const choice *c)
{
    uint64_t words[sizeof *w / 8];
    _Static_assert(sizeof *w % 8 == 0, "a world is whole words");
    memcpy(words, w, sizeof words);
    run.batch[run.batched++] =
        (candidate){*w, marks_of(words, sizeof words / sizeof words[0]), {parent, *c}};
    if (run.batched == BATCH)
        meet_batch();
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
                  now - run.started, r->depth, r->states, run.width, r->transitions, locals_count(),
                  (double)locals_bytes() / 1e6, contents_count());
}

static void broken(uint32_t number, const choice *last)
{
    explore_result *r = run.result;
    r->violations = 1;
    (void)snprintf(r->violation, sizeof r->violation, "%s", world_violation());
    run.stopped = true;
    if (run.steps == NULL)
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

static void leave(const entry *e)
{
    choice choices[CHOICES_MAX];
    world next;
    const uint32_t count = world_choices(&e->world, choices);
    if (count == 0) {
        run.result->ends++;
        if (!world_judge_end(&e->world))
            broken(e->number, NULL);
        return;
    }
    for (uint32_t i = 0; i < count && !run.stopped; i++) {
        run.result->transitions++;
        if (world_take(&e->world, &choices[i], &next))
            add(&next, e->number, &choices[i]);
        else
            broken(e->number, &choices[i]);
    }
}

static void leave_depth(void)
{
    run.width = run.waiting;
    for (uint64_t i = 0; i < run.width && !run.stopped; i++) {
        const entry e = pop();
        leave(&e);
        if (i % 4096 == 0) {
            progress(false);
            run.stopped |=
                run.options->seconds_max > 0 && seconds() - run.started >= run.options->seconds_max;
        }
    }
    meet_batch();
    run.result->depth++;
}

void explore(const explore_options *options, explore_result *result)
{
    world first;
    memset(result, 0, sizeof *result);
    memset(&run, 0, sizeof run);
    run.options = options;
    run.result = result;
    run.started = run.told = seconds();
    marks_setup(options->states_max);
    if (options->keeps_paths)
        run.steps = scope_alloc(options->states_max * sizeof *run.steps);
    world_begin(&first);
    add(&first, 0, &(choice){0});
    meet_batch();
    while (run.waiting > 0 && !run.stopped)
        leave_depth();
    result->complete = !run.stopped;
    result->seconds = seconds() - run.started;
    result->doubt = marks_doubt();
    progress(true);
}
