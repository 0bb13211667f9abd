// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "human.h"
#include "report.h"
#include "signals.h"

#include <batchweave/doctor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A racer makes a hundred small files, without syncs; in a bucket it ends by itself after a minute
 * or two. */
#define RACE_NS_MAX 180000000000ll
#define NAP_NS 5000000

/* ---- the race ---- */

typedef struct racers {
    pid_t ids[BW_DOCTOR_RACERS]; /* 0: none, or over */
    unsigned running;
    bool well;
} racers;

/** This process has no thread but this one: a child may do what it likes. */
static void start(racers *r, const cli *c, const char *place, void *board)
{
    for (unsigned i = 0; i < BW_DOCTOR_RACERS; i++) {
        const pid_t id = fork();
        if (id == 0)
            _exit(bw_doctor_race(place, c->config, board, i, NULL) == BW_OK ? 0 : 1);
        if (id < 0) {
            r->well = false;
            bw_doctor_abandon(board);
            return;
        }
        r->ids[i] = id;
        r->running++;
    }
}

static void look(racers *r, void *board)
{
    for (unsigned i = 0; i < BW_DOCTOR_RACERS; i++) {
        int how = 0;
        if (r->ids[i] == 0 || waitpid(r->ids[i], &how, WNOHANG) == 0)
            continue;
        r->ids[i] = 0;
        r->running--;
        if (!WIFEXITED(how) || WEXITSTATUS(how) != 0) {
            r->well = false;
            bw_doctor_abandon(board);
        }
    }
}

static void stop(const racers *r)
{
    for (unsigned i = 0; i < BW_DOCTOR_RACERS; i++)
        if (r->ids[i] != 0)
            kill(r->ids[i], SIGKILL);
}

static int run_race(void *context, const char *place, void *board)
{
    const struct timespec nap = {.tv_sec = 0, .tv_nsec = NAP_NS};
    const int64_t until_ns = now_ns() + RACE_NS_MAX;
    racers r = {.well = true};
    fflush(stdout); /* a child inherits what is not written yet */
    start(&r, context, place, board);
    while (r.running > 0) {
        look(&r, board);
        if (r.running > 0 && (now_ns() > until_ns || signals_seen() != 0)) {
            bw_doctor_abandon(board);
            r.well = false;
            stop(&r);
        }
        nanosleep(&nap, NULL);
    }
    return r.well ? 0 : 1;
}

/* ---- what is said ---- */

/** What to ask of who gives rights, told once for each role. */
static void tell_policies(const json_t *policies)
{
    const char *role;
    json_t *policy;
    json_object_foreach((json_t *)(uintptr_t)policies, role, policy)
    {
        char *text = json_dumps(policy, JSON_COMPACT);
        printf("what a %s needs here: %s\n", role, text != NULL ? text : "");
        free(text);
    }
}

static json_t *policies; /* of all lines so far */

static void for_people(const json_t *line)
{
    const char *check = json_string_value(json_object_get(line, "check"));
    char faults[HUMAN_BYTES], warnings[HUMAN_BYTES];
    if (check != NULL) {
        const char *verdict = json_string_value(json_object_get(line, "verdict"));
        printf("%-8s %-16s %s\n", strcmp(verdict, "fault") == 0 ? "FAULT" : verdict, check,
               json_string_value(json_object_get(line, "message")));
        (void)json_object_update(policies, json_object_get(line, "policies"));
        return;
    }
    tell_policies(policies);
    human_count(report_number(line, "faults"), "fault", faults);
    human_count(report_number(line, "warnings"), "warning", warnings);
    if (report_true(line, "fit"))
        printf("fit for a namespace: %s\n", warnings);
    else
        printf("NOT fit for a namespace: %s, %s\n", faults, warnings);
}

static int print_line(void *context, const char *json)
{
    const cli *c = context;
    if (c->json) {
        cli_write(json, strlen(json));
        cli_write("\n", 1);
    } else {
        json_error_t where;
        json_t *line = json_loads(json, 0, &where);
        for_people(line);
        json_decref(line);
    }
    return !cli_flush() || signals_seen() != 0;
}

static bw_status run(cli *c)
{
    signals_graceful(); /* what it made is removed */
    const size_t size = bw_doctor_board_bytes();
    void *board = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        return cli_fail(c, BW_NOMEM, "no memory that processes can share");
    policies = json_object();
    const bw_status status =
        bw_doctor_check(c->operands[0], c->config, board, run_race, print_line, c, c->error);
    json_decref(policies);
    munmap(board, size);
    if (status == BW_INTERRUPTED && signals_seen() != 0)
        return cli_fail(c, status, "ended by a signal; nothing is left behind");
    return status == BW_INTERRUPTED ? BW_OK : status; /* nobody reads what is printed */
}

static const option options[] = {
    {.name = "ranks",
     .value = "N",
     .type = OPTION_SETTING,
     .setting = "ranks",
     .preset = "8",
     .help = "bucket: of the job to estimate, processes that read"},
    {.name = "step-ms",
     .value = "N",
     .type = OPTION_SETTING,
     .setting = "step_ms",
     .preset = "1000",
     .help = "bucket: milliseconds of its step"},
    {.name = "producers",
     .value = "N",
     .type = OPTION_SETTING,
     .setting = "producers",
     .preset = "1",
     .help = "bucket: its producers"},
    {.name = "price-put",
     .value = "CENTS",
     .type = OPTION_SETTING,
     .setting = "price_put",
     .preset = "500",
     .help = "bucket: US cents for a million writes: S3's list price, check yours"},
    {.name = "price-get",
     .value = "CENTS",
     .type = OPTION_SETTING,
     .setting = "price_get",
     .preset = "40",
     .help = "bucket: US cents for a million reads"},
    {.name = "price-delete",
     .value = "CENTS",
     .type = OPTION_SETTING,
     .setting = "price_delete",
     .preset = "0",
     .help = "bucket: US cents for a million deletes"},
};

static const example examples[] = {
    {"doctor file:///data/run7", "before init, or beside a live namespace"},
    {"doctor 's3://bucket/run7?region=eu-west-1'", "a bucket, with the keys of this environment"},
    {"doctor gs://bucket/run7 --ranks 64 --step-ms 800 --producers 32",
     "and what the job will see and cost"},
    {"doctor file:///data/run7 -o json", "for a program"},
};

const command command_doctor = {
    .name = "doctor",
    .operands = "URL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Finds out whether a place is fit for a namespace",
    .details =
        "It does there what a store does, below names of its own, tmp/doctor-…, which it\n"
        "removes; a namespace is neither read nor changed. In a directory: the kind of file "
        "system,\n"
        "room and inodes, limits of the process, whether it may write, create-if-absent, reading\n"
        "back and deleting, names, how long syncs take (or whether something drops them), clocks,\n"
        "and a race: 16 processes create the same 100 names at once, each of which must have one\n"
        "winner whom all see. In a bucket: where the keys are from, endpoint, region and clock;\n"
        "each right, with a policy for each role where one is missing; rules that delete or\n"
        "archive, and versions that stay; whether create-if-absent is honoured, writes are seen\n"
        "at once and absence is not remembered; listings; ranges; times of requests, and what "
        "they\n"
        "mean for a job; and the same race. It costs some 6,000 requests and 70 MB of transfer.\n"
        "A warning is worth reading; with a fault it is not fit, and the\n"
        "exit code is that of the first one (STORE: 4).\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: a line a check, and the verdict\n"
              "json: the lines of report \"doctor\"\n",
    .run = run,
};
