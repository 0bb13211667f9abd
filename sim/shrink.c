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
#define PROCESS_SHIFT 48
/* Short runs, and so many of them that no two seeds share one. */
#define SMALL_VERSIONS 24u
#define SMALL_SEEDS 1000000u

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

/* With the faults of `s` without [from, to); `story` also tells it on stdout. */
static void attempt(const shrunk *s, size_t from, size_t to, bool story, trial *t)
{
    const size_t left = s->count - (to - from);
    uint64_t *fewer = sim_alloc((left + 1) * sizeof *fewer);
    if (s->kept != NULL) {
        memcpy(fewer, s->kept, from * sizeof *fewer);
        memcpy(fewer + from, s->kept + to, (s->count - to) * sizeof *fewer);
    }
    (void)fflush(NULL);
    t->ended = false;
    t->fired_count = 0;
    const pid_t pid = fork();
    if (pid < 0)
        sim_defect("no process");
    if (pid == 0) {
        if (!story && freopen("/dev/null", "w", stderr) == NULL)
            _exit(1);
        const sim_options options = {.story = story,
                                     .versions = s->versions,
                                     .left_out = s->left_out,
                                     .kept = s->kept != NULL ? fewer : NULL,
                                     .kept_count = left,
                                     .fired = t->fired,
                                     .fired_max = FAULTS_MAX,
                                     .fired_count = &t->fired_count};
        simulate(s->seed, &options, &t->result);
        t->ended = true;
        (void)fflush(NULL);
        _exit(0);
    }
    int status;
    (void)waitpid(pid, &status, 0);
    mem_free(fewer);
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

/* What the trial fired becomes what is kept: often fewer than were allowed. */
static void keep_fired(shrunk *s, const trial *t)
{
    mem_free(s->kept);
    s->count = t->fired_count;
    s->kept = sim_alloc((s->count + 1) * sizeof *s->kept);
    memcpy(s->kept, t->fired, s->count * sizeof *s->kept);
    qsort(s->kept, s->count, sizeof *s->kept, by_id);
    memcpy(s->violation, t->result.violation, sizeof s->violation);
}

/* Leaves out [from, to); true when it still fails. */
static bool try_without(shrunk *s, size_t from, size_t to, trial *t)
{
    s->trials++;
    attempt(s, from, to, false, t);
    if (!fails_alike(t, s))
        return false;
    if (t->ended) {
        keep_fired(s, t);
    } else {
        memmove(s->kept + from, s->kept + to, (s->count - to) * sizeof *s->kept);
        s->count -= to - from;
    }
    return true;
}

static void by_class(shrunk *s, double until, trial *t)
{
    for (uint64_t class = 0; class < FAULT_CLASSES && campaign_clock() < until; class ++) {
        size_t from = 0;
        while (from < s->count && s->kept[from] >> CLASS_SHIFT != class)
            from++;
        size_t to = from;
        while (to < s->count && s->kept[to] >> CLASS_SHIFT == class)
            to++;
        if (from == to || try_without(s, from, to, t))
            s->left_out |= (uint64_t)1 << class;
    }
}

/* The same failure in a short run of another seed, with the fewest faults that chance gives. */
static void look_for_small(shrunk *s, double until, trial *t)
{
    shrunk small = *s;
    uint64_t best = 0;
    size_t best_count = s->count;
    small.kept = NULL;
    small.count = 0;
    small.versions = SMALL_VERSIONS;
    for (uint64_t k = 1; campaign_clock() < until; k++) {
        small.seed = s->seed * SMALL_SEEDS + k;
        s->trials++;
        attempt(&small, 0, 0, false, t);
        if (!fails_alike(t, s) || !t->ended || t->fired_count >= best_count)
            continue;
        best = small.seed;
        best_count = t->fired_count;
    }
    if (best == 0)
        return;
    s->seed = small.seed = best;
    s->versions = small.versions;
    attempt(&small, 0, 0, false, t);
    keep_fired(s, t);
}

static uint64_t process_of(uint64_t id)
{
    return id >> PROCESS_SHIFT & 0xff;
}

/* Kept faults are ordered by class: those of one process are gathered at the end first. */
static void by_process(shrunk *s, double until, trial *t)
{
    for (uint64_t who = 0; who < PROCESSES_MAX && campaign_clock() < until; who++) {
        uint64_t *ordered = sim_alloc((s->count + 1) * sizeof *ordered);
        size_t others = 0, its = 0;
        for (size_t i = 0; i < s->count; i++)
            if (process_of(s->kept[i]) != who)
                ordered[others++] = s->kept[i];
        for (size_t i = 0; i < s->count; i++)
            if (process_of(s->kept[i]) == who)
                ordered[others + its++] = s->kept[i];
        mem_free(s->kept);
        s->kept = ordered;
        if (its > 0)
            (void)try_without(s, others, others + its, t);
        qsort(s->kept, s->count, sizeof *s->kept, by_id);
    }
}

static void by_halves(shrunk *s, double until, trial *t)
{
    for (size_t size = (s->count + 1) / 2; size > 0; size /= 2) {
        for (size_t from = 0; from < s->count && campaign_clock() < until;) {
            const size_t to = from + size < s->count ? from + size : s->count;
            if (!try_without(s, from, to, t))
                from = to;
        }
    }
}

void shrink(uint64_t seed, double seconds_max, shrunk *out)
{
    const double began = campaign_clock(), until = began + seconds_max;
    trial *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (t == MAP_FAILED)
        sim_defect("no shared memory");
    memset(out, 0, sizeof *out);
    out->seed = seed;
    attempt(out, 0, 0, false, t);
    out->failed = t->result.violated;
    memcpy(out->invariant, t->result.invariant, sizeof out->invariant);
    out->before = t->fired_count;
    keep_fired(out, t);
    if (out->failed) {
        by_class(out, began + seconds_max * 0.3, t);
        look_for_small(out, began + seconds_max * 0.6, t);
        by_process(out, until, t);
        by_halves(out, until, t);
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
    printf("seed %" PRIu64 " breaks %s with %zu faults\n", seed, s->invariant, s->before);
    if (s->seed != seed)
        printf("so does, in small, seed %" PRIu64 " with --versions %u\n", s->seed, s->versions);
    printf("%s\n%zu faults are enough (%u trials):\n", s->violation, s->count, s->trials);
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
    attempt(s, 0, 0, true, t);
    (void)dup2(out, STDOUT_FILENO);
    (void)close(out);
    tell_end(all);
    (void)fclose(all);
    (void)munmap(t, sizeof *t);
}
