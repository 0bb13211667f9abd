// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "cli.h"
#include "patience.h"

#include "input/savefile.h"

#include <inttypes.h>
#include <stdio.h>

#define CURSOR_BYTES_MAX (1u << 20)

static bw_status read_cursor(cli *c, bw_cursor **cursor)
{
    const char *path = args_text(c, "cursor");
    char *text;
    size_t size;
    bw_status status = savefile_read(path, CURSOR_BYTES_MAX, &text, &size, c->error);
    if (status != BW_OK)
        return status;
    status = bw_cursor_parse(text, size, cursor, c->error);
    savefile_free(text);
    return status == BW_OK ? BW_OK
                           : cli_fail(c, status, "%s: %s", path, bw_error_message(c->error));
}

static bw_status run(cli *c)
{
    const char *name = c->operands[1], *id = c->operands[2];
    bw_cursor *cursor = NULL;
    bw_status status = read_cursor(c, &cursor);
    if (status == BW_OK)
        status = cli_open(c, "write");
    if (status == BW_OK) {
        patience_begin("the commit that pins");
        status = bw_space_pin(c->space, name, args_text(c, "launch"), id, cursor, c->timeout_ns,
                              c->error);
        patience_end();
    }
    if (status == BW_OK)
        printf(c->json ? "{\"group\":\"%s\",\"pin\":\"%s\",\"step\":%" PRIu64 "}\n"
                       : "group %s: pin %s is at step %" PRIu64 "\n",
               name, id, bw_cursor_step(cursor));
    bw_cursor_free(cursor);
    return status;
}

static const option options[] = {
    {.name = "cursor",
     .value = "FILE",
     .type = OPTION_TEXT,
     .required = true,
     .help = "the checkpoint's cursor, as consume --cursor saves it"},
    {.name = "launch",
     .value = "ID",
     .type = OPTION_TEXT,
     .help = "only if the group still has this launch"},
};

static const example examples[] = {
    {"pin file:///data/run7 train step-1000 --cursor cursor.json",
     "keep what this checkpoint reads next"},
};

const command command_pin = {
    .name = "pin",
    .operands = "URL GROUP ID --cursor FILE",
    .operands_min = 3,
    .operands_max = 3,
    .summary = "Pins a checkpoint: what it reads next is kept",
    .details = "The same pin again is success; the same id with another cursor is PIN_EXISTS.\n"
               "Trainers pin by themselves (consume --pin-every, bw_consumer_pin).\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: a sentence\n"
              "json: {\"group\",\"pin\",\"step\"}\n",
    .run = run,
};
