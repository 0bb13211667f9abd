// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MAX 48u
#define PATH_BYTES 4096u

/** bw-bench beside this program, where an installation keeps it, or in a build folder; false:
 * nowhere. */
static bool find_bench(char *path)
{
    static const char *const places[] = {"bw-bench", "../libexec/batchweave/bw-bench",
                                         "../bench/bw-bench"};
    char own[PATH_BYTES];
    const ssize_t size = readlink("/proc/self/exe", own, sizeof own - 1);
    own[size < 0 ? 0 : size] = '\0';
    char *slash = strrchr(own, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        const int length = snprintf(path, PATH_BYTES, "%s/%s", own, places[i]);
        if (length > 0 && (size_t)length < PATH_BYTES && access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/** Becomes bw-bench: returns only when that fails. */
static bw_status run(cli *c)
{
    static const char *const texts[][2] = {
        {"rounds", "--rounds"},   {"disk", "--disk"},       {"memory", "--memory"},
        {"minutes", "--minutes"}, {"policy", "--policy"},   {"producers", "--producers"},
        {"case", "--case"},       {"seconds", "--seconds"}, {"latency", "--latency"}};
    static const char *const switches[][2] = {
        {"quick", "--quick"}, {"strict", "--strict"}, {"virtual", "--virtual"}, {"real", "--real"}};
    char path[PATH_BYTES];
    if (!find_bench(path))
        return cli_fail(c, BW_UNSUPPORTED,
                        "bw-bench is not here: it is built with the option bench and installed in "
                        "libexec/batchweave");
    const char *words[WORDS_MAX + 1] = {path, "-o", c->json ? "json" : "text"};
    size_t count = 3;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (!args_given(c, texts[i][0]))
            continue;
        words[count++] = texts[i][1];
        words[count++] = args_text(c, texts[i][0]);
    }
    for (size_t i = 0; i < COUNT_OF(switches); i++)
        if (args_given(c, switches[i][0]))
            words[count++] = switches[i][1];
    for (size_t i = 0; i < c->operand_count; i++)
        words[count++] = c->operands[i];
    /* execv writes to none of its words, whatever their type says. */
    execv(path, (char *const *)(uintptr_t)words);
    char text[128];
    return cli_fail(c, BW_CHILD_FAILED, "cannot run %s: %s", path,
                    strerror_r(errno, text, sizeof text));
}

static const option options[] = {
    {.name = "rounds",
     .value = "N",
     .type = OPTION_INTEGER,
     .min = 1,
     .max = 64,
     .help = "rounds of each measurement; default 5"},
    {.name = "strict", .type = OPTION_SWITCH, .help = "exit 5 when a limit is missed"},
    {.name = "quick",
     .type = OPTION_SWITCH,
     .help = "tiny budgets: every row is made, no figure means anything"},
    {.name = "disk",
     .value = "DIR",
     .type = OPTION_TEXT,
     .help = "the disk to measure; default TMPDIR or /tmp"},
    {.name = "memory",
     .value = "DIR",
     .type = OPTION_TEXT,
     .help = "a memory file system; default /dev/shm"},
    {.name = "virtual",
     .type = OPTION_SWITCH,
     .help = "cadence: on a virtual clock, with the commit machine that ships"},
    {.name = "minutes",
     .value = "M",
     .type = OPTION_INTEGER,
     .min = 1,
     .max = 100000,
     .help = "cadence: virtual minutes, default 10"},
    {.name = "real",
     .type = OPTION_SWITCH,
     .help = "cadence: with processes, on a file store with the latency of a network"},
    {.name = "seconds",
     .value = "S",
     .type = OPTION_INTEGER,
     .min = 1,
     .max = 2700,
     .help = "cadence --real: that count, in each of 2 rounds, default 10"},
    {.name = "latency",
     .value = "R,W",
     .type = OPTION_TEXT,
     .help = "cadence --real: medians of reads and writes in ms, default 30,60; 0,0 is the disk"},
    {.name = "policy",
     .value = "P,…",
     .type = OPTION_TEXT,
     .help = "cadence: as the setting policy"},
    {.name = "producers",
     .value = "N,…",
     .type = OPTION_TEXT,
     .help = "cadence: numbers of producers, default 2,8,32,128; --real: 2,8,32"},
    {.name = "case",
     .value = "C,…",
     .type = OPTION_TEXT,
     .help = "cadence: base, uneven, heavy, kills, mass, pauses, pins, mixed, paper; default base"},
};

static const example examples[] = {
    {"bench", "every figure of this machine, beside its limit"},
    {"bench decode next", "some groups"},
    {"bench commit -o json --rounds 9", "for a program"},
    {"bench lifecycle", "bytes on the store while checkpoints advance; drawn"},
    {"bench cadence --virtual --policy naive,dac --producers 32", "cadences side by side"},
    {"bench cadence --real --producers 8 --seconds 60", "the same with eight processes"},
};

const command command_bench = {
    .name = "bench",
    .operands = "[NAME]…",
    .operands_max = 16,
    .summary = "Measures this machine, and BatchWeave on it",
    .details =
        "Names: limits, commit, history, manifest, states, rivals, decode, next, verified,\n"
        "memory, restart, objects, reads, polling, scaling, tail, latency, requests, lifecycle;\n"
        "all without one; some eight minutes. What is compared runs in turns;\n"
        "figures are medians, with the least and the greatest of the rounds. Works in\n"
        "directories of its own and removes them. docs/performance.md has the figures of a\n"
        "complete run. The limits of lifecycle bound bytes, not times: it ends with exit code 5\n"
        "when one is missed, --strict or not. cadence is apart, with --virtual or --real: many\n"
        "producers of one namespace under each policy, a line each (docs/design/cadence.md).\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .examples = examples,
    .example_count = COUNT_OF(examples),
    .output =
        "text: a table; beneath it the course of what was followed over a run\n"
        "json: {\"name\",\"value\",\"unit\",\"limit\",\"ratio\",\"judged\",\"bound\",\"kept\",\n"
        "      \"value_min\",\"value_max\",\"ratio_min\",\"ratio_max\",\"series\"} a line;\n"
        "      judged: which of value and ratio the limit bounds; kept: whether it does;\n"
        "      series: the value over the run, at most 64 points; null where there is none\n"
        "cadence --virtual, json: {\"policy\", \"producers\", \"case\", \"minutes\", "
        "\"commits_per_s\",\n"
        "      \"batches_per_s\", \"success_percent\", \"lag_p50_s\", \"lag_p99_s\", "
        "\"lag_max_s\",\n"
        "      \"run_p50\", \"run_p99\", \"manifest_bytes\", \"manifest_bytes_max\",\n"
        "      \"reads_per_commit\", \"pin_p99_s\", \"processor_s\"} a line\n"
        "cadence --real, json: {\"policy\", \"producers\", \"seconds\", \"commits_per_s\",\n"
        "      \"success_percent\", \"lag_p50_s\", \"lag_p99_s\", \"lag_max_s\", \"batches\",\n"
        "      \"open\", \"reads_per_commit\", \"requests_per_s\", \"processor_percent\"} a line;\n"
        "      open: batches not told committed by the end, whose lag is their age then\n",
    .run = run,
};
