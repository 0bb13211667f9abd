// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "patience.h"
#include "report.h"

/** Idle lines say why nothing comes: for people that belongs on stderr, and seldom. */
static bool print_steps(cli *c, json_t *line)
{
    static patience idle;
    (void)c;
    if (json_object_get(line, "idle") == NULL) {
        patience_reset(&idle);
        return true;
    }
    char *reason = json_dumps(line, JSON_COMPACT);
    patience_tell(&idle, reason != NULL ? reason : "a new step");
    free(reason);
    return false;
}

static bw_status run(cli *c)
{
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
