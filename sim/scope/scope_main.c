// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* sim/scope/run: every reachable state of a small namespace (docs/design/small-scope.md). */
#include "explore.h"

#include "arena.h"
#include "base/mutant.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: sim/scope/run [--producers P] [--commits C] [--commits-b C] [--sweepers 0|1|2]\n"
    "                     [--faults F] [--classes NAME,…] [--block N] [--tail BYTES] [--states N]\n"
    "                     [--seconds T] [--mutant NAME] [--no-paths] [--quiet] [-o json]\n"
    "\n"
    "Every reachable state of P producers with C commits each, a sweeper and F faults, through\n"
    "the machines that ship. A violation is told by its shortest path. Memory is taken for N\n"
    "states (16777216): 9.2 bytes each, 8 more where paths are kept, and what waits to be left.\n"
    "Exit: 0 all states seen and none breaks a rule, 1 not so, 2 on a wrong call.\n";

static const struct {
    const char *name;
    how how;
} classes[] = {
    {"reply-lost", HOW_REPLY_LOST}, {"delayed", HOW_DELAYED}, {"twice", HOW_TWICE},
    {"throttled", HOW_REFUSED},     {"damaged", HOW_DAMAGED}, {"list-empty", HOW_LIST_EMPTY},
    {"list-old", HOW_LIST_OLD},     {"killed", HOW_KILLED},   {"taken-over", HOW_TAKEN_OVER},
    {"deadline", HOW_DEADLINE},
};

typedef struct arguments {
    world_plan plan;
    explore_options explore;
    bool json;
    const char *mutant;
} arguments;

static bool number(const char *text, uint64_t *value)
{
    char *end;
    *value = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0';
}

static bool take_classes(arguments *a, const char *list)
{
    a->plan.fault_classes = 0;
    while (*list != '\0') {
        const size_t length = strcspn(list, ",");
        bool known = false;
        for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
            if (strlen(classes[i].name) != length || strncmp(classes[i].name, list, length) != 0)
                continue;
            a->plan.fault_classes |= 1u << classes[i].how;
            known = true;
        }
        if (!known)
            return false;
        list += length + (list[length] == ',');
    }
    return true;
}

static bool take_number(arguments *a, const char *name, uint64_t n)
{
    const struct {
        const char *name;
        uint32_t *value;
        uint64_t min, max;
    } numbers[] = {
        {"--producers", &a->plan.producers, 1, IDS}, {"--commits", &a->plan.commits[0], 1, 4},
        {"--commits-b", &a->plan.commits[1], 1, 4},  {"--sweepers", &a->plan.sweepers, 0, 2},
        {"--faults", &a->plan.faults, 0, 3},         {"--block", &a->plan.block_size, 2, 4},
        {"--tail", &a->plan.tail_cap, 64, 8192},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(name, numbers[i].name) != 0)
            continue;
        *numbers[i].value = (uint32_t)n;
        if (numbers[i].value == &a->plan.commits[0])
            a->plan.commits[1] = (uint32_t)n;
        return n >= numbers[i].min && n <= numbers[i].max;
    }
    if (strcmp(name, "--states") == 0) {
        a->explore.states_max = n;
        return n > 0 && n <= UINT32_MAX;
    }
    if (strcmp(name, "--seconds") == 0)
        a->explore.seconds_max = (double)n;
    else
        return false;
    return true;
}

static bool take_value(arguments *a, const char *name, const char *value)
{
    uint64_t n;
    if (value == NULL)
        return false;
    if (strcmp(name, "-o") == 0) {
        a->json = strcmp(value, "json") == 0;
        return a->json;
    }
    if (strcmp(name, "--classes") == 0)
        return take_classes(a, value);
    if (strcmp(name, "--mutant") == 0) {
        a->mutant = value;
        return true;
    }
    return number(value, &n) && take_number(a, name, n);
}

static bool parse(int argc, char **argv, arguments *a)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quiet") == 0)
            a->explore.quiet = true;
        else if (strcmp(argv[i], "--no-paths") == 0)
            a->explore.keeps_paths = false;
        else if (!take_value(a, argv[i], i + 1 < argc ? argv[i + 1] : NULL))
            return false;
        else
            i++;
    }
    return true;
}

static bool switch_mutant(const char *name)
{
    if (name == NULL)
        return true;
#ifdef BW_MUTANTS
    for (int i = 0; i < MUTANT_COUNT; i++) {
        if (strcmp(mutant_name((mutant_id)i), name) == 0) {
            mutant_switch((mutant_id)i);
            return true;
        }
    }
#endif
    return false;
}

static void tell_path(const explore_result *r)
{
    world w, next;
    char line[512];
    world_begin(&w);
    for (uint32_t i = 0; i < r->path_length; i++) {
        world_tell(&w, &r->path[i], line, sizeof line);
        printf("%3u  %s\n", i + 1, line);
        (void)world_take(&w, &r->path[i], &next);
        w = next;
    }
    printf("     %s\n", r->violation);
}

static void print_json(const explore_result *r)
{
    printf("{\"states\": %" PRIu64 ", \"transitions\": %" PRIu64 ", \"depth\": %" PRIu64
           ", \"seconds\": %.1f, \"violations\": %" PRIu64 ", \"complete\": %s, \"ends\": %" PRIu64
           ", \"situations\": %u, \"runs\": %" PRIu64
           ", \"manifests\": %u, \"doubt\": %.1e, \"violation\": \"%s\"}\n",
           r->states, r->transitions, r->depth, r->seconds, r->violations,
           r->complete ? "true" : "false", r->ends, locals_count(), locals_runs(), contents_count(),
           r->doubt, r->violation);
}

static void print_text(const world_plan *p, const explore_result *r)
{
    if (r->violations > 0)
        tell_path(r);
    printf("producers %u, commits %u and %u, sweepers %u, faults %u: %" PRIu64 " states, %" PRIu64
           " transitions, depth %" PRIu64 ", %" PRIu64 " ends, %.1f s\n",
           p->producers, p->commits[0], p->producers > 1 ? p->commits[1] : 0, p->sweepers,
           p->faults, r->states, r->transitions, r->depth, r->ends, r->seconds);
    printf("the machines ran %" PRIu64 " times, in %u situations, and made %u manifests\n",
           locals_runs(), locals_count(), contents_count());
    printf("states taken for another one: %.1e are to be expected\n", r->doubt);
    if (r->violations == 0 && !r->complete)
        printf("not all states were seen%s\n", r->full ? ": there are more than --states" : "");
}

int main(int argc, char **argv)
{
    static explore_result result;
    arguments a = {.plan = {.producers = 2,
                            .commits = {1, 1},
                            .sweepers = 1,
                            .faults = 1,
                            .fault_classes = FAULTS_ALL,
                            .block_size = 2,
                            .tail_cap = 8192},
                   .explore = {.states_max = 1u << 24, .keeps_paths = true}};
    if (!parse(argc, argv, &a) || !switch_mutant(a.mutant)) {
        (void)fputs(help, stderr);
        return 2;
    }
    world_setup(&a.plan);
    explore(&a.explore, &result);
    const bool good = result.complete && result.violations == 0;
    if (a.json)
        print_json(&result);
    else
        print_text(&a.plan, &result);
    if (!a.json)
        printf("%d passed, %d failed\n", good, !good);
    return good ? 0 : 1;
}
