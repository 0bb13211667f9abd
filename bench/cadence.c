// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Cadences side by side on a virtual clock (sim/cadence): a line for each policy, number of
 * producers and case. */
#include "bench.h"
#include "pacing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MINUTES_MAX 100000u

static const char *const usual_policies =
    "naive,fixed:10,fixed:100,incr,aimd:interval,aimd:rate,dac,turn";
static const char *const usual_producers = "2,8,32,128";

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

typedef struct figures {
    double commits, batches, success, p50, p99, most, manifest, reads, guest;
    long long run50, run99;
} figures;

static figures figures_of(const pacing_report *r)
{
    return (figures){
        .commits = (double)r->commits / r->seconds,
        .batches = (double)r->batches / r->seconds,
        .success = 100 * share(r->attempts - r->conflicts, r->attempts),
        .p50 = (double)hist_quantile(&r->lag_us, 500) / 1e6,
        .p99 = (double)hist_quantile(&r->lag_us, 990) / 1e6,
        .most = (double)r->lag_us.max / 1e6,
        .manifest = share(r->manifest_bytes, r->commits + r->guest_commits),
        .reads = share(r->reads, r->commits),
        .guest = (double)hist_quantile(&r->guest_us, 990) / 1e6,
        .run50 = hist_quantile(&r->run, 500),
        .run99 = hist_quantile(&r->run, 990),
    };
}

static void print_text(const pacing_plan *plan, const pacing_report *r, double took)
{
    const figures f = figures_of(r);
    printf(
        "%-14s %9u %-7s %9.2f %9.1f %8.2f %8.2f %8.2f %8.2f %6lld/%-6lld %9.1f %7.1f %8.2f %6.1f\n",
        plan->policy, plan->producers, plan->scene->name, f.commits, f.batches, f.success, f.p50,
        f.p99, f.most, f.run50, f.run99, f.manifest / 1000, f.reads, f.guest, took);
}

static void print_json(const pacing_plan *plan, const pacing_report *r, double took)
{
    const figures f = figures_of(r);
    printf("{\"policy\":\"%s\",\"producers\":%u,\"case\":\"%s\",\"minutes\":%.0f,"
           "\"commits_per_s\":%.3f,\"batches_per_s\":%.3f,\"success_percent\":%.3f,"
           "\"lag_p50_s\":%.3f,\"lag_p99_s\":%.3f,\"lag_max_s\":%.3f,"
           "\"run_p50\":%lld,\"run_p99\":%lld,\"manifest_bytes\":%.0f,\"manifest_bytes_max\":%llu,"
           "\"reads_per_commit\":%.2f,\"pin_p99_s\":%.3f,\"processor_s\":%.2f}\n",
           plan->policy, plan->producers, plan->scene->name, r->seconds / 60, f.commits, f.batches,
           f.success, f.p50, f.p99, f.most, f.run50, f.run99, f.manifest,
           (unsigned long long)r->manifest_bytes_max, f.reads, f.guest, took);
}

static bw_status run_one(const bench_virtual *v, const pacing_plan *plan, bw_error *error)
{
    static pacing_report report;
    const double began = processor_seconds();
    BW_TRY(pacing_run(plan, &report, error));
    const double took = processor_seconds() - began;
    if (v->json)
        print_json(plan, &report, took);
    else
        print_text(plan, &report, took);
    fflush(stdout);
    return BW_OK;
}

static bw_status run_policies(const bench_virtual *v, const pacing_case *scene, uint32_t producers,
                              bw_error *error)
{
    const char *policies = v->policies != NULL ? v->policies : usual_policies;
    char policy[BENCH_WORD_BYTES];
    while (bench_next_word(&policies, policy)) {
        pacing_plan plan = pacing_plan_usual(policy, producers);
        plan.scene = scene;
        plan.span_ns = (int64_t)v->minutes * 60 * NS_PER_S;
        BW_TRY(run_one(v, &plan, error));
    }
    return *policies == '\0' ? BW_OK
                             : error_set(error, BW_INVALID, "no list of cadences: %s", policies);
}

static bw_status run_producers(const bench_virtual *v, const pacing_case *scene, bw_error *error)
{
    const char *list = v->producers != NULL ? v->producers : usual_producers;
    char word[BENCH_WORD_BYTES];
    while (bench_next_word(&list, word)) {
        char *end = NULL;
        const unsigned long producers = strtoul(word, &end, 10);
        if (*end != '\0' || producers < 1 || producers > PACING_PRODUCERS_MAX)
            return error_set(error, BW_INVALID, "1 … %u producers, not %s", PACING_PRODUCERS_MAX,
                             word);
        BW_TRY(run_policies(v, scene, (uint32_t)producers, error));
    }
    return *list == '\0' ? BW_OK : error_set(error, BW_INVALID, "no list of numbers: %s", list);
}

bw_status bench_cadence_virtual(const bench_virtual *v, bw_error *error)
{
    const char *cases = v->cases != NULL ? v->cases : pacing_cases[0].name;
    char name[BENCH_WORD_BYTES];
    if (v->minutes < 1 || v->minutes > MINUTES_MAX)
        return error_set(error, BW_INVALID, "1 … %u minutes", MINUTES_MAX);
    if (!v->json)
        printf("%-14s %9s %-7s %9s %9s %8s %8s %8s %8s %13s %9s %7s %8s %6s\n", "policy",
               "producers", "case", "commits/s", "batches/s", "success%", "lag p50", "p99", "max s",
               "run p50/p99", "manifest", "reads", "pin p99", "cpu s");
    while (bench_next_word(&cases, name)) {
        const pacing_case *scene = pacing_case_named(name);
        if (scene == NULL)
            return error_set(
                error, BW_INVALID,
                "no case %s: base, uneven, heavy, kills, mass, pauses, pins, mixed, paper", name);
        BW_TRY(run_producers(v, scene, error));
    }
    return *cases == '\0' ? BW_OK : error_set(error, BW_INVALID, "no list of cases: %s", cases);
}
