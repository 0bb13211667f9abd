// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "human.h"
#include "patience.h"
#include "report.h"
#include "table.h"

#include <stdio.h>
#include <string.h>

/** Where a group stands: its hold, or its pins. */
static json_t *row_of(const json_t *g)
{
    const json_t *pins = json_object_get(g, "pins");
    json_int_t lowest = -1, newest = -1;
    size_t i;
    const json_t *pin;
    json_array_foreach(pins, i, pin)
    {
        const json_int_t step = report_number(pin, "step");
        lowest = lowest < 0 || step < lowest ? step : lowest;
        newest = step > newest ? step : newest;
    }
    return json_pack("{s:O, s:O, s:O, s:I, s:I, s:I, s:O}", "group", json_object_get(g, "name"),
                     "launch", json_object_get(g, "launch"), "hold", json_object_get(g, "hold"),
                     "pins", (json_int_t)json_array_size(pins), "lowest pin", lowest, "newest pin",
                     newest, "last version", json_object_get(g, "last_version"));
}

static void print_row(table *rows, const json_t *g)
{
    json_t *row = row_of(g);
    static const char *const absent[] = {"lowest pin", "newest pin"};
    for (size_t k = 0; k < COUNT_OF(absent); k++)
        if (report_number(row, absent[k]) < 0)
            json_object_set_new(row, absent[k], json_null());
    if (row != NULL)
        table_row(rows, row);
    json_decref(row);
}

static bw_status list(cli *c)
{
    json_t *info;
    bw_status status = cli_open(c, "read");
    if (status == BW_OK)
        status = report_first(c, "info", &info);
    if (status != BW_OK)
        return status;
    table rows;
    size_t i;
    const json_t *g, *groups = json_object_get(info, "groups");
    table_begin(&rows, stdout, 0);
    json_array_foreach(groups, i, g)
    {
        if (c->json) {
            json_dumpf(g, stdout, JSON_COMPACT);
            putchar('\n');
        } else {
            print_row(&rows, g);
        }
    }
    table_end(&rows);
    if (json_array_size(groups) == 0 && !c->json)
        puts("no group is registered: nothing is trimmed, and no limit applies");
    json_decref(info);
    return BW_OK;
}

static bw_status remove_group(cli *c)
{
    if (c->operand_count != 2)
        return cli_fail(c, BW_INVALID, "group rm: which group? batchweave group rm URL NAME");
    const char *name = c->operands[1];
    bw_status status = cli_open(c, "write");
    if (status != BW_OK)
        return status;
    patience_begin("the commit that removes the group");
    status = bw_space_group_rm(c->space, name, args_text(c, "launch"), c->timeout_ns, c->error);
    patience_end();
    if (status == BW_OK)
        printf(c->json ? "{\"group\":\"%s\",\"removed\":true}\n" : "group %s is removed\n", name);
    return status;
}

static bw_status run(cli *c)
{
    const char *verb = c->operands[0];
    if (strcmp(verb, "ls") != 0 && strcmp(verb, "rm") != 0)
        return cli_fail(c, BW_INVALID, "group %s: ls or rm expected", verb);
    /* From here on the URL is the first operand, as everywhere. */
    const char **operands = c->operands++;
    c->operand_count--;
    const bw_status status = *verb == 'l' ? list(c) : remove_group(c);
    c->operands = operands;
    c->operand_count++;
    return status;
}

static const option options[] = {
    {.name = "launch",
     .value = "ID",
     .type = OPTION_TEXT,
     .help = "rm: only if the group still has this launch"},
};

static const example examples[] = {
    {"group ls file:///data/run7", "who keeps what"},
    {"group rm file:///data/run7 train",
     "give up a job that will not come back, with all its pins"},
};

const command command_group = {
    .name = "group",
    .operands = "ls|rm URL [NAME]",
    .operands_min = 2,
    .operands_max = 3,
    .summary = "Lists training jobs and their checkpoints, or removes one",
    .details =
        "A group holds data until it pins on or is removed; with max_lag or max_bytes set it\n"
        "also holds producers. A job that runs on without its group is told so at its next\n"
        "pin, and trains on.\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output =
        "text: ls: a table; rm: a sentence\n"
        "json: ls: a line per group, as in the report \"info\"; rm: {\"group\",\"removed\"}\n",
    .run = run,
};
