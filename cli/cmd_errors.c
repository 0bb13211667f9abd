// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "cli.h"
#include "explain.h"

#include <jansson.h>
#include <stdio.h>

static const bw_status all[] = {
#define STATUS_ROW(number, name, class_name, text) BW_##name,
    BW_STATUS_MAP(STATUS_ROW)
#undef STATUS_ROW
};
static const char *const classes[] = {
#define CLASS_ROW(number, name, class_name, text) #class_name,
    BW_STATUS_MAP(CLASS_ROW)
#undef CLASS_ROW
};

static bw_status print_json(cli *c, size_t index)
{
    const bw_status status = all[index];
    const explanation *e = explain(status);
    json_t *line = json_pack("{s:s, s:i, s:s, s:i, s:s, s:s, s:s, s:s}", "code",
                             bw_status_name(status), "number", (int)status, "class", classes[index],
                             "exit", exit_of(status), "text", bw_status_text(status), "meaning",
                             e->meaning, "causes", e->causes, "action", e->action);
    if (line == NULL)
        return cli_fail(c, BW_NOMEM, "out of memory");
    json_dumpf(line, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(line);
    return BW_OK;
}

/** Prints `text` wrapped at 80 columns behind a heading. */
static void print_paragraph(const char *heading, const char *text)
{
    int column = printf("%s", heading);
    const char *word = text;
    while (*word != '\0') {
        const char *end = word;
        while (*end != '\0' && *end != ' ')
            end++;
        const int size = (int)(end - word);
        if (column + 1 + size > 80)
            column = printf("\n   ") - 1;
        column += printf(" %.*s", size, word);
        word = *end == ' ' ? end + 1 : end;
    }
    putchar('\n');
}

static void print_text(size_t index)
{
    const explanation *e = explain(all[index]);
    printf("%s (%d), class %s, exit code %d: %s\n\n", bw_status_name(all[index]), (int)all[index],
           classes[index], exit_of(all[index]), bw_status_text(all[index]));
    print_paragraph("What it means:", e->meaning);
    print_paragraph("Likely causes:", e->causes);
    print_paragraph("What to do:", e->action);
}

static bw_status run(cli *c)
{
    bw_status wanted = BW_OK;
    if (c->operand_count > 0 && bw_status_parse(c->operands[0], &wanted) != 0)
        return cli_fail(c, BW_INVALID, "%s: no such code; batchweave errors lists them",
                        c->operands[0]);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        if (c->operand_count > 0 && all[i] != wanted)
            continue;
        if (explain(all[i]) == NULL)
            return cli_fail(c, BW_BUG, "%s has no explanation", bw_status_name(all[i]));
        if (c->json) {
            const bw_status status = print_json(c, i);
            if (status != BW_OK)
                return status;
        } else if (c->operand_count > 0) {
            print_text(i);
        } else {
            printf("%-18s %-6s %d  %s\n", bw_status_name(all[i]), classes[i], exit_of(all[i]),
                   bw_status_text(all[i]));
        }
    }
    return BW_OK;
}

static const example examples[] = {
    {"errors FENCED", "what it means, likely causes, what to do"},
    {"errors", "all codes: name, class, exit code, text"},
    {"errors -o json", "the same for programs"},
};

const command command_errors = {
    .name = "errors",
    .operands = "[CODE]",
    .operands_max = 1,
    .summary = "Explains an error code, or lists all",
    .details = "",
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output =
        "text: an explanation; without CODE one line a code\n"
        "json: one object a code:\n"
        "  {\"code\",\"number\",\"class\",\"exit\",\"text\",\"meaning\",\"causes\",\"action\"}\n",
    .run = run,
};
