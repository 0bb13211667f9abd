// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The story of what is left of a failing seed, on one page. */
#include "shrink.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STORY_LINES 40u
#define LINE_BYTES 220u
#define CLASS_SHIFT 56

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

static void tell_setting(uint64_t seed, const setting *s)
{
    printf("in small: the plan of seed %" PRIu64, seed);
    if (s->versions > 0)
        printf(", %u versions", s->versions);
    if (s->dice > 0)
        printf(", dice %" PRIu64, s->dice);
    if (s->absent > 0)
        printf(", without processes 0x%x", s->absent);
    printf("\n");
}

static void tell_fault(uint64_t id)
{
    const fault_class class = (fault_class)(id >> CLASS_SHIFT);
    const bool waits = class == FAULT_WAIT;
    printf("  %-18s process %u, life %u, request %u: %s\n", waits ? "WAIT" : fault_name(class),
           (unsigned)(id >> 48 & 0xff), (unsigned)(id >> 32 & 0xffff), (unsigned)(id & 0xffffffff),
           waits ? "a request or its answer takes that long" : fault_text(class));
}

void shrink_tell(uint64_t seed, const shrunk *s)
{
    if (!s->failed) {
        printf("seed %" PRIu64 " ends well\n", seed);
        return;
    }
    const trial *best = s->best;
    printf("seed %" PRIu64 " breaks %s with %zu faults\n", seed, s->invariant, s->before);
    tell_setting(seed, &best->setting);
    size_t fault_count, wait_count;
    shrunk_count(best, &fault_count, &wait_count);
    printf("%s\n%zu faults and %zu waits of more than 0.3 s are enough (%u trials, %.1f s of two "
           "cores):\n",
           best->result.violation, fault_count, wait_count, s->trials, s->seconds);
    for (size_t i = 0; i < best->fired_count && i < STORY_LINES / 2; i++)
        tell_fault(best->fired[i]);
    trial *t = trial_new();
    FILE *all = tmpfile();
    if (all == NULL)
        sim_defect("no room for a story");
    (void)fflush(stdout);
    const int out = dup(STDOUT_FILENO);
    (void)dup2(fileno(all), STDOUT_FILENO);
    trial_run(&best->setting, best->fired, best->fired_count, true, t);
    (void)dup2(out, STDOUT_FILENO);
    (void)close(out);
    tell_end(all);
    (void)fclose(all);
    trial_free(t);
}
