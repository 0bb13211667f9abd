// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <stdint.h>

static bw_status run(cli *c)
{
    const char *key = args_text(c, "key");
    if (key != NULL && c->operand_count > 1)
        return cli_fail(c, BW_INVALID, "give one KEY, not two");
    if (c->operand_count > 1)
        key = c->operands[1];
    const bool steps = args_given(c, "first") || args_given(c, "last");
    if ((key != NULL) + steps + args_given(c, "prefix") > 1)
        return cli_fail(c, BW_INVALID, "KEY, --prefix, and --first or --last exclude each other");
    bw_status status = report_set(c, "key", key);
    return status != BW_OK ? status
           : key != NULL   ? report_run(c, "inspect", REPORT_SHEET, NULL)
                           : report_run(c, steps ? "steps" : "list", REPORT_TABLE,
                                      steps ? report_step_columns : NULL);
}

static const option options[] = {
    {.name = "key", .value = "KEY", .type = OPTION_TEXT, .help = "the same as KEY"},
    {.name = "prefix",
     .value = "PREFIX",
     .type = OPTION_SETTING,
     .setting = "prefix",
     .help = "list only objects whose names begin so"},
    {.name = "first",
     .value = "STEP",
     .type = OPTION_SETTING,
     .setting = "first",
     .help = "the descriptors of steps from here"},
    {.name = "last",
     .value = "STEP",
     .type = OPTION_SETTING,
     .setting = "last",
     .help = "up to here, this one not included"},
};

static const example examples[] = {
    {"inspect file:///data/run7", "all stored objects with kind and size"},
    {"inspect file:///data/run7 manifest/00000000000000000011.manifest", "one object, decoded"},
    {"inspect file:///data/run7 --first 100 --last 110", "the descriptors of ten steps"},
};

const command command_inspect = {
    .name = "inspect",
    .operands = "URL [KEY]",
    .operands_min = 1,
    .operands_max = 2,
    .summary = "Lists stored objects, decodes one, or shows descriptors of steps",
    .details = "",
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: a table; with KEY a sheet\n"
              "json: the lines of report \"list\", \"inspect\" or \"steps\"\n",
    .run = run,
};
