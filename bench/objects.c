// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * What a request to an object store costs this side: processor time of a signed ranged GET and of a
 * signed PUT, beside a bare loop over libcurl that signs nothing, checks nothing and has no
 * outcomes. One thread, sixteen in flight. PUTs sign as over TLS, without the body's SHA-256; the
 * row with it is what plain http costs. All PUTs carry a CRC-32C: of large ones it is measured what
 * that costs where the store reads the bytes for it, and where the caller knew it, as uploads do.
 */
#include "bare_http.h"
#include "remote.h"

#include "base/alloc.h"
#include "base/crc32c.h"
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#define BYTES ((size_t)100 * 1024)
#define LARGE_BYTES ((size_t)4 << 20)
#define DEPTH 16u
#define KEY "data/object"

typedef struct objects_side {
    bare_http *bare; /* NULL: through the store */
    store *store;
    store_op_kind kind;
    bool knows_crc;
    uint64_t requests;
    size_t size;
    uint8_t *bytes; /* DEPTH times `size` */
    uint32_t crc;   /* of the zeros that are written */
    struct iovec pieces[DEPTH];
    store_op ops[DEPTH];
} objects_side;

static void submit(objects_side *s, uint32_t i)
{
    store_op *op = &s->ops[i];
    store_op_init(op, s->kind, KEY);
    op->dest = s->bytes + i * s->size;
    op->length = s->kind == STORE_READ ? s->size : 0;
    s->pieces[i] = (struct iovec){s->bytes + i * s->size, s->size};
    op->pieces = &s->pieces[i];
    op->piece_count = s->kind == STORE_PUT ? 1 : 0;
    op->has_crc = s->knows_crc;
    op->crc = s->crc;
    store_submit(s->store, op);
}

static bw_status run_store(objects_side *s, bw_error *error)
{
    uint64_t begun = 0, over = 0;
    for (uint32_t i = 0; i < DEPTH && begun < s->requests; i++, begun++)
        submit(s, i);
    while (over < s->requests) {
        store_op *done[DEPTH];
        const size_t count = store_poll(s->store, done, DEPTH, NS_PER_S);
        for (size_t i = 0; i < count; i++) {
            if (done[i]->outcome != STORE_OK) {
                error_copy(error, &done[i]->error);
                return store_op_status(done[i]);
            }
            over++;
            if (begun++ < s->requests)
                submit(s, (uint32_t)(done[i] - s->ops));
        }
    }
    return BW_OK;
}

static double cpu_us(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static bw_status run_side(void *context, double *us, bw_error *error)
{
    objects_side *s = context;
    const double start = cpu_us();
    BW_TRY(s->bare != NULL ? bare_run(s->bare, error) : run_store(s, error));
    *us = (cpu_us() - start) / (double)s->requests;
    return BW_OK;
}

/* One kind of request. */
typedef struct trial {
    const char *name;
    store_op_kind kind;
    s3_sign_body sign_body;
    size_t size;
    bool knows_crc;
    double limit; /* 0: none */
} trial;

/* Both ways in turns. */
static bw_status compare(bench *b, const remote *r, const trial *t, bw_error *error)
{
    char url[128], bare_name[48];
    const char *name = t->name;
    const uint64_t requests =
        bench_budget(b, t->size > BYTES ? 200 : 4000, t->size > BYTES ? 16 : 64);
    objects_side bare = {.kind = t->kind, .requests = requests, .size = t->size};
    objects_side ours = bare;
    bench_pair pair;
    ours.knows_crc = t->knows_crc;
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%" PRIu32 "/" REMOTE_BUCKET "/" KEY, r->port);
    (void)snprintf(bare_name, sizeof bare_name, "%s.bare", name);
    const bare_plan plan = {.url = url,
                            .puts = t->kind == STORE_PUT,
                            .bytes = t->size,
                            .depth = DEPTH,
                            .requests = requests};
    ours.bytes = mem_zalloc(DEPTH * t->size);
    bw_status status = ours.bytes != NULL ? BW_OK : error_set(error, BW_NOMEM, "no memory");
    if (status == BW_OK)
        ours.crc = crc32c(0, ours.bytes, t->size);
    if (status == BW_OK)
        status = bare_new(&plan, &bare.bare, error);
    if (status == BW_OK)
        status = remote_store(r, t->sign_body, &ours.store, error);
    if (status == BW_OK)
        status = bench_turns(bench_rounds(b, 2), (bench_side){run_side, &ours},
                             (bench_side){run_side, &bare}, &pair, error);
    store_close(ours.store);
    bare_free(bare.bare);
    mem_free(ours.bytes);
    BW_TRY(status);
    bench_add(b, bare_name, "us", pair.b);
    bench_row *row = bench_add(b, name, "us", pair.a);
    row->has_ratio = true;
    row->ratio = pair.ratio;
    if (t->limit > 0)
        bench_limit(row, JUDGE_RATIO_MAX, t->limit);
    return BW_OK;
}

bw_status bench_objects(bench *b, bw_error *error)
{
    static const trial trials[] = {
        {"objects.put", STORE_PUT, S3_SIGN_NEVER, BYTES, false, 1.5},
        {"objects.put_hashed", STORE_PUT, S3_SIGN_ALWAYS, BYTES, false, 0},
        {"objects.get", STORE_READ, S3_SIGN_NEVER, BYTES, false, 1.5},
        {"objects.put_large", STORE_PUT, S3_SIGN_NEVER, LARGE_BYTES, false, 0},
        {"objects.put_large_known", STORE_PUT, S3_SIGN_NEVER, LARGE_BYTES, true, 0},
    };
    remote r;
    bw_status status = remote_start(&r, b->teststore, error);
    for (size_t i = 0; i < sizeof trials / sizeof trials[0] && status == BW_OK; i++)
        status = compare(b, &r, &trials[i], error);
    remote_stop(&r);
    return status;
}
