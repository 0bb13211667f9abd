// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "shrink.h"

#include "base/alloc.h"
#include "campaign.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAULTS_MAX 65536u
#define STORY_LINES 40u
#define LINE_BYTES 220u
#define CLASS_SHIFT 56

/* What a trial found; shared with the child that ran it. */
typedef struct trial {
    sim_result result;
    bool ended;
    size_t fired_count;
    uint64_t fired[FAULTS_MAX];
} trial;

static int by_id(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* `story` also tells it on stdout. */
static void attempt(uint64_t seed, const uint64_t *kept, size_t count, bool story, trial *t)
{
    (void)fflush(NULL);
    t->ended = false;
    t->fired_count = 0;
    const pid_t pid = fork();
    if (pid < 0)
        sim_defect("no process");
    if (pid == 0) {
        if (!story)
            (void)freopen("/dev/null", "w", stderr);
        const sim_options options = {.story = story,
                                     .kept = kept,
                                     .kept_count = count,
                                     .fired = t->fired,
                                     .fired_max = FAULTS_MAX,
                                     .fired_count = &t->fired_count};
        simulate(seed, &options, &t->result);
        t->ended = true;
        (void)fflush(NULL);
        _exit(0);
    }
    int status;
    (void)waitpid(pid, &status, 0);
    if (!t->ended) {
        t->result.violated = true;
        (void)snprintf(t->result.invariant, sizeof t->result.invariant, "ASSERT");
        (void)snprintf(t->result.violation, sizeof t->result.violation, "the process died");
    }
}

static bool fails_alike(const trial *t, const shrunk *s)
{
    return t->result.violated && strcmp(t->result.invariant, s->invariant) == 0;
}

/* Leaves out [from, to); true when it still fails. */
static bool try_without(uint64_t seed, shrunk *s, size_t from, size_t to, trial *t)
{
    const size_t left = s->count - (to - from);
    uint64_t *fewer = sim_alloc((left + 1) * sizeof *fewer);
    memcpy(fewer, s->kept, from * sizeof *fewer);
    memcpy(fewer + from, s->kept + to, (s->count - to) * sizeof *fewer);
    s->trials++;
    attempt(seed, fewer, left, false, t);
    if (!fails_alike(t, s)) {
        mem_free(fewer);
        return false;
    }
    memcpy(s->violation, t->result.violation, sizeof s->violation);
    mem_free(s->kept);
    s->kept = fewer;
    s->count = left;
    return true;
}

static void by_class(uint64_t seed, shrunk *s, double until, trial *t)
{
    for (uint64_t class = 0; class < FAULT_CLASSES && campaign_clock() < until; class ++) {
        size_t from = 0;
        while (from < s->count && s->kept[from] >> CLASS_SHIFT != class)
            from++;
        size_t to = from;
        while (to < s->count && s->kept[to] >> CLASS_SHIFT == class)
            to++;
        if (to > from)
            (void)try_without(seed, s, from, to, t);
    }
}

static void by_halves(uint64_t seed, shrunk *s, double until, trial *t)
{
    for (size_t size = (s->count + 1) / 2; size > 0; size /= 2) {
        for (size_t from = 0; from < s->count && campaign_clock() < until;) {
            const size_t to = from + size < s->count ? from + size : s->count;
            if (!try_without(seed, s, from, to, t))
                from = to;
        }
    }
}

void shrink(uint64_t seed, double seconds_max, shrunk *out)
{
    const double until = campaign_clock() + seconds_max;
    trial *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (t == MAP_FAILED)
        sim_defect("no shared memory");
    memset(out, 0, sizeof *out);
    attempt(seed, NULL, 0, false, t);
    out->failed = t->result.violated;
    memcpy(out->invariant, t->result.invariant, sizeof out->invariant);
    memcpy(out->violation, t->result.violation, sizeof out->violation);
    out->before = out->count = t->fired_count;
    out->kept = sim_alloc((t->fired_count + 1) * sizeof *out->kept);
    memcpy(out->kept, t->fired, t->fired_count * sizeof *out->kept);
    qsort(out->kept, out->count, sizeof *out->kept, by_id);
    if (out->failed) {
        by_class(seed, out, until, t);
        by_halves(seed, out, until, t);
    }
    (void)munmap(t, sizeof *t);
}

/* The last lines of what the trial told. */
static void tell_end(FILE *all)
{
    static char lines[STORY_LINES][LINE_BYTES];
    size_t count = 0;
    rewind(all);
    while (fgets(lines[count % STORY_LINES], LINE_BYTES, all) != NULL)
        count++;
    const size_t shown = count < STORY_LINES ? count : STORY_LINES;
    if (count > shown)
        printf("  … %zu lines before\n", count - shown);
    for (size_t i = count - shown; i < count; i++)
        (void)fputs(lines[i % STORY_LINES], stdout);
}

void shrink_tell(uint64_t seed, const shrunk *s)
{
    if (!s->failed) {
        printf("seed %" PRIu64 " ends well\n", seed);
        return;
    }
    printf("seed %" PRIu64 " breaks %s: %s\n", seed, s->invariant, s->violation);
    printf("%zu faults, of which %zu are enough (%u trials):\n", s->before, s->count, s->trials);
    for (size_t i = 0; i < s->count && i < STORY_LINES / 2; i++) {
        const fault_class class = (fault_class)(s->kept[i] >> CLASS_SHIFT);
        printf("  %-18s process %u, life %u, request %u: %s\n", fault_name(class),
               (unsigned)(s->kept[i] >> 48 & 0xff), (unsigned)(s->kept[i] >> 32 & 0xffff),
               (unsigned)(s->kept[i] & 0xffffffff), fault_text(class));
    }
    trial *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    FILE *all = tmpfile();
    if (t == MAP_FAILED || all == NULL)
        sim_defect("no room for a story");
    (void)fflush(stdout);
    const int out = dup(STDOUT_FILENO);
    (void)dup2(fileno(all), STDOUT_FILENO);
    attempt(seed, s->kept, s->count, true, t);
    (void)dup2(out, STDOUT_FILENO);
    (void)close(out);
    tell_end(all);
    (void)fclose(all);
    (void)munmap(t, sizeof *t);
}
