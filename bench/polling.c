// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * What waiting costs a store: reads a second of a process whose rank stands at the tip, and of one
 * whose producer is held by max_lag, counted by the store once nothing has happened for a while.
 * Several of each wait at once, each with a runtime and a handle of its own, for a count that says
 * something in less time.
 *
 * And what a large job asks below the prefix of the manifests, where stores limit reads, while its
 * ranks are starved and producers commit often: a few of its ranks are there, and stand for all.
 */
#include "fill.h"
#include "rank.h"
#include "remote.h"

#include "base/clock.h"
#include "base/thread.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PROCESSES 8u
#define MAX_LAG 4u
/* The interval grows with the silence, to its end after 16 s. */
#define SETTLE_MS 20000
#define COUNT_MS 15000
#define JOB_RANKS 1024u
#define COMMIT_MS 400
#define PREFIX_READS_PER_S 5500 /* of S3 */

/** One process that waits. */
typedef struct waiter {
    rank rank; /* its producer's runtime and space, too */
    bw_producer *producer;
    pthread_t thread;
    bool waits;
    atomic_int stop; /* of a producer that commits */
} waiter;

typedef struct waiting {
    char rank_url[REMOTE_URL_BYTES], held_url[REMOTE_URL_BYTES], job_url[REMOTE_URL_BYTES];
    waiter ranks[PROCESSES], producers[PROCESSES], of_job[PROCESSES];
    waiter feeder; /* of the job */
} waiting;

static const fill_plan batch_of_one = {.dp = 1, .items = 1, .item_bytes = 64};

static bw_status open_producer(waiter *w, const char *url, const char *id, bw_error *error)
{
    const char *const pairs[] = {"mode", "write", NULL};
    bw_config *config = NULL;
    BW_TRY(fill_config(pairs, &config, error));
    bw_status status = bw_runtime_open(config, &w->rank.runtime, error);
    if (status == BW_OK)
        status = bw_space_open(w->rank.runtime, url, config, BW_FOREVER, &w->rank.space, error);
    if (status == BW_OK)
        status = bw_producer_open(w->rank.space, id, config, BW_FOREVER, &w->producer, error);
    bw_config_free(config);
    return status;
}

static bw_status put(waiter *w, uint64_t steps, bw_error *error)
{
    static const uint8_t bytes[64];
    for (uint64_t step = 0; step < steps; step++)
        BW_TRY(fill_put(w->producer, &batch_of_one, step, bytes, error));
    return BW_OK;
}

static void sleep_ms(uint64_t ms)
{
    const struct timespec pause = {(time_t)(ms / 1000), (long)(ms % 1000) * NS_PER_MS};
    (void)nanosleep(&pause, NULL);
}

/* A commit of one step, and a pause. */
static void *feed(void *context)
{
    static const uint8_t bytes[64];
    static const fill_plan batch = {.dp = JOB_RANKS, .items = 1, .item_bytes = 64};
    waiter *w = context;
    bw_status status = BW_OK;
    for (uint64_t step = 0; atomic_load(&w->stop) == 0 && status == BW_OK; step++) {
        status = fill_put(w->producer, &batch, step, bytes, NULL);
        if (status == BW_OK)
            status = bw_producer_flush(w->producer, 1, BW_FOREVER, NULL);
        sleep_ms(COMMIT_MS);
    }
    return NULL;
}

static void close_waiter(waiter *w)
{
    if (w->waits) {
        atomic_store(&w->stop, 1);
        if (w->rank.consumer != NULL)
            bw_consumer_interrupt(w->rank.consumer, 1);
        (void)pthread_join(w->thread, NULL);
    }
    /* What a limit holds back is not acknowledged, and close says so. */
    (void)bw_producer_close(w->producer, 0, NULL);
    rank_close(&w->rank);
}

static bw_status make_spaces(const waiting *all, bw_error *error)
{
    char lag[16], ranks[16];
    (void)snprintf(lag, sizeof lag, "%u", MAX_LAG);
    (void)snprintf(ranks, sizeof ranks, "%u", JOB_RANKS);
    const char *const large[] = {"dp", ranks, NULL};
    const char *const open_end[] = {"dp", "1", NULL};
    const char *const limited[] = {"dp", "1", "max_lag", lag, NULL};
    bw_runtime *runtime = NULL;
    BW_TRY(bw_runtime_open(NULL, &runtime, error));
    bw_status status = fill_init(runtime, all->rank_url, open_end, error);
    if (status == BW_OK)
        status = fill_init(runtime, all->held_url, limited, error);
    if (status == BW_OK)
        status = fill_init(runtime, all->job_url, large, error);
    bw_runtime_close(runtime);
    return status;
}

/* Some steps to read before there are none. */
static bw_status publish_some(const waiting *all, bw_error *error)
{
    waiter w = {.producer = NULL};
    bw_status status = open_producer(&w, all->rank_url, "p", error);
    if (status == BW_OK)
        status = put(&w, MAX_LAG, error);
    if (status == BW_OK)
        status = bw_producer_flush(w.producer, 1, BW_FOREVER, error);
    close_waiter(&w);
    return status;
}

/* A group that keeps everything: limits bind once there is one. */
static bw_status register_group(const waiting *all, bw_error *error)
{
    const char *const pairs[] = {"mode", "write", "launch", "bench", NULL};
    rank r;
    const bw_status status = rank_open(&r, all->held_url, pairs, "train", error);
    rank_close(&r);
    return status;
}

static void *wait_for_more(void *context)
{
    waiter *w = context;
    while (rank_step(&w->rank, NULL) == BW_OK)
        continue; /* until it is interrupted */
    return NULL;
}

static bw_status start_rank(waiter *w, const char *url, bw_error *error)
{
    const char *const pairs[] = {NULL};
    BW_TRY(rank_open(&w->rank, url, pairs, NULL, error));
    for (uint32_t step = 0; step < MAX_LAG; step++)
        BW_TRY(rank_step(&w->rank, error));
    BW_TRY(thread_start(&w->thread, "bench-wait", wait_for_more, w));
    w->waits = true;
    return BW_OK;
}

/* Of a job of so many, a few that are starved. */
static bw_status start_job(waiting *all, bw_error *error)
{
    char number[16], world[16];
    (void)snprintf(world, sizeof world, "%u", JOB_RANKS);
    BW_TRY(open_producer(&all->feeder, all->job_url, "p", error));
    BW_TRY(thread_start(&all->feeder.thread, "bench-feed", feed, &all->feeder));
    all->feeder.waits = true;
    for (uint32_t i = 0; i < PROCESSES; i++) {
        waiter *w = &all->of_job[i];
        (void)snprintf(number, sizeof number, "%" PRIu32, i);
        const char *const pairs[] = {"rank", number, "world", world, NULL};
        BW_TRY(rank_open(&w->rank, all->job_url, pairs, NULL, error));
        BW_TRY(thread_start(&w->thread, "bench-wait", wait_for_more, w));
        w->waits = true;
    }
    return BW_OK;
}

static bw_status start_all(waiting *all, bw_error *error)
{
    char id[16];
    bw_status status = make_spaces(all, error);
    if (status == BW_OK)
        status = publish_some(all, error);
    if (status == BW_OK)
        status = register_group(all, error);
    for (uint32_t i = 0; i < PROCESSES && status == BW_OK; i++) {
        (void)snprintf(id, sizeof id, "p%" PRIu32, i);
        status = open_producer(&all->producers[i], all->held_url, id, error);
        if (status == BW_OK)
            status = put(&all->producers[i], MAX_LAG + 1, error);
    }
    for (uint32_t i = 0; i < PROCESSES && status == BW_OK; i++)
        status = start_rank(&all->ranks[i], all->rank_url, error);
    return status == BW_OK ? start_job(all, error) : status;
}

static void add(bench *b, const char *name, double rate, double limit)
{
    bench_limit(bench_add(b, name, "GET/s", bench_exactly(rate)), JUDGE_VALUE_MAX, limit);
}

static bw_status count(bench *b, const remote *r, bw_error *error)
{
    remote_counts before = {0}, after = {0};
    sleep_ms(bench_budget(b, SETTLE_MS, 1));
    const int64_t start_ns = bench_now();
    BW_TRY(remote_count(r, &before, error));
    sleep_ms(bench_budget(b, COUNT_MS, 1100));
    BW_TRY(remote_count(r, &after, error));
    const double seconds = (double)(bench_now() - start_ns) / (double)NS_PER_S;
    double rates[3]; /* of a process */
    for (size_t i = 0; i < 3; i++)
        rates[i] = (double)(after.matched[i] - before.matched[i]) / PROCESSES / seconds;
    add(b, "polling.rank", rates[0], 1.1);
    add(b, "polling.producer", rates[1], 1.1);
    add(b, "polling.job_of_1024", rates[2] * JOB_RANKS, PREFIX_READS_PER_S);
    return BW_OK;
}

static bw_status run(bench *b, const remote *r, waiting *all, bw_error *error)
{
    remote_url(r, "rank", "", all->rank_url);
    remote_url(r, "held", "", all->held_url);
    remote_url(r, "job", "", all->job_url);
    BW_TRY(remote_configure(r,
                            "{\"rules\":[{\"verb\":\"get,head\",\"key\":\"rank/*\"},"
                            "{\"verb\":\"get,head\",\"key\":\"held/*\"},"
                            "{\"verb\":\"get,head\",\"key\":\"job/manifest/*\"}]}",
                            error));
    BW_TRY(start_all(all, error));
    return count(b, r, error);
}

bw_status bench_polling(bench *b, bw_error *error)
{
    static waiting all;
    remote r;
    memset(&all, 0, sizeof all);
    bw_status status = remote_start(&r, b->teststore, error);
    if (status == BW_OK)
        status = run(b, &r, &all, error);
    for (uint32_t i = 0; i < PROCESSES; i++) {
        close_waiter(&all.ranks[i]);
        close_waiter(&all.producers[i]);
        close_waiter(&all.of_job[i]);
    }
    close_waiter(&all.feeder);
    remote_stop(&r);
    return status;
}
