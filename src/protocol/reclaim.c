// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The machine around a pass: requests, replies, and what follows what. */
#include "protocol/reclaim_state.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "base/mutant.h"
#include "protocol/read.h"
#include <stdio.h>
#include <string.h>

/* Tells our requests from those of chain, commit and sweep; ask ids are below. */
#define RECLAIM_ID 0x80000000u

bw_status reclaim_new(chain *c, const reclaim_options *options, reclaim **out)
{
    reclaim *r = mem_zalloc(sizeof *r);
    if (r == NULL)
        return BW_NOMEM;
    r->chain = c;
    r->options = *options;
    rng_seed(&r->random, options->seed);
    ask_open(&r->asks, r->slots, RECLAIM_ASKS, options->backoff_min_ns, options->backoff_max_ns,
             &r->random);
    const commit_options commits = {.backoff_min_ns = options->backoff_min_ns,
                                    .backoff_max_ns = options->backoff_max_ns,
                                    .seed = rng_u64(&r->random),
                                    .clock = options->clock,
                                    .log = options->log};
    const sweep_options sweeps = {.apply = options->apply,
                                  .blocks_max = options->blocks_max,
                                  .backoff_min_ns = options->backoff_min_ns,
                                  .backoff_max_ns = options->backoff_max_ns,
                                  .seed = rng_u64(&r->random)};
    bw_status status = commit_new(c, &commits, &r->commit);
    if (status == BW_OK)
        status = sweep_new(c, &sweeps, &r->sweep);
    if (status == BW_OK)
        status = segment_cache_new(options->cache_bytes, &r->cache);
    r->suspects = mem_array(RECLAIM_SUSPECTS_MAX, sizeof *r->suspects);
    if (status != BW_OK || r->suspects == NULL) {
        reclaim_free(r);
        return BW_NOMEM;
    }
    *out = r;
    return BW_OK;
}

static bool delegates(const reclaim *r);

/* What holds between events: a dry run asks for nothing that changes the store, and what is asked
 * for is told by a manifest. */
static void sound(const reclaim *r)
{
    MUST(r->asks.used <= RECLAIM_ASKS);
    MUST(r->name_count <= RECLAIM_NAMES_MAX);
    MUST(r->suspect_count <= RECLAIM_SUSPECTS_MAX);
    MUST(r->doomed_done <= r->doomed_count);
    MUST(r->doomed_count <= r->doomed_capacity);
    MUST(r->has_old_page == (r->old_page_object != NULL));
    MUST(!r->has_new_page || r->new_page_object != NULL);
    MUST(r->phase == RECLAIM_IDLE || r->phase == RECLAIM_WALK || r->base != NULL);
    MUST(r->phase == RECLAIM_IDLE || ask_any(&r->asks) || delegates(r));
    MUST(r->phase != RECLAIM_PAGE_PUT || r->options.apply);
    MUST(r->phase != RECLAIM_COMMIT || r->options.apply);
    MUST(r->phase != RECLAIM_SEGMENTS || r->options.apply);
    MUST(r->phase != RECLAIM_ORPHANS || r->options.apply);
    MUST(r->phase != RECLAIM_PARTS || r->at <= r->to);
    MUST(r->phase != RECLAIM_JUDGE || r->at < r->base->next);
    MUST(r->base == NULL || r->producer_count <= r->base->producer_count);
}

/* Everything of the pass before. */
static void forget(reclaim *r)
{
    if (r->has_old_page)
        page_free(&r->old_page);
    r->has_old_page = r->has_new_page = false;
    mem_free(r->old_page_object);
    mem_free(r->new_page_object);
    mem_free(r->page_entries);
    mem_free(r->producers);
    r->old_page_object = r->new_page_object = NULL;
    r->page_entries = NULL;
    r->producers = NULL;
    r->producer_count = r->name_count = r->suspect_count = 0;
    r->doomed_count = r->doomed_done = 0;
    r->part = 0;
    manifest_unref(r->base);
    r->base = NULL;
}

void reclaim_free(reclaim *r)
{
    if (r == NULL)
        return;
    forget(r);
    mem_free(r->doomed);
    mem_free(r->suspects);
    commit_free(r->commit);
    sweep_free(r->sweep);
    segment_cache_free(r->cache);
    mem_free(r);
}

void reclaim_start(reclaim *r, int64_t now_ns, int64_t deadline_ns)
{
    MUST_OR(!reclaim_machine.running(r), return );
    MUST_OR(deadline_ns >= now_ns, return );
    MUST_OR(!chain_machine.running(r->chain), return );
    forget(r);
    memset(&r->report, 0, sizeof r->report);
    r->now_ns = now_ns;
    r->deadline_ns = deadline_ns;
    r->span_ns = deadline_ns - now_ns;
    r->phase = RECLAIM_WALK;
    chain_start(r->chain, chain_held(r->chain) == NULL ? CHAIN_OPEN : CHAIN_NEWEST, now_ns);
    sound(r);
}

void reclaim_end(reclaim *r, bw_status status)
{
    MUST(r->phase != RECLAIM_IDLE);
    MUST(status == BW_OK || r->report.error.code != BW_OK);
    r->report.status = status;
    r->phase = RECLAIM_IDLE;
    ask_give_up(&r->asks);
}

void reclaim_fail(reclaim *r, bw_status status, const char *what)
{
    MUST(status != BW_OK);
    (void)error_set(&r->report.error, status, "%s", what);
    reclaim_end(r, status);
}

void reclaim_ask(reclaim *r, uint8_t role, store_op_kind kind)
{
    /* One at a time: what is deleted next depends on the answer. */
    MUST(!ask_any(&r->asks));
    MUST(kind != STORE_DELETE || r->options.apply);
    MUST(kind != STORE_DELETE || r->name_count > 0);
    r->refetched = false;
    (void)ask_add(&r->asks, role, kind, 0);
}

void reclaim_need_segment(reclaim *r, const segment_ref *ref)
{
    MUST(ref->first <= ref->last);
    MUST(ref->last >= r->base->swept);
    r->needed = *ref;
    reclaim_ask(r, RECLAIM_ASK_SEGMENT, STORE_GET);
}

void reclaim_doubt(reclaim *r, const bw_error *error, const object_key *key)
{
    MUST(error->code != BW_OK);
    MUST(!chain_machine.running(r->chain));
    error_copy(&r->report.error, error);
    error_set_key(&r->report.error, key->text);
    r->phase = RECLAIM_DOUBT;
    chain_start(r->chain, CHAIN_NEWEST, r->now_ns);
}

/* A missing object is judged by a proved newest manifest (docs/protocol.md). */
static void doubted(reclaim *r)
{
    const manifest *base = r->base;
    bw_error error;
    const bw_status status = chain_result(r->chain, &error);
    const manifest *held = chain_held(r->chain);
    MUST_OR(base != NULL, return );
    MUST(status != BW_OK || held->version >= base->version);
    if (status != BW_OK) {
        error_copy(&r->report.error, &error);
        reclaim_end(r, status);
    } else if (!MUTANT(overtaken_is_damage) &&
               (held->swept != base->swept || held->has_page != base->has_page ||
                held->page.nonce != base->page.nonce)) {
        memset(&r->report.error, 0, sizeof r->report.error);
        r->report.overtaken = true;
        reclaim_end(r, BW_OK);
    } else {
        reclaim_end(r, r->report.error.code);
    }
}

static void walked(reclaim *r)
{
    const bw_status status = chain_result(r->chain, &r->report.error);
    if (status != BW_OK) {
        reclaim_end(r, status);
        return;
    }
    MUST_OR(chain_held(r->chain) != NULL, return );
    MUST(chain_is_newest(r->chain));
    r->base = manifest_ref(chain_held(r->chain));
    const manifest *base = r->base;
    reclaim_report *report = &r->report;
    report->newest = base->version;
    report->trim = base->trim;
    report->swept = report->swept_to = r->at = base->swept;
    r->to = MUTANT(parts_above_trim) ? manifest_frontier(base) : base->trim;
    MUST(base->swept <= base->trim);
    MUST(base->trim <= base->next);
    if (r->options.steps_max > 0 && r->to - r->at > r->options.steps_max)
        r->to = r->at + r->options.steps_max;
    r->producers = mem_array(base->producer_count, sizeof *r->producers);
    if (r->producers == NULL) {
        reclaim_fail(r, BW_NOMEM, "no memory for a pass");
        return;
    }
    if (r->options.manifests_only)
        r->to = r->at;
    r->phase = RECLAIM_PARTS;
    reclaim_parts(r);
}

/* What the chain does not refer to any more. */
static void delete_segments(reclaim *r)
{
    MUST(r->doomed_done == r->doomed_count || r->options.apply);
    MUST(r->doomed_done == r->doomed_count || chain_held(r->chain)->swept >= r->to);
    r->phase = RECLAIM_SEGMENTS;
    r->name_count = 0;
    while (r->doomed_done < r->doomed_count && r->name_count < RECLAIM_NAMES_MAX)
        r->names[r->name_count++] = r->doomed[r->doomed_done++];
    if (r->name_count > 0) {
        reclaim_ask(r, RECLAIM_ASK_DELETE, STORE_DELETE);
        return;
    }
    r->phase = RECLAIM_MANIFESTS;
    sweep_start(r->sweep, r->now_ns, r->deadline_ns);
}

void reclaim_after_swept(reclaim *r)
{
    MUST(!commit_machine.running(r->commit));
    MUST(r->doomed_done == 0);
    if (!r->options.apply) {
        r->report.segments_deleted = r->doomed_count;
        r->doomed_done = r->doomed_count;
    }
    delete_segments(r);
}

/* They are judged by the newest proved manifest that there is. */
static void begin_orphans(reclaim *r)
{
    MUST_OR(chain_held(r->chain) != NULL, return );
    MUST(chain_held(r->chain)->version >= r->base->version);
    forget(r);
    r->base = manifest_ref(chain_held(r->chain));
    r->prefix = 0;
    memset(&r->after, 0, sizeof r->after);
    reclaim_list(r);
}

static void manifests_swept(reclaim *r)
{
    MUST(!sweep_machine.running(r->sweep));
    r->report.manifests = *sweep_reported(r->sweep);
    if (r->report.manifests.status != BW_OK) {
        error_copy(&r->report.error, &r->report.manifests.error);
        reclaim_end(r, r->report.manifests.status);
    } else if (r->options.orphans && !r->options.manifests_only) {
        begin_orphans(r);
    } else {
        reclaim_end(r, BW_OK);
    }
}

/* ---- requests and replies ---- */

/* The machine that the phase is left to. */
static machine inner(const reclaim *r)
{
    switch (r->phase) {
    case RECLAIM_WALK:
    case RECLAIM_DOUBT:
        return (machine){&chain_machine, r->chain};
    case RECLAIM_MANIFESTS:
        return (machine){&sweep_machine, r->sweep};
    default:
        return (machine){&commit_machine, r->commit};
    }
}

static bool delegates(const reclaim *r)
{
    return r->phase == RECLAIM_WALK || r->phase == RECLAIM_DOUBT || r->phase == RECLAIM_MANIFESTS ||
           r->phase == RECLAIM_COMMIT || commit_machine.running(r->commit);
}

static void after_inner(reclaim *r)
{
    const machine m = inner(r);
    if (r->phase == RECLAIM_COMMIT && commit_reported(r->commit)->end != COMMIT_RUNNING &&
        !m.type->running(m.self))
        reclaim_committed(r);
    else if (r->phase == RECLAIM_WALK && !m.type->running(m.self))
        walked(r);
    else if (r->phase == RECLAIM_DOUBT && !m.type->running(m.self))
        doubted(r);
    else if (r->phase == RECLAIM_MANIFESTS && !m.type->running(m.self))
        manifests_swept(r);
}

static void build(const reclaim *r, const ask *a, machine_request *request)
{
    switch (a->role) {
    case RECLAIM_ASK_SEGMENT:
        segment_ref_key(&r->needed, &request->key);
        request->bytes_max = object_bytes_max(OBJECT_SEGMENT);
        break;
    case RECLAIM_ASK_DELETE:
        MUST(r->options.apply);
        MUST(r->name_count > 0);
        request->keys = r->names;
        request->key_count = r->name_count;
        break;
    case RECLAIM_ASK_PAGE:
        key_page(&request->key, r->base->page.version, r->base->page.nonce);
        request->bytes_max = object_bytes_max(OBJECT_PAGE);
        break;
    case RECLAIM_ASK_PAGE_PUT:
        key_page(&request->key, r->new_page_ref.version, r->new_page_ref.nonce);
        MUST(r->new_page_object != NULL);
        request->bytes = r->new_page_object;
        request->size = r->new_page_bytes;
        break;
    default:
        (void)snprintf(request->key.text, sizeof request->key.text, "%s", reclaim_prefix(r));
        request->after = r->after;
    }
}

static bool reclaim_next(void *self, machine_request *request)
{
    reclaim *r = self;
    const ask *a = ask_take(&r->asks);
    if (a == NULL) {
        const machine m = inner(r);
        return delegates(r) && m.type->next(m.self, request);
    }
    *request = (machine_request){.id = a->id | RECLAIM_ID, .kind = a->kind};
    build(r, a, request);
    return true;
}

/* What a damaged segment describes is not known, so nothing of it is deleted. */
static void segment_read(reclaim *r, ask *a, machine_reply *reply)
{
    bw_status status = BW_CORRUPT;
    bw_error error;
    MUST(r->phase == RECLAIM_PARTS || r->phase == RECLAIM_JUDGE);
    (void)error_set(&error, status, "the segment that a manifest refers to is missing");
    if (reply->outcome == STORE_OK) {
        status = segment_cache_add(r->cache, &r->needed, r->base->uuid,
                                   genesis_slices(chain_genesis(r->chain)), reply->bytes,
                                   reply->size, &error);
        reply->bytes = NULL;
    }
    if (status != BW_OK && !r->refetched) {
        r->refetched = true;
        ask_rest(&r->asks, a, r->now_ns);
        return;
    }
    ask_done(&r->asks, a);
    if (status == BW_NOMEM) {
        reclaim_fail(r, status, "no memory for a segment");
    } else if (status != BW_OK) {
        object_key key;
        segment_ref_key(&r->needed, &key);
        reclaim_doubt(r, &error, &key);
    } else if (r->phase == RECLAIM_PARTS) {
        reclaim_parts(r);
    } else {
        reclaim_judge(r);
    }
}

static void deleted(reclaim *r)
{
    MUST(r->options.apply);
    MUST(r->name_count > 0);
    MUST(r->phase == RECLAIM_PARTS || r->phase == RECLAIM_SEGMENTS || r->phase == RECLAIM_ORPHANS);
    /* As long again: what took all of its time with deletes would never commit them, and whoever
     * comes next would delete the same. */
    r->deadline_ns = r->now_ns < TIME_NEVER - r->span_ns ? r->now_ns + r->span_ns : TIME_NEVER;
    if (r->phase == RECLAIM_PARTS) {
        r->report.names_deleted += r->name_count;
        r->name_count = 0;
        reclaim_parts(r);
    } else if (r->phase == RECLAIM_SEGMENTS) {
        r->report.segments_deleted += r->name_count;
        delete_segments(r);
    } else {
        r->report.orphans_deleted += r->name_count;
        r->name_count = 0;
        reclaim_orphans(r);
    }
}

static void answered(reclaim *r, ask *a, machine_reply *reply)
{
    if (a->role == RECLAIM_ASK_SEGMENT) {
        segment_read(r, a, reply);
    } else if (a->role == RECLAIM_ASK_PAGE) {
        reclaim_page_read(r, a, reply);
    } else {
        const uint8_t role = a->role;
        ask_done(&r->asks, a);
        if (role == RECLAIM_ASK_DELETE)
            deleted(r);
        else if (role == RECLAIM_ASK_PAGE_PUT)
            reclaim_page_put(r);
        else
            reclaim_listed(r, reply->list);
    }
}

static void own_reply(reclaim *r, ask *a, machine_reply *reply)
{
    MUST(a->state == ASK_SENT);
    MUST(r->phase != RECLAIM_IDLE);
    const bool reads = a->role == RECLAIM_ASK_SEGMENT || a->role == RECLAIM_ASK_PAGE;
    const bool answer = reply->outcome == STORE_OK ||
                        (reads && (reply->outcome == STORE_NOT_FOUND || reply_damaged(reply))) ||
                        (a->role == RECLAIM_ASK_DELETE && reply->outcome == STORE_NOT_FOUND) ||
                        (a->role == RECLAIM_ASK_DELETE && MUTANT(swept_before_answered));
    if (answer) {
        answered(r, a, reply);
        return;
    }
    /* Nothing is swept before every delete was answered. */
    if (reply->outcome == STORE_RETRY && !MUTANT(sweep_gives_up) && r->now_ns < r->deadline_ns) {
        ask_rest(&r->asks, a, r->now_ns);
        return;
    }
    const bw_status status = machine_status(reply);
    ask_done(&r->asks, a);
    reclaim_fail(r, status, reply->message != NULL ? reply->message : bw_status_text(status));
}

static void reclaim_reply(void *self, int64_t now_ns, machine_reply *reply)
{
    reclaim *r = self;
    r->now_ns = now_ns;
    if ((reply->id & RECLAIM_ID) != 0) {
        reply->id &= ~RECLAIM_ID;
        ask *a = ask_find(&r->asks, reply->id);
        if (a != NULL)
            own_reply(r, a, reply);
        sound(r);
        return;
    }
    const machine m = inner(r);
    m.type->reply(m.self, now_ns, reply);
    after_inner(r);
    sound(r);
}

static void reclaim_tick(void *self, int64_t now_ns)
{
    reclaim *r = self;
    r->now_ns = now_ns;
    ask_tick(&r->asks, now_ns);
    if (!delegates(r))
        return;
    const machine m = inner(r);
    m.type->tick(m.self, now_ns);
    after_inner(r);
    sound(r);
}

static int64_t reclaim_due(const void *self)
{
    const reclaim *r = self;
    const int64_t own = ask_due(&r->asks);
    if (!delegates(r))
        return own;
    const machine m = inner(r);
    const int64_t theirs = m.type->due(m.self);
    return own < theirs ? own : theirs;
}

static bool reclaim_running(const void *self)
{
    const reclaim *r = self;
    return r->phase != RECLAIM_IDLE || ask_any(&r->asks) || commit_machine.running(r->commit);
}

const machine_type reclaim_machine = {
    .name = "reclaim",
    .next = reclaim_next,
    .reply = reclaim_reply,
    .tick = reclaim_tick,
    .due = reclaim_due,
    .running = reclaim_running,
};

const reclaim_report *reclaim_reported(const reclaim *r)
{
    return &r->report;
}
