// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "cli.h"
#include "help.h"

#include <jansson.h>
#include <string.h>

static bw_status settings_json(cli *c)
{
    for (size_t i = 0; i < bw_config_count(); i++) {
        json_t *line = json_pack("{s:s, s:s, s:s, s:s?, s:s}", "name", bw_config_name(i), "scope",
                                 bw_config_scope(i), "type", bw_config_type(i), "default",
                                 bw_config_default(i), "help", bw_config_help(i));
        if (line == NULL)
            return cli_fail(c, BW_NOMEM, "out of memory");
        json_dumpf(line, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(line);
    }
    return BW_OK;
}

static bw_status settings(cli *c)
{
    if (c->json)
        return settings_json(c);
    const char *scope = "";
    for (size_t i = 0; i < bw_config_count(); i++) {
        if (strcmp(scope, bw_config_scope(i)) != 0) {
            scope = bw_config_scope(i);
            printf("%s%s:\n", i > 0 ? "\n" : "", scope);
        }
        const char *preset = bw_config_default(i);
        const bool shown = preset != NULL && preset[0] != '\0';
        printf("  %-18s %s (%s%s%s)\n", bw_config_name(i), bw_config_help(i), bw_config_type(i),
               shown ? ", default " : "", shown ? preset : "");
    }
    return BW_OK;
}

static bw_status run(cli *c)
{
    if (args_given(c, "markdown")) {
        help_markdown(stdout);
        return BW_OK;
    }
    if (args_given(c, "completion"))
        return completion_print(args_text(c, "completion"), stdout)
                   ? BW_OK
                   : cli_fail(c, BW_INVALID, "--completion %s: bash, zsh or fish expected",
                              args_text(c, "completion"));
    if (c->operand_count == 0 && args_given(c, "man")) {
        manual_page(NULL, stdout);
        return BW_OK;
    }
    if (c->operand_count == 0) {
        help_overview(stdout);
        return BW_OK;
    }
    if (strcmp(c->operands[0], "settings") == 0)
        return settings(c);
    const command *what = command_find(c->operands[0]);
    if (what == NULL)
        return cli_fail(c, BW_INVALID, "%s: no such command; batchweave help lists them",
                        c->operands[0]);
    if (args_given(c, "man"))
        manual_page(what, stdout);
    else
        help_command(what, stdout);
    return BW_OK;
}

static const option options[] = {
    {.name = "markdown", .type = OPTION_SWITCH, .help = "the whole table as docs/cli.md"},
    {.name = "man", .type = OPTION_SWITCH, .help = "the manual page of batchweave, or of COMMAND"},
    {.name = "completion",
     .value = "bash|zsh|fish",
     .type = OPTION_TEXT,
     .help = "what completes its words in this shell"},
};

static const example examples[] = {
    {"help produce", "options, output and examples of a command; also batchweave produce --help"},
    {"help settings", "every setting with its scope, type and default"},
    {"help --completion bash > ~/.local/share/bash-completion/completions/batchweave",
     "for a program that was not installed; meson install brings it, and the manual pages"},
};

const command command_help = {
    .name = "help",
    .operands = "[COMMAND|settings]",
    .operands_max = 1,
    .summary = "Shows the commands, one command, or the settings of --set",
    .details = "",
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: help\n"
              "json: settings only, one object each: "
              "{\"name\",\"scope\",\"type\",\"default\",\"help\"}\n",
    .run = run,
};
