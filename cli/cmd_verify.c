// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "patience.h"
#include "report.h"
#include "table.h"

/** Findings are rows; the summary at the end is a sheet, with the verdict in words. */
static bool for_people(cli *c, json_t *line)
{
    static const char *const keys[] = {"summary", "clean", NULL};
    (void)c;
    if (json_object_get(line, "summary") == NULL)
        return true;
    const bool clean = json_is_true(json_object_get(line, "clean"));
    report_drop(line, keys);
    printf("%s:\n", clean ? "clean" : "NOT clean");
    sheet_print(line, stdout, 2);
    return false;
}

static bw_status run(cli *c)
{
    bw_status status = report_set(c, "deep", args_given(c, "deep") ? "true" : NULL);
    if (status == BW_OK)
        status = cli_open(c, false);
    if (status != BW_OK)
        return status;
    patience_begin("the bytes of the namespace are read and checked");
    status = report_print(c, "verify", REPORT_TABLE, for_people);
    patience_end();
    return status;
}

static const option options[] = {
    {.name = "deep", .type = OPTION_SWITCH, .help = "read and check every retained item as well"},
};

static const example examples[] = {
    {"verify file:///data/run7", "chain, order, offsets, sums, references, orphans"},
    {"verify file:///data/run7 --deep", "also the bytes of every item"},
};

const command command_verify = {
    .name = "verify",
    .operands = "URL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Proves a namespace from its bytes alone",
    .details =
        "Exits 0 only if it is clean, else with the code UNCLEAN. What lies before the first\n"
        "retained step is unproven, and printed as such; orphans, ghosts, probes and\n"
        "temporary files are listed apart and are no faults.\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: findings and a summary\n"
              "json: the lines of report \"verify\"\n",
    .run = run,
};
