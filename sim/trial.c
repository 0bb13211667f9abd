// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "trial.h"

#include "base/alloc.h"
#include "campaign.h"
#include "tape.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define HUNTERS 2u

/* Shared by a hunt and its processes. */
typedef struct board {
    atomic_uint_least64_t dice;
    atomic_bool stop;
    trial now[HUNTERS], best[HUNTERS];
} board;

static void *share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        sim_defect("no shared memory");
    return memory;
}

trial *trial_new(void)
{
    return share(sizeof(trial));
}

void trial_free(trial *t)
{
    (void)munmap(t, sizeof *t);
}

void trial_copy(trial *to, const trial *from)
{
    memcpy(to, from, offsetof(trial, fired));
    memcpy(to->fired, from->fired, from->fired_count * sizeof *from->fired);
}

tape *trial_tape(void)
{
    return share(sizeof(struct tape));
}

void trial_tape_free(tape *t)
{
    if (t != NULL)
        (void)munmap(t, sizeof *t);
}

static int by_id(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void run_here(const setting *s, const uint64_t *kept, size_t count, bool story, trial *t)
{
    const sim_options options = {.story = story,
                                 .versions = s->versions,
                                 .left_out = s->left_out,
                                 .dice = s->dice,
                                 .absent = s->absent,
                                 .thin = s->thin,
                                 .only_faults = s->only_faults,
                                 .tape = s->tape,
                                 .kept = kept,
                                 .kept_count = count,
                                 .fired = t->fired,
                                 .fired_max = FAULTS_MAX,
                                 .fired_count = &t->fired_count};
    t->setting = *s;
    t->ended = false;
    t->fired_count = 0;
    simulate(s->seed, &options, &t->result);
    t->ended = true;
}

static pid_t begin(bool quiet)
{
    (void)fflush(NULL);
    const pid_t pid = fork();
    if (pid < 0)
        sim_defect("no process");
    if (pid == 0 && quiet && freopen("/dev/null", "w", stderr) == NULL)
        _exit(1);
    return pid;
}

static void note_death(trial *t)
{
    memset(&t->result, 0, sizeof t->result);
    t->result.violated = true;
    (void)snprintf(t->result.invariant, sizeof t->result.invariant, "ASSERT");
    (void)snprintf(t->result.violation, sizeof t->result.violation, "the process died");
}

void trial_run(const setting *s, const uint64_t *kept, size_t count, bool story, trial *t)
{
    uint64_t *sorted = NULL;
    if (kept != NULL) {
        sorted = sim_alloc((count + 1) * sizeof *sorted);
        memcpy(sorted, kept, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, by_id);
    }
    t->ended = false;
    const pid_t pid = begin(!story);
    if (pid == 0) {
        run_here(s, sorted, count, story, t);
        (void)fflush(NULL);
        _exit(0);
    }
    int status;
    (void)waitpid(pid, &status, 0);
    mem_free(sorted);
    if (!t->ended)
        note_death(t);
}

bool trial_fails(const trial *t, const char *invariant)
{
    return t->result.violated && strcmp(t->result.invariant, invariant) == 0;
}

static void hunt_here(const setting *s, const char *invariant, bool first, double until, board *b,
                      uint32_t i)
{
    setting own = *s;
    while (!atomic_load(&b->stop) && campaign_clock() < until) {
        own.dice = atomic_fetch_add(&b->dice, 1) + 1;
        run_here(&own, NULL, 0, false, &b->now[i]);
        if (!trial_fails(&b->now[i], invariant) || b->now[i].fired_count >= b->best[i].fired_count)
            continue;
        trial_copy(&b->best[i], &b->now[i]);
        if (first)
            atomic_store(&b->stop, true);
    }
    _exit(0);
}

static pid_t send_hunter(const setting *s, const char *invariant, bool first, double until,
                         board *b, uint32_t i)
{
    const pid_t pid = begin(true);
    if (pid == 0)
        hunt_here(s, invariant, first, until, b, i);
    return pid;
}

/* A hunter that died may have found what is looked for. */
static void bury(board *b, uint32_t i, const char *invariant, bool first)
{
    note_death(&b->now[i]);
    if (!trial_fails(&b->now[i], invariant) || b->now[i].fired_count >= b->best[i].fired_count)
        return;
    trial_copy(&b->best[i], &b->now[i]);
    if (first)
        atomic_store(&b->stop, true);
}

bool trial_hunt(const setting *s, const char *invariant, size_t fewer_than, bool first,
                double until, trial *t, uint32_t *count)
{
    board *b = share(sizeof *b);
    pid_t pids[HUNTERS];
    atomic_store(&b->dice, s->dice);
    for (uint32_t i = 0; i < HUNTERS; i++) {
        b->best[i].fired_count = fewer_than;
        pids[i] = send_hunter(s, invariant, first, until, b, i);
    }
    for (uint32_t i = 0; i < HUNTERS; i++) {
        int status;
        while (waitpid(pids[i], &status, 0) == pids[i] && status != 0) {
            bury(b, i, invariant, first);
            pids[i] = send_hunter(s, invariant, first, until, b, i);
        }
    }
    *count += (uint32_t)(atomic_load(&b->dice) - s->dice);
    const trial *best = &b->best[0];
    for (uint32_t i = 1; i < HUNTERS; i++)
        if (b->best[i].fired_count < best->fired_count)
            best = &b->best[i];
    const bool any = best->result.violated;
    if (any)
        trial_copy(t, best);
    (void)munmap(b, sizeof *b);
    return any;
}
