// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * How long a training step takes where one request in a hundred takes ten times as long, against
 * the same store without such requests. Ranks step together, so a step waits for the last of them.
 * The trainer is modelled: it computes for twice the median of a read, and a step is that and the
 * longest wait. In turns: no slow requests, slow ones with second requests, slow ones without. Then
 * all requests become slow, where a second one wins nothing.
 *
 * The bare rows are of a trainer that computes nothing and has one step read ahead: each read is
 * waited for from its beginning.
 */
#include "fill.h"
#include "rank.h"
#include "remote.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RANKS 8u
/* The latency is the server's, whatever the size. */
#define ITEM_BYTES 4096u
#define SAMPLES_MAX 65536u
#define STATS_BYTES 65536u
#define SLOW_TIMES 10

typedef struct team team;

typedef struct member {
    rank rank;
    team *team;
    pthread_t thread;
    int64_t waited_ns;
    bw_status status;
    bw_error error;
} member;

/** All ranks of a job, each as if in a process of its own. */
struct team {
    member members[RANKS];
    pthread_barrier_t together;
    int64_t compute_ns;
    uint32_t steps, unmeasured; /* of a turn */
    double *samples;            /* ms */
    uint32_t count;
};

typedef struct tail_run {
    const remote *remote;
    char url[REMOTE_URL_BYTES], url_once[REMOTE_URL_BYTES];
    double read_ms;  /* median */
    uint32_t steps;  /* measured, of a turn */
    uint32_t settle; /* steps before: what was read ahead is of the turn before */
} tail_run;

/* ---- a turn ---- */

static void sleep_ns(int64_t ns)
{
    const struct timespec pause = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
    if (ns > 0)
        (void)nanosleep(&pause, NULL);
}

static void note_step(team *t)
{
    int64_t longest_ns = 0;
    for (uint32_t i = 0; i < RANKS; i++)
        longest_ns = t->members[i].waited_ns > longest_ns ? t->members[i].waited_ns : longest_ns;
    if (t->count < SAMPLES_MAX)
        t->samples[t->count++] = (double)(longest_ns + t->compute_ns) / NS_PER_MS;
}

/* Whoever failed still meets the others: nobody may wait for ever. */
static void *train(void *context)
{
    member *m = context;
    team *t = m->team;
    for (uint32_t step = 0; step < t->steps; step++) {
        (void)pthread_barrier_wait(&t->together);
        const int64_t start_ns = bench_now();
        if (m->status == BW_OK)
            m->status = rank_step(&m->rank, &m->error);
        m->waited_ns = bench_now() - start_ns;
        (void)pthread_barrier_wait(&t->together);
        /* The others do not wait anew before this one has come round. */
        if (m == &t->members[0] && step >= t->unmeasured)
            note_step(t);
        sleep_ns(t->compute_ns);
    }
    return NULL;
}

/** So many steps; the first `unmeasured` leave no sample. */
static bw_status run_team(team *t, uint32_t steps, uint32_t unmeasured, bw_error *error)
{
    bw_status status = BW_OK;
    uint32_t started = 0;
    t->steps = steps;
    t->unmeasured = unmeasured;
    if (pthread_barrier_init(&t->together, NULL, RANKS) != 0)
        return error_set(error, BW_NOMEM, "no barrier");
    while (started < RANKS && thread_start(&t->members[started].thread, "bench-rank", train,
                                           &t->members[started]) == BW_OK)
        started++;
    if (started < RANKS)
        abort(); /* those that run would wait for the others */
    for (uint32_t i = 0; i < RANKS; i++) {
        member *m = &t->members[i];
        (void)pthread_join(m->thread, NULL);
        if (m->status != BW_OK && status == BW_OK) {
            error_copy(error, &m->error);
            status = m->status;
        }
    }
    (void)pthread_barrier_destroy(&t->together);
    return status;
}

/* ---- what it asked for ---- */

typedef struct asked {
    uint64_t wanted, sent; /* reads by the ranks, requests by the server */
} asked;

/** Waits until all that the window has room for is there, so that no request is on its way. */
static bw_status count_wanted(member *m, uint64_t *wanted, bw_error *error)
{
    static char text[STATS_BYTES];
    for (;;) {
        size_t size = 0;
        BW_TRY(bw_consumer_stats(m->rank.consumer, text, sizeof text, &size, error));
        json_t *stats = json_loads(text, 0, NULL);
        const bool still = json_integer_value(json_object_get(stats, "window")) ==
                           json_integer_value(json_object_get(stats, "ready"));
        *wanted = (uint64_t)json_integer_value(json_object_get(stats, "reads"));
        json_decref(stats);
        if (still)
            return BW_OK;
        sleep_ns(NS_PER_MS);
    }
}

static bw_status count_asked(const tail_run *run, team *t, asked *out, bw_error *error)
{
    remote_counts counts = {0};
    *out = (asked){0};
    for (uint32_t i = 0; i < RANKS; i++) {
        uint64_t wanted = 0;
        BW_TRY(count_wanted(&t->members[i], &wanted, error));
        out->wanted += wanted;
    }
    BW_TRY(remote_count(run->remote, &counts, error));
    out->sent = counts.matched[0];
    return BW_OK;
}

/** The turn, and what it asked for on top of `sum`. */
static bw_status run_counted(const tail_run *run, team *t, uint32_t steps, uint32_t unmeasured,
                             asked *sum, bw_error *error)
{
    asked before, after;
    BW_TRY(count_asked(run, t, &before, error));
    BW_TRY(run_team(t, steps, unmeasured, error));
    BW_TRY(count_asked(run, t, &after, error));
    sum->wanted += after.wanted - before.wanted;
    sum->sent += after.sent - before.sent;
    return BW_OK;
}

/* ---- the store ---- */

static bw_status make_slow(const tail_run *run, double read_ms, double slow_percent,
                           bw_error *error)
{
    char settings[256];
    (void)snprintf(settings, sizeof settings,
                   "{\"latency\":{\"get\":{\"p50_ms\":%g,\"sigma\":0.15,\"slow_percent\":%g,"
                   "\"slow_times\":%d}}}",
                   read_ms, slow_percent, SLOW_TIMES);
    return remote_configure(run->remote, settings, error);
}

static bw_status open_team(const tail_run *run, team *t, const char *url, const char *prefetch,
                           int64_t compute_ns, bw_error *error)
{
    *t = (team){.compute_ns = compute_ns};
    t->samples = mem_array(SAMPLES_MAX, sizeof *t->samples);
    if (t->samples == NULL)
        return error_set(error, BW_NOMEM, "no memory for samples");
    BW_TRY(make_slow(run, run->read_ms, 0, error));
    for (uint32_t i = 0; i < RANKS; i++) {
        char d[16];
        (void)snprintf(d, sizeof d, "%" PRIu32, i);
        const char *const pairs[] = {"d",      d,   "c", "0", prefetch != NULL ? "prefetch" : NULL,
                                     prefetch, NULL};
        t->members[i].team = t;
        BW_TRY(rank_open(&t->members[i].rank, url, pairs, NULL, error));
    }
    return BW_OK;
}

static void close_team(team *t)
{
    for (uint32_t i = 0; i < RANKS; i++)
        rank_close(&t->members[i].rank);
    mem_free(t->samples);
}

/* ---- rows ---- */

/** The samples of several turns on one side. */
typedef struct side {
    double *samples;
    uint32_t count;
} side;

static bw_status take_samples(side *s, team *t, bw_error *error)
{
    if (s->samples == NULL)
        s->samples = mem_array(SAMPLES_MAX, sizeof *s->samples);
    if (s->samples == NULL || s->count + t->count > SAMPLES_MAX)
        return error_set(error, BW_NOMEM, "no memory for samples");
    memcpy(s->samples + s->count, t->samples, t->count * sizeof *s->samples);
    s->count += t->count;
    t->count = 0;
    return BW_OK;
}

static double p99_of(side *s)
{
    if (s->count == 0)
        return 0;
    (void)bench_spread_of(s->samples, s->count); /* sorts */
    return s->samples[(s->count - 1) * 99 / 100];
}

static bench_row *add_p99(bench *b, const char *name, side *s, double against)
{
    bench_row *row = bench_add(b, name, "ms", bench_exactly(p99_of(s)));
    row->has_ratio = against > 0;
    row->ratio = bench_exactly(against > 0 ? p99_of(s) / against : 0);
    return row;
}

/** Requests that the store was sent for each that was wanted. */
static void add_requests(bench *b, const char *name, const asked *a, double limit)
{
    bench_row *row =
        bench_add(b, name, "per read", bench_exactly((double)a->sent / (double)a->wanted));
    if (limit > 0)
        bench_limit(row, JUDGE_VALUE_MAX, limit);
}

/* ---- what is measured ---- */

static bw_status run_side(const tail_run *run, team *t, double slow_percent, asked *sum, side *out,
                          bw_error *error)
{
    BW_TRY(make_slow(run, run->read_ms, slow_percent, error));
    BW_TRY(run_counted(run, t, run->settle + run->steps, run->settle, sum, error));
    return take_samples(out, t, error);
}

/* Quiet, slow, slow without second requests; then in the other order. */
static bw_status run_rounds(bench *b, const tail_run *run, team *hedged, team *once,
                            bw_error *error)
{
    side quiet = {0}, slow = {0}, alone = {0};
    asked unused = {0}, extra = {0};
    bw_status status = BW_OK;
    for (uint32_t i = 0; i < b->rounds && status == BW_OK; i++)
        for (uint32_t k = 0; k < 3 && status == BW_OK; k++) {
            const uint32_t which = i % 2 == 0 ? k : 2 - k;
            status = which == 0   ? run_side(run, hedged, 0, &unused, &quiet, error)
                     : which == 1 ? run_side(run, hedged, 1, &extra, &slow, error)
                                  : run_side(run, once, 1, &unused, &alone, error);
        }
    if (status == BW_OK) {
        const double base = p99_of(&quiet);
        bench_add(b, "tail.quiet.p50", "ms", bench_spread_of(quiet.samples, quiet.count));
        (void)add_p99(b, "tail.quiet.p99", &quiet, 0);
        (void)add_p99(b, "tail.unhedged.p99", &alone, base);
        bench_limit(add_p99(b, "tail.hedged.p99", &slow, base), JUDGE_RATIO_MAX, 1.2);
        add_requests(b, "tail.hedged.requests", &extra, 1.03);
    }
    mem_free(quiet.samples);
    mem_free(slow.samples);
    mem_free(alone.samples);
    return status;
}

/* The change itself costs a few requests, until it is known. A read may be late by chance
 * afterwards too: of log-normal ones with a deviation of 0.15 one in three hundred takes 1.5 times
 * the median. */
static bw_status run_all_slow(bench *b, const tail_run *run, team *t, bw_error *error)
{
    asked change = {0}, after = {0};
    BW_TRY(make_slow(run, run->read_ms * SLOW_TIMES, 0, error));
    BW_TRY(run_counted(run, t, run->steps, run->steps, &change, error));
    BW_TRY(run_counted(run, t, run->steps, run->steps, &after, error));
    add_requests(b, "tail.all_slow.change", &change, 0);
    add_requests(b, "tail.all_slow.requests", &after, 1.005);
    return BW_OK;
}

static bw_status run_bare(bench *b, const tail_run *run, team *t, bw_error *error)
{
    side quiet = {0}, slow = {0};
    asked extra = {0}, unused = {0};
    bw_status status = BW_OK;
    for (uint32_t i = 0; i < 2 * b->rounds && status == BW_OK; i++)
        status = (i + 1) / 2 % 2 == 0 ? run_side(run, t, 0, &unused, &quiet, error)
                                      : run_side(run, t, 1, &extra, &slow, error);
    if (status == BW_OK) {
        (void)add_p99(b, "tail.bare.quiet.p99", &quiet, 0);
        (void)add_p99(b, "tail.bare.hedged.p99", &slow, p99_of(&quiet));
        add_requests(b, "tail.bare.hedged.requests", &extra, 1.03);
    }
    mem_free(quiet.samples);
    mem_free(slow.samples);
    return status;
}

static bw_status fill(const tail_run *run, uint64_t steps, bw_error *error)
{
    const fill_plan plan = {.dp = RANKS, .items = 1, .item_bytes = ITEM_BYTES, .steps = steps};
    bw_runtime *runtime = NULL;
    BW_TRY(bw_runtime_open(NULL, &runtime, error));
    const bw_status status = fill_space(runtime, run->url, &plan, error);
    bw_runtime_close(runtime);
    return status;
}

/* What is late is learnt first. */
static bw_status with_team(bench *b, const tail_run *run, uint32_t learn, bw_error *error)
{
    static team hedged, once;
    const int64_t compute_ns = (int64_t)(2 * run->read_ms * NS_PER_MS);
    bw_status status = open_team(run, &hedged, run->url, NULL, compute_ns, error);
    if (status == BW_OK)
        status = open_team(run, &once, run->url_once, NULL, compute_ns, error);
    if (status == BW_OK)
        status = run_team(&hedged, learn, learn, error);
    if (status == BW_OK)
        status = run_rounds(b, run, &hedged, &once, error);
    if (status == BW_OK)
        status = run_all_slow(b, run, &hedged, error);
    close_team(&once);
    close_team(&hedged);
    return status;
}

static bw_status with_bare_team(bench *b, const tail_run *run, uint32_t learn, bw_error *error)
{
    static team bare;
    bw_status status = open_team(run, &bare, run->url, "1", 0, error);
    if (status == BW_OK)
        status = run_team(&bare, learn, learn, error);
    if (status == BW_OK)
        status = run_bare(b, run, &bare, error);
    close_team(&bare);
    return status;
}

static bw_status measure(bench *b, tail_run *run, bw_error *error)
{
    const uint32_t learn = (uint32_t)bench_budget(b, 100, 1);
    run->read_ms = b->quick ? 2 : 20;
    run->steps = (uint32_t)bench_budget(b, 60, 6);
    run->settle = (uint32_t)bench_budget(b, 16, 2);
    remote_url(run->remote, "tail", "", run->url);
    remote_url(run->remote, "tail", "hedge=false", run->url_once);
    /* All turns of the team that takes most, and what it has read ahead. */
    const uint64_t steps = learn + 2 * b->rounds * (run->settle + run->steps) + 2 * run->steps + 64;
    BW_TRY(fill(run, steps, error));
    BW_TRY(remote_configure(run->remote, "{\"rules\":[{\"verb\":\"get\",\"key\":\"tail/data/*\"}]}",
                            error));
    BW_TRY(with_team(b, run, learn, error));
    return with_bare_team(b, run, learn, error);
}

bw_status bench_tail(bench *b, bw_error *error)
{
    remote r;
    tail_run run = {.remote = &r};
    bw_status status = remote_start(&r, b->teststore, error);
    if (status == BW_OK)
        status = measure(b, &run, error);
    remote_stop(&r);
    return status;
}
