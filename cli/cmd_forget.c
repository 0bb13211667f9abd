// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "cli.h"
#include "patience.h"

#include <stdio.h>

static bw_status run(cli *c)
{
    const char *id = c->operands[1];
    bw_status status = cli_open(c, "write");
    if (status != BW_OK)
        return status;
    patience_begin("the commit that forgets");
    status =
        bw_space_forget(c->space, id, (uint32_t)args_number(c, "epoch"), c->timeout_ns, c->error);
    patience_end();
    if (status == BW_OK)
        printf(c->json ? "{\"producer\":\"%s\",\"forgotten\":true}\n"
                       : "producer %s is forgotten: nobody waits for it\n",
               id);
    return status;
}

static const option options[] = {
    {.name = "epoch",
     .value = "N",
     .type = OPTION_INTEGER,
     .preset = "0",
     .max = UINT32_MAX,
     .help = "only if it has not been started again since its start number N; 0: as it is"},
};

static const example examples[] = {
    {"forget file:///data/run7 p3", "a producer whose machine is gone for good"},
};

const command command_forget = {
    .name = "forget",
    .operands = "URL ID",
    .operands_min = 2,
    .operands_max = 2,
    .summary = "Says that a producer will not come back",
    .details = "Seal no longer waits for it, and what it staged and never published is an orphan\n"
               "that gc deletes. What it published stays. If it comes back, it goes on where it\n"
               "stood. It does not count as finished: where init said --producers N, seal still\n"
               "needs N that have, or --force.\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: a sentence\n"
              "json: {\"producer\",\"forgotten\"}\n",
    .run = run,
};
