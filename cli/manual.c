// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The command table in the language of man(7). */
#include "help.h"

#include <ctype.h>
#include <string.h>

/** One character of UTF-8 as its code point; moves on. Our own texts are sound. */
static unsigned decode(const unsigned char **at)
{
    const unsigned first = *(*at)++;
    unsigned more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
    unsigned point = more == 0 ? first : first & (0x3fu >> more);
    for (; more > 0 && **at != '\0'; more--)
        point = point << 6 | (*(*at)++ & 0x3fu);
    return point;
}

/** As it stands: no character of it is one of the language. */
static void put_some(const char *text, size_t size, FILE *out)
{
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + size;
    if (size > 0 && (*at == '.' || *at == '\''))
        fputs("\\&", out);
    while (at < end) {
        const unsigned point = decode(&at);
        if (point > 0x7e)
            fprintf(out, "\\[u%04X]", point);
        else if (point == '\\')
            fputs("\\e", out);
        else if (strchr("-'`^~\"", (int)point) != NULL)
            fputs(point == '-'    ? "\\-"
                  : point == '\'' ? "\\(aq"
                  : point == '`'  ? "\\(ga"
                  : point == '^'  ? "\\(ha"
                  : point == '~'  ? "\\(ti"
                                  : "\\(dq",
                  out);
        else
            fputc((int)point, out);
    }
}

static void put(const char *text, FILE *out)
{
    put_some(text, strlen(text), out);
}

/** Lines as they are. */
static void put_block(const char *lines, FILE *out)
{
    fputs(".nf\n", out);
    while (*lines != '\0') {
        const char *end = strchr(lines, '\n');
        const size_t size = end == NULL ? strlen(lines) : (size_t)(end - lines);
        put_some(lines, size, out);
        fputc('\n', out);
        lines += size + (end != NULL);
    }
    fputs(".fi\n", out);
}

static void put_options(const option *options, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        const option *o = &options[i];
        fputs(".TP\n\\fB\\-\\-", out);
        put(o->name, out);
        fputs("\\fR", out);
        if (o->value != NULL) {
            fputs(" \\fI", out);
            put(o->value, out);
            fputs("\\fR", out);
        }
        fputc('\n', out);
        put(o->help, out);
        if (o->type != OPTION_SWITCH) {
            fputs(" (", out);
            help_facts(o, out); /* plain words and numbers */
            fputc(')', out);
        }
        fputc('\n', out);
    }
}

static void put_head(const char *name, const char *summary, FILE *out)
{
    fputs(".TH \"", out);
    for (const char *at = name; *at != '\0'; at++)
        fputc(toupper((unsigned char)*at), out);
    fprintf(out, "\" 1 \"\" \"batchweave %s\" \"BatchWeave\"\n.SH NAME\n", bw_version());
    put(name, out);
    fputs(" \\- ", out);
    put(summary, out);
    fputc('\n', out);
}

static void put_exits(FILE *out)
{
    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < exit_count; i++) {
        fputs(".TP\n\\fB", out);
        put(exit_table[i].code, out);
        fputs("\\fR\n", out);
        put(exit_table[i].meaning, out);
        fputc('\n', out);
    }
}

static void command_page(const command *what, FILE *out)
{
    char name[64];
    snprintf(name, sizeof name, "batchweave-%s", what->name);
    put_head(name, what->summary, out);
    fputs(".SH SYNOPSIS\n\\fBbatchweave ", out);
    put(what->name, out);
    fputs("\\fR ", out);
    put(what->operands, out);
    fputs(" [options]\n.SH DESCRIPTION\n", out);
    put(what->summary, out);
    fputs(".\n", out);
    if (what->details[0] != '\0') {
        fputs(".PP\n", out);
        put_block(what->details, out);
    }
    fputs(".SH OPTIONS\n", out);
    put_options(what->options, what->option_count, out);
    if (what->option_count > 0)
        fputs(".SS Of every command\n", out);
    put_options(global_options, global_option_count, out);
    fputs(".SH OUTPUT\n", out);
    put_block(what->output, out);
    put_exits(out);
    fputs(".SH EXAMPLES\n", out);
    for (size_t i = 0; i < what->example_count; i++) {
        fputs(".TP\n\\fBbatchweave ", out);
        put(what->examples[i].line, out);
        fputs("\\fR\n", out);
        put(what->examples[i].what, out);
        fputc('\n', out);
    }
    fputs(".SH SEE ALSO\n.BR batchweave (1)\n", out);
}

static void main_page(FILE *out)
{
    put_head("batchweave", "a data plane for training large models", out);
    fputs(".SH SYNOPSIS\n\\fBbatchweave\\fR \\fICOMMAND\\fR ... [options]\n"
          ".SH DESCRIPTION\n"
          "Preprocessing workers publish whole training batches; training ranks read exactly their "
          "own part of each batch; an object store is the only thing between them.\n"
          ".PP\n"
          "Data goes to standard output, everything else to standard error. An error is one line "
          "that ends in its code; \\fBbatchweave errors\\fR \\fICODE\\fR explains it.\n"
          ".SH COMMANDS\n",
          out);
    for (size_t i = 0; i < command_count; i++) {
        fputs(".TP\n\\fBbatchweave\\-", out);
        put(commands[i]->name, out);
        fputs("\\fR(1)\n", out);
        put(commands[i]->summary, out);
        fputs(".\n", out);
    }
    fputs(".SH OPTIONS\nOf every command:\n", out);
    put_options(global_options, global_option_count, out);
    put_exits(out);
    fputs(".SH SEE ALSO\n", out);
    for (size_t i = 0; i < command_count; i++) {
        fputs(".BR batchweave\\-", out);
        put(commands[i]->name, out);
        fputs(i + 1 < command_count ? " (1),\n" : " (1)\n", out);
    }
}

void manual_page(const command *what, FILE *out)
{
    if (what != NULL)
        command_page(what, out);
    else
        main_page(out);
}
