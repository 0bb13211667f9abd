// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The machine around a commit: requests, replies, ends. What to try is in commit_try.c, how a try
 * ended in commit_close.c. */
#include "protocol/commit.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "base/mutant.h"
#include "protocol/commit_state.h"
#include "protocol/read.h"
#include <string.h>

/* Tells our requests from those of the chain; ask ids are below. */
#define COMMIT_ID 0x40000000u

bw_status commit_new(chain *c, const commit_options *options, commit **out)
{
    commit *made = mem_zalloc(sizeof *made);
    if (made == NULL)
        return BW_NOMEM;
    made->chain = c;
    made->options = *options;
    rng_seed(&made->random, options->seed);
    ask_open(&made->asks, made->slots, COMMIT_ASKS, options->backoff_min_ns,
             options->backoff_max_ns, &made->random);
    buf_init(&made->candidate, object_bytes_max(OBJECT_MANIFEST));
    buf_init(&made->fold.object, object_bytes_max(OBJECT_SEGMENT));
    buf_init(&made->merge.object, object_bytes_max(OBJECT_SEGMENT));
    buf_init(&made->hint, object_bytes_max(OBJECT_HINT));
    if (intent_scratch_new(&made->scratch) != BW_OK) {
        mem_free(made);
        return BW_NOMEM;
    }
    chain_forgive_gaps(c);
    *out = made;
    return BW_OK;
}

static bool walking(const commit *c)
{
    return c->state == STATE_WALK || c->state == STATE_WITNESS;
}

/* What holds between events. */
static void sound(const commit *c)
{
    const commit_report *r = &c->report;
    MUST(c->asks.used <= COMMIT_ASKS);
    MUST(c->attempt.open == (c->attempt.next != NULL));
    MUST(c->attempt.open || !c->attempt.landed);
    MUST(c->attempt.open || c->state < STATE_CREATE);
    MUST(!c->attempt.open || c->state >= STATE_CREATE || c->state == STATE_PAGE);
    MUST(c->read == NULL || c->state == STATE_READ_MARK);
    MUST(c->has_page == (c->page_object != NULL));
    MUST(c->state == STATE_IDLE || r->end == COMMIT_RUNNING);
    MUST(r->end != COMMIT_DONE || r->status == BW_OK);
    MUST(r->end != COMMIT_DONE || r->version > 0);
    MUST(r->end != COMMIT_DONE || !r->open_unknown);
    MUST(c->fold.state != PUT_ASKED || ask_any(&c->asks));
    MUST(c->merge.state != PUT_ASKED || ask_any(&c->asks));
}

void commit_free(commit *c)
{
    if (c == NULL)
        return;
    intent_scratch_free(c->scratch);
    manifest_unref(c->read);
    commit_close_attempt(c);
    if (c->has_page)
        page_free(&c->page);
    mem_free(c->page_object);
    buf_free(&c->candidate);
    buf_free(&c->fold.object);
    buf_free(&c->merge.object);
    buf_free(&c->hint);
    mem_free(c);
}

bool commit_may_start(const commit *c)
{
    return c->state == STATE_IDLE;
}

bool commit_puts_segment(const commit *c)
{
    return c->fold.state == PUT_ASKED || c->merge.state == PUT_ASKED;
}

void commit_start(commit *c, intent *i, view committer, int64_t now_ns, int64_t deadline_ns)
{
    MUST_OR(commit_may_start(c), return );
    MUST_OR(!chain_machine.running(c->chain), return );
    MUST(i->kind < INTENT_KINDS);
    const manifest *held = chain_held(c->chain);
    /* What the owner's look found was made by others. */
    if (c->trusts && held->version > c->report.version)
        c->crowd = CROWD_COMMITS;
    memset(&c->report, 0, sizeof c->report);
    c->intent = i;
    c->committer = committer;
    c->now_ns = c->base_ns = now_ns;
    c->deadline_ns = deadline_ns;
    c->fresh = c->trusts && MUTANT(trust_is_fresh);
    c->doubt = false;
    c->page_missing = 0;
    if (held == NULL) {
        commit_walk(c, CHAIN_OPEN);
    } else if (c->crowd > 0 && !c->trusts) {
        c->crowd--;
        commit_walk(c, CHAIN_POLL);
    } else {
        commit_consider(c);
    }
    c->trusts = c->trusts && MUTANT(trust_stays);
    sound(c);
}

void commit_trust_base(commit *c)
{
    MUST(commit_may_start(c));
    MUST(chain_held(c->chain) != NULL);
    c->trusts = true;
}

void commit_close_attempt(commit *c)
{
    manifest_unref(c->attempt.next);
    c->attempt = (attempt){0};
}

void commit_end_with(commit *c, commit_end end, bw_status status)
{
    commit_report *r = &c->report;
    MUST(end != COMMIT_RUNNING);
    MUST(end != COMMIT_DONE || status == BW_OK);
    r->end = end;
    r->status = status;
    r->open_unknown |= c->doubt && end != COMMIT_DONE;
    if (r->attempts > 0)
        r->fragile_ns = c->now_ns - c->base_ns;
    commit_close_attempt(c);
    c->state = STATE_IDLE;
    manifest_unref(c->read);
    c->read = NULL;
}

void commit_fail(commit *c, commit_end end, bw_status status, const char *format, ...)
{
    va_list args;
    MUST(status != BW_OK);
    va_start(args, format);
    (void)error_vset(&c->report.error, status, format, args);
    va_end(args);
    commit_end_with(c, end, status);
}

void commit_overdue(commit *c, const char *why)
{
    commit_report *r = &c->report;
    char nonce[2 * TOKEN_BYTES + 1];
    MUST_OR(c->attempt.next != NULL, return );
    MUST(r->end == COMMIT_RUNNING);
    hex_encode(c->attempt.next->nonce.bytes, TOKEN_BYTES, nonce);
    r->overdue = true;
    r->status = BW_UNKNOWN;
    (void)error_set(&r->error, BW_UNKNOWN, "version %llu with nonce %s: %s",
                    (unsigned long long)c->attempt.next->version, nonce, why);
    error_set_attempts(&r->error, r->attempts);
}

void commit_walk(commit *c, chain_goal goal)
{
    const manifest *held = chain_held(c->chain);
    MUST(!chain_machine.running(c->chain));
    c->state = c->attempt.open ? STATE_WITNESS : STATE_WALK;
    c->walk_from = held != NULL ? held->version : UINT64_MAX;
    chain_start(c->chain, goal, c->now_ns);
}

void commit_walked(commit *c)
{
    MUST(walking(c));
    const bw_status status = chain_result(c->chain, &c->report.error);
    if (status != BW_OK && c->attempt.open) {
        bw_error why;
        error_copy(&why, &c->report.error);
        commit_overdue(c, why.message);
        c->state = STATE_WITNESS_REST;
        c->pause_ns = c->now_ns + ask_jitter(&c->random, UINT32_MAX, c->options.backoff_min_ns,
                                             c->options.backoff_max_ns);
        return;
    }
    if (status != BW_OK) {
        commit_end_with(c, COMMIT_FAILED, status);
        return;
    }
    MUST_OR(chain_held(c->chain) != NULL, return );
    c->base_ns = c->now_ns;
    c->fresh = chain_is_newest(c->chain);
    if (chain_held(c->chain)->version > c->walk_from)
        c->crowd = CROWD_COMMITS;
    if (c->attempt.open)
        commit_witness(c);
    else
        commit_consider(c);
}

static void request_object(machine_request *request, const buf *object)
{
    request->bytes = object->data;
    request->size = object->size;
}

static bool commit_next(void *self, machine_request *request)
{
    commit *c = self;
    const ask *a = ask_take(&c->asks);
    if (a == NULL)
        return chain_machine.next(c->chain, request);
    *request = (machine_request){.id = a->id | COMMIT_ID, .kind = a->kind};
    switch (a->role) {
    case COMMIT_ASK_CREATE:
        MUST_OR(c->attempt.next != NULL, return false);
        MUST(a->number == c->attempt.next->version);
        key_manifest(&request->key, a->number);
        request->bytes = c->attempt.next->object;
        request->size = c->attempt.next->object_bytes;
        break;
    case COMMIT_ASK_READ:
        key_manifest(&request->key, a->number);
        request->bytes_max = object_bytes_max(OBJECT_MANIFEST);
        break;
    case COMMIT_ASK_MARKER:
        key_marker(&request->key, a->number);
        request->bytes_max = MARKER_READ_MAX;
        break;
    case COMMIT_ASK_PAGE:
        key_page(&request->key, c->page_of.version, c->page_of.nonce);
        request->bytes_max = object_bytes_max(OBJECT_PAGE);
        break;
    case COMMIT_ASK_FOLD:
        segment_ref_key(&c->fold.ref, &request->key);
        request_object(request, &c->fold.object);
        if (a->kind == STORE_DELETE && MUTANT(loser_deletes)) {
            static object_key doomed;
            doomed = request->key;
            request->keys = &doomed;
            request->key_count = 1;
        }
        break;
    case COMMIT_ASK_MERGE:
        segment_ref_key(&c->merge.ref, &request->key);
        request_object(request, &c->merge.object);
        break;
    default:
        MUST(a->role == COMMIT_ASK_HINT);
        key_hint(&request->key);
        request_object(request, &c->hint);
    }
    return true;
}

static void own_reply(commit *c, ask *a, machine_reply *reply)
{
    MUST(a->state == ASK_SENT);
    switch (a->role) {
    case COMMIT_ASK_CREATE:
        commit_created(c, a, reply);
        break;
    case COMMIT_ASK_MARKER:
        commit_marked(c, a, reply);
        break;
    case COMMIT_ASK_READ:
        commit_read(c, a, reply);
        break;
    case COMMIT_ASK_PAGE:
        commit_page_read(c, a, reply);
        break;
    case COMMIT_ASK_FOLD:
        commit_put_answered(c, a, &c->fold, reply);
        break;
    case COMMIT_ASK_MERGE:
        commit_put_answered(c, a, &c->merge, reply);
        break;
    default:
        ask_done(&c->asks, a); /* the hint is advisory: its failure is nobody's concern */
    }
}

static void commit_reply(void *self, int64_t now_ns, machine_reply *reply)
{
    commit *c = self;
    c->now_ns = now_ns;
    if ((reply->id & COMMIT_ID) != 0) {
        reply->id &= ~COMMIT_ID;
        ask *a = ask_find(&c->asks, reply->id);
        if (a != NULL)
            own_reply(c, a, reply);
        sound(c);
        return;
    }
    MUST(walking(c)); /* until the chain's last request was answered */
    chain_machine.reply(c->chain, now_ns, reply);
    if (!chain_machine.running(c->chain))
        commit_walked(c);
    sound(c);
}

static void commit_tick(void *self, int64_t now_ns)
{
    commit *c = self;
    c->now_ns = now_ns;
    ask_tick(&c->asks, now_ns);
    if (walking(c))
        chain_machine.tick(c->chain, now_ns);
    if (c->attempt.open && c->attempt.landed && !c->report.overdue && now_ns >= c->deadline_ns)
        commit_overdue(c, "the deadline passed");
    if (c->state == STATE_PAUSE && now_ns >= c->pause_ns)
        commit_walk(c, CHAIN_POLL);
    else if (c->state == STATE_WITNESS_REST && now_ns >= c->pause_ns)
        commit_walk(c, CHAIN_REOPEN);
    sound(c);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t commit_due(const void *self)
{
    const commit *c = self;
    int64_t due = ask_due(&c->asks);
    if (walking(c))
        due = earlier(due, chain_machine.due(c->chain));
    if (c->state == STATE_PAUSE || c->state == STATE_WITNESS_REST)
        due = earlier(due, c->pause_ns);
    if (c->attempt.open && c->attempt.landed && !c->report.overdue)
        due = earlier(due, c->deadline_ns);
    return due;
}

static bool commit_running(const void *self)
{
    const commit *c = self;
    return c->state != STATE_IDLE || ask_any(&c->asks);
}

const machine_type commit_machine = {
    .name = "commit",
    .next = commit_next,
    .reply = commit_reply,
    .tick = commit_tick,
    .due = commit_due,
    .running = commit_running,
};

const commit_report *commit_reported(const commit *c)
{
    return &c->report;
}

const commit_counts *commit_counted(const commit *c)
{
    return &c->counts;
}
