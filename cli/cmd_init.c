// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "cli.h"
#include "patience.h"

#include <jansson.h>
#include <stdio.h>

static bw_status print_made(cli *c)
{
    const bw_status status = cli_open(c, "read");
    if (status != BW_OK)
        return status;
    if (!c->json) {
        const uint32_t items = bw_space_items_default(c->space);
        printf("made namespace %s at %s: dp %u x cp %u, %u item%s per position and step\n",
               bw_space_uuid(c->space), c->operands[0], bw_space_dp(c->space),
               bw_space_cp(c->space), items, items == 1 ? "" : "s");
        return BW_OK;
    }
    json_t *line =
        json_pack("{s:s, s:I, s:I, s:I}", "uuid", bw_space_uuid(c->space), "dp",
                  (json_int_t)bw_space_dp(c->space), "cp", (json_int_t)bw_space_cp(c->space),
                  "items", (json_int_t)bw_space_items_default(c->space));
    if (line == NULL)
        return cli_fail(c, BW_NOMEM, "out of memory");
    json_dumpf(line, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(line);
    return BW_OK;
}

static bw_status run(cli *c)
{
    bw_status status = bw_runtime_open(c->config, &c->runtime, c->error);
    if (status != BW_OK)
        return status;
    patience_begin("the store answers while the namespace is made");
    status = bw_space_init(c->runtime, c->operands[0], c->config, c->error);
    patience_end();
    bw_runtime_close(c->runtime);
    c->runtime = NULL;
    return status == BW_OK ? print_made(c) : status;
}

static const option options[] = {
    {.name = "dp",
     .value = "D",
     .type = OPTION_SETTING,
     .setting = "dp",
     .required = true,
     .help = "data-parallel positions"},
    {.name = "cp",
     .value = "C",
     .type = OPTION_SETTING,
     .setting = "cp",
     .help = "context-parallel positions, default 1"},
    {.name = "items",
     .value = "M",
     .type = OPTION_SETTING,
     .setting = "items",
     .preset = "1",
     .help = "microbatches per position and step, for tools"},
    {.name = "producers",
     .value = "N",
     .type = OPTION_SETTING,
     .setting = "producers",
     .help = "the N-th finish seals the namespace"},
    {.name = "max-lag",
     .value = "STEPS",
     .type = OPTION_SETTING,
     .setting = "max_lag",
     .help = "producers may not be further ahead of training"},
    {.name = "max-bytes",
     .value = "SIZE",
     .type = OPTION_SETTING,
     .setting = "max_bytes",
     .help = "limit of the bytes that are kept"},
    {.name = "block-size",
     .value = "B",
     .type = OPTION_SETTING,
     .setting = "block_size",
     .preset = "1024",
     .help = "manifests per block of reclamation"},
    {.name = "tail-cap",
     .value = "SIZE",
     .type = OPTION_SETTING,
     .setting = "tail_cap",
     .preset = "8KiB",
     .help = "descriptors in the manifest before they are folded"},
    {.name = "part-size",
     .value = "SIZE",
     .type = OPTION_SETTING,
     .setting = "part_size",
     .preset = "64MiB",
     .help = "a larger batch is stored in several objects"},
    {.name = "page-min",
     .value = "N",
     .type = OPTION_SETTING,
     .setting = "page_min",
     .preset = "64",
     .help = "departed producers that move to a page together"},
    {.name = "layout",
     .value = "LAYOUT",
     .type = OPTION_SETTING,
     .setting = "layout",
     .help = "context-parallel layout of the payload: contiguous or headtail"},
    {.name = "schema",
     .value = "TEXT",
     .type = OPTION_SETTING,
     .setting = "schema",
     .help = "free text that describes the items"},
};

static const example examples[] = {
    {"init file:///data/run7 --dp 8 --items 2", "for 8 data-parallel ranks, 2 microbatches each"},
    {"init file:///data/run7 --dp 8 --producers 4", "sealed when the fourth producer has finished"},
};

const command command_init = {
    .name = "init",
    .operands = "URL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Makes a namespace in an empty place",
    .details =
        "The mesh and the limits are fixed for the life of the namespace. A place that holds\n"
        "anything is refused.\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: a sentence\n"
              "json: {\"uuid\",\"dp\",\"cp\",\"items\"}\n",
    .run = run,
};
