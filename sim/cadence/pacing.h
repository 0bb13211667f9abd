// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * pacing: many producers of one namespace under one cadence, on a virtual clock.
 *
 * Every process runs the commit machine that ships, on a virtual store whose requests take drawn
 * latencies: a conflict is a create that found its name taken, and comes from nothing else. What is
 * modelled is only the world around the machines: how long requests take, when batches are made,
 * who is killed or paused. The same plan gives the same report on every machine.
 */
#ifndef SIM_CADENCE_PACING_H
#define SIM_CADENCE_PACING_H

#include "base/clock.h"
#include "base/error.h"
#include "base/hist.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACING_PRODUCERS_MAX 1024u

/** What happens besides. */
typedef struct pacing_case {
    const char *name, *text;
    double spread;           /* the fastest producer over the slowest; 0: all alike */
    bool heavy;              /* a request in a hundred takes ten times as long */
    uint32_t killed_percent; /* of the producers, in ten minutes; back after 20 … 300 s */
    bool mass;               /* once, a quarter of the ids, in a row, at one moment */
    int64_t pause_ns;        /* a process stands still for 0.5 … 5.5 s about so often; 0: never */
    int64_t pin_ns, sweep_ns; /* how often guests commit; 0: never */
    bool serial;              /* the paper's loop: a producer makes batches and commits in turns */
    int64_t batch_ns;         /* another time than the plan's */
} pacing_case;

extern const pacing_case pacing_cases[];
extern const size_t pacing_case_count;
const pacing_case *pacing_case_named(const char *name); /* NULL: none */

typedef struct pacing_plan {
    const char *policy; /* as cadence_parse takes it */
    const pacing_case *scene;
    uint32_t producers;
    int64_t warmup_ns, span_ns; /* what happens in the first is not counted */
    uint64_t seed;
    int64_t get_ns, put_ns; /* medians of log-normal latencies of the shape `sigma` */
    double sigma;
    int64_t batch_ns; /* a producer needs so long for a batch, ± 30 % */
    bool unshared;    /* each process decodes for itself: slower, and the same report */
} pacing_plan;

/** An object store far away: GET 30 ms, PUT 60 ms; a batch in 237 ms; ten minutes after two. */
pacing_plan pacing_plan_usual(const char *policy, uint32_t producers);

typedef struct pacing_report {
    double seconds;               /* counted, of virtual time */
    uint64_t attempts, conflicts; /* creates of publishes that were answered; EXISTS */
    uint64_t commits, batches;    /* publishes made; batches in them */
    uint64_t manifest_bytes, manifest_bytes_max;
    uint64_t reads, puts; /* GET and HEAD; PUT and CREATE */
    hist lag_us;          /* from the end of a batch to the create that shows it */
    hist commit_us;       /* from the start of a publish to its acknowledgement */
    hist run;             /* consecutive steps of one producer */
    hist guest_us;        /* that a commit of a guest took */
    uint64_t kills, pauses, guest_commits;
    uint64_t staged_most; /* at the end, by one producer */
    uint64_t trace;       /* hash of all creates: whose, when, of how many bytes, what came of it */
} pacing_report;

bw_status pacing_run(const pacing_plan *plan, pacing_report *report, bw_error *error);

#endif
