// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include "base/alloc.h"
#include "codec/small.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STEPS_MAX 200000u
#define NO_DEADLINE TIME_NEVER
#define ROUND_ASKS_MAX 256u

/* ---- the world ---- */

void world_open(world *w, const world_options *options)
{
    memset(w, 0, sizeof *w);
    w->seed = 1;
    assert_int_equal(mem_space_new(&w->space), BW_OK);
    assert_int_equal(store_mem_open(w->space, &w->store, NULL), BW_OK);
    w->genesis = (genesis){.dp = 1,
                           .cp = 1,
                           .items_default = 1,
                           .expected_producers = options->expected,
                           .block_size = options->block_size > 0 ? options->block_size : 2,
                           .tail_cap = options->tail_cap > 0 ? options->tail_cap : 256,
                           .part_bytes = 4096,
                           .page_min = 2,
                           .has_max_lag = options->has_max_lag,
                           .has_max_bytes = options->has_max_bytes,
                           .max_lag = options->max_lag,
                           .max_bytes = options->max_bytes};
    memset(w->genesis.uuid, 7, UUID_BYTES);
    create *c;
    const token128 nonce = {{1}};
    assert_int_equal(create_new(&w->genesis, 1000, &nonce, &c), BW_OK);
    create_start(c, 0, NO_DEADLINE);
    assert_true(world_run(w, &create_machine, c));
    assert_int_equal(create_result(c, NULL), BW_OK);
    create_free(c);
}

void world_close(world *w)
{
    store_close(w->store);
    mem_space_free(w->space);
}

void world_fault(world *w, fault_effect effect, store_op_kind kind, const char *prefix,
                 uint32_t skip, uint32_t times, store_outcome say)
{
    uint32_t i = 0;
    while (i < FAULTS_MAX && w->faults[i].times > 0)
        i++;
    if (i >= FAULTS_MAX) {
        fail_msg("more than %u faults", FAULTS_MAX);
        return;
    }
    w->faults[i] =
        (fault){.effect = effect, .kind = kind, .skip = skip, .times = times, .say = say};
    (void)snprintf(w->faults[i].prefix, sizeof w->faults[i].prefix, "%s", prefix);
}

void world_calm(world *w)
{
    memset(w->faults, 0, sizeof w->faults);
}

static const fault *match(world *w, const machine_request *request)
{
    for (uint32_t i = 0; i < FAULTS_MAX; i++) {
        fault *f = &w->faults[i];
        if (f->times == 0 || f->kind != request->kind ||
            strncmp(request->key.text, f->prefix, strlen(f->prefix)) != 0)
            continue;
        if (f->skip > 0) {
            f->skip--;
            continue;
        }
        f->times--;
        return f;
    }
    return NULL;
}

static void fill_op(const world *w, store_op *op, const machine_request *request,
                    struct iovec *piece, const char **keys)
{
    store_op_init(op, request->kind, request->key.text);
    if (request->kind == STORE_GET)
        buf_init(&op->out, request->bytes_max);
    if (request->kind == STORE_PUT || request->kind == STORE_CREATE) {
        /* The store only reads it. */
        uintptr_t address = (uintptr_t)request->bytes;
        *piece = (struct iovec){.iov_base = (void *)address, .iov_len = request->size};
        op->pieces = piece;
        op->piece_count = 1;
    }
    if (request->kind == STORE_LIST) {
        (void)snprintf(op->after, sizeof op->after, "%s", request->after.text);
        op->list_max = w->list_max > 0 ? w->list_max : 7; /* several pages */
    }
    for (uint32_t i = 0; i < request->key_count; i++)
        keys[i] = request->keys[i].text;
    op->keys = keys;
    op->key_count = request->key_count;
}

/* `list` receives the entries of a listing. */
static void execute(world *w, const machine_request *request, machine_reply *reply,
                    store_list *list)
{
    store_op op;
    struct iovec piece;
    const char **keys = mem_array(request->key_count + 1, sizeof *keys);
    assert_non_null(keys);
    fill_op(w, &op, request, &piece, keys);
    *reply = (machine_reply){.id = request->id, .outcome = store_run(w->store, &op)};
    reply->code = op.error.code;
    if (request->kind == STORE_GET && op.outcome == STORE_OK)
        reply->bytes = buf_take(&op.out, &reply->size);
    if (request->kind == STORE_LIST && list != NULL) {
        *list = op.list;
        op.list = (store_list){0};
        reply->list = list;
    }
    store_op_clear(&op);
    mem_free(keys);
}

void world_execute(world *w, const machine_request *request, machine_reply *reply)
{
    execute(w, request, reply, NULL);
}

void world_list(world *w, const machine_request *request, machine_reply *reply, store_list *list)
{
    execute(w, request, reply, list);
}

void (*world_turn)(bool its);

static void turn(bool its)
{
    if (world_turn != NULL)
        world_turn(its);
}

static void deliver(world *w, const machine_type *type, void *self, machine_reply *reply)
{
    turn(true);
    type->reply(self, w->now_ns, reply);
    turn(false);
    mem_free(reply->bytes);
    if (reply->list != NULL)
        store_list_free(reply->list);
}

static void answer(world *w, const machine_type *type, void *self, const machine_request *request,
                   const fault *f)
{
    machine_reply reply = {.id = request->id};
    store_list list = {0};
    if (f == NULL || f->effect != FAULT_SAY)
        execute(w, request, &reply, &list);
    if (f != NULL && f->effect == FAULT_FLIP && reply.size > 0)
        reply.bytes[reply.size / 2] ^= 1;
    if (f != NULL && (f->effect == FAULT_SAY || f->effect == FAULT_APPLY_SAY)) {
        mem_free(reply.bytes);
        reply.bytes = NULL;
        reply.size = 0;
        reply.outcome = f->say;
        reply.code = f->code;
        reply.message = "scripted";
    }
    deliver(w, type, self, &reply);
}

bool world_run(world *w, const machine_type *type, void *self)
{
    for (uint32_t step = 0; type->running(self); step++) {
        assert_true(step < STEPS_MAX);
        machine_request request;
        turn(true);
        const bool asks = type->next(self, &request);
        turn(false);
        if (asks) {
            w->asked[request.kind]++;
            w->markers_read +=
                request.kind == STORE_GET && strncmp(request.key.text, "retired/", 8) == 0;
            const fault *f = match(w, &request);
            if (f != NULL && f->effect == FAULT_HOLD) {
                assert_false(w->is_held);
                w->held = request;
                w->is_held = true;
                return false;
            }
            if (f != NULL && f->effect == FAULT_KEEP) {
                assert_true(w->kept_count < KEPT_MAX);
                w->kept[w->kept_count++] = request;
                continue;
            }
            answer(w, type, self, &request, f);
            continue;
        }
        const int64_t due = type->due(self);
        if (due == TIME_NEVER && w->kept_count > 0)
            return false;
        assert_true(due != TIME_NEVER);
        if (due > w->now_ns)
            w->now_ns = due;
        turn(true);
        type->tick(self, w->now_ns);
        turn(false);
    }
    return true;
}

store_outcome world_apply_held(world *w)
{
    machine_reply reply;
    assert_true(w->is_held);
    world_execute(w, &w->held, &reply);
    mem_free(reply.bytes);
    return reply.outcome;
}

static bool finish(world *w, const machine_type *type, void *self, const machine_request *request,
                   bool apply, store_outcome say)
{
    machine_reply reply = {.id = request->id, .outcome = say};
    if (apply)
        world_execute(w, request, &reply);
    if (say != STORE_PENDING) {
        mem_free(reply.bytes);
        reply.bytes = NULL;
        reply.outcome = say;
    }
    deliver(w, type, self, &reply);
    return world_run(w, type, self);
}

bool world_release(world *w, const machine_type *type, void *self, bool apply, store_outcome say)
{
    assert_true(w->is_held);
    const machine_request request = w->held;
    w->is_held = false;
    return finish(w, type, self, &request, apply, say);
}

bool world_answer(world *w, const machine_type *type, void *self, const char *prefix, bool apply,
                  store_outcome say)
{
    uint32_t i = 0;
    while (i < w->kept_count && strncmp(w->kept[i].key.text, prefix, strlen(prefix)) != 0)
        i++;
    if (i == w->kept_count) {
        fail_msg("nothing under %s is kept", prefix);
        return false;
    }
    const machine_request request = w->kept[i];
    w->kept_count--;
    for (; i < w->kept_count; i++)
        w->kept[i] = w->kept[i + 1];
    return finish(w, type, self, &request, apply, say);
}

void world_keep(world *w, late_write *late)
{
    assert_true(w->is_held);
    late->request = w->held;
    late->bytes = mem_dup(w->held.bytes, w->held.size);
    assert_non_null(late->bytes);
    late->request.bytes = late->bytes;
}

store_outcome world_apply_late(world *w, late_write *late)
{
    machine_reply reply;
    world_execute(w, &late->request, &reply);
    return reply.outcome;
}

void world_abandon(world *w, late_write *late)
{
    world_keep(w, late);
    w->is_held = false;
}

void late_free(late_write *late)
{
    mem_free(late->bytes);
}

bool world_has(world *w, const char *key)
{
    const uint8_t *bytes;
    size_t size;
    return mem_space_get(w->space, key, &bytes, &size);
}

bool world_has_manifest(world *w, uint64_t version)
{
    object_key key;
    key_manifest(&key, version);
    return world_has(w, key.text);
}

bool world_has_marker(world *w, uint64_t number)
{
    object_key key;
    key_marker(&key, number);
    return world_has(w, key.text);
}

/* ---- producers ---- */

void actor_start(actor *a, world *w, const char *id)
{
    memset(a, 0, sizeof *a);
    a->world = w;
    (void)snprintf(a->id, sizeof a->id, "%s", id);
    const commit_options options = {.backoff_min_ns = NS_PER_MS,
                                    .backoff_max_ns = 100 * NS_PER_MS,
                                    .conflict_retries = w->conflict_retries,
                                    .seed = ++w->seed};
    assert_int_equal(chain_new(++w->seed, NULL, &a->chain), BW_OK);
    assert_int_equal(commit_new(a->chain, &options, &a->commit), BW_OK);
}

void actor_stop(actor *a)
{
    commit_free(a->commit);
    chain_free(a->chain);
}

static int64_t deadline(const world *w)
{
    return w->patience_ns > 0 ? w->now_ns + w->patience_ns : NO_DEADLINE;
}

void actor_begin_open(actor *a, bool reopen)
{
    rng r;
    rng_seed(&r, ++a->world->seed);
    rng_bytes(&r, a->token.bytes, TOKEN_BYTES);
    a->intent =
        (intent){.kind = INTENT_OPEN,
                 .open = {.id = view_text(a->id), .token = a->token, .reopen = reopen, .epoch = 0}};
    commit_start(a->commit, &a->intent, view_text(a->id), a->world->now_ns, deadline(a->world));
}

void actor_batch(const actor *a, uint64_t seq, uint64_t start, descriptor *d)
{
    *d = (descriptor){
        .id = view_text(a->id),
        .record = {.nonce = a->call << 16 | (seq & 0xffff),
                   .start = start,
                   .end = start + 10,
                   .seq = seq,
                   .epoch = a->epoch},
        .shape = {.form = FORM_UNIFORM,
                  .kind = ITEM_RAW,
                  .parts = 1,
                  .items = 1,
                  .footer_bytes = 60,
                  .uniform = 200,
                  .total_bytes = 316,
                  .samples = 1},
    };
}

void actor_begin_publish(actor *a, uint32_t count, bool finish)
{
    assert_true(count <= 64);
    a->call = ++a->world->calls;
    for (uint32_t k = 0; k < count; k++) {
        actor_batch(a, a->seq + 1 + k, a->offset + 10 * k, &a->batch[k]);
        (void)snprintf(a->state_text[k], sizeof a->state_text[k], "at %" PRIu64,
                       a->batch[k].record.end);
        a->states[k] = view_text(a->state_text[k]);
    }
    a->intent = (intent){.kind = INTENT_PUBLISH,
                         .publish = {.id = view_text(a->id),
                                     .token = a->token,
                                     .descriptors = a->batch,
                                     .states = a->states,
                                     .count = count,
                                     .takes_turn = a->takes_turns,
                                     .finish = finish}};
    commit_start(a->commit, &a->intent, view_text(a->id), a->world->now_ns, deadline(a->world));
}

void actor_begin_seal(actor *a, bool force)
{
    a->intent = (intent){.kind = INTENT_SEAL, .seal = {.force = force}};
    commit_start(a->commit, &a->intent, view_text(""), a->world->now_ns, deadline(a->world));
}

void actor_begin_intent(actor *a, const intent *i)
{
    a->intent = *i;
    commit_start(a->commit, &a->intent, view_text(a->id), a->world->now_ns, deadline(a->world));
}

bool actor_drive(actor *a)
{
    return world_run(a->world, &commit_machine, a->commit);
}

bool actor_release(actor *a, bool apply, store_outcome say)
{
    return world_release(a->world, &commit_machine, a->commit, apply, say);
}

bool actor_answer(actor *a, const char *prefix, bool apply, store_outcome say)
{
    return world_answer(a->world, &commit_machine, a->commit, prefix, apply, say);
}

const commit_report *actor_report(const actor *a)
{
    return commit_reported(a->commit);
}

void actor_settle(actor *a)
{
    const commit_report *r = actor_report(a);
    if (r->end != COMMIT_DONE)
        return;
    if (a->intent.kind == INTENT_OPEN) {
        a->epoch = r->result.epoch;
        a->seq = r->result.seq;
        a->offset = r->result.offset;
    } else if (a->intent.kind == INTENT_PUBLISH) {
        const uint32_t made = r->result.already + r->result.published;
        a->seq += made;
        a->offset += 10 * made;
    }
}

static void complete(actor *a)
{
    assert_true(actor_drive(a));
    const commit_report *r = actor_report(a);
    if (r->end != COMMIT_DONE)
        print_error("%s: end %d, %s: %s\n", a->id, (int)r->end, bw_status_name(r->status),
                    r->error.message);
    assert_int_equal(r->end, COMMIT_DONE);
    actor_settle(a);
}

void actor_open(actor *a)
{
    actor_begin_open(a, false);
    complete(a);
}

void actor_publish(actor *a, uint32_t count)
{
    actor_begin_publish(a, count, false);
    complete(a);
}

void actor_commit(actor *a, const intent *i)
{
    actor_begin_intent(a, i);
    complete(a);
}

/* ---- others ---- */

uint32_t world_rounds(world *w, const machine_type *type, void *self, bool backwards)
{
    uint32_t rounds = 0;
    for (; type->running(self); rounds++) {
        machine_request asked[ROUND_ASKS_MAX];
        uint32_t count = 0;
        while (count < ROUND_ASKS_MAX && type->next(self, &asked[count]))
            count++;
        assert_in_range(count, 1, ROUND_ASKS_MAX - 1);
        for (uint32_t i = 0; i < count; i++) {
            const machine_request *request = &asked[backwards ? count - 1 - i : i];
            machine_reply reply = {.id = request->id};
            world_execute(w, request, &reply);
            type->reply(self, w->now_ns, &reply);
            mem_free(reply.bytes);
        }
    }
    return rounds;
}

void world_hint(world *w, uint64_t version)
{
    buf out;
    buf_init(&out, object_bytes_max(OBJECT_HINT));
    assert_int_equal(hint_encode(w->genesis.uuid, version, &out), BW_OK);
    assert_int_equal(mem_space_set(w->space, "hint", out.data, out.size), BW_OK);
    buf_free(&out);
}

bw_status world_walk(world *w, chain *c, chain_goal goal)
{
    chain_start(c, goal, w->now_ns);
    assert_true(world_run(w, &chain_machine, c));
    return chain_result(c, NULL);
}

chain *world_chain(world *w)
{
    chain *c;
    assert_int_equal(chain_new(++w->seed, NULL, &c), BW_OK);
    assert_int_equal(world_walk(w, c, CHAIN_OPEN), BW_OK);
    return c;
}

sweep_report world_sweep(world *w)
{
    chain *c;
    sweep *s;
    const sweep_options options = {
        .apply = true, .backoff_min_ns = NS_PER_MS, .backoff_max_ns = NS_PER_MS, .seed = ++w->seed};
    assert_int_equal(chain_new(++w->seed, NULL, &c), BW_OK);
    assert_int_equal(sweep_new(c, &options, &s), BW_OK);
    sweep_start(s, w->now_ns, NO_DEADLINE);
    assert_true(world_run(w, &sweep_machine, s));
    const sweep_report report = *sweep_reported(s);
    assert_int_equal(report.status, BW_OK);
    sweep_free(s);
    chain_free(c);
    return report;
}

void world_plant(world *w, void (*change)(manifest *draft, void *context), void *context)
{
    chain *c = world_chain(w);
    const manifest *base = chain_held(c);
    const intent_aid aid = {.genesis = &w->genesis, .nonce = {{77}}};
    manifest draft;
    manifest_succeed(base, &w->genesis, NULL, &aid, &draft);
    change(&draft, context);
    buf out;
    object_key key;
    buf_init(&out, object_bytes_max(OBJECT_MANIFEST));
    assert_int_equal(manifest_encode(&draft, &out), BW_OK);
    key_manifest(&key, draft.version);
    assert_int_equal(mem_space_set(w->space, key.text, out.data, out.size), BW_OK);
    buf_free(&out);
    chain_free(c);
}

/* ---- the final judge ---- */

static void read_segment(world *w, segment_cache *cache, const segment_ref *ref)
{
    machine_request request = {.kind = STORE_GET, .bytes_max = object_bytes_max(OBJECT_SEGMENT)};
    machine_reply reply;
    bw_error error;
    segment_ref_key(ref, &request.key);
    world_execute(w, &request, &reply);
    assert_int_equal(reply.outcome, STORE_OK);
    assert_int_equal(
        segment_cache_add(cache, ref, w->genesis.uuid, 1, reply.bytes, reply.size, &error), BW_OK);
}

static void step_of(world *w, const manifest *m, segment_cache *cache, uint64_t step, descriptor *d)
{
    segment_ref needed;
    lookup_verdict verdict;
    while ((verdict = lookup_step(m, cache, step, d, &needed)) == LOOKUP_NEED)
        read_segment(w, cache, &needed);
    assert_int_equal(verdict, LOOKUP_FOUND);
}

static void sum_at(world *w, const manifest *m, segment_cache *cache, uint64_t step, hash128 *sum)
{
    segment_ref needed;
    lookup_verdict verdict;
    while ((verdict = lookup_sum(m, cache, step, sum, &needed)) == LOOKUP_NEED)
        read_segment(w, cache, &needed);
    assert_int_equal(verdict, LOOKUP_FOUND);
}

uint64_t *world_nonces(world *w, const manifest *m)
{
    segment_cache *cache;
    uint64_t *nonces = mem_array(m->next + 1, sizeof *nonces);
    assert_non_null(nonces);
    assert_int_equal(segment_cache_new(1u << 20, &cache), BW_OK);
    for (uint64_t step = 0; step < m->next; step++) {
        descriptor d;
        step_of(w, m, cache, step, &d);
        nonces[step] = d.record.nonce;
    }
    segment_cache_free(cache);
    return nonces;
}

uint64_t world_check(world *w)
{
    chain *c = world_chain(w);
    const manifest *m = chain_held(c);
    segment_cache *cache;
    assert_int_equal(segment_cache_new(4096, &cache), BW_OK);
    uint64_t *offsets = mem_array(m->producer_count + 1, sizeof *offsets);
    uint64_t *seqs = mem_array(m->producer_count + 1, sizeof *seqs);
    assert_true(offsets != NULL && seqs != NULL);
    hash128 sum = {{0}};
    for (uint64_t step = 0; step < m->next; step++) {
        descriptor d;
        hash128 before, term;
        sum_at(w, m, cache, step, &before);
        assert_true(hash_equal(&before, &sum));
        step_of(w, m, cache, step, &d);
        assert_int_equal(descriptor_term(step, &d, &term), BW_OK);
        hash_add(&sum, &term);
        const producer_entry *e = manifest_producer(m, d.id);
        assert_non_null(e);
        const size_t at = (size_t)(e - m->producers);
        /* Exactly once: ranges tile from 0 without gap or overlap. */
        assert_int_equal(d.record.start, offsets[at]);
        assert_int_equal(d.record.seq, seqs[at] + 1);
        offsets[at] = d.record.end;
        seqs[at] = d.record.seq;
    }
    assert_true(hash_equal(&sum, &m->sum));
    for (uint32_t i = 0; i < m->producer_count; i++) {
        assert_int_equal(m->producers[i].offset, offsets[i]);
        assert_int_equal(m->producers[i].seq, seqs[i]);
    }
    const uint64_t next = m->next;
    mem_free(offsets);
    mem_free(seqs);
    segment_cache_free(cache);
    chain_free(c);
    return next;
}
