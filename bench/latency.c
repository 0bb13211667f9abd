// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * What a commit takes on an object store beside the conditional write that it is built on: alone,
 * and while others keep the store busy with puts and reads of 100 KB. The store takes 50 ms for a
 * write and 20 ms for a read, so what a commit takes more than a create are its reads. Alone and
 * loaded in turns.
 */
#include "fill.h"
#include "remote.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

#define CREATE_BYTES 2048u /* as a small manifest */
#define LOAD_BYTES ((size_t)100 * 1024)
#define LOAD_DEPTH 32u
#define SAMPLES_MAX 8192u

/** Requests without end, so many at once; those at odd places read what those before them wrote. */
typedef struct load {
    store *store;
    uint8_t *bytes;
    struct iovec pieces[LOAD_DEPTH];
    store_op ops[LOAD_DEPTH];
    pthread_t thread;
    atomic_int stop;
    bool failed;
} load;

typedef struct series {
    double ms[SAMPLES_MAX];
    uint32_t count;
} series;

typedef struct latency_run {
    store *store;
    bw_runtime *runtime;
    bw_space *space;
    bw_producer *producer;
    load load;
    uint64_t created, step;
    uint32_t samples;              /* of each, a turn */
    series creates[2], commits[2]; /* alone, loaded */
} latency_run;

/* ---- the load ---- */

static void submit(load *l, uint32_t i, store_op_kind kind)
{
    char key[32];
    store_op *op = &l->ops[i];
    (void)snprintf(key, sizeof key, "load/%" PRIu32, i & ~1u);
    store_op_init(op, kind, key);
    if (kind == STORE_READ) {
        op->dest = l->bytes + i * LOAD_BYTES;
        op->length = LOAD_BYTES;
    } else {
        l->pieces[i] = (struct iovec){l->bytes + i * LOAD_BYTES, LOAD_BYTES};
        op->pieces = &l->pieces[i];
        op->piece_count = 1;
    }
    store_submit(l->store, op);
}

static void *press(void *context)
{
    load *l = context;
    uint32_t flying = 0;
    for (uint32_t i = 0; i < LOAD_DEPTH; i++, flying++)
        submit(l, i, i % 2 == 0 ? STORE_PUT : STORE_READ);
    while (flying > 0) {
        store_op *done[LOAD_DEPTH];
        const size_t count = store_poll(l->store, done, LOAD_DEPTH, 50 * NS_PER_MS);
        for (size_t k = 0; k < count; k++, flying--) {
            const uint32_t i = (uint32_t)(done[k] - l->ops);
            l->failed |= done[k]->outcome != STORE_OK;
            if (atomic_load(&l->stop) == 0 && !l->failed) {
                submit(l, i, i % 2 == 0 ? STORE_PUT : STORE_READ);
                flying++;
            }
        }
    }
    return NULL;
}

/* What is read must be there first. */
static bw_status prepare_load(load *l, bw_error *error)
{
    l->bytes = mem_zalloc(LOAD_DEPTH * LOAD_BYTES);
    if (l->bytes == NULL)
        return error_set(error, BW_NOMEM, "no memory for a load");
    for (uint32_t i = 0; i < LOAD_DEPTH; i += 2) {
        store_op *done = NULL;
        submit(l, i, STORE_PUT);
        while (store_poll(l->store, &done, 1, NS_PER_S) == 0)
            continue;
        if (done->outcome != STORE_OK) {
            error_copy(error, &done->error);
            return store_op_status(done);
        }
    }
    return BW_OK;
}

/* ---- what is measured ---- */

static void note(series *s, int64_t start_ns)
{
    if (s->count < SAMPLES_MAX)
        s->ms[s->count++] = (double)(bench_now() - start_ns) / NS_PER_MS;
}

static bw_status create_one(latency_run *run, series *out, bw_error *error)
{
    static uint8_t bytes[CREATE_BYTES];
    struct iovec piece = {bytes, sizeof bytes};
    char key[64];
    store_op op;
    (void)snprintf(key, sizeof key, "created/%" PRIu64, run->created++);
    store_op_init(&op, STORE_CREATE, key);
    op.pieces = &piece;
    op.piece_count = 1;
    const int64_t start_ns = bench_now();
    const store_outcome outcome = store_run(run->store, &op);
    note(out, start_ns);
    if (outcome == STORE_CREATED)
        return BW_OK;
    error_copy(error, &op.error);
    return error_set(error, BW_IO, "a create was not answered with created");
}

/* From the moment that its batch is on the store until it is acknowledged. */
static bw_status commit_one(latency_run *run, series *out, bw_error *error)
{
    static const fill_plan plan = {.dp = 1, .items = 1, .item_bytes = 64};
    static const uint8_t bytes[64];
    bw_event_kind kind = BW_EVENT_COMMITTED;
    BW_TRY(fill_put(run->producer, &plan, run->step++, bytes, error));
    while (kind != BW_EVENT_RELEASED) {
        bw_event *event = NULL;
        BW_TRY(bw_producer_event(run->producer, BW_FOREVER, &event, error));
        kind = bw_event_what(event);
        bw_event_free(event);
    }
    const int64_t start_ns = bench_now();
    BW_TRY(bw_producer_flush(run->producer, 1, BW_FOREVER, error));
    note(out, start_ns);
    return BW_OK;
}

static bw_status run_samples(latency_run *run, uint32_t loaded, bw_error *error)
{
    bw_status status = BW_OK;
    for (uint32_t i = 0; i < run->samples && status == BW_OK; i++) {
        status = create_one(run, &run->creates[loaded], error);
        if (status == BW_OK)
            status = commit_one(run, &run->commits[loaded], error);
    }
    return status;
}

static bw_status run_turn(latency_run *run, bool loaded, bw_error *error)
{
    load *l = &run->load;
    if (!loaded)
        return run_samples(run, 0, error);
    atomic_store(&l->stop, 0);
    if (thread_start(&l->thread, "bench-load", press, l) != BW_OK)
        return error_set(error, BW_NOMEM, "no thread for a load");
    const bw_status status = run_samples(run, 1, error);
    atomic_store(&l->stop, 1);
    (void)pthread_join(l->thread, NULL);
    if (status == BW_OK && l->failed)
        return error_set(error, BW_IO, "a request of the load failed");
    return status;
}

/* ---- rows ---- */

static void add(bench *b, const char *name, series *alone, series *loaded)
{
    series *const sides[] = {alone, loaded};
    double against[2] = {0, 0};
    for (uint32_t k = 0; k < 2; k++) {
        char row_name[48];
        const bench_spread spread = bench_spread_of(sides[k]->ms, sides[k]->count); /* sorts */
        const double values[2] = {spread.median, sides[k]->ms[(sides[k]->count - 1) * 99 / 100]};
        for (uint32_t q = 0; q < 2; q++) {
            (void)snprintf(row_name, sizeof row_name, "latency.%s.%s.%s", name,
                           k == 0 ? "alone" : "loaded", q == 0 ? "p50" : "p99");
            bench_row *row =
                bench_add(b, row_name, "ms", q == 0 ? spread : bench_exactly(values[q]));
            row->has_ratio = k == 1;
            row->ratio = bench_exactly(k == 1 ? values[q] / against[q] : 0);
            against[q] = values[q];
        }
    }
}

static bw_status open_run(latency_run *run, const remote *r, bw_error *error)
{
    char url[REMOTE_URL_BYTES];
    const char *const init[] = {"dp", "1", NULL};
    const char *const open[] = {"mode", "write", NULL};
    bw_config *config = NULL;
    remote_url(r, "latency", "", url);
    BW_TRY(remote_store(r, S3_SIGN_AUTO, &run->store, error));
    BW_TRY(remote_store(r, S3_SIGN_NEVER, &run->load.store, error));
    BW_TRY(prepare_load(&run->load, error));
    BW_TRY(fill_config(open, &config, error));
    bw_status status = bw_runtime_open(NULL, &run->runtime, error);
    if (status == BW_OK)
        status = fill_init(run->runtime, url, init, error);
    if (status == BW_OK)
        status = bw_space_open(run->runtime, url, config, BW_FOREVER, &run->space, error);
    if (status == BW_OK)
        status = bw_producer_open(run->space, "p", config, BW_FOREVER, &run->producer, error);
    bw_config_free(config);
    return status;
}

static void close_run(latency_run *run)
{
    (void)bw_producer_close(run->producer, 0, NULL);
    bw_space_close(run->space);
    bw_runtime_close(run->runtime);
    store_close(run->store);
    store_close(run->load.store);
    mem_free(run->load.bytes);
}

static bw_status measure(bench *b, latency_run *run, const remote *r, bw_error *error)
{
    char settings[256];
    BW_TRY(open_run(run, r, error));
    (void)snprintf(settings, sizeof settings,
                   "{\"latency\":{\"get\":{\"p50_ms\":%d,\"sigma\":0.15},"
                   "\"put\":{\"p50_ms\":%d,\"sigma\":0.15},"
                   "\"create\":{\"p50_ms\":%d,\"sigma\":0.15}}}",
                   b->quick ? 2 : 20, b->quick ? 5 : 50, b->quick ? 5 : 50);
    BW_TRY(remote_configure(r, settings, error));
    run->samples = (uint32_t)bench_budget(b, 20, 3);
    for (uint32_t i = 0; i < 2 * b->rounds; i++)
        BW_TRY(run_turn(run, (i + 1) / 2 % 2 == 1, error));
    add(b, "create", &run->creates[0], &run->creates[1]);
    add(b, "commit", &run->commits[0], &run->commits[1]);
    return BW_OK;
}

bw_status bench_latency(bench *b, bw_error *error)
{
    remote r;
    latency_run *run = mem_zalloc(sizeof *run);
    bw_status status = run != NULL ? remote_start(&r, b->teststore, error)
                                   : error_set(error, BW_NOMEM, "no memory for samples");
    if (run == NULL)
        return status;
    if (status == BW_OK)
        status = measure(b, run, &r, error);
    close_run(run);
    mem_free(run);
    remote_stop(&r);
    return status;
}
