// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "grouptable.h"
#include "human.h"
#include "report.h"
#include "table.h"

#include <inttypes.h>
#include <stdio.h>

/** Only what there is: a namespace without limits has no line for them. */
static void print_limits(const json_t *info)
{
    char text[HUMAN_BYTES];
    const char *layout = json_string_value(json_object_get(info, "layout"));
    const char *schema = json_string_value(json_object_get(info, "schema"));
    if (json_is_integer(json_object_get(info, "max_lag")))
        printf("  max lag     %" PRId64 " steps ahead of training\n",
               report_number(info, "max_lag"));
    if (json_is_integer(json_object_get(info, "max_bytes")))
        printf("  max bytes   %s\n", human_bytes((double)report_number(info, "max_bytes"), text));
    if (layout != NULL && *layout != '\0')
        printf("  layout      %s\n", layout);
    if (schema != NULL && *schema != '\0')
        printf("  schema      %s\n", schema);
}

static void print_identity(const json_t *info)
{
    const int64_t expected = report_number(info, "expected_producers");
    const int64_t created_ms = report_number(info, "created_ms");
    char text[HUMAN_BYTES];
    printf("namespace %s\n", json_string_value(json_object_get(info, "uuid")));
    printf("  place       %s\n", json_string_value(json_object_get(info, "url")));
    printf("  made        %s\n", human_time(created_ms, text));
    printf("  mesh        dp %" PRId64 " x cp %" PRId64 ", %s per position and step\n",
           report_number(info, "dp"), report_number(info, "cp"),
           human_count(report_number(info, "items"), "item", text));
    if (expected > 0)
        printf("  ends        when %s %s finished\n", human_count(expected, "producer", text),
               expected == 1 ? "has" : "have");
    print_limits(info);
}

static void print_chain(const json_t *info)
{
    const int64_t trim = report_number(info, "trim_step"), next = report_number(info, "next_step");
    const int64_t bytes = report_number(info, "committed_bytes");
    char text[HUMAN_BYTES], more[HUMAN_BYTES];
    printf("\nchain\n");
    if (next == trim)
        printf("  steps       none; the next is %" PRId64 "\n", next);
    else
        printf("  steps       %" PRId64 " to %" PRId64 "; the next is %" PRId64 "\n", trim,
               next - 1, next);
    printf("  sealed      %s\n", report_true(info, "sealed") ? "yes: there will be no more" : "no");
    const char *committer = json_string_value(json_object_get(info, "committer"));
    if (report_number(info, "version") == 1)
        committer = "init";
    const bool named = committer != NULL && *committer != '\0';
    printf("  newest      version %" PRId64 ", %s ago%s%s\n", report_number(info, "version"),
           human_age(report_number(info, "last_commit_age_ms"), text), named ? ", by " : "",
           named ? committer : "");
    printf("  batches     %s\n", human_bytes((double)bytes, text));
    if (report_number(info, "swept_bytes") > 0)
        printf("  swept       %s of them, before step %" PRId64 "\n",
               human_bytes((double)report_number(info, "swept_bytes"), text),
               report_number(info, "swept_step"));
    printf("  manifest    %s: %s", human_bytes((double)report_number(info, "manifest_bytes"), text),
           human_count(report_number(info, "segments"), "segment", more));
    printf(", %s in its tail\n", human_count(report_number(info, "tail_steps"), "step", text));
}

/** One producer as a row of what people ask for. */
static void print_producer(table *rows, const json_t *p)
{
    const char *state = report_true(p, "finished")    ? "finished"
                        : report_true(p, "forgotten") ? "forgotten"
                                                      : "open";
    json_t *row = json_pack("{s:O, s:s, s:O, s:O, s:O, s:O}", "id", json_object_get(p, "id"),
                            "state", state, "starts", json_object_get(p, "epoch"), "batches",
                            json_object_get(p, "seq"), "offset", json_object_get(p, "offset"),
                            "last version", json_object_get(p, "last_commit"));
    if (row != NULL)
        table_row(rows, row);
    json_decref(row);
}

static void print_producers(const json_t *info)
{
    const json_t *list = json_object_get(info, "producers");
    const int64_t departed = report_number(info, "page_entries");
    const int64_t known = (int64_t)json_array_size(list) + departed;
    char text[HUMAN_BYTES];
    printf("\n%s", human_count(known, "producer", text));
    if (known > 0)
        printf(", %" PRId64 " finished", report_number(info, "finished_producers"));
    putchar('\n');
    table rows;
    table_begin(&rows, stdout, 2);
    size_t i;
    json_t *each;
    json_array_foreach(list, i, each)
    {
        print_producer(&rows, each);
    }
    table_end(&rows);
    if (departed > 0)
        printf("  and %" PRId64 " that departed\n", departed);
}

static bool for_people(cli *c, json_t *info)
{
    (void)c;
    print_identity(info);
    print_chain(info);
    print_producers(info);
    const json_t *groups = json_object_get(info, "groups");
    if (json_array_size(groups) > 0) {
        char text[HUMAN_BYTES];
        printf("\n%s\n", human_count((int64_t)json_array_size(groups), "group", text));
        grouptable_print(groups, 2);
    }
    return false;
}

static bw_status run(cli *c)
{
    return report_run(c, "info", REPORT_SHEET, for_people);
}

static const example examples[] = {
    {"info file:///data/run7", "mesh, limits, newest step, producers and their last commits"},
    {"info file:///data/run7 -o json", "the same as one JSON object"},
};

const command command_info = {
    .name = "info",
    .operands = "URL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Shows what a namespace is and where it stands",
    .details = "",
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: what it is, where its chain stands, its producers; json has more\n"
              "json: one object, report \"info\"\n",
    .run = run,
};
