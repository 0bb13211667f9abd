// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

#include <stdio.h>

static bw_status run(cli *c)
{
    printf(c->json ? "{\"version\":\"%s\"}\n" : "batchweave %s\n", bw_version());
    return BW_OK;
}

static const example examples[] = {
    {"version", "the version of the library in use"},
};

const command command_version = {
    .name = "version",
    .operands = "",
    .operands_max = 0,
    .summary = "Shows the version",
    .details = "",
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: batchweave 0.1.0\n"
              "json: {\"version\"}\n",
    .run = run,
};
