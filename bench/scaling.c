// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Whether producers add up: batches a second that 8 and 128 of them put on an object store that
 * takes 50 ms for each, while they commit; and how much they write, data and manifests, where the
 * bandwidth with which the store takes bytes in is what limits them. A producer has one batch under
 * way, as one that makes its next meanwhile. They share few runtimes and namespace handles, so that
 * a small machine can hold them.
 */
#include "fill.h"
#include "remote.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define PRODUCERS_MAX 128u
#define HOUSES 4u /* runtimes; each with a namespace handle */
/* Small, so that it is requests that count; then so large that the heads of answers are not. */
#define SMALL_BYTES 4096u
#define LARGE_BYTES 32768u
#define CAP 16000000u /* bytes a second: a fifth of what so many would put */
#define WRITE_MS 50
#define READ_MS 20

typedef struct house {
    bw_runtime *runtime;
    bw_space *space;
} house;

struct crowd;

typedef struct hand {
    struct crowd *crowd;
    house *house;
    bw_producer *producer;
    char id[16];
    uint64_t step;
    pthread_t thread;
    bw_status status;
    bw_error error;
} hand;

typedef struct crowd {
    char url[REMOTE_URL_BYTES];
    const remote *remote;
    bw_config *config;
    house houses[HOUSES];
    hand hands[PRODUCERS_MAX];
    uint32_t count; /* of those that are open */
    fill_plan plan; /* of a batch */
    atomic_int stop;
    atomic_uint_least64_t put; /* batches that the store has */
} crowd;

static void sleep_ms(uint64_t ms)
{
    const struct timespec pause = {(time_t)(ms / 1000), (long)(ms % 1000) * NS_PER_MS};
    (void)nanosleep(&pause, NULL);
}

/* ---- one producer, in a thread of its own ---- */

static void *open_one(void *context)
{
    hand *h = context;
    h->status = bw_producer_open(h->house->space, h->id, h->crowd->config, BW_FOREVER, &h->producer,
                                 &h->error);
    return NULL;
}

/* Until the store has the batch that was put last. */
static bw_status await_released(hand *h)
{
    for (;;) {
        bw_event *event = NULL;
        BW_TRY(bw_producer_event(h->producer, BW_FOREVER, &event, &h->error));
        const bw_event_kind kind = bw_event_what(event);
        bw_event_free(event);
        if (kind == BW_EVENT_RELEASED)
            return BW_OK;
    }
}

static void *work(void *context)
{
    static const uint8_t bytes[LARGE_BYTES];
    hand *h = context;
    crowd *c = h->crowd;
    while (atomic_load(&c->stop) == 0 && h->status == BW_OK) {
        h->status = fill_put(h->producer, &c->plan, h->step++, bytes, &h->error);
        if (h->status == BW_OK)
            h->status = await_released(h);
        if (h->status == BW_OK)
            atomic_fetch_add(&c->put, 1u);
    }
    return NULL;
}

static void *flush_one(void *context)
{
    hand *h = context;
    h->status = bw_producer_flush(h->producer, 1, BW_FOREVER, &h->error);
    return NULL;
}

/* ---- all of them ---- */

/* `*started`: how many are to be joined, whatever is returned. */
static bw_status start_all(crowd *c, uint32_t count, void *(*run)(void *), uint32_t *started,
                           bw_error *error)
{
    for (*started = 0; *started < count; ++*started) {
        hand *h = &c->hands[*started];
        if (thread_start(&h->thread, "bench-put", run, h) != BW_OK)
            return error_set(error, BW_NOMEM, "no thread for each of %" PRIu32 " producers", count);
    }
    return BW_OK;
}

/* The first failure of any. */
static bw_status join_all(crowd *c, uint32_t started, bw_error *error)
{
    bw_status status = BW_OK;
    for (uint32_t i = 0; i < started; i++) {
        hand *h = &c->hands[i];
        (void)pthread_join(h->thread, NULL);
        if (h->status != BW_OK && status == BW_OK) {
            error_copy(error, &h->error);
            status = h->status;
        }
    }
    return status;
}

/** Each of them once. */
static bw_status run_all(crowd *c, void *(*run)(void *), bw_error *error)
{
    uint32_t started = 0;
    const bw_status status = start_all(c, c->count, run, &started, error);
    const bw_status joined = join_all(c, started, status == BW_OK ? error : NULL);
    return status != BW_OK ? status : joined;
}

static bw_status set_pace(const remote *r, double write_ms, double read_ms, uint64_t cap,
                          bw_error *error)
{
    char settings[256];
    (void)snprintf(settings, sizeof settings,
                   "{\"latency\":{\"get\":{\"p50_ms\":%g},\"put\":{\"p50_ms\":%g},"
                   "\"create\":{\"p50_ms\":%g}},"
                   "\"bandwidth\":{\"received\":%" PRIu64 ",\"burst_ms\":100}}",
                   read_ms, write_ms, write_ms, cap);
    return remote_configure(r, settings, error);
}

typedef struct turn_plan {
    uint32_t producers;
    uint32_t bytes; /* of a batch */
    uint64_t cap;   /* 0: none */
    uint64_t warm_ms, count_ms;
} turn_plan;

typedef struct turn_result {
    double batches_per_s, bytes_per_s;
} turn_result;

static bw_status count_turn(crowd *c, const turn_plan *plan, turn_result *out, bw_error *error)
{
    remote_counts before = {0}, after = {0};
    sleep_ms(plan->warm_ms);
    const int64_t start_ns = bench_now();
    const uint64_t first = atomic_load(&c->put);
    BW_TRY(remote_count(c->remote, &before, error));
    sleep_ms(plan->count_ms);
    const double seconds = (double)(bench_now() - start_ns) / NS_PER_S;
    out->batches_per_s = (double)(atomic_load(&c->put) - first) / seconds;
    BW_TRY(remote_count(c->remote, &after, error));
    const double counted = (double)(bench_now() - start_ns) / NS_PER_S;
    out->bytes_per_s = (double)(after.written_bytes - before.written_bytes) / counted;
    return BW_OK;
}

/* What was put is still committed when the next turn has begun: one commit after the other. */
static bw_status run_turn(crowd *c, const turn_plan *plan, turn_result *out, bw_error *error)
{
    uint32_t started = 0;
    c->plan = (fill_plan){.dp = 1, .items = 1, .item_bytes = plan->bytes};
    atomic_store(&c->stop, 0);
    BW_TRY(set_pace(c->remote, WRITE_MS, READ_MS, plan->cap, error));
    bw_status status = start_all(c, plan->producers, work, &started, error);
    if (status == BW_OK)
        status = count_turn(c, plan, out, error);
    atomic_store(&c->stop, 1);
    const bw_status joined = join_all(c, started, status == BW_OK ? error : NULL);
    return status != BW_OK ? status : joined;
}

/* ---- rows ---- */

static bw_status run_rounds(bench *b, crowd *c, bw_error *error)
{
    const uint32_t rounds = bench_rounds(b, 1);
    const uint64_t warm_ms = bench_budget(b, 500, 20), count_ms = bench_budget(b, 2000, 100);
    const turn_plan few = {c->count / 16 > 0 ? c->count / 16 : 1, SMALL_BYTES, 0, warm_ms,
                           count_ms};
    const turn_plan many = {c->count, SMALL_BYTES, 0, warm_ms, count_ms};
    /* At first the clients ask whether it is them that the store is slow by
     * (docs/design/pacing.md). */
    const turn_plan capped = {c->count, LARGE_BYTES, CAP, 3 * warm_ms, count_ms};
    double of_few[BENCH_ROUNDS_MAX], of_many[BENCH_ROUNDS_MAX], shares[BENCH_ROUNDS_MAX];
    double ratios[BENCH_ROUNDS_MAX];
    /* The clients learn how long requests take. */
    const turn_plan learn = {c->count, SMALL_BYTES, 0, bench_budget(b, 3000, 20), 1};
    turn_result unused = {0};
    BW_TRY(run_turn(c, &learn, &unused, error));
    for (uint32_t i = 0; i < rounds; i++) {
        turn_result one = {0}, all = {0}, limited = {0};
        const bool first_few = i % 2 == 0;
        BW_TRY(run_turn(c, first_few ? &few : &many, first_few ? &one : &all, error));
        BW_TRY(run_turn(c, first_few ? &many : &few, first_few ? &all : &one, error));
        BW_TRY(run_turn(c, &capped, &limited, error));
        of_few[i] = one.batches_per_s;
        of_many[i] = all.batches_per_s;
        ratios[i] = all.batches_per_s / one.batches_per_s;
        shares[i] = limited.bytes_per_s / CAP;
    }
    bench_add(b, "scaling.8_producers", "batches/s", bench_spread_of(of_few, rounds));
    bench_row *row =
        bench_add(b, "scaling.128_producers", "batches/s", bench_spread_of(of_many, rounds));
    row->has_ratio = true;
    row->ratio = bench_spread_of(ratios, rounds);
    bench_limit(row, JUDGE_RATIO_MIN, 15.5);
    bench_limit(bench_add(b, "scaling.of_the_cap", "share", bench_spread_of(shares, rounds)),
                JUDGE_VALUE_MIN, 0.97);
    return BW_OK;
}

/* What was put is committed: nothing of it was given up to be fast. */
static bw_status check_steps(crowd *c, bw_error *error)
{
    uint64_t steps = 0, put = 0;
    BW_TRY(set_pace(c->remote, 0, 0, 0, error));
    BW_TRY(run_all(c, flush_one, error));
    for (uint32_t i = 0; i < c->count; i++)
        put += c->hands[i].step;
    BW_TRY(fill_count_steps(c->url, &steps, error));
    return steps == put
               ? BW_OK
               : error_set(error, BW_CORRUPT,
                           "%" PRIu64 " batches were put, and %" PRIu64 " steps are committed", put,
                           steps);
}

static bw_status open_crowd(crowd *c, bw_error *error)
{
    const char *const init[] = {"dp", "1", NULL};
    const char *const open[] = {"mode", "write", NULL};
    bw_runtime *runtime = NULL;
    BW_TRY(bw_runtime_open(NULL, &runtime, error));
    bw_status status = fill_init(runtime, c->url, init, error);
    bw_runtime_close(runtime);
    if (status == BW_OK)
        status = fill_config(open, &c->config, error);
    for (uint32_t i = 0; i < HOUSES && status == BW_OK; i++) {
        status = bw_runtime_open(c->config, &c->houses[i].runtime, error);
        if (status == BW_OK)
            status = bw_space_open(c->houses[i].runtime, c->url, c->config, BW_FOREVER,
                                   &c->houses[i].space, error);
    }
    BW_TRY(status);
    for (uint32_t i = 0; i < c->count; i++) {
        hand *h = &c->hands[i];
        h->crowd = c;
        h->house = &c->houses[i % HOUSES];
        (void)snprintf(h->id, sizeof h->id, "p%03" PRIu32, i);
    }
    return run_all(c, open_one, error);
}

static void close_crowd(crowd *c)
{
    for (uint32_t i = 0; i < c->count; i++)
        (void)bw_producer_close(c->hands[i].producer, 0, NULL);
    for (uint32_t i = 0; i < HOUSES; i++) {
        bw_space_close(c->houses[i].space);
        bw_runtime_close(c->houses[i].runtime);
    }
    bw_config_free(c->config);
}

bw_status bench_scaling(bench *b, bw_error *error)
{
    remote r;
    bw_status status = remote_start(&r, b->teststore, error);
    crowd *c = mem_zalloc(sizeof *c);
    if (status == BW_OK && c == NULL)
        status = error_set(error, BW_NOMEM, "no memory for producers");
    if (status == BW_OK) {
        c->remote = &r;
        c->count = (uint32_t)bench_budget(b, PRODUCERS_MAX, 8);
        remote_url(&r, "scaling", "sign_body=never", c->url);
        status = open_crowd(c, error);
        if (status == BW_OK)
            status = run_rounds(b, c, error);
        if (status == BW_OK)
            status = check_steps(c, error);
        close_crowd(c);
    }
    mem_free(c);
    remote_stop(&r);
    return status;
}
