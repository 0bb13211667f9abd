// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* sim/run: many seeds, or the story of one. */
#include "campaign.h"
#include "month.h"
#include "shrink.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: sim/run [--from S] [--seeds N] [--jobs J] [--seconds T] [-o json] [--marks]\n"
    "       sim/run --seed N [--story [--seconds T]]\n"
    "       sim/run --file SEEDS        seeds of a file, one a line; # begins a comment\n"
    "       sim/run --trace [--from S] [--seeds N]   one hash of everything that happens\n"
    "       sim/run --month [--seed N] [--days D] [--verify PROGRAM] [-o json] [--stops]\n"
    "                                   one namespace that lives for D (30) virtual days\n"
    "\n"
    "  --marks   fail when a coverage mark or a fault class was never met\n"
    "  --log F   append a line to F: commit (--commit C), from, seeds, failures, virtual hours\n"
    "  --verify  called with a folder that holds the namespace, at each stop; 0 means clean\n"
    "  --stops   tell of each stop on stderr; --story of everything\n"
    "  --story   shrink a failing seed to its few faults and tell what happened, in T (7) seconds\n"
    "            of each of two processors\n"
    "\n"
    "Exit: 0 without violation, 1 with one, 2 on a wrong call.\n";

#define SHRINK_SECONDS 7.0

typedef struct arguments {
    campaign campaign;
    bool json, marks, story, trace, one, month, stops;
    const char *file, *log, *commit, *verify;
    uint64_t days;
} arguments;

static bool number(const char *text, uint64_t *value)
{
    char *end;
    *value = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0';
}

static bool take_value(arguments *a, const char *name, const char *value)
{
    uint64_t n = 0;
    if (value == NULL)
        return false;
    if (strcmp(name, "-o") == 0) {
        a->json = strcmp(value, "json") == 0;
        return a->json;
    }
    const char **text = strcmp(name, "--file") == 0     ? &a->file
                        : strcmp(name, "--log") == 0    ? &a->log
                        : strcmp(name, "--commit") == 0 ? &a->commit
                        : strcmp(name, "--verify") == 0 ? &a->verify
                                                        : NULL;
    if (text != NULL) {
        *text = value;
        return true;
    }
    if (!number(value, &n))
        return false;
    if (strcmp(name, "--from") == 0)
        a->campaign.from = n;
    else if (strcmp(name, "--seeds") == 0)
        a->campaign.seeds = n;
    else if (strcmp(name, "--jobs") == 0)
        a->campaign.jobs = (uint32_t)n;
    else if (strcmp(name, "--versions") == 0)
        a->campaign.versions = (uint32_t)n;
    else if (strcmp(name, "--days") == 0)
        a->days = n;
    else if (strcmp(name, "--seconds") == 0)
        a->campaign.seconds_max = (double)n;
    else if (strcmp(name, "--seed") == 0) {
        a->campaign.from = n;
        a->campaign.seeds = 1;
        a->one = true;
    } else
        return false;
    return true;
}

static bool parse(int argc, char **argv, arguments *a)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--marks") == 0)
            a->marks = true;
        else if (strcmp(argv[i], "--story") == 0)
            a->story = true;
        else if (strcmp(argv[i], "--trace") == 0)
            a->trace = true;
        else if (strcmp(argv[i], "--month") == 0)
            a->month = true;
        else if (strcmp(argv[i], "--stops") == 0)
            a->stops = true;
        else if (!take_value(a, argv[i], i + 1 < argc ? argv[i + 1] : NULL))
            return false;
        else
            i++;
    }
    return true;
}

static uint32_t missing(const campaign *c)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < MARK_COUNT; i++)
        count += c->marks[i] == 0;
    for (uint32_t i = 0; i < FAULT_CLASSES; i++)
        count += c->fault_hits[i] == 0;
    return count;
}

static void json_text(const char *text)
{
    (void)putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            (void)putchar('\\');
        if ((unsigned char)*text >= ' ')
            (void)putchar(*text);
    }
    (void)putchar('"');
}

static void print_json(const campaign *c, bool good)
{
    printf("{\"verdict\":\"%s\",\"from\":%" PRIu64 ",\"seeds\":%" PRIu64 ",\"violations\":%" PRIu64
           ",\"seconds\":%.1f,\"seeds_per_minute\":%.0f,\"virtual_hours\":%.2f,",
           good ? "ok" : "violated", c->from, c->done, c->violations, c->seconds,
           (double)c->done * 60 / c->seconds, c->virtual_hours);
    printf("\"commits_median\":%" PRIu64 ",\"faults_median\":%" PRIu64 ",\"commits\":%" PRIu64
           ",\"steps\":%" PRIu64 ",\"faults\":%" PRIu64 ",\"requests\":%" PRIu64
           ",\"slices\":%" PRIu64 ",\"blocks_retired\":%" PRIu64 ",\"sweeps\":%" PRIu64
           ",\"rollbacks\":%" PRIu64 ",\"trace\":\"%016" PRIx64 "\",",
           c->versions_median, c->faults_median, c->versions_total, c->steps, c->faults,
           c->requests, c->slices, c->blocks, c->sweeps, c->rollbacks, c->trace);
    printf("\"found\":[");
    for (uint32_t i = 0; i < c->found_count; i++) {
        printf("%s{\"seed\":%" PRIu64 ",\"invariant\":\"%s\",\"text\":", i > 0 ? "," : "",
               c->found[i].seed, c->found[i].invariant);
        json_text(c->found[i].text);
        printf("}");
    }
    printf("],\"fault_classes\":{");
    for (uint32_t i = 0; i < FAULT_CLASSES; i++)
        printf("%s\"%s\":%" PRIu64, i > 0 ? "," : "", fault_name((fault_class)i), c->fault_hits[i]);
    printf("},\"marks\":{");
    for (uint32_t i = 0; i < MARK_COUNT; i++)
        printf("%s\"%s\":%" PRIu64, i > 0 ? "," : "", mark_name((mark)i), c->marks[i]);
    printf("}}\n");
}

static void print_text(const campaign *c, bool with_marks)
{
    for (uint32_t i = 0; i < c->found_count; i++)
        printf("seed %" PRIu64 " breaks %s: %s\n", c->found[i].seed, c->found[i].invariant,
               c->found[i].text);
    if (with_marks) {
        for (uint32_t i = 0; i < FAULT_CLASSES; i++)
            printf("fault %12" PRIu64 "  %-20s %-8s %s\n", c->fault_hits[i],
                   fault_name((fault_class)i), fault_rows((fault_class)i),
                   fault_text((fault_class)i));
        for (uint32_t i = 0; i < MARK_COUNT; i++)
            printf("mark  %12" PRIu64 "  %-28s %s\n", c->marks[i], mark_name((mark)i),
                   mark_text((mark)i));
    }
    printf("%" PRIu64 " seeds in %.1f s, %.0f a minute; %.1f virtual hours; median %" PRIu64
           " commits and %" PRIu64 " faults a seed; %" PRIu64 " requests, %" PRIu64
           " slices, %" PRIu64 " blocks retired, %" PRIu64 " rollbacks\n",
           c->done, c->seconds, (double)c->done * 60 / c->seconds, c->virtual_hours,
           c->versions_median, c->faults_median, c->requests, c->slices, c->blocks, c->rollbacks);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", c->done - c->violations, c->violations);
}

static int run_file(const char *path)
{
    char line[200];
    uint64_t passed = 0, failed = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        (void)fprintf(stderr, "sim/run: cannot read %s\n", path);
        return 2;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] < '0' || line[0] > '9')
            continue;
        campaign c = {.from = strtoull(line, NULL, 10), .seeds = 1, .jobs = 1};
        campaign_run(&c);
        passed += c.violations == 0;
        failed += c.violations > 0;
        if (c.violations > 0)
            printf("seed %" PRIu64 " breaks %s: %s\n", c.from, c.found[0].invariant,
                   c.found[0].text);
    }
    (void)fclose(file);
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed > 0;
}

/* One write at the end of the file: several campaigns may log at once. */
static bool log_run(const campaign *c, const char *path, const char *commit)
{
    FILE *file = fopen(path, "a");
    if (file == NULL)
        return false;
    (void)fprintf(file, "%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%.1f\n", commit, c->from,
                  c->done, c->violations, c->virtual_hours);
    return fclose(file) == 0;
}

static int tell(uint64_t seed, double seconds)
{
    shrunk s;
    shrink(seed, seconds > 0 ? seconds : SHRINK_SECONDS, &s);
    shrink_tell(seed, &s);
    const bool failed = s.failed;
    shrunk_free(&s);
    return failed;
}

int main(int argc, char **argv)
{
    arguments a = {.campaign = {.from = 1, .seeds = 100, .jobs = 2}, .commit = "?", .days = 30};
    if (!parse(argc, argv, &a) || (a.month && a.verify == NULL)) {
        (void)fputs(help, stderr);
        return 2;
    }
    if (a.month) {
        month m = {
            .days = (uint32_t)a.days, .verify = a.verify, .is_told = a.stops, .tells = a.story};
        month_run(&m, a.campaign.from);
        month_print(&m, a.json);
        return m.result.violated;
    }
    if (a.file != NULL)
        return run_file(a.file);
    if (a.story && a.one)
        return tell(a.campaign.from, a.campaign.seconds_max);
    campaign *c = &a.campaign;
    campaign_run(c);
    const bool good = c->violations == 0 && (!a.marks || missing(c) == 0);
    if (a.trace)
        printf("%016" PRIx64 "\n", c->trace);
    else if (a.json)
        print_json(c, good);
    else
        print_text(c, a.marks);
    if (a.log != NULL && !log_run(c, a.log, a.commit)) {
        (void)fprintf(stderr, "sim/run: cannot write %s\n", a.log);
        return 2;
    }
    if (a.marks && missing(c) > 0 && !a.json)
        printf("%u marks and fault classes were never met\n", missing(c));
    return good ? 0 : 1;
}
