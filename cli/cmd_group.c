// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "grouptable.h"
#include "patience.h"
#include "report.h"

#include <stdio.h>
#include <string.h>

/** What release takes: the ids of the pins of one group. */
static bw_status list_one(cli *c, const json_t *groups, const char *name)
{
    size_t i;
    const json_t *g;
    json_array_foreach(groups, i, g)
    {
        if (strcmp(json_string_value(json_object_get(g, "name")), name) != 0)
            continue;
        if (c->json) {
            json_dumpf(g, stdout, JSON_COMPACT);
            putchar('\n');
        } else {
            grouptable_pins(g);
        }
        return BW_OK;
    }
    return cli_fail(c, BW_GROUP_GONE, "there is no group %s", name);
}

static bw_status list(cli *c)
{
    json_t *info;
    bw_status status = cli_open(c, "read");
    if (status == BW_OK)
        status = report_first(c, "info", &info);
    if (status != BW_OK)
        return status;
    size_t i;
    const json_t *g, *groups = json_object_get(info, "groups");
    if (c->operand_count > 1) {
        status = list_one(c, groups, c->operands[1]);
    } else if (!c->json && json_array_size(groups) == 0) {
        puts("no group is registered: nothing is trimmed, and no limit applies");
    } else if (!c->json) {
        grouptable_print(groups, 0);
    } else {
        json_array_foreach(groups, i, g)
        {
            json_dumpf(g, stdout, JSON_COMPACT);
            putchar('\n');
        }
    }
    json_decref(info);
    return status;
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
    {"group ls file:///data/run7 train", "each pin of one"},
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
        "text: ls: a table, of one group its pins; rm: a sentence\n"
        "json: ls: a line per group, as in the report \"info\"; rm: {\"group\",\"removed\"}\n",
    .run = run,
};
