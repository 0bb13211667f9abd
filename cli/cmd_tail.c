// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "patience.h"
#include "report.h"
#include "signals.h"

#include <stdio.h>

static json_int_t number_of(const json_t *line, const char *key)
{
    return json_integer_value(json_object_get(line, key));
}

/** Idle lines say why nothing comes: for people that belongs on stderr, and seldom. */
static bool print_steps(cli *c, json_t *line)
{
    static patience idle;
    if (json_object_get(line, "idle") == NULL) {
        patience_reset(&idle);
        return report_step_columns(c, line);
    }
    char reason[160];
    snprintf(reason, sizeof reason,
             "step %" JSON_INTEGER_FORMAT "; %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
             " producers are not finished, the last commit is %" JSON_INTEGER_FORMAT " s old",
             number_of(line, "step"), number_of(line, "producers_alive"),
             number_of(line, "producers"), number_of(line, "last_commit_age_ms") / 1000);
    patience_tell(&idle, reason);
    return false;
}

static bw_status run(cli *c)
{
    signals_graceful();
    const bw_status status = report_set(c, "first", args_text(c, "from"));
    return status == BW_OK ? report_run(c, "tail", REPORT_TABLE, print_steps) : status;
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
    .details = "",
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: a table\n"
              "json: the lines of report \"tail\"\n",
    .run = run,
};
