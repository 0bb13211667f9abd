// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "report.h"

static bool for_people(cli *c, json_t *line)
{
    static const char *const keys[] = {"token",       "slot_ms",   "swept_seq", "swept_offset",
                                       "state_bytes", "state_key", NULL};
    json_t *producers = json_object_get(line, "producers");
    (void)c;
    for (size_t i = 0; i < json_array_size(producers); i++)
        report_drop(json_array_get(producers, i), keys);
    return true;
}

static bw_status run(cli *c)
{
    return report_run(c, "info", REPORT_SHEET, for_people);
}

static const example examples[] = {
    {"info file:///data/run7", "mesh, limits, newest step, producers and their last commits"},
    {"info file:///data/run7 -o json", "the same as one JSON object"},
};

const command command_info = {
    .name = "info",
    .operands = "URL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Shows what a namespace is and where it stands",
    .details = "",
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: a sheet\n"
              "json: one object, report \"info\"\n",
    .run = run,
};
