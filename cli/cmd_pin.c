// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "cli.h"
#include "patience.h"

#include "input/savefile.h"

#include <inttypes.h>
#include <jansson.h>
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
    json_t *told = json_pack("{s:s, s:s}", "group", name, "pin", id);
    if (told == NULL)
        return cli_fail(c, BW_INVALID, "GROUP and ID are UTF-8");
    bw_status status = read_cursor(c, &cursor);
    if (status == BW_OK)
        status = cli_open(c, "write");
    if (status == BW_OK) {
        patience_begin("the commit that pins");
        status = bw_space_pin(c->space, name, args_text(c, "launch"), id, cursor, c->timeout_ns,
                              c->error);
        patience_end();
    }
    if (status == BW_OK && c->json) {
        json_object_set_new(told, "step", json_integer((json_int_t)bw_cursor_step(cursor)));
        json_dumpf(told, stdout, JSON_COMPACT);
        putchar('\n');
    } else if (status == BW_OK) {
        printf("group %s: pin %s is at step %" PRIu64 "\n", name, id, bw_cursor_step(cursor));
    }
    json_decref(told);
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
