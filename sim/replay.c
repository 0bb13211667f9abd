// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "replay.h"

#include "base/alloc.h"
#include "protocol/commit.h"
#include "protocol/handout.h"
#include "sim.h"
#include "store/decorators.h"
#include <stdio.h>
#include <string.h>

#define RULES_MAX 8u
#define REQUESTS_MAX 64u
#define READ_RULES_MAX 16u
#define CACHE_BYTES ((size_t)16 << 20)
#define PRODUCER "p"

/* ---- the plan ---- */

static void add_rule(rng *r, char *rules, const char *action, const char *where, uint32_t from)
{
    const size_t used = strlen(rules);
    (void)snprintf(rules + used, REPLAY_RULES_BYTES - used, "%s%s:%s:%u", used > 0 ? ";" : "",
                   action, where, from + (uint32_t)rng_below(r, 14));
}

/* A create of a manifest behind the first, which is the open, may fail for good; the client tries
 * again. What cannot be answered otherwise than by giving up is left out. */
static void draw_rules(rng *r, char *rules)
{
    static const struct {
        const char *action, *where;
        uint32_t from;
    } choices[] = {
        {"unknown-after", "create:manifest/", 1},
        {"unknown-before", "create:manifest/", 1},
        {"retry-before", "create:manifest/", 1},
        {"fatal", "create:manifest/", 4},
        {"flip", "get:manifest/", 1},
        {"short-read", "get:manifest/", 1},
        {"retry-before", "get:manifest/", 1},
        {"retry-before", "get:retired/", 1},
        {"flip", "get:genesis", 1},
        {"retry-before", "put:segment/", 1},
        {"retry-after", "put:segment/", 1},
        {"retry-before", "put:hint", 1},
        {"flip", "get:hint", 1},
        {"not-found", "get:hint", 1},
        {"retry-before", "head:manifest/", 1},
        {"retry-before", "head:retired/", 1},
    };
    const uint32_t count = (uint32_t)rng_below(r, RULES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        const size_t k = rng_below(r, sizeof choices / sizeof choices[0]);
        /* Two that rest side by side come back in the order of their jitter. */
        if (strncmp(choices[k].where, "head", 4) == 0 && strstr(rules, "head") != NULL)
            continue;
        add_rule(r, rules, choices[k].action, choices[k].where, choices[k].from);
    }
}

/* Damage on the way to a reader. What the chain's own walks meet is in the rules above. */
static void draw_read_rules(rng *r, char *rules)
{
    static const char *const actions[] = {"flip", "not-found"};
    static const char *const where[] = {"map:data/", "read:data/", "get:segment/"};
    const uint32_t count = (uint32_t)rng_below(r, READ_RULES_MAX);
    for (uint32_t i = 0; i < count; i++)
        add_rule(r, rules, actions[rng_below(r, 2)], where[rng_below(r, 3)], 1);
}

void replay_draw(uint64_t seed, replay_plan *plan)
{
    rng r;
    rng_seed(&r, seed);
    memset(plan, 0, sizeof *plan);
    plan->genesis = (genesis){.dp = 1,
                              .cp = 1,
                              .items_default = 1,
                              .block_size = 2 + (uint32_t)rng_below(&r, 3),
                              .tail_cap = 64u << rng_below(&r, 4),
                              .part_bytes = 4096,
                              .page_min = 2};
    draw_rules(&r, plan->rules);
    draw_rules(&r, plan->open_rules);
    plan->batches = 3 + (uint32_t)rng_below(&r, 38);
    draw_read_rules(&r, plan->read_rules);
}

void replay_note(replay_log *log, const store_op *op)
{
    key_fields fields;
    key_parse(view_text(op->key), &fields);
    if ((fields.kind == KEY_PART && !log->parts) || fields.kind == KEY_PROBE ||
        fields.kind == KEY_TMP || op->kind == STORE_LIST || op->kind == STORE_DELETE)
        return;
    if (op->outcome != STORE_PENDING) {
        for (uint32_t i = log->count; i > 0; i--) {
            if (log->ops[i - 1] != op)
                continue;
            log->ops[i - 1] = NULL;
            const size_t used = strlen(log->lines[i - 1]);
            (void)snprintf(log->lines[i - 1] + used, REPLAY_LINE_BYTES - used, " %s",
                           store_outcome_name(op->outcome));
            return;
        }
        sim_defect("an answer to nothing");
    }
    if (log->count == REPLAY_LINES_MAX)
        sim_defect("a trace that is too long");
    log->ops[log->count] = op;
    /* Segments are named by content, which differs: nonces and clocks do. */
    const int shown = fields.kind == KEY_SEGMENT ? (int)strlen("segment/") + 41 : 64;
    (void)snprintf(log->lines[log->count++], REPLAY_LINE_BYTES, "%s %.*s", store_op_name(op->kind),
                   shown, op->key);
}

/* ---- playing it ---- */

typedef struct player {
    store *store;
    replay_log *log;
    int64_t now_ns;
} player;

static void fill(store_op *op, const machine_request *request, struct iovec *piece)
{
    store_op_init(op, request->kind, request->key.text);
    if (request->kind == STORE_GET)
        buf_init(&op->out, request->bytes_max);
    if (request->kind == STORE_PUT || request->kind == STORE_CREATE) {
        *piece =
            (struct iovec){.iov_base = (void *)(uintptr_t)request->bytes, .iov_len = request->size};
        op->pieces = piece;
        op->piece_count = 1;
    }
}

static void answer(player *p, machine m, store_op *op, uint32_t id)
{
    machine_reply reply = {.id = id, .outcome = op->outcome};
    replay_note(p->log, op);
    if (op->kind == STORE_GET && op->outcome == STORE_OK)
        reply.bytes = buf_take(&op->out, &reply.size);
    if (op->outcome != STORE_OK && op->outcome != STORE_NOT_FOUND && op->outcome != STORE_CREATED &&
        op->outcome != STORE_EXISTS)
        reply.code = store_op_status(op);
    m.type->reply(m.self, p->now_ns, &reply);
    mem_free(reply.bytes);
    store_op_clear(op);
}

/* All that the machine wants is sent, then all is answered, in order; then its time comes. */
static void drive(player *p, machine m)
{
    static store_op ops[REQUESTS_MAX];
    static struct iovec pieces[REQUESTS_MAX];
    static uint32_t ids[REQUESTS_MAX];
    while (m.type->running(m.self)) {
        uint32_t count = 0;
        machine_request request;
        while (count < REQUESTS_MAX && m.type->next(m.self, &request)) {
            fill(&ops[count], &request, &pieces[count]);
            ids[count] = request.id;
            replay_note(p->log, &ops[count]);
            store_submit(p->store, &ops[count++]);
        }
        for (uint32_t left = count; left > 0;) {
            store_op *done[REQUESTS_MAX];
            const size_t some = store_poll(p->store, done, REQUESTS_MAX, 0);
            for (size_t i = 0; i < some; i++)
                answer(p, m, done[i], ids[done[i] - ops]);
            left -= (uint32_t)some;
        }
        if (count > 0)
            continue;
        const int64_t due = m.type->due(m.self);
        if (due == TIME_NEVER)
            sim_defect("a machine that waits for nothing");
        p->now_ns = due > p->now_ns ? due : p->now_ns;
        m.type->tick(m.self, p->now_ns);
    }
}

static void begin(player *p, mem_space *space, const char *rules)
{
    store *plain, *faulty;
    store_close(p->store);
    if (store_mem_open(space, &plain, NULL) != BW_OK ||
        store_fault_wrap(plain, rules, &faulty, NULL) != BW_OK)
        sim_defect("a store that cannot be");
    p->store = faulty;
}

static chain *open_chain(player *p, uint64_t seed)
{
    chain *c;
    if (chain_new(seed, NULL, &c) != BW_OK)
        sim_defect("no memory");
    chain_start(c, CHAIN_OPEN, p->now_ns);
    drive(p, (machine){&chain_machine, c});
    return c;
}

static bool commit_it(player *p, commit *c, intent *i)
{
    for (;;) {
        commit_start(c, i, view_text(PRODUCER), p->now_ns, TIME_NEVER);
        drive(p, (machine){&commit_machine, c});
        const commit_report *r = commit_reported(c);
        if (r->end == COMMIT_DONE)
            return true;
        if (i->kind == INTENT_OPEN || r->status != BW_IO)
            return false;
    }
}

static void publish(player *p, commit *c, const token128 *token, uint32_t batches)
{
    intent i = {.kind = INTENT_PUBLISH};
    i.publish.id = view_text(PRODUCER);
    i.publish.token = *token;
    bool good = true;
    for (uint64_t seq = 1; good && seq <= batches; seq++) {
        const descriptor d = {
            .id = view_text(PRODUCER),
            .record = {.nonce = seq, .start = seq - 1, .end = seq, .seq = seq, .epoch = 1},
            .shape = {
                .items = 1, .parts = 1, .footer_bytes = 80, .uniform = 192, .total_bytes = 272}};
        const view text = view_text("at");
        i.publish.descriptors = &d;
        i.publish.states = &text;
        i.publish.count = 1;
        good = commit_it(p, c, &i);
    }
    i.publish.count = 0;
    i.publish.finish = true;
    if (good)
        (void)commit_it(p, c, &i);
}

void replay_play(const replay_plan *plan, uint64_t seed, mem_space *space, replay_log *log)
{
    player p = {.log = log};
    const commit_options options = {.backoff_min_ns = NS_PER_MS,
                                    .backoff_max_ns = NS_PER_MS,
                                    .conflict_retries = 1,
                                    .seed = seed};
    log->count = 0;
    begin(&p, space, plan->rules);
    chain *whole = open_chain(&p, seed);
    if (chain_result(whole, NULL) == BW_OK) {
        chain *own = open_chain(&p, seed + 1);
        commit *c;
        intent i = {.kind = INTENT_OPEN};
        i.open.id = view_text(PRODUCER);
        memset(i.open.token.bytes, 7, TOKEN_BYTES);
        if (commit_new(own, &options, &c) != BW_OK)
            sim_defect("no memory");
        if (chain_result(own, NULL) == BW_OK && commit_it(&p, c, &i))
            publish(&p, c, &i.open.token, plan->batches);
        commit_free(c);
        chain_free(own);
    }
    chain_free(whole);
    begin(&p, space, plan->open_rules);
    chain_free(open_chain(&p, seed + 2));
    store_close(p.store);
}

/* ---- a reader ---- */

typedef struct bare_reader {
    player player;
    chain *chain;
    handout *handout;
    segment_cache *cache;
    uint32_t reports;
} bare_reader;

static store_outcome ask(bare_reader *r, store_op *op)
{
    replay_note(r->player.log, op);
    const store_outcome outcome = store_run(r->player.store, op);
    replay_note(r->player.log, op);
    return outcome;
}

/* A miss is judged by a manifest proved newest after it. */
static void judge(bare_reader *r)
{
    chain_start(r->chain, CHAIN_NEWEST, r->player.now_ns);
    drive(&r->player, (machine){&chain_machine, r->chain});
}

static bool load_segment(bare_reader *r, const segment_ref *ref)
{
    object_key key;
    store_op op;
    const genesis *g = chain_genesis(r->chain);
    bool good = false;
    segment_ref_key(ref, &key);
    store_op_init(&op, STORE_GET, key.text);
    buf_init(&op.out, object_bytes_max(OBJECT_SEGMENT));
    if (ask(r, &op) == STORE_OK) {
        size_t size;
        uint8_t *object = buf_take(&op.out, &size);
        good = segment_cache_add(r->cache, ref, g->uuid, genesis_slices(g), object, size, NULL) ==
               BW_OK;
    }
    store_op_clear(&op);
    if (!good)
        judge(r);
    return good;
}

static bool is_whole(const fetch_plan *plan, const uint8_t *bytes)
{
    frame_item row;
    const frame_head expected = {.nonce = plan->record.nonce,
                                 .slice = plan->slice,
                                 .items = plan->shape.items,
                                 .framed_bytes = plan->where.bytes,
                                 .kind = plan->shape.kind};
    return frame_verify(view_of(bytes, plan->where.bytes), &expected, &row, 1, NULL) == BW_OK;
}

static bool read_slice(bare_reader *r, const fetch_plan *plan, bool map)
{
    object_key key;
    store_op op;
    bool good = false;
    uint8_t *bytes = sim_alloc(plan->where.bytes);
    key_part(&key, plan->id, plan->record.epoch, plan->record.seq, plan->record.nonce,
             plan->where.part);
    if (!map) { /* is it there at all, before a buffer is made for it? */
        store_op_init(&op, STORE_HEAD, key.text);
        (void)ask(r, &op);
        store_op_clear(&op);
    }
    store_op_init(&op, map ? STORE_MAP : STORE_READ, key.text);
    op.offset = plan->where.offset;
    op.length = plan->where.bytes;
    op.dest = map ? NULL : bytes;
    if (ask(r, &op) == STORE_OK)
        good = is_whole(plan, map ? op.mapping.data : bytes);
    store_op_clear(&op);
    mem_free(bytes);
    if (!good)
        judge(r);
    return good;
}

/* Twice each object, then damage is reported and all begins anew. */
static bool find(bare_reader *r, uint64_t step, descriptor *d)
{
    segment_ref needed;
    uint32_t misses = 0;
    while (misses < 2) {
        const lookup_verdict verdict =
            lookup_step(chain_held(r->chain), r->cache, step, d, &needed);
        if (verdict == LOOKUP_FOUND)
            return true;
        if (verdict != LOOKUP_NEED)
            sim_defect("a step that cannot be found");
        misses = load_segment(r, &needed) ? 0 : misses + 1;
    }
    return false;
}

static bool read_step(bare_reader *r, uint64_t step, uint64_t *nonce)
{
    descriptor d;
    fetch_plan plan;
    if (!find(r, step, &d))
        return false;
    if (handout_plan(r->handout, step, 0, &d, &plan, NULL) != BW_OK || plan.needs_footer)
        sim_defect("a step that cannot be planned");
    *nonce = d.record.nonce;
    if (read_slice(r, &plan, true))
        return true;
    /* Planned again: what stands in a segment is looked up again. */
    return find(r, step, &d) && read_slice(r, &plan, false);
}

uint32_t replay_read(const replay_plan *plan, uint64_t seed, mem_space *space, replay_log *log)
{
    bare_reader r = {.player = {.log = log}};
    log->count = 0;
    begin(&r.player, space, plan->read_rules);
    r.chain = open_chain(&r.player, seed);
    judge(&r); /* where to start is asked of a proved newest manifest */
    const manifest *m = chain_held(r.chain);
    if (m == NULL || !m->sealed || segment_cache_new(CACHE_BYTES, &r.cache) != BW_OK ||
        handout_new(chain_genesis(r.chain), (position){0, 0}, 1, MODE_SAME_BATCH, &r.handout,
                    NULL) != BW_OK ||
        handout_start(r.handout, m, START_EARLIEST, 0, NULL) != BW_OK)
        sim_defect("nothing to read");
    while (!handout_at_end(r.handout, chain_held(r.chain))) {
        uint64_t nonce = 0;
        if (read_step(&r, handout_step(r.handout), &nonce))
            handout_advance(r.handout, 1, nonce);
        else
            r.reports++;
    }
    handout_free(r.handout);
    segment_cache_free(r.cache);
    chain_free(r.chain);
    store_close(r.player.store);
    return r.reports;
}
