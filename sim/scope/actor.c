// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "actor.h"

#include "arena.h"
#include "base/alloc.h"
#include "protocol/chain_walk.h"
#include "protocol/commit_state.h"
#include "protocol/stage.h"
#include "protocol/sweep.h"
#include <stdlib.h>
#include <string.h>

/* Time stands still: a wait is over as soon as it begins, and only the deadline is far. A request
 * that is sent later is the same as one that arrives later, and that is the search's to choose. */
#define NOW_NS 1
#define DEADLINE_NS ((int64_t)1 << 40)
#define SLICE_BYTES 128u
#define FOOTER_BYTES 64u
#define BATCH_LENGTH 10u

typedef enum phase { PHASE_OPENS, PHASE_PUBLISHES, PHASE_SWEEPS, PHASE_OVER } phase;

typedef struct actor {
    actor_face face;
    phase phase;
    char name[2];
    token128 token;
    chain *chain;
    commit *commit;
    sweep *sweep;
    stage *stage;
    intent intent;
    machine machine;
    int64_t now_ns;
    uint32_t commits; /* started */
    uint32_t passes;
    uint32_t open_content; /* of the attempt that is open */
    bool heard;            /* the end of this commit was told */
    uint32_t told_count;
    told told[TOLD_MAX];
} actor;

static actor_plan plan;

void actor_setup(const actor_plan *p)
{
    plan = *p;
}

static actor *self(void)
{
    return arena_root();
}

static void tell(actor *a, told_kind kind, uint32_t x, uint32_t y)
{
    if (a->told_count == TOLD_MAX)
        scope_defect("too much was told at once");
    a->told[a->told_count++] = (told){kind, x, y};
}

uint64_t batch_nonce(uint32_t id, uint32_t life, uint64_t seq)
{
    return (uint64_t)(id + 1) << 32 | (uint64_t)life << 16 | seq;
}

/* ---- errands ---- */

static bool is_manifest(view key, uint32_t *version)
{
    key_fields fields;
    key_parse(key, &fields);
    *version = fields.number > VERSIONS_MAX ? VERSIONS_MAX + 1 : (uint32_t)fields.number;
    return fields.kind == KEY_MANIFEST;
}

static errand errand_of(const machine_request *r)
{
    key_fields fields;
    errand e = {.id = r->id, .kind = ERRAND_WRONG};
    uint32_t version;
    key_parse(view_text(r->key.text), &fields);
    e.number = fields.number > UINT16_MAX ? UINT16_MAX : (uint32_t)fields.number;
    if (r->kind == STORE_DELETE) {
        e.number = 0;
        for (uint32_t i = 0; i < r->key_count; i++) {
            if (!is_manifest(view_text(r->keys[i].text), &version))
                return e;
            if (version <= VERSIONS_MAX)
                e.number |= 1u << version;
        }
        e.kind = ERRAND_DELETE;
    } else if (r->kind == STORE_LIST) {
        e.kind = ERRAND_LIST;
    } else if (r->kind == STORE_CREATE && fields.kind == KEY_MANIFEST) {
        e.kind = ERRAND_CREATE;
        e.number = contents_add(r->bytes, r->size);
        if (contents_at(e.number)->version != fields.number)
            e.kind = ERRAND_WRONG;
    } else if (r->kind == STORE_CREATE && fields.kind == KEY_MARKER) {
        e.kind = ERRAND_CREATE_MARKER;
    } else if (r->kind == STORE_PUT && fields.kind == KEY_SEGMENT) {
        e.kind = ERRAND_PUT;
        e.number = segments_add(r->bytes, r->size);
    } else if (fields.kind == KEY_MANIFEST) {
        e.kind = r->kind == STORE_GET ? ERRAND_MANIFEST : ERRAND_HEAD_MANIFEST;
    } else if (fields.kind == KEY_MARKER) {
        e.kind = r->kind == STORE_GET ? ERRAND_MARKER : ERRAND_HEAD_MARKER;
    }
    return e;
}

static void give(actor *a, uint32_t id, store_outcome outcome, const uint8_t *bytes, size_t size,
                 store_list *list)
{
    machine_reply reply = {.id = id, .outcome = outcome, .size = size, .list = list};
    if (bytes != NULL) {
        reply.bytes = mem_dup(bytes, size);
        if (reply.bytes == NULL)
            scope_defect("no memory");
    }
    a->machine.type->reply(a->machine.self, a->now_ns, &reply);
    mem_free(reply.bytes);
}

/* What nobody can change in this search needs no decision. */
static bool answer_at_once(actor *a, const machine_request *r, const errand *e)
{
    const view object = contents_genesis_object();
    if (r->kind == STORE_GET && strcmp(r->key.text, "genesis") == 0) {
        give(a, r->id, STORE_OK, object.data, object.size, NULL);
        return true;
    }
    const bool hint = r->kind == STORE_GET && strcmp(r->key.text, "hint") == 0;
    const bool version = e->kind == ERRAND_MANIFEST || e->kind == ERRAND_HEAD_MANIFEST;
    const bool marker = e->kind == ERRAND_MARKER || e->kind == ERRAND_HEAD_MARKER;
    if (!hint && !(version && e->number > VERSIONS_MAX) && !(marker && e->number > plan.blocks_max))
        return false;
    give(a, r->id, STORE_NOT_FOUND, NULL, 0, NULL);
    return true;
}

static bool send_all(actor *a)
{
    machine_request r;
    bool moved = false;
    while (a->machine.self != NULL && a->machine.type->next(a->machine.self, &r)) {
        arena_open(false);
        const errand e = errand_of(&r);
        arena_open(true);
        moved = true;
        if (answer_at_once(a, &r, &e))
            continue;
        if (a->face.errand_count == ERRANDS_MAX)
            scope_defect("too many errands");
        a->face.errands[a->face.errand_count++] = e;
        if (e.kind != ERRAND_CREATE)
            continue;
        if (a->open_content != 0 && a->open_content != e.number)
            tell(a, TOLD_REBUILT, e.number, a->open_content);
        a->open_content = e.number;
    }
    return moved;
}

/* ---- a producer ---- */

static void start_commit(actor *a)
{
    a->commits++;
    a->heard = false;
    a->open_content = 0;
    a->now_ns = NOW_NS;
    a->face.committing = true;
    a->machine = (machine){&commit_machine, a->commit};
    commit_start(a->commit, &a->intent, view_text(a->name), a->now_ns, DEADLINE_NS);
}

static void start_open(actor *a)
{
    a->phase = PHASE_OPENS;
    a->intent = (intent){.kind = INTENT_OPEN};
    a->intent.open.id = view_text(a->name);
    a->intent.open.token = a->token;
    start_commit(a);
}

static void over(actor *a, actor_end end)
{
    a->face.end = end;
    a->face.committing = false;
    a->phase = PHASE_OVER;
    a->machine = (machine){0};
}

static void publish(actor *a)
{
    a->phase = PHASE_PUBLISHES;
    a->intent = (intent){.kind = INTENT_PUBLISH};
    a->intent.publish.id = view_text(a->name);
    a->intent.publish.token = a->token;
    a->intent.publish.count = stage_ready(a->stage, 1, &a->intent.publish.descriptors,
                                          &a->intent.publish.states, &a->intent.publish.state_refs);
    a->intent.publish.finish = a->intent.publish.count == stage_batches(a->stage);
    start_commit(a);
}

/* All that is left of the stream is staged, and uploaded. */
static void stage_batches_of(actor *a, uint64_t seq)
{
    const uint32_t batches = plan.commits[a->face.id];
    if (stage_new(seq, seq * BATCH_LENGTH, batches + 1, 1u << 20, &a->stage) != BW_OK)
        scope_defect("no memory");
    for (uint64_t next = seq + 1; next <= batches; next++) {
        const uint64_t length = SLICE_BYTES;
        tgb_extent extent;
        buf side;
        uint64_t got;
        descriptor d = {.id = view_text(a->name)};
        d.record.nonce = batch_nonce(a->face.id, a->face.life, next);
        d.record.epoch = a->face.epoch;
        d.shape = (shape){.items = 1, .parts = 1, .footer_bytes = FOOTER_BYTES};
        buf_init(&side, INLINE_BYTES_MAX);
        if (tgb_pack(&length, 1, contents_genesis()->part_bytes, FOOTER_BYTES, NULL, &extent) !=
                BW_OK ||
            shape_places(&d.shape, &length, 1, &side) != BW_OK)
            scope_defect("a batch that cannot be");
        d.shape.total_bytes = extent.total_bytes;
        if (stage_add(a->stage, &d, next * BATCH_LENGTH, view_text(""), NULL, next, &got, NULL) !=
                BW_OK ||
            got != next)
            scope_defect("a batch that the stage does not take");
        stage_done(a->stage, next);
        buf_free(&side);
    }
}

/* Fenced before it was open, by the open of an incarnation that is dead perhaps: whoever runs it
 * starts it again, once. Two that live would go on so for ever. */
static bool starts_again(actor *a)
{
    if (a->phase != PHASE_OPENS || a->face.life >= LIVES)
        return false;
    a->face.life += LIVES;
    a->token.bytes[1] = a->face.life;
    start_open(a);
    return true;
}

static void opened(actor *a)
{
    const producer_entry *e = manifest_producer(chain_held(a->chain), view_text(a->name));
    if (e == NULL || !token_equal(&e->token, &a->token)) {
        tell(a, TOLD_REFUSED, BW_FENCED, 1);
        if (!starts_again(a))
            over(a, ACTOR_FENCED);
        return;
    }
    a->face.epoch = e->epoch;
    a->face.acked = (uint32_t)e->seq;
    tell(a, TOLD_OPENED, e->epoch, (uint32_t)e->seq);
    stage_batches_of(a, e->seq);
    publish(a);
}

/* As the client does: what our entry says in a proved manifest is what happened. */
static void published(actor *a)
{
    const producer_entry *e = manifest_producer(chain_held(a->chain), view_text(a->name));
    const commit_report *r = commit_reported(a->commit);
    uint32_t count = r->result.already + r->result.published;
    bool finished = false;
    if (e != NULL && token_equal(&e->token, &a->token)) {
        finished = e->finished;
        count = (uint32_t)(e->seq - stage_published_seq(a->stage));
    }
    if (count > stage_batches(a->stage))
        count = UINT16_MAX;
    a->face.acked += count;
    tell(a, TOLD_ACKED, (uint32_t)r->version, a->face.acked);
    if (count == UINT16_MAX) {
        over(a, ACTOR_FAILED);
        return;
    }
    stage_published(a->stage, count, 0, NULL, NULL);
    if (a->intent.publish.finish && finished)
        over(a, ACTOR_DONE);
    else
        publish(a);
}

static void refused(actor *a, const commit_report *r)
{
    const bool fenced = r->status == BW_FENCED;
    const bool ended = r->status == BW_FINISHED || r->status == BW_SEALED;
    tell(a, TOLD_REFUSED, (uint32_t)r->status, !r->open_unknown);
    if (fenced && starts_again(a))
        return;
    a->face.denied = !r->open_unknown;
    over(a, fenced ? ACTOR_FENCED : ended ? ACTOR_DONE : ACTOR_FAILED);
}

static void failed(actor *a, const commit_report *r)
{
    const bw_class class = bw_status_class(r->status);
    tell(a, TOLD_FAILED, (uint32_t)r->status, !r->open_unknown);
    if (class == BW_CLASS_WAIT || class == BW_CLASS_STORE)
        start_commit(a);
    else
        over(a, ACTOR_FAILED);
}

/* The attempt that was open is closed: as ours, or as definitely not made? */
static void hear_attempt(actor *a)
{
    const commit *c = a->commit;
    const commit_report *r = &c->report;
    if (a->open_content == 0 ||
        (c->attempt.open &&
         token_equal(&c->attempt.next->nonce, &contents_at(a->open_content)->nonce)))
        return;
    const uint32_t version = contents_at(a->open_content)->version;
    if (r->end == COMMIT_DONE && r->version == version)
        tell(a, TOLD_MADE, a->open_content, 0);
    else if (!r->open_unknown)
        tell(a, TOLD_LOST, a->open_content, 0);
    a->open_content = 0;
}

static bool advance_producer(actor *a)
{
    const commit_report *r = commit_reported(a->commit);
    hear_attempt(a);
    if (r->end == COMMIT_RUNNING || commit_machine.running(a->commit))
        return false;
    a->face.committing = false;
    switch (r->end) {
    case COMMIT_DONE:
        if (a->phase == PHASE_OPENS)
            opened(a);
        else
            published(a);
        break;
    case COMMIT_LOST:
        start_commit(a);
        break;
    case COMMIT_REFUSED:
        refused(a, r);
        break;
    default:
        failed(a, r);
    }
    return true;
}

/* ---- a sweeper ---- */

static void start_pass(actor *a)
{
    a->phase = PHASE_SWEEPS;
    a->passes++;
    a->machine = (machine){&sweep_machine, a->sweep};
    sweep_start(a->sweep, a->now_ns, DEADLINE_NS);
}

static bool advance_sweeper(actor *a)
{
    if (sweep_machine.running(a->sweep))
        return false;
    const sweep_report *r = sweep_reported(a->sweep);
    tell(a, TOLD_SWEPT, (uint32_t)r->status, 0);
    if (a->passes < plan.passes)
        start_pass(a);
    else
        over(a, r->status == BW_OK ? ACTOR_DONE : ACTOR_FAILED);
    return true;
}

/* ---- both ---- */

static bool wait_is_over(actor *a)
{
    if (a->machine.self == NULL)
        return false;
    const int64_t due_ns = a->machine.type->due(a->machine.self);
    if (due_ns == TIME_NEVER || (due_ns == DEADLINE_NS && a->now_ns < DEADLINE_NS))
        return false;
    a->machine.type->tick(a->machine.self, due_ns);
    return true;
}

static void go_on(actor *a)
{
    bool moved = true;
    while (moved && a->phase != PHASE_OVER) {
        moved = send_all(a);
        moved |= wait_is_over(a);
        moved |= a->face.sweeper ? advance_sweeper(a) : advance_producer(a);
    }
}

static void begin_event(const actor *a)
{
    const uint32_t tries = a->commit != NULL ? commit_reported(a->commit)->attempts : 0;
    arena_nonce_seed((uint64_t)(a->face.id + 1) << 48 | (uint64_t)a->face.life << 40 |
                     (uint64_t)a->commits << 20 | tries);
    arena_scrub_stack();
}

/* The walk to version 1, before anything happened. */
static void open_early(actor *a)
{
    chain_start(a->chain, CHAIN_OPEN, a->now_ns);
    a->machine = (machine){&chain_machine, a->chain};
    while (send_all(a) || a->face.errand_count > 0) {
        const errand e = a->face.errands[0];
        const content *c = contents_at(1);
        a->face.errand_count--;
        memmove(a->face.errands, a->face.errands + 1, a->face.errand_count * sizeof e);
        const bool there =
            (e.kind == ERRAND_MANIFEST || e.kind == ERRAND_HEAD_MANIFEST) && e.number == 1;
        if (there && e.kind == ERRAND_MANIFEST)
            give(a, e.id, STORE_OK, c->bytes, c->size, NULL);
        else
            give(a, e.id, there ? STORE_OK : STORE_NOT_FOUND, NULL, 0, NULL);
    }
    if (chain_held(a->chain) == NULL)
        scope_defect("version 1 is not found");
}

static actor *make(uint32_t id, uint32_t life, bool sweeper)
{
    arena_clear();
    arena_open(true);
    actor *a = mem_zalloc(sizeof *a);
    a->face.id = (uint8_t)id;
    a->face.life = (uint8_t)life;
    a->face.sweeper = sweeper;
    a->name[0] = sweeper ? 's' : (char)('a' + (int)id);
    a->now_ns = NOW_NS;
    a->token.bytes[0] = (uint8_t)(id + 1);
    a->token.bytes[1] = (uint8_t)life;
    if (chain_new(1, NULL, &a->chain) != BW_OK)
        scope_defect("no memory");
    return a;
}

void actor_new_producer(uint32_t id, uint32_t life, bool cold)
{
    actor *a = make(id, life, false);
    const commit_options options = {.backoff_min_ns = 1, .backoff_max_ns = 1, .seed = 1};
    if (commit_new(a->chain, &options, &a->commit) != BW_OK)
        scope_defect("no memory");
    begin_event(a);
    if (!cold)
        open_early(a);
    start_open(a);
    go_on(a);
    arena_open(false);
}

void actor_new_sweeper(uint32_t life, bool cold)
{
    actor *a = make(IDS, life, true);
    const sweep_options options = {
        .apply = true, .backoff_min_ns = 1, .backoff_max_ns = 1, .seed = 1};
    if (sweep_new(a->chain, &options, &a->sweep) != BW_OK)
        scope_defect("no memory");
    begin_event(a);
    if (!cold)
        open_early(a);
    start_pass(a);
    go_on(a);
    arena_open(false);
}

static void give_names(actor *a, uint32_t id, uint32_t versions)
{
    store_list list = {0};
    for (uint32_t v = 1; v <= VERSIONS_MAX; v++) {
        object_key key;
        key_manifest(&key, v);
        if ((versions & 1u << v) != 0 && store_list_add(&list, key.text, 1, 0) != BW_OK)
            scope_defect("no memory");
    }
    give(a, id, STORE_OK, NULL, 0, &list);
    store_list_free(&list);
}

static void give_content(actor *a, uint32_t id, uint32_t number, bool damaged)
{
    const content *c = contents_at(number);
    uint8_t *bytes = mem_dup(c->bytes, c->size);
    if (bytes == NULL)
        scope_defect("no memory");
    if (damaged)
        bytes[c->size / 2] ^= 1;
    give(a, id, STORE_OK, bytes, c->size, NULL);
    mem_free(bytes);
}

static void deliver(actor *a, const errand *e, const answer *with)
{
    static const store_outcome outcomes[] = {
        [ANSWER_OK] = STORE_OK,           [ANSWER_ABSENT] = STORE_NOT_FOUND,
        [ANSWER_CREATED] = STORE_CREATED, [ANSWER_EXISTS] = STORE_EXISTS,
        [ANSWER_UNKNOWN] = STORE_UNKNOWN, [ANSWER_RETRY] = STORE_RETRY,
    };
    /* Whatever is there under the name of a marker is one. */
    static const uint8_t marker[1] = {0};
    if (with->kind == ANSWER_CONTENT || with->kind == ANSWER_DAMAGED)
        give_content(a, e->id, with->value, with->kind == ANSWER_DAMAGED);
    else if (with->kind == ANSWER_NAMES)
        give_names(a, e->id, with->value);
    else if (e->kind == ERRAND_MARKER && with->kind == ANSWER_OK)
        give(a, e->id, STORE_OK, marker, sizeof marker, NULL);
    else
        give(a, e->id, outcomes[with->kind], NULL, 0, NULL);
}

void actor_answer(const answer *with)
{
    actor *a = self();
    begin_event(a);
    arena_open(true);
    a->face.troubled |= with->kind == ANSWER_RETRY || with->kind == ANSWER_UNKNOWN ||
                        with->kind == ANSWER_DAMAGED || with->kind == ANSWER_DEADLINE;
    if (with->kind == ANSWER_DEADLINE) {
        a->now_ns = DEADLINE_NS;
        a->machine.type->tick(a->machine.self, a->now_ns);
    } else {
        const errand e = a->face.errands[with->errand];
        a->face.errand_count--;
        memmove(&a->face.errands[with->errand], &a->face.errands[with->errand + 1],
                (a->face.errand_count - with->errand) * sizeof e);
        memset(&a->face.errands[a->face.errand_count], 0, sizeof e);
        deliver(a, &e, with);
    }
    go_on(a);
    arena_open(false);
}

uint32_t actor_told(told *out)
{
    actor *a = self();
    const uint32_t count = a->told_count;
    memcpy(out, a->told, count * sizeof *out);
    memset(a->told, 0, sizeof a->told);
    a->told_count = 0;
    return count;
}

/* What a machine keeps for people only, or will never look at again, is the same for all. */
static void forget_advice(actor *a)
{
    chain *c = a->chain;
    memset(&c->counts, 0, sizeof c->counts);
    memset(&c->error, 0, sizeof c->error);
    memset(&c->odd, 0, sizeof c->odd);
    if (!ask_any(&c->asks)) {
        c->asks.next_id = 0;
        memset(c->slots, 0, sizeof c->slots);
        memset(&c->search, 0, sizeof c->search);
    }
    commit *m = a->commit;
    if (m == NULL)
        return;
    memset(&m->counts, 0, sizeof m->counts);
    memset(&m->read_error, 0, sizeof m->read_error);
    memset(&m->report.error, 0, sizeof m->report.error);
    memset(&m->report.result.error, 0, sizeof m->report.result.error);
    m->now_ns = m->base_ns = m->report.fragile_ns = 0;
    if (!ask_any(&m->asks)) {
        m->asks.next_id = 0;
        memset(m->slots, 0, sizeof m->slots);
    }
}

/* Nothing more will come of it: how it came to this no longer matters. */
static void leave_only_face(const actor *a)
{
    actor kept;
    memset(&kept, 0, sizeof kept);
    kept.face = a->face;
    kept.phase = PHASE_OVER;
    arena_clear();
    arena_open(true);
    actor *left = mem_zalloc(sizeof *left);
    arena_open(false);
    *left = kept;
    left->face.errand_count = 0;
    memset(left->face.errands, 0, sizeof left->face.errands);
    left->face.held = 0;
}

void actor_look(actor_face *face)
{
    actor *a = self();
    forget_advice(a);
    a->face.committing = a->phase != PHASE_OVER && !a->face.sweeper && a->now_ns == NOW_NS;
    const manifest *held = chain_held(a->chain);
    a->face.held = held != NULL ? contents_find(&held->hash) : 0;
    if (a->phase == PHASE_OVER)
        leave_only_face(a);
    *face = self()->face;
}
