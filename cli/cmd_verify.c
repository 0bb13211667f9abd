// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "human.h"
#include "patience.h"
#include "report.h"

#include <inttypes.h>
#include <stdio.h>

/** More of them are counted only: people see what kind they are, programs take -o json. */
#define APART_LINES_MAX 10u

static void print_finding(const json_t *line)
{
    const json_t *step = json_object_get(line, "step");
    printf("%s  %s", json_string_value(json_object_get(line, "finding")),
           json_string_value(json_object_get(line, "key")));
    if (json_is_integer(step))
        printf("  step %" JSON_INTEGER_FORMAT, json_integer_value(step));
    printf("\n    %s\n", json_string_value(json_object_get(line, "message")));
}

static void print_apart(const json_t *line)
{
    static unsigned printed;
    char size[HUMAN_BYTES];
    printed++;
    if (printed <= APART_LINES_MAX)
        printf("no fault: %s  %s, %s\n", json_string_value(json_object_get(line, "apart")),
               json_string_value(json_object_get(line, "key")),
               human_bytes((double)report_number(line, "bytes"), size));
    else if (printed == APART_LINES_MAX + 1)
        printf("no fault: … (-o json lists all)\n");
}

/** What lies apart, counted: only what there is. */
static void print_counts(const json_t *summary)
{
    static const struct {
        const char *member, *noun;
    } kinds[] = {{"unreferenced_parts", "unreferenced part"},
                 {"unreferenced_states", "unreferenced state"},
                 {"unreferenced_segments", "unreferenced segment"},
                 {"unreferenced_pages", "unreferenced page"},
                 {"ghosts", "ghost"},
                 {"probes", "probe"},
                 {"temporary", "temporary file"},
                 {"foreign", "foreign object"}};
    const char *between = "  apart       ";
    char text[HUMAN_BYTES];
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const int64_t count = report_number(summary, kinds[i].member);
        if (count == 0)
            continue;
        printf("%s%s", between, human_count(count, kinds[i].noun, text));
        between = ", ";
    }
    if (between[0] == ',')
        printf("; none is a fault\n");
}

static void print_proof(const json_t *summary)
{
    const int64_t first = report_number(summary, "unproven_below_step");
    const int64_t next = report_number(summary, "next_step");
    char text[HUMAN_BYTES], more[HUMAN_BYTES];
    if (next > first)
        printf("  steps       %" PRId64 " to %" PRId64 "%s\n", first, next - 1,
               report_true(summary, "sealed") ? ", sealed" : "");
    else
        printf("  steps       none\n");
    printf("  chain       versions %" PRId64 " to %" PRId64 ", %s\n",
           report_number(summary, "first_version"), report_number(summary, "newest_version"),
           human_count(report_number(summary, "producers"), "producer", text));
    if (report_number(summary, "newer_manifests") > 0)
        printf("              %s came while it ran: not checked\n",
               human_count(report_number(summary, "newer_manifests"), "version", text));
    printf("  objects     %s, ", human_count(report_number(summary, "parts"), "part", text));
    printf("%s, %s\n", human_count(report_number(summary, "segments"), "segment", text),
           human_count(report_number(summary, "states"), "resume state", more));
    if (report_true(summary, "deep"))
        printf("  items       %s and %s, every byte read\n",
               human_count(report_number(summary, "items"), "item", text),
               human_count(report_number(summary, "pads"), "pad", more));
    else
        printf("  items       sizes only; --deep reads every byte\n");
    if (report_number(summary, "blocks_retired") > 0)
        printf("  unproven    what versions before %" PRId64 " said (%s retired)\n",
               report_number(summary, "unproven_below_version"),
               human_count(report_number(summary, "blocks_retired"), "block", text));
    if (first > 0)
        printf("  unproven    steps before %" PRId64 "\n", first);
}

/** Findings as they come; at the end the verdict, and what was proved. */
static bool for_people(cli *c, json_t *line)
{
    char text[HUMAN_BYTES];
    (void)c;
    if (json_object_get(line, "finding") != NULL) {
        print_finding(line);
    } else if (json_object_get(line, "apart") != NULL) {
        print_apart(line);
    } else if (report_true(line, "clean")) {
        printf("clean:\n");
    } else {
        printf("NOT clean, %s:\n", human_count(report_number(line, "findings"), "finding", text));
    }
    if (json_object_get(line, "summary") != NULL) {
        print_proof(line);
        print_counts(line);
    }
    return false;
}

static bw_status run(cli *c)
{
    bw_status status = report_set(c, "deep", args_given(c, "deep") ? "true" : NULL);
    if (status == BW_OK)
        status = cli_open(c, "read");
    /* What lies before the object that blocks the chain can be proved all the same. */
    if (status == BW_CHAIN_BLOCKED) {
        cli_close(c);
        status = cli_open(c, "raw");
    }
    if (status != BW_OK)
        return status;
    patience_begin("the bytes of the namespace are read and checked");
    status = report_print(c, "verify", REPORT_TABLE, for_people);
    patience_end();
    return status;
}

static const option options[] = {
    {.name = "deep", .type = OPTION_SWITCH, .help = "read and check every retained item as well"},
};

static const example examples[] = {
    {"verify file:///data/run7", "chain, order, offsets, sums, references, orphans"},
    {"verify file:///data/run7 --deep", "also the bytes of every item"},
};

const command command_verify = {
    .name = "verify",
    .operands = "URL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Proves a namespace from its bytes alone",
    .details =
        "Exits 0 only if it is clean, else with the code UNCLEAN. What lies before the first\n"
        "retained step is unproven, and printed as such; orphans, ghosts, probes and\n"
        "temporary files are listed apart and are no faults.\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: findings, the verdict, and what was proved\n"
              "json: the lines of report \"verify\"\n",
    .run = run,
};
