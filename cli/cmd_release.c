// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "cli.h"
#include "patience.h"

#include <stdio.h>

static bw_status run(cli *c)
{
    const char *name = c->operands[1];
    const size_t count = c->operand_count - 2;
    bw_status status = cli_open(c, "write");
    if (status != BW_OK)
        return status;
    patience_begin("the commit that releases");
    status = bw_space_release(c->space, name, args_text(c, "launch"), c->operands + 2, count,
                              c->timeout_ns, c->error);
    patience_end();
    if (status == BW_OK)
        printf(c->json ? "{\"group\":\"%s\",\"released\":%zu}\n"
                       : "group %s: none of %zu named is pinned any more\n",
               name, count);
    return status;
}

static const option options[] = {
    {.name = "launch",
     .value = "ID",
     .type = OPTION_TEXT,
     .help = "only if the group still has this launch"},
};

static const example examples[] = {
    {"release file:///data/run7 train step-1000 step-1100", "checkpoints that were deleted"},
};

const command command_release = {
    .name = "release",
    .operands = "URL GROUP ID...",
    .operands_min = 3,
    .operands_max = 66,
    .summary = "Releases pins of checkpoints that were deleted",
    .details = "In one commit; an id that is no pin is fine. What no pin needs any more, gc\n"
               "deletes.\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: a sentence\n"
              "json: {\"group\",\"released\"}\n",
    .run = run,
};
