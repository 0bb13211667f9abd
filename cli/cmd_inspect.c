// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <inttypes.h>

static bool some; /* rows were printed */

static bool print_row(cli *c, json_t *line)
{
    some = true;
    return json_object_get(line, "step") != NULL ? report_step_columns(c, line)
                                                 : report_object_columns(c, line);
}

/** An empty answer would leave people wondering. */
static bw_status say_nothing(cli *c, bool steps)
{
    if (!steps) {
        cli_notice("no object has a name that begins so");
        return BW_OK;
    }
    json_t *info;
    const bw_status status = report_first(c, "info", &info);
    if (status == BW_OK)
        cli_notice("no steps there: the first retained one is %" PRId64 ", the next one %" PRId64,
                   report_number(info, "trim_step"), report_number(info, "next_step"));
    json_decref(info);
    return status;
}

static bw_status run(cli *c)
{
    const char *key = args_text(c, "key");
    if (key != NULL && c->operand_count > 1)
        return cli_fail(c, BW_INVALID, "give one KEY, not two");
    if (c->operand_count > 1)
        key = c->operands[1];
    const bool steps = args_given(c, "first") || args_given(c, "last");
    if (args_given(c, "first") && args_given(c, "last") &&
        args_number(c, "last") < args_number(c, "first"))
        return cli_fail(c, BW_INVALID, "--last %s lies before --first %s", args_text(c, "last"),
                        args_text(c, "first"));
    if ((key != NULL) + steps + args_given(c, "prefix") > 1)
        return cli_fail(c, BW_INVALID, "KEY, --prefix, and --first or --last exclude each other");
    bw_status status = report_set(c, "key", key);
    /* Objects are looked at most when the chain is damaged: that needs none. */
    if (status == BW_OK)
        status = cli_open(c, steps ? "read" : "raw");
    if (status == BW_OK && key != NULL)
        return report_print(c, "inspect", REPORT_SHEET, NULL);
    if (status == BW_OK)
        status = report_print(c, steps ? "steps" : "list", REPORT_TABLE, print_row);
    if (status == BW_OK && !c->json && !some)
        status = say_nothing(c, steps);
    return status;
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
