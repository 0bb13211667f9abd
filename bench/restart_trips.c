// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * How many round trips a rank takes that goes on by its cursor, from nothing to its first item: of
 * the cursors that ranks save over 10^5 steps, each a commit of its own, while they read so many
 * steps behind the producers. All are restarted when the last step is committed. The chain, the
 * commits and the look-ups are those that ship; what is counted is the rounds of requests.
 */
#include "fill.h"
#include "rig.h"

#include "base/alloc.h"
#include "codec/small.h"
#include "protocol/handout.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STEPS 100000u
#define SAVE_EVERY 97u /* a prime: it keeps no step with folds */
#define WINDOW 8u      /* steps that a rank has looked up ahead */
#define ASKS_MAX 160u
#define CACHE_BYTES ((size_t)4 << 20)
#define TRIPS_MAX 3.0
#define FROM_START UINT64_MAX /* all is committed before it begins */

typedef struct reader {
    const char *name;
    uint64_t lag;
    bool gone;    /* what its cursors name is not there any more */
    double least; /* of its restarts take TRIPS_MAX; 0: no limit */
    chain *chain;
    segment_cache *cache;
    uint64_t place, planned;
    uint64_t in_tail[WINDOW]; /* as fetch's */
    cursor *saved;
    uint32_t count;
} reader;

/* ---- the store, in rounds ---- */

static void answer(store *on, const machine_request *request, const machine_type *type, void *self)
{
    store_op op;
    store_op_init(&op, request->kind, request->key.text);
    if (request->kind == STORE_GET)
        buf_init(&op.out, request->bytes_max);
    machine_reply reply = {.id = request->id, .outcome = store_run(on, &op)};
    if (request->kind == STORE_GET && reply.outcome == STORE_OK)
        reply.bytes = buf_take(&op.out, &reply.size);
    type->reply(self, bench_now(), &reply);
    mem_free(reply.bytes);
    store_op_clear(&op);
}

/* Whatever can be asked is asked at once, and all of it is answered before more is. */
static bw_status walk(rig *r, chain *c, chain_goal goal, uint32_t *rounds, bw_error *error)
{
    static machine_request asked[ASKS_MAX];
    chain_start(c, goal, bench_now());
    for (*rounds = 0; chain_machine.running(c); ++*rounds) {
        uint32_t count = 0;
        while (count < ASKS_MAX && chain_machine.next(c, &asked[count]))
            count++;
        if (count == 0)
            return error_set(error, BW_BUG, "a walk waits for nothing");
        for (uint32_t i = 0; i < count; i++)
            answer(drive_store(r->drive), &asked[i], &chain_machine, c);
    }
    return chain_result(c, error);
}

/* What leads to `step`, one after the other. */
static bw_status look_up(rig *r, chain *c, segment_cache *cache, uint64_t step, uint32_t *rounds,
                         bw_error *error)
{
    for (;; ++*rounds) {
        descriptor found;
        segment_ref needed;
        object_key key;
        store_op op;
        size_t size;
        const genesis *g = chain_genesis(c);
        const lookup_verdict verdict = lookup_step(chain_held(c), cache, step, &found, &needed);
        if (verdict == LOOKUP_FOUND)
            return BW_OK;
        if (verdict != LOOKUP_NEED)
            return error_set(error, BW_BUG, "step %" PRIu64 " is not described", step);
        segment_ref_key(&needed, &key);
        store_op_init(&op, STORE_GET, key.text);
        buf_init(&op.out, object_bytes_max(OBJECT_SEGMENT));
        if (store_run(drive_store(r->drive), &op) != STORE_OK) {
            store_op_clear(&op);
            return error_set(error, BW_IO, "%s cannot be read", key.text);
        }
        uint8_t *object = buf_take(&op.out, &size);
        store_op_clear(&op);
        BW_TRY(segment_cache_add(cache, &needed, g->uuid, genesis_slices(g), object, size, error));
    }
}

/* ---- ranks that read ---- */

static bw_status plan(rig *r, reader *x, bw_error *error)
{
    const manifest *m = chain_held(x->chain);
    uint32_t rounds = 0;
    for (; x->planned < x->place + WINDOW && x->planned < m->next; x->planned++) {
        BW_TRY(look_up(r, x->chain, x->cache, x->planned, &rounds, error));
        x->in_tail[x->planned % WINDOW] = x->planned >= manifest_tail_first(m) ? m->version : 0;
    }
    return BW_OK;
}

/* As the follower: polls only for what is not described yet. */
static bw_status look_ahead(rig *r, reader *x, bw_error *error)
{
    uint32_t rounds = 0;
    BW_TRY(plan(r, x, error));
    while (x->lag != FROM_START && x->place + WINDOW > chain_held(x->chain)->next) {
        const uint64_t version = chain_held(x->chain)->version;
        BW_TRY(walk(r, x->chain, CHAIN_POLL, &rounds, error));
        BW_TRY(plan(r, x, error));
        if (chain_held(x->chain)->version == version)
            break;
    }
    return BW_OK;
}

static bw_status read_step(rig *r, reader *x, bw_error *error)
{
    uint32_t rounds = 0;
    if (x->chain == NULL) {
        BW_TRY(chain_new(1, NULL, &x->chain));
        BW_TRY(segment_cache_new(CACHE_BYTES, &x->cache));
        BW_TRY(walk(r, x->chain, CHAIN_OPEN, &rounds, error));
    }
    BW_TRY(look_ahead(r, x, error));
    x->place++;
    if (x->place % SAVE_EVERY != 0 || x->place >= STEPS)
        return BW_OK;
    const uint64_t known = x->place < x->planned ? x->in_tail[x->place % WINDOW] : 0;
    cursor *at = &x->saved[x->count++];
    *at = (cursor){.step = x->place, .dp = RIG_DP, .has_nonce = true};
    at->version = known > 0 ? known : chain_held(x->chain)->version;
    if (x->gone)
        at->version = STEPS * 10;
    else if (known == 0)
        handout_way(chain_held(x->chain), x->cache, at);
    return BW_OK;
}

/* ---- and restart ---- */

static bw_status restart(rig *r, const cursor *at, double *trips, bw_error *error)
{
    chain *c = NULL;
    segment_cache *cache = NULL;
    resume_point from;
    uint32_t rounds = 0;
    handout_resume_point(at, &from);
    bw_status status = chain_new(1, NULL, &c);
    if (status == BW_OK)
        status = segment_cache_new(CACHE_BYTES, &cache);
    if (status == BW_OK) {
        chain_resume(c, &from, cache);
        status = walk(r, c, CHAIN_OPEN, &rounds, error);
    }
    if (status == BW_OK)
        status = look_up(r, c, cache, from.before, &rounds, error);
    if (status == BW_OK)
        status = look_up(r, c, cache, from.step, &rounds, error);
    *trips = rounds + 1; /* the bytes */
    chain_free(c);
    segment_cache_free(cache);
    return status;
}

static bw_status count_trips(bench *b, rig *r, reader *x, bw_error *error)
{
    char name[48];
    double *trips = mem_array(x->count, sizeof *trips);
    uint32_t within = 0;
    bw_status status = trips == NULL ? error_set(error, BW_NOMEM, "no memory for samples") : BW_OK;
    for (uint32_t i = 0; status == BW_OK && i < x->count; i++) {
        status = restart(r, &x->saved[i], &trips[i], error);
        within += trips[i] <= TRIPS_MAX;
    }
    if (status == BW_OK) {
        snprintf(name, sizeof name, "restart.trips.%s", x->name);
        bench_row *row = bench_add(b, name, "trips", bench_spread_of(trips, x->count));
        row->has_ratio = true;
        row->ratio = bench_exactly((double)within / x->count);
        if (x->least > 0)
            bench_count_limit(row, JUDGE_RATIO_MIN, x->least);
    }
    mem_free(trips);
    return status;
}

/* As old as one is on average. */
static bw_status put_hint(rig *r, bw_error *error)
{
    store_op op;
    buf bytes;
    buf_init(&bytes, object_bytes_max(OBJECT_HINT));
    bw_status status =
        hint_encode(chain_genesis(r->chain)->uuid, chain_held(r->chain)->version - 16, &bytes);
    struct iovec piece = {.iov_base = bytes.data, .iov_len = bytes.size};
    store_op_init(&op, STORE_PUT, "hint");
    op.pieces = &piece;
    op.piece_count = 1;
    if (status == BW_OK && store_run(drive_store(r->drive), &op) != STORE_OK)
        status = BW_IO;
    store_op_clear(&op);
    buf_free(&bytes);
    return status == BW_OK ? BW_OK : error_set(error, status, "the hint was not written");
}

static bw_status run(bench *b, rig *r, reader *readers, size_t count, bw_error *error)
{
    const uint64_t steps = bench_budget(b, STEPS, 400);
    for (size_t i = 0; i < count; i++) {
        readers[i].saved = mem_array(STEPS / SAVE_EVERY + 1, sizeof *readers[i].saved);
        if (readers[i].saved == NULL)
            return error_set(error, BW_NOMEM, "no memory for cursors");
    }
    for (uint64_t made = 1; made <= steps; made++) {
        BW_TRY(rig_publish(r, 0, 1, error));
        for (size_t i = 0; i < count; i++)
            if (readers[i].lag < made)
                BW_TRY(read_step(r, &readers[i], error));
    }
    BW_TRY(put_hint(r, error));
    for (size_t i = 0; i < count; i++) {
        while (readers[i].place < steps)
            BW_TRY(read_step(r, &readers[i], error));
        BW_TRY(count_trips(b, r, &readers[i], error));
    }
    return BW_OK;
}

bw_status bench_restart_trips(bench *b, bw_error *error)
{
    reader readers[] = {
        {.name = "starved", .least = 0.99},
        {.name = "behind_10", .lag = 10, .least = 0.99},
        {.name = "behind_1000", .lag = 1000, .least = 0.99},
        {.name = "behind_10000", .lag = 10000, .least = 0.98},
        {.name = "stored", .lag = FROM_START, .least = 0.98},
        {.name = "gone", .lag = 10, .gone = true},
    };
    const size_t count = sizeof readers / sizeof *readers;
    rig r;
    bw_status status = rig_open(&r, b->memory, "trips", false, 1, error);
    if (status == BW_OK)
        status = run(b, &r, readers, count, error);
    for (size_t i = 0; i < count; i++) {
        chain_free(readers[i].chain);
        segment_cache_free(readers[i].cache);
        mem_free(readers[i].saved);
    }
    rig_close(&r);
    return status;
}
