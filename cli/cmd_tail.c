// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "human.h"
#include "patience.h"
#include "report.h"
#include "signals.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** Idle lines say why nothing comes: for people that belongs on stderr, and seldom. */
static bool print_steps(cli *c, json_t *line)
{
    static patience idle;
    if (json_object_get(line, "idle") == NULL) {
        patience_reset(&idle);
        return report_step_columns(c, line);
    }
    const int64_t known = report_number(line, "producers");
    char reason[160], producers[64], age[HUMAN_BYTES];
    const int64_t open = report_number(line, "producers_alive");
    if (known == 0)
        snprintf(producers, sizeof producers, "no producer has come yet");
    else if (open == 0)
        snprintf(producers, sizeof producers,
                 "all producers have finished: batchweave seal ends it");
    else
        snprintf(producers, sizeof producers,
                 "%" PRId64 " of %" PRId64 " producers have not finished", open, known);
    snprintf(reason, sizeof reason, "step %" PRId64 "; %s; the last commit is %s old",
             report_number(line, "step"), producers,
             human_age(report_number(line, "last_commit_age_ms"), age));
    patience_tell(&idle, reason);
    return false;
}

/** Nothing came for all of --timeout. */
static bool starved(cli *c, const char *json)
{
    static const char idle[] = "{\"idle\":true,";
    json_error_t where;
    if (c->timeout_ns < 0 || strncmp(json, idle, sizeof idle - 1) != 0)
        return false;
    json_t *line = json_loads(json, 0, &where);
    const int64_t idle_ms = report_number(line, "idle_ms");
    if (idle_ms >= c->timeout_ns / 1000000)
        cli_fail(c, BW_STARVED, "no step %" PRId64 " within the time limit",
                 report_number(line, "step"));
    json_decref(line);
    return c->failed == BW_STARVED;
}

static bw_status run(cli *c)
{
    signals_graceful();
    const bw_status status = report_set(c, "first", args_text(c, "from"));
    return status == BW_OK ? report_follow(c, "tail", print_steps, starved) : status;
}

static const option options[] = {
    {.name = "from", .value = "STEP", .type = OPTION_TEXT, .help = "begin with this step"},
};

static const example examples[] = {
    {"tail file:///data/run7", "a line per step as it appears, until the namespace is sealed"},
    {"tail file:///data/run7 --from 100 -o json", "from step 100, for programs"},
};

const command command_tail = {
    .name = "tail",
    .operands = "URL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Shows steps as they appear, until the namespace is sealed",
    .details = "With --timeout it ends, STARVED, when no step came for so long.\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: a table\n"
              "json: the lines of report \"tail\"\n",
    .run = run,
};
