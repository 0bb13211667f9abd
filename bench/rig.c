// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include "base/alloc.h"
#include "protocol/create.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RIG_DEADLINE_NS (60 * NS_PER_S)
/* The n-th request of one rig takes as long as the n-th of another: sides compared in turns. */
#define RIG_DELAY_SEED 1u
static int64_t deadline(void)
{
    return clock_deadline(clock_system(), RIG_DEADLINE_NS);
}

static bw_status run_machine(rig *r, machine m, bw_error *error)
{
    const bw_status status = drive_run(r->drive, m, deadline(), NULL);
    return status == BW_OK ? BW_OK : error_set(error, status, "%s did not end", m.type->name);
}

static void random_token(rig *r, token128 *token)
{
    rng_bytes(&r->random, token->bytes, sizeof token->bytes);
}

static bw_status make_namespace(rig *r, bw_error *error)
{
    genesis g = {.created_ms = 1,
                 .dp = r->shape.dp,
                 .cp = 1,
                 .items_default = 2,
                 .block_size = GENESIS_BLOCK_SIZE_DEFAULT,
                 .tail_cap = GENESIS_TAIL_CAP_DEFAULT,
                 .part_bytes = GENESIS_PART_BYTES_DEFAULT,
                 .page_min = GENESIS_PAGE_MIN_DEFAULT};
    rng_bytes(&r->random, g.uuid, sizeof g.uuid);
    token128 nonce;
    random_token(r, &nonce);
    create *c = NULL;
    BW_TRY(create_new(&g, 1, &nonce, &c));
    create_start(c, bench_now(), deadline());
    bw_status status = run_machine(r, (machine){&create_machine, c}, error);
    if (status == BW_OK)
        status = create_result(c, error);
    create_free(c);
    return status;
}

static bw_status open_chain(rig *r, bw_error *error)
{
    BW_TRY(chain_new(1, NULL, &r->chain));
    chain_start(r->chain, CHAIN_OPEN, bench_now());
    BW_TRY(run_machine(r, (machine){&chain_machine, r->chain}, error));
    BW_TRY(chain_result(r->chain, error));
    const commit_options options = {.backoff_min_ns = NS_PER_MS,
                                    .backoff_max_ns = NS_PER_S,
                                    .seed = 1,
                                    .clock = clock_system()};
    return commit_new(r->chain, &options, &r->commit);
}

static bw_status run_commit(rig *r, intent *i, const char *committer, bw_error *error)
{
    commit_start(r->commit, i, view_text(committer), bench_now(), deadline());
    BW_TRY(run_machine(r, (machine){&commit_machine, r->commit}, error));
    const commit_report *report = commit_reported(r->commit);
    if (report->end == COMMIT_DONE)
        return BW_OK;
    if (error != NULL)
        error_copy(error, &report->error);
    return report->status == BW_OK ? error_set(error, BW_BUG, "a commit without rivals was lost")
                                   : report->status;
}

static bw_status open_producer(rig *r, uint32_t index, bw_error *error)
{
    rig_producer *p = &r->producers[index];
    snprintf(p->id, sizeof p->id, "p%u", index);
    random_token(r, &p->token);
    intent i = {.kind = INTENT_OPEN, .open = {.id = view_text(p->id), .token = p->token}};
    BW_TRY(run_commit(r, &i, p->id, error));
    p->epoch = commit_reported(r->commit)->result.epoch;
    return BW_OK;
}

/** The file store under the decorators of a space. */
static bw_status open_drive(rig *r, bool durable, bw_error *error)
{
    const store_file_options options = {.durable = durable, .writable = true};
    const store_retry_options retry = {.clock = clock_system(),
                                       .seed = 1,
                                       .backoff_min_ns = NS_PER_MS,
                                       .backoff_max_ns = NS_PER_S,
                                       .limit_ns = RIG_DEADLINE_NS,
                                       .attempts_max = 8};
    store *file = NULL;
    store *metered = NULL;
    store *retried = NULL;
    BW_TRY(store_file_open(r->path, &options, &file, error));
    bw_status status = BW_OK;
    if (r->shape.latency.write_ms > 0)
        status = delay_wrap(file, r->shape.latency, RIG_DELAY_SEED, &file, error);
    if (status == BW_OK)
        status = store_meter_wrap(file, &r->meter, &metered, error);
    if (status != BW_OK) {
        store_close(file);
        return status;
    }
    status = store_retry_wrap(metered, &retry, &retried, error);
    if (status != BW_OK) {
        store_close(metered);
        return status;
    }
    return drive_new(retried, &r->drive);
}

bw_status rig_open(rig *r, const char *parent, const char *name, bool durable, uint32_t producers,
                   bw_error *error)
{
    const rig_shape like = {.dp = RIG_DP, .slice_bytes = 102400};
    return rig_open_shaped(r, parent, name, durable, producers, &like, error);
}

bw_status rig_open_shaped(rig *r, const char *parent, const char *name, bool durable,
                          uint32_t producers, const rig_shape *like, bw_error *error)
{
    memset(r, 0, sizeof *r);
    r->shape = *like;
    rng_seed(&r->random, 1);
    r->producer_count = producers;
    r->descriptors = mem_array(RIG_BATCH_MAX, sizeof *r->descriptors);
    r->states = mem_array(RIG_BATCH_MAX, sizeof *r->states);
    if (r->descriptors == NULL || r->states == NULL)
        return error_set(error, BW_NOMEM, "no memory for descriptors");
    for (uint32_t i = 0; i < RIG_BATCH_MAX; i++)
        r->states[i] = view_text("");
    BW_TRY(bench_make_dir(parent, name, r->path, error));
    BW_TRY(open_drive(r, durable, error));
    BW_TRY(make_namespace(r, error));
    BW_TRY(open_chain(r, error));
    for (uint32_t i = 0; i < producers; i++)
        BW_TRY(open_producer(r, i, error));
    return BW_OK;
}

void rig_close(rig *r)
{
    drive_free(r->drive);
    commit_free(r->commit);
    chain_free(r->chain);
    mem_free(r->descriptors);
    mem_free(r->states);
    memset(r, 0, sizeof *r);
}

static void next_descriptor(rig *r, rig_producer *p, uint32_t ahead, descriptor *d)
{
    *d = (descriptor){
        .id = view_text(p->id),
        .record = {.nonce = rng_u64(&r->random),
                   .start = p->offset + ahead * 64u,
                   .end = p->offset + ahead * 64u + 64,
                   .seq = p->seq + ahead + 1,
                   .epoch = p->epoch},
        .shape = {.form = FORM_UNIFORM,
                  .kind = ITEM_RAW,
                  .parts = 1,
                  .items = 2,
                  .footer_bytes = 512,
                  .uniform = r->shape.slice_bytes,
                  .total_bytes = (uint64_t)r->shape.dp * r->shape.slice_bytes + 512,
                  .samples = 64,
                  .tokens = 8192},
    };
}

bw_status rig_publish(rig *r, uint32_t producer, uint32_t count, bw_error *error)
{
    rig_producer *p = &r->producers[producer];
    for (uint32_t k = 0; k < count; k++)
        next_descriptor(r, p, k, &r->descriptors[k]);
    if (producer == 0 && r->shape.state_bytes > 0) {
        rng_bytes(&r->random, r->state, r->shape.state_bytes);
        for (uint32_t k = 0; k < count; k++)
            r->states[k] = view_of(r->state, r->shape.state_bytes);
    }
    intent i = {.kind = INTENT_PUBLISH,
                .publish = {.id = view_text(p->id),
                            .token = p->token,
                            .descriptors = r->descriptors,
                            .states = r->states,
                            .count = count}};
    BW_TRY(run_commit(r, &i, p->id, error));
    const intent_result *result = &commit_reported(r->commit)->result;
    if (result->published != count)
        return error_set(error, BW_BUG, "%u of %u batches published", result->published, count);
    p->seq += count;
    p->offset += count * 64ull;
    return BW_OK;
}

bw_status rig_preload(rig *r, uint64_t steps, uint32_t batch, bw_error *error)
{
    uint32_t producer = 0;
    for (uint64_t left = steps; left > 0;) {
        const uint32_t count = left < batch ? (uint32_t)left : batch;
        BW_TRY(rig_publish(r, producer, count, error));
        producer = (producer + 1) % r->producer_count;
        left -= count;
    }
    return BW_OK;
}

rig_written rig_wrote(const rig *r)
{
    const commit_counts *counts = commit_counted(r->commit);
    return (rig_written){.manifests = counts->created,
                         .manifest_bytes = counts->manifest_bytes,
                         .segments = counts->folds + counts->merges,
                         .segment_bytes = counts->segment_bytes};
}
