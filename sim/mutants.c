// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* sim/mutants: switches each mutant on and asks who notices. Only in builds with -Dmutants=true.
 * The mutants that a test program must notice are left to the script sim/mutants, which has the
 * paths. */
#include "campaign.h"

#include "base/mutant.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_MAX 55.0
#define SEEDS_MAX 100000u

static mutant_id find(const char *name)
{
    for (int i = 0; i < MUTANT_COUNT; i++)
        if (strcmp(mutant_name((mutant_id)i), name) == 0)
            return (mutant_id)i;
    return MUTANT_COUNT;
}

/* name, by, killed, reached, seconds, what noticed: tab-separated, a line each. */
static bool kill_one(mutant_id id, uint64_t from, uint32_t jobs, double seconds)
{
    campaign c = {.from = from,
                  .seeds = SEEDS_MAX,
                  .jobs = jobs,
                  .stop_at_first = true,
                  .seconds_max = seconds};
    mutant_switch(id);
    campaign_run(&c);
    const bool killed = c.violations > 0 && c.reached > 0;
    printf("%s\t%s\t%d\t%" PRIu64 "\t%.2f\t%s\t%" PRIu64 "\t%s\n", mutant_name(id), mutant_by(id),
           killed, c.reached, c.seconds, c.violations > 0 ? c.found[0].invariant : "-",
           c.violations > 0 ? c.found[0].seed : 0, c.violations > 0 ? c.found[0].text : "-");
    (void)fflush(stdout);
    return killed;
}

int main(int argc, char **argv)
{
    uint64_t from = 1;
    uint32_t jobs = 2;
    double seconds = SECONDS_MAX;
    bool all_killed = true;
    int i = 1;
    if (i + 1 < argc && strcmp(argv[i], "--from") == 0) {
        from = strtoull(argv[i + 1], NULL, 10);
        i += 2;
    }
    if (i + 1 < argc && strcmp(argv[i], "--jobs") == 0) {
        jobs = (uint32_t)strtoul(argv[i + 1], NULL, 10);
        i += 2;
    }
    if (i + 1 < argc && strcmp(argv[i], "--seconds") == 0) {
        seconds = strtod(argv[i + 1], NULL);
        i += 2;
    }
    if (i < argc && strcmp(argv[i], "--list") == 0) {
        for (int k = 0; k < MUTANT_COUNT; k++)
            printf("%s\t%s\t%s\n", mutant_name((mutant_id)k), mutant_by((mutant_id)k),
                   mutant_text((mutant_id)k));
        return 0;
    }
    for (; i < argc; i++) {
        const mutant_id id = find(argv[i]);
        if (id == MUTANT_COUNT) {
            (void)fprintf(stderr, "no mutant %s\n", argv[i]);
            return 2;
        }
        all_killed &= kill_one(id, from, jobs, seconds);
    }
    return all_killed ? 0 : 1;
}
