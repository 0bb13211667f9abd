// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "human.h"
#include "patience.h"
#include "report.h"
#include "signals.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static void tell_kept(const json_t *line)
{
    const json_t *by = json_object_get(line, "kept_by");
    const json_t *pin = json_object_get(by, "pin");
    const int64_t steps = report_number(line, "next_step") - report_number(line, "swept_to");
    char text[HUMAN_BYTES], age[HUMAN_BYTES], bytes[HUMAN_BYTES];
    const double kept = (double)report_number(line, "bytes_kept");
    const double gone = (double)report_number(line, "bytes_deleted");
    human_bytes(report_true(line, "applied") ? kept : kept - gone, bytes);
    human_count(steps, "step", text);
    if (!json_is_object(by)) {
        printf("no group is registered: all is kept, %s, %s\n", text, bytes);
        return;
    }
    printf("kept: %s, %s: group %s ", text, bytes, json_string_value(json_object_get(by, "group")));
    if (json_is_string(pin))
        printf("has pin %s at step %" PRId64, json_string_value(pin), report_number(by, "step"));
    else
        printf("stands at step %" PRId64, report_number(by, "step"));
    printf("; its last commit is %s old\n", human_age(report_number(by, "age_ms"), age));
}

/** Of a producer that died and was not forgotten, nobody but its owner knows that it will not come
 * back. */
static void tell_staged(const cli *c, const json_t *line)
{
    char text[HUMAN_BYTES], bytes[HUMAN_BYTES];
    int64_t others = report_number(line, "staged_objects");
    size_t i;
    const json_t *each;
    json_array_foreach(json_object_get(line, "staged"), i, each)
    {
        const char *id = json_string_value(json_object_get(each, "producer"));
        const int64_t objects = report_number(each, "objects");
        others -= objects;
        printf("left alone: %s, %s, that producer %s has staged and not published: if it will not "
               "come back, batchweave forget %s %s releases them\n",
               human_count(objects, "object", text),
               human_bytes((double)report_number(each, "bytes"), bytes), id, c->operands[0], id);
    }
    if (others > 0)
        printf("left alone: %s of other producers that may come back\n",
               human_count(others, "object", text));
}

static void tell_data(const cli *c, const json_t *line, const char *verb)
{
    const int64_t steps = report_number(line, "steps_deleted");
    const int64_t orphans = report_number(line, "orphans_deleted");
    const int64_t strangers = report_number(line, "strangers");
    char text[HUMAN_BYTES], bytes[HUMAN_BYTES];
    if (steps > 0)
        printf("%s the data of %s, %s: %" PRId64 " to %" PRId64 "\n", verb,
               human_count(steps, "step", text),
               human_bytes((double)report_number(line, "bytes_deleted"), bytes),
               report_number(line, "swept_step"), report_number(line, "swept_to") - 1);
    if (orphans > 0)
        printf("%s %s, %s\n", verb, human_count(orphans, "orphan", text),
               human_bytes((double)report_number(line, "orphan_bytes"), bytes));
    if (strangers > 0)
        printf("left alone: %s of producers that the chain does not name\n",
               human_count(strangers, "object", text));
    tell_staged(c, line);
    if (report_true(line, "overtaken"))
        puts("another sweep went on meanwhile: this pass ended early");
    tell_kept(line);
}

static bool nothing_to_do(const json_t *line)
{
    static const char *const counts[] = {"blocks_retired", "manifests_deleted", "ghosts_deleted",
                                         "steps_deleted",  "segments_deleted",  "orphans_deleted"};
    for (size_t k = 0; k < COUNT_OF(counts); k++)
        if (report_number(line, counts[k]) != 0)
            return false;
    return true;
}

static void tell_manifests(const json_t *line, const char *verb)
{
    const int64_t blocks = report_number(line, "blocks_retired");
    const int64_t manifests = report_number(line, "manifests_deleted");
    const int64_t ghosts = report_number(line, "ghosts_deleted");
    char text[HUMAN_BYTES], more[HUMAN_BYTES];
    if (blocks == 0 && manifests == 0 && ghosts == 0)
        return;
    printf("%s %s, retiring %s", verb, human_count(manifests, "old manifest", text),
           human_count(blocks, "block", more));
    if (ghosts > 0)
        printf(", and %s that came late to a retired block", human_count(ghosts, "manifest", text));
    puts("");
}

/** What a pass did, or would do, in sentences. */
static bool for_people(cli *c, json_t *line)
{
    const bool applied = report_true(line, "applied");
    const char *verb = applied ? "deleted" : "would delete";
    char text[HUMAN_BYTES];
    tell_manifests(line, verb);
    if (nothing_to_do(line))
        printf("nothing to delete: version %" PRId64 " is the newest, %s retired before\n",
               report_number(line, "newest_version"),
               human_count(report_number(line, "blocks_total"), "block", text));
    if (!args_given(c, "manifests-only"))
        tell_data(c, line, verb);
    if (!applied && !nothing_to_do(line))
        puts("nothing is deleted yet: run again with --apply");
    return false;
}

static bw_status one_pass(cli *c)
{
    patience_begin("the store lists and deletes");
    const bw_status status = report_print(c, "gc", REPORT_TABLE, for_people);
    patience_end();
    return status;
}

/** false when a signal came. */
static bool sleep_until(int64_t until_ns)
{
    while (signals_seen() == 0) {
        const int64_t left = until_ns - now_ns();
        if (left <= 0)
            return true;
        const struct timespec wait = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        nanosleep(&wait, NULL);
    }
    return false;
}

static bw_status run(cli *c)
{
    if (args_given(c, "watch"))
        signals_graceful();
    const bool apply = args_given(c, "apply");
    bw_status status = report_set(c, "apply", apply ? "true" : NULL);
    if (status == BW_OK && args_given(c, "manifests-only"))
        status = report_set(c, "manifests_only", "true");
    if (status == BW_OK && args_given(c, "no-orphans"))
        status = report_set(c, "orphans", "false");
    if (status == BW_OK)
        status = cli_open(c, apply ? "write" : "read");
    if (status != BW_OK)
        return status;
    for (;;) {
        status = one_pass(c);
        if (status != BW_OK || !args_given(c, "watch"))
            return status;
        if (!sleep_until(now_ns() + (int64_t)args_number(c, "watch")))
            return cli_fail(c, BW_INTERRUPTED, "ended by a signal between two passes");
    }
}

static const option options[] = {
    {.name = "manifests-only",
     .type = OPTION_SWITCH,
     .help = "old manifests; neither data nor orphans"},
    {.name = "no-orphans",
     .type = OPTION_SWITCH,
     .help = "do not list the store for what no manifest names"},
    {.name = "apply", .type = OPTION_SWITCH, .help = "delete; without it, only say what would be"},
    {.name = "watch",
     .value = "TIME",
     .type = OPTION_TIME,
     .help = "again and again, with this pause between passes"},
};

static const example examples[] = {
    {"gc file:///data/run7", "what could be deleted, and who keeps the rest"},
    {"gc file:///data/run7 --apply", "delete it; safe at any time, several at once"},
    {"gc file:///data/run7 --apply --watch 60", "every minute, until interrupted"},
};

const command command_gc = {
    .name = "gc",
    .operands = "URL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Deletes what no reader can need any more",
    .details =
        "The data of steps that no group keeps by its hold or a pin; then what describes them;\n"
        "old manifests, in whole blocks, each after its retirement marker is durable; and "
        "orphans,\n"
        "which were staged and never published, on proof that they never will be.\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: a sentence a pass\n"
              "json: the lines of report \"gc\"\n",
    .run = run,
};
