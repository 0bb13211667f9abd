// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "help.h"

#include <string.h>

#define OPTION_COLUMNS 24

void help_overview(FILE *out)
{
    fputs("usage: batchweave COMMAND … [options]\n\n", out);
    for (size_t i = 0; i < command_count; i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\nbatchweave COMMAND --help     options, output, examples\n"
          "batchweave help settings      what --set knows\n"
          "batchweave errors CODE        what an error means and what to do\n",
          out);
}

static const char *type_text(const option *o)
{
    switch (o->type) {
    case OPTION_INTEGER:
        return "integer";
    case OPTION_SIZE:
        return "size";
    case OPTION_TIME:
        return "time";
    case OPTION_SHARD:
        return "shard";
    case OPTION_SETTING:
        return "setting";
    case OPTION_SWITCH:
        return "switch";
    case OPTION_TEXT:
        break;
    }
    return "text";
}

void help_facts(const option *o, FILE *out)
{
    fprintf(out, "%s", type_text(o));
    if (o->setting != NULL)
        fprintf(out, " %s", o->setting);
    if (o->required)
        fputs(", needed", out);
    else if (o->preset != NULL)
        fprintf(out, ", default %s", o->preset);
}

/** As a terminal counts: bytes of UTF-8 but for those that go on with a character. */
static size_t columns(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += ((unsigned char)*text & 0xc0u) != 0x80u;
    return count;
}

static void print_options(const option *options, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        const option *o = &options[i];
        char left[80];
        snprintf(left, sizeof left, "--%s%s%s", o->name, o->value != NULL ? " " : "",
                 o->value != NULL ? o->value : "");
        const size_t wide = columns(left);
        fprintf(out, "  %s", left);
        if (wide > OPTION_COLUMNS)
            fprintf(out, "\n  %*s", OPTION_COLUMNS, "");
        else
            fprintf(out, "%*s", (int)(OPTION_COLUMNS - wide), "");
        fprintf(out, "  %s", o->help);
        if (o->type != OPTION_SWITCH) {
            fputs(" (", out);
            help_facts(o, out);
            fputc(')', out);
        }
        fputc('\n', out);
    }
}

static void print_indented(const char *lines, FILE *out)
{
    for (const char *line = lines; *line != '\0';) {
        const char *end = strchr(line, '\n');
        const size_t size = end == NULL ? strlen(line) : (size_t)(end - line);
        fprintf(out, "  %.*s\n", (int)size, line);
        line += size + (end != NULL);
    }
}

void help_command(const command *what, FILE *out)
{
    fprintf(out, "usage: batchweave %s%s%s [options]\n\n%s\n", what->name,
            what->operands[0] != '\0' ? " " : "", what->operands, what->summary);
    if (what->details[0] != '\0') {
        fputc('\n', out);
        fputs(what->details, out);
    }
    if (what->option_count > 0)
        fputs("\noptions:\n", out);
    print_options(what->options, what->option_count, out);
    fputs("\noptions of every command:\n", out);
    print_options(global_options, global_option_count, out);
    fputs("\noutput:\n", out);
    print_indented(what->output, out);
    fputs("\nexit codes:\n", out);
    for (size_t i = 0; i < exit_count; i++)
        fprintf(out, "  %-6s %s\n", exit_table[i].code, exit_table[i].meaning);
    fputs("\nexamples:\n", out);
    for (size_t i = 0; i < what->example_count; i++)
        fprintf(out, "  batchweave %s\n      %s\n", what->examples[i].line, what->examples[i].what);
}

/** `|` would end a cell of a table. */
static void print_cell(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '|')
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void markdown_options(const option *options, size_t count, FILE *out)
{
    fputs("\n| option | type | meaning |\n|---|---|---|\n", out);
    for (size_t i = 0; i < count; i++) {
        const option *o = &options[i];
        fprintf(out, "| `--%s", o->name);
        if (o->value != NULL) {
            fputc(' ', out);
            print_cell(o->value, out);
        }
        fputs("` | ", out);
        help_facts(o, out);
        fputs(" | ", out);
        print_cell(o->help, out);
        fputs(" |\n", out);
    }
}

static void markdown_command(const command *what, FILE *out)
{
    fprintf(out, "\n## %s\n%s.\n\n`batchweave %s%s%s [options]`\n", what->name, what->summary,
            what->name, what->operands[0] != '\0' ? " " : "", what->operands);
    if (what->details[0] != '\0')
        fprintf(out, "\n```\n%s```\n", what->details);
    if (what->option_count > 0)
        markdown_options(what->options, what->option_count, out);
    fputs("\nOutput:\n```\n", out);
    fputs(what->output, out);
    fputs("```\nExamples:\n```\n", out);
    for (size_t i = 0; i < what->example_count; i++)
        fprintf(out, "batchweave %s\n    %s\n", what->examples[i].line, what->examples[i].what);
    fputs("```\n", out);
}

void help_markdown(FILE *out)
{
    fputs(
        "# The command line\n\n"
        "Made by `batchweave help --markdown` from the command table; a test compares.\n\n"
        "Data goes to standard output, everything else to standard error. Commands that read never "
        "write to the\nnamespace, and all are safe on a live one. An error is one line that ends "
        "in "
        "its code, `[FENCED]`; `batchweave\nerrors FENCED` explains it. With `-o json` it is one "
        "object:\n"
        "`{\"error\":{\"code\",\"class\",\"exit\",\"message\",\"key\",\"step\",\"attempts\"}}`. "
        "The "
        "lines of reports are in\n[reports.md](reports.md).\n",
        out);
    fputs("\n## Exit codes\n| code | class of status | meaning |\n|---|---|---|\n", out);
    for (size_t i = 0; i < exit_count; i++)
        fprintf(out, "| %s | %s | %s |\n", exit_table[i].code, exit_table[i].classes,
                exit_table[i].meaning);
    fputs("\n## Options of every command\n", out);
    markdown_options(global_options, global_option_count, out);
    for (size_t i = 0; i < command_count; i++)
        markdown_command(commands[i], out);
}
