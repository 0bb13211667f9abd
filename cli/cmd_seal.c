// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "cli.h"
#include "patience.h"

#include <stdio.h>

static bw_status run(cli *c)
{
    bw_status status = cli_open(c, "write");
    if (status != BW_OK)
        return status;
    patience_begin("the commit that seals");
    status = bw_space_seal(c->space, args_given(c, "force") ? BW_SEAL_FORCE : 0, c->timeout_ns,
                           c->error);
    patience_end();
    if (status == BW_OK)
        printf(c->json ? "{\"uuid\":\"%s\",\"sealed\":true}\n" : "namespace %s is sealed\n",
               bw_space_uuid(c->space));
    return status;
}

static const option options[] = {
    {.name = "force", .type = OPTION_SWITCH, .help = "although producers have not finished"},
};

static const example examples[] = {
    {"seal file:///data/run7", "all ranks end at the step that is newest now"},
    {"seal file:///data/run7 --force", "give up producers that will not come back"},
};

const command command_seal = {
    .name = "seal",
    .operands = "URL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Ends a namespace: no more producers, no more steps",
    .details = "Sealing is for good; sealing twice is success.\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: a sentence\n"
              "json: {\"uuid\",\"sealed\"}\n",
    .run = run,
};
