// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "campaign.h"

#include "base/alloc.h"
#include "mutant_switch.h"
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOBS_MAX 64u

typedef struct figures {
    uint32_t versions, faults;
} figures;

/* One child's, written by nobody else. */
typedef struct lane {
    uint64_t seed; /* at work on; 0: on none */
    campaign sums;
} lane;

/* Shared by parent and children. */
typedef struct board {
    atomic_uint_least64_t next;
    atomic_bool stop;
    lane lanes[JOBS_MAX];
} board;

double campaign_clock(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        sim_defect("no shared memory");
    return memory;
}

static void note(campaign *sums, uint64_t seed, const char *invariant, const char *text)
{
    sums->violations++;
    if (sums->found_count == VIOLATIONS_KEPT)
        return;
    found *f = &sums->found[sums->found_count++];
    f->seed = seed;
    (void)snprintf(f->invariant, sizeof f->invariant, "%s", invariant);
    (void)snprintf(f->text, sizeof f->text, "%s", text);
}

static void add(campaign *sums, const sim_result *r)
{
    sums->done++;
    sums->versions_total += r->versions;
    sums->steps += r->steps;
    sums->commits += r->commits;
    sums->faults += r->faults;
    sums->requests += r->requests;
    sums->slices += r->slices;
    sums->blocks += r->blocks_retired;
    sums->rollbacks += r->rollbacks;
    sums->sweeps += r->sweeps;
    sums->virtual_hours += (double)r->virtual_ns / 3.6e12;
    sums->trace ^= r->trace;
    for (uint32_t i = 0; i < MARK_COUNT; i++)
        sums->marks[i] += r->marks[i];
    for (uint32_t i = 0; i < FAULT_CLASSES; i++)
        sums->fault_hits[i] += r->fault_hits[i];
    if (r->violated)
        note(sums, r->seed, r->invariant, r->violation);
}

static void child(const campaign *c, board *b, lane *l, figures *all, double until)
{
    while (!atomic_load(&b->stop)) {
        const uint64_t index = atomic_fetch_add(&b->next, 1);
        if (index >= c->seeds || (until > 0 && campaign_clock() > until))
            break;
        sim_result r;
        l->seed = c->from + index;
        simulate(l->seed, &(sim_options){.versions = c->versions}, &r);
        l->sums.reached = mutant_reached();
        l->seed = 0;
        add(&l->sums, &r);
        all[index] = (figures){(uint32_t)r.versions, (uint32_t)r.faults};
        if (r.violated && c->stop_at_first)
            atomic_store(&b->stop, true);
    }
    _exit(0);
}

static pid_t begin(const campaign *c, board *b, lane *l, figures *all, double until)
{
    (void)fflush(NULL);
    const pid_t pid = fork();
    if (pid < 0)
        sim_defect("no process");
    if (pid == 0)
        child(c, b, l, all, until);
    return pid;
}

static void reap(const campaign *c, board *b, figures *all, double until)
{
    pid_t pids[JOBS_MAX];
    for (uint32_t i = 0; i < c->jobs; i++)
        pids[i] = begin(c, b, &b->lanes[i], all, until);
    for (uint32_t alive = c->jobs; alive > 0;) {
        int status;
        const pid_t pid = wait(&status);
        uint32_t i = 0;
        while (i < c->jobs && pids[i] != pid)
            i++;
        if (pid < 0 && errno != EINTR)
            sim_defect("lost a process");
        if (pid < 0 || i == c->jobs)
            continue;
        lane *l = &b->lanes[i];
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            alive--;
            continue;
        }
        char text[64];
        (void)snprintf(text, sizeof text, "the process ended by %s %d",
                       WIFSIGNALED(status) ? "signal" : "exit",
                       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        l->sums.done++;
        l->sums.reached++; /* it died of what it ran */
        note(&l->sums, l->seed, "ASSERT", text);
        if (c->stop_at_first)
            atomic_store(&b->stop, true);
        pids[i] = begin(c, b, l, all, until);
    }
}

static void collect(campaign *c, const campaign *sums)
{
    c->done += sums->done;
    c->violations += sums->violations;
    for (uint32_t i = 0; i < sums->found_count && c->found_count < VIOLATIONS_KEPT; i++)
        c->found[c->found_count++] = sums->found[i];
    c->versions_total += sums->versions_total;
    c->steps += sums->steps;
    c->commits += sums->commits;
    c->faults += sums->faults;
    c->requests += sums->requests;
    c->slices += sums->slices;
    c->blocks += sums->blocks;
    c->rollbacks += sums->rollbacks;
    c->sweeps += sums->sweeps;
    c->virtual_hours += sums->virtual_hours;
    c->trace ^= sums->trace;
    c->reached += sums->reached;
    for (uint32_t i = 0; i < MARK_COUNT; i++)
        c->marks[i] += sums->marks[i];
    for (uint32_t i = 0; i < FAULT_CLASSES; i++)
        c->fault_hits[i] += sums->fault_hits[i];
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static uint64_t median(const figures *all, uint64_t count, bool of_faults)
{
    uint32_t *numbers = sim_alloc((count + 1) * sizeof *numbers);
    uint64_t used = 0;
    for (uint64_t i = 0; i < count; i++)
        if (all[i].versions > 0)
            numbers[used++] = of_faults ? all[i].faults : all[i].versions;
    qsort(numbers, used, sizeof *numbers, by_number);
    const uint64_t middle = used > 0 ? numbers[used / 2] : 0;
    mem_free(numbers);
    return middle;
}

void campaign_run(campaign *c)
{
    const double began = campaign_clock();
    const double until = c->seconds_max > 0 ? began + c->seconds_max : 0;
    const size_t bytes = (c->seeds + 1) * sizeof(figures);
    board *b = share(sizeof *b);
    figures *all = share(bytes);
    if (c->jobs == 0 || c->jobs > JOBS_MAX)
        c->jobs = 2;
    reap(c, b, all, until);
    for (uint32_t i = 0; i < c->jobs; i++)
        collect(c, &b->lanes[i].sums);
    c->versions_median = median(all, c->seeds, false);
    c->faults_median = median(all, c->seeds, true);
    c->seconds = campaign_clock() - began;
    (void)munmap(b, sizeof *b);
    (void)munmap(all, bytes);
}
