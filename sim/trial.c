// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "trial.h"

#include "base/alloc.h"
#include "tape.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HUNTERS 2u

/* Shared by a search and one of its processes. */
typedef struct board {
    uint32_t count; /* of trials */
    trial now, best;
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
                                 .louder = s->louder,
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

static double seconds_of(const struct timeval *t)
{
    return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

/* Of the processor. */
static double wait_for(pid_t pid, int *status)
{
    struct rusage used = {0};
    if (wait4(pid, status, 0, &used) != pid)
        sim_defect("no child");
    return seconds_of(&used.ru_utime) + seconds_of(&used.ru_stime);
}

pid_t trial_begin(const setting *s, const uint64_t *kept, size_t count, bool story, trial *t)
{
    t->ended = false;
    const pid_t pid = begin(!story);
    if (pid != 0)
        return pid;
    uint64_t *sorted = NULL;
    if (kept != NULL) {
        sorted = sim_alloc((count + 1) * sizeof *sorted);
        memcpy(sorted, kept, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, by_id);
    }
    run_here(s, sorted, count, story, t);
    (void)fflush(NULL);
    _exit(0);
}

void trial_end(pid_t pid, trial *t)
{
    int status;
    t->seconds = wait_for(pid, &status);
    if (!t->ended)
        note_death(t);
}

void trial_run(const setting *s, const uint64_t *kept, size_t count, bool story, trial *t)
{
    trial_end(trial_begin(s, kept, count, story, t), t);
}

bool trial_fails(const trial *t, const char *invariant)
{
    return t->result.violated && strcmp(t->result.invariant, invariant) == 0;
}

static void keep_if_better(board *b, const char *invariant)
{
    if (trial_fails(&b->now, invariant) && b->now.fired_count < b->best.fired_count)
        trial_copy(&b->best, &b->now);
}

static double own_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static pid_t send(trial_change change, const char *invariant, double seconds, uint64_t stream,
                  board *b)
{
    const pid_t pid = begin(true);
    if (pid != 0)
        return pid;
    rng random;
    rng_seed(&random, stream + b->count); /* not that again of which the one before died */
    while (own_seconds() < seconds) {
        setting own = b->best.setting;
        own.dice = rng_u64(&random);
        change(&own, &b->best, &random);
        b->count++;
        run_here(&own, NULL, 0, false, &b->now);
        keep_if_better(b, invariant);
    }
    _exit(0);
}

void trial_search(trial_change change, const char *invariant, double seconds, trial *best,
                  uint32_t *count)
{
    board *boards = share(HUNTERS * sizeof *boards);
    pid_t pids[HUNTERS];
    uint64_t streams[HUNTERS];
    for (uint32_t i = 0; i < HUNTERS; i++) {
        streams[i] = (uint64_t)i << 56 | (uint64_t)*count << 24;
        trial_copy(&boards[i].best, best);
        pids[i] = send(change, invariant, seconds, streams[i], &boards[i]);
    }
    for (uint32_t i = 0; i < HUNTERS; i++) {
        board *b = &boards[i];
        int status;
        for (double used = wait_for(pids[i], &status); status != 0;) {
            note_death(&b->now); /* which may be what is looked for */
            keep_if_better(b, invariant);
            pids[i] = send(change, invariant, seconds - used, streams[i], b);
            used += wait_for(pids[i], &status);
        }
    }
    for (uint32_t i = 0; i < HUNTERS; i++) {
        *count += boards[i].count;
        if (boards[i].best.fired_count < best->fired_count)
            trial_copy(best, &boards[i].best);
    }
    (void)munmap(boards, HUNTERS * sizeof *boards);
}
