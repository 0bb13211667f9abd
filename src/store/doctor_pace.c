// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/doctor_bucket.h"

#include "base/alloc.h"
#include "base/hist.h"

#include <inttypes.h>
#include <string.h>

/* As a manifest of a namespace with some producers; as a slice; as much as a part of a batch. */
#define SMALL_BYTES 4096u
#define SLICE_BYTES 100000u
#define LARGE_BYTES (4u << 20)
#define VERB_NS_MAX (10 * NS_PER_S)
#define NS_PER_US 1000
/* The one name of its folder that is never made. */
#define NEVER_MADE 2u

/* ---- one after the other ---- */

typedef struct verb {
    const char *name;
    store_op_kind kind;
    bucket_folder folder;
    store_outcome good;
    const char *what;
} verb;

static const verb verbs[] = {
    {"put", STORE_PUT, FOLDER_PUT, STORE_OK, "4 KiB"},
    {"create", STORE_CREATE, FOLDER_CREATE, STORE_CREATED, "4 KiB, a new name"},
    {"get", STORE_GET, FOLDER_CREATE, STORE_OK, "4 KiB"},
    {"absent", STORE_GET, FOLDER_ACCESS, STORE_NOT_FOUND, "a name that is not there"},
    {"read", STORE_READ, FOLDER_LARGE, STORE_OK, "100 KB of an object"},
    {"list", STORE_LIST, FOLDER_CREATE, STORE_OK, "100 names"},
    {"delete", STORE_DELETE, FOLDER_PUT, STORE_OK, "one name"},
};

/* Memory of all the requests. */
typedef struct workbench {
    uint8_t *bytes;         /* LARGE_BYTES that are written */
    uint8_t *into;          /* BUCKET_LARGE times as many that are read */
    struct iovec pieces[2]; /* small, large */
    char key[BUCKET_KEY_BYTES];
    const char *keys[1];
} workbench;

static void prepare(const bucket *b, const verb *v, uint32_t k, workbench *w, store_op *op)
{
    bucket_key(b, v->folder, v->good == STORE_NOT_FOUND ? NEVER_MADE : k, w->key);
    if (v->kind == STORE_READ)
        bucket_key(b, v->folder, 0, w->key);
    if (v->kind == STORE_LIST)
        *strrchr(w->key, '/') = '\0';
    store_op_init(op, v->kind, v->kind == STORE_DELETE ? "" : w->key);
    op->pieces = &w->pieces[0];
    op->piece_count = 1;
    op->keys = w->keys;
    op->key_count = 1;
    op->offset = (uint64_t)k * (LARGE_BYTES - SLICE_BYTES) / BUCKET_SAMPLES;
    op->length = SLICE_BYTES;
    op->dest = w->into;
    if (v->kind == STORE_GET)
        buf_init(&op->out, SMALL_BYTES);
}

/** How long the answers took that came at the first try; the number of others. */
static uint32_t take_samples(const bucket *b, const verb *v, workbench *w, hist *times,
                             bw_error *error)
{
    uint32_t failed = 0;
    const int64_t until_ns = clock_now(clock_system()) + VERB_NS_MAX;
    const bool again = v->kind == STORE_GET && v->folder == FOLDER_CREATE;
    const uint32_t most = again ? b->created : BUCKET_SAMPLES;
    int64_t began_ns = 0;
    hist_reset(times);
    for (uint32_t k = 0; k < most && began_ns < until_ns; k++) {
        store_op op;
        prepare(b, v, k, w, &op);
        began_ns = clock_now(clock_system());
        if (store_run(b->s, &op) == v->good) {
            hist_add(times, clock_now(clock_system()) - began_ns);
        } else {
            failed++;
            error_copy(error, &op.error);
        }
        store_op_clear(&op);
    }
    return failed;
}

static bool time_verb(bucket *b, const verb *v, workbench *w)
{
    doctor_finding f = {.check = "pace"};
    static hist times;
    bw_error error;
    error_clear(&error);
    const uint32_t failed = take_samples(b, v, w, &times, &error);
    const int64_t p50_ns = hist_quantile(&times, 500), p99_ns = hist_quantile(&times, 990);
    doctor_word_add(&f, "verb", v->name);
    doctor_figure_add(&f, "count", times.count);
    doctor_figure_add(&f, "failed", failed);
    doctor_figure_add(&f, "p50_us", (uint64_t)(p50_ns / NS_PER_US));
    doctor_figure_add(&f, "p99_us", (uint64_t)(p99_ns / NS_PER_US));
    if (v->kind == STORE_CREATE) {
        b->created = (uint32_t)times.count + failed;
        b->pace.create_ns = p50_ns;
    }
    if (v->kind == STORE_GET && v->good == STORE_OK)
        b->pace.get_ns = p50_ns;
    if (failed > 0)
        doctor_say(&f, DOCTOR_WARNING, BW_OK, "%s: %" PRIu32 " of %" PRIu64 " failed: %.300s",
                   v->name, failed, times.count + failed,
                   error.code != BW_OK ? error.message : "another answer was expected");
    else
        doctor_say(&f, DOCTOR_OK, BW_OK, "%-6s p50 %.2f ms, p99 %.2f ms: %s", v->name,
                   (double)p50_ns / (double)NS_PER_MS, (double)p99_ns / (double)NS_PER_MS, v->what);
    return doctor_tell(b->d, &f);
}

/* ---- several at once ---- */

static void prepare_large(const bucket *b, store_op_kind kind, uint32_t k, const workbench *w,
                          store_op *op)
{
    char key[BUCKET_KEY_BYTES];
    bucket_key(b, FOLDER_LARGE, k, key);
    store_op_init(op, kind, key);
    op->pieces = &w->pieces[1];
    op->piece_count = 1;
    op->length = LARGE_BYTES;
    op->dest = w->into + (size_t)k * LARGE_BYTES;
}

/** Bytes a second of BUCKET_LARGE requests in flight; 0: one of them failed. */
static uint64_t run_large(const bucket *b, store_op_kind kind, const workbench *w, bw_error *error)
{
    static store_op ops[BUCKET_LARGE];
    bool good = true;
    const int64_t began_ns = clock_now(clock_system());
    for (uint32_t k = 0; k < BUCKET_LARGE; k++) {
        prepare_large(b, kind, k, w, &ops[k]);
        store_submit(b->s, &ops[k]);
    }
    for (size_t left = BUCKET_LARGE; left > 0;) {
        store_op *done[BUCKET_LARGE];
        left -= store_poll(b->s, done, BUCKET_LARGE, TIME_NEVER);
    }
    const int64_t took_ns = clock_now(clock_system()) - began_ns;
    for (uint32_t k = 0; k < BUCKET_LARGE; k++) {
        good &= ops[k].outcome == STORE_OK;
        if (ops[k].outcome != STORE_OK)
            error_copy(error, &ops[k].error);
        store_op_clear(&ops[k]);
    }
    return good ? (uint64_t)((double)BUCKET_LARGE * LARGE_BYTES * (double)NS_PER_S /
                             (double)(took_ns > 0 ? took_ns : 1))
                : 0;
}

static bool time_large(bucket *b, workbench *w)
{
    doctor_finding f = {.check = "throughput"};
    bw_error error;
    error_clear(&error);
    const uint64_t put = run_large(b, STORE_PUT, w, &error);
    const uint64_t read = put > 0 ? run_large(b, STORE_READ, w, &error) : 0;
    doctor_figure_add(&f, "put_bytes_per_s", put);
    doctor_figure_add(&f, "read_bytes_per_s", read);
    if (read == 0)
        doctor_say(&f, DOCTOR_WARNING, BW_OK, "not measured: %.400s", error.message);
    else
        doctor_say(&f, DOCTOR_OK, BW_OK,
                   "%u requests of 4 MiB at once from here: put %.0f MB/s, read %.0f MB/s",
                   BUCKET_LARGE, (double)put / 1e6, (double)read / 1e6);
    return doctor_tell(b->d, &f);
}

bool bucket_paces(bucket *b)
{
    workbench w = {.bytes = mem_alloc(LARGE_BYTES),
                   .into = mem_alloc((size_t)LARGE_BYTES * BUCKET_LARGE)};
    bool more = w.bytes != NULL && w.into != NULL;
    if (more) {
        memset(w.bytes, 'b', LARGE_BYTES);
        memset(w.into, 0, (size_t)LARGE_BYTES * BUCKET_LARGE); /* paged in before it is timed */
        w.pieces[0] = (struct iovec){w.bytes, SMALL_BYTES};
        w.pieces[1] = (struct iovec){w.bytes, LARGE_BYTES};
        w.keys[0] = w.key;
        more = time_large(b, &w);
        for (size_t i = 0; i < sizeof verbs / sizeof verbs[0] && more; i++) {
            const bool may = (verbs[i].kind != STORE_LIST || b->may_list) &&
                             (verbs[i].kind != STORE_DELETE || b->may_delete);
            more = !may || time_verb(b, &verbs[i], &w);
        }
    } else {
        doctor_finding f = {.check = "pace"};
        doctor_say(&f, DOCTOR_WARNING, BW_OK, "not measured: no memory");
        more = doctor_tell(b->d, &f);
    }
    mem_free(w.bytes);
    mem_free(w.into);
    return more;
}
