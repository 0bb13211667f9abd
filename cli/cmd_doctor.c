// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "human.h"
#include "report.h"
#include "signals.h"

#include <batchweave/doctor.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A racer makes a hundred small files, without syncs. */
#define RACE_NS_MAX 60000000000ll
#define NAP_NS 5000000

/* ---- the race ---- */

typedef struct racers {
    pid_t ids[BW_DOCTOR_RACERS]; /* 0: none, or over */
    unsigned running;
    bool well;
} racers;

/** This process has no thread but this one: a child may do what it likes. */
static void start(racers *r, const char *place, void *board)
{
    for (unsigned i = 0; i < BW_DOCTOR_RACERS; i++) {
        const pid_t id = fork();
        if (id == 0)
            _exit(bw_doctor_race(place, board, i, NULL) == BW_OK ? 0 : 1);
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
    (void)context;
    fflush(stdout); /* a child inherits what is not written yet */
    start(&r, place, board);
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

static void for_people(const json_t *line)
{
    const char *check = json_string_value(json_object_get(line, "check"));
    char faults[HUMAN_BYTES], warnings[HUMAN_BYTES];
    if (check != NULL) {
        const char *verdict = json_string_value(json_object_get(line, "verdict"));
        printf("%-8s %-12s %s\n", strcmp(verdict, "fault") == 0 ? "FAULT" : verdict, check,
               json_string_value(json_object_get(line, "message")));
        return;
    }
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
    const bw_status status =
        bw_doctor_check(c->operands[0], board, run_race, print_line, c, c->error);
    munmap(board, size);
    if (status == BW_INTERRUPTED && signals_seen() != 0)
        return cli_fail(c, status, "ended by a signal; nothing is left behind");
    return status == BW_INTERRUPTED ? BW_OK : status; /* nobody reads what is printed */
}

static const example examples[] = {
    {"doctor file:///data/run7", "before init, or beside a live namespace"},
    {"doctor file:///data/run7 -o json", "for a program"},
};

const command command_doctor = {
    .name = "doctor",
    .operands = "URL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Finds out whether a place is fit for a namespace",
    .details =
        "It does there what a store does, in a directory of its own, tmp/doctor-…, which it\n"
        "removes; a namespace is neither read nor changed. Checked: the kind of file system,\n"
        "room and inodes, limits of the process, whether it may write, create-if-absent, reading\n"
        "back and deleting, names, how long syncs take (or whether something drops them), clocks,\n"
        "and a race: 16 processes create the same 100 names at once, each of which must have one\n"
        "winner whom all see. A warning is worth reading; with a fault it is not fit, and the\n"
        "exit code is that of the first one (STORE: 4).\n",
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: a line a check, and the verdict\n"
              "json: the lines of report \"doctor\"\n",
    .run = run,
};
