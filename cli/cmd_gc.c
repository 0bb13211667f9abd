// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "human.h"
#include "patience.h"
#include "report.h"
#include "signals.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

/** What a pass did, or would do, as a sentence. */
static bool for_people(cli *c, json_t *line)
{
    const bool applied = report_true(line, "applied");
    const int64_t blocks = report_number(line, "blocks_retired");
    const int64_t manifests = report_number(line, "manifests_deleted");
    const int64_t ghosts = report_number(line, "ghosts_deleted");
    char text[HUMAN_BYTES], more[HUMAN_BYTES];
    (void)c;
    if (manifests == 0 && ghosts == 0 && blocks == 0) {
        printf("nothing to delete: version %" PRId64 " is the newest, %s retired before\n",
               report_number(line, "newest_version"),
               human_count(report_number(line, "blocks_total"), "block", text));
        return false;
    }
    printf("%s %s, retiring %s", applied ? "deleted" : "would delete",
           human_count(manifests, "old manifest", text), human_count(blocks, "block", more));
    if (ghosts > 0)
        printf(", and %s that came late to a retired block", human_count(ghosts, "manifest", text));
    puts(applied ? "" : "\nnothing is deleted yet: run again with --apply");
    return false;
}

static bw_status one_pass(cli *c)
{
    patience_begin("the store lists and deletes old manifests");
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
    if (!args_given(c, "manifests-only"))
        return cli_fail(c, BW_UNSUPPORTED,
                        "this version reclaims manifests only: give --manifests-only");
    if (args_given(c, "watch"))
        signals_graceful();
    const bool apply = args_given(c, "apply");
    bw_status status = report_set(c, "apply", apply ? "true" : NULL);
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
     .help = "old manifests; needed: this version reclaims nothing else"},
    {.name = "apply", .type = OPTION_SWITCH, .help = "delete; without it, only say what would be"},
    {.name = "watch",
     .value = "TIME",
     .type = OPTION_TIME,
     .help = "again and again, with this pause between passes"},
};

static const example examples[] = {
    {"gc file:///data/run7 --manifests-only", "what could be deleted"},
    {"gc file:///data/run7 --manifests-only --apply",
     "delete it; safe at any time, several at once"},
    {"gc file:///data/run7 --manifests-only --apply --watch 60", "every minute, until interrupted"},
};

const command command_gc = {
    .name = "gc",
    .operands = "URL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Deletes what no reader can need any more",
    .details =
        "Manifests go in whole blocks, each after its retirement marker is durable; names in\n"
        "retired blocks are deleted again.\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output = "text: a sentence a pass\n"
              "json: the lines of report \"gc\"\n",
    .run = run,
};
