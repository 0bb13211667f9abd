// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The machine around a walk: requests, replies, failures. The walk itself is in chain_open.c,
 * chain_step.c and chain_check.c. */
#include "protocol/chain.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "protocol/chain_walk.h"
#include "protocol/read.h"
#include <string.h>

#define REST_MIN_NS (10 * NS_PER_MS)
#define REST_MAX_NS (2 * NS_PER_S)
/* The store repeats by itself; what still says RETRY after that and these is reported. */
#define ATTEMPTS_MAX 10u

bw_status chain_new(uint64_t seed, const log_sink *log, chain **out)
{
    chain *c = mem_zalloc(sizeof *c);
    if (c == NULL)
        return BW_NOMEM;
    c->log = log;
    rng_seed(&c->random, seed);
    ask_open(&c->asks, c->slots, CHAIN_ASKS, REST_MIN_NS, REST_MAX_NS, &c->random);
    MUST(!ask_any(&c->asks));
    *out = c;
    return BW_OK;
}

/* What holds between events: a walk waits for an answer, and only a walk has a tip. */
static void sound(const chain *c)
{
    MUST(c->asks.used <= CHAIN_ASKS);
    MUST(c->state != WALK_IDLE || c->tip == NULL);
    MUST(c->state == WALK_IDLE || ask_any(&c->asks));
    MUST(c->tip == NULL || c->has_genesis);
    MUST(c->held == NULL || c->has_genesis);
    MUST(!c->is_newest || c->held != NULL);
    MUST(!c->tip_proved || c->tip != NULL);
    MUST(!c->tip_newest || c->tip_proved);
}

void chain_free(chain *c)
{
    if (c == NULL)
        return;
    manifest_unref(c->tip);
    manifest_unref(c->held);
    segment_cache_free(c->cache);
    for (uint32_t i = 0; i < RESUME_GUESSES; i++)
        mem_free(c->resume.early[i].object);
    mem_free(c->genesis_object);
    mem_free(c);
}

void chain_forgive_gaps(chain *c)
{
    c->lenient = true;
}

void chain_set_tip(chain *c, manifest *m)
{
    MUST(m == NULL || m->version > 0);
    manifest_unref(c->tip);
    c->tip = m;
    c->tip_proved = false;
    c->next_absent = false;
    c->tip_newest = false;
}

static void begin(chain *c, bool may_stop)
{
    MUST(c->tip == NULL);
    c->status = BW_OK;
    error_clear(&c->error);
    c->is_newest = false;
    c->want_newest = !may_stop;
    c->may_stop = may_stop;
    c->refetched = c->rewalked = false;
    c->run = c->reopens = 0;
    chain_set_tip(c, c->held != NULL ? manifest_ref(c->held) : NULL);
    c->tip_proved = c->linked = c->held != NULL;
}

void chain_look(chain *c, uint64_t version, int64_t now_ns)
{
    (void)now_ns;
    MUST_OR(c->state == WALK_IDLE, return );
    MUST_OR(!ask_any(&c->asks), return );
    MUST_OR(c->held != NULL, return );
    MUST(c->lenient);
    MUST(version > c->held->version);
    begin(c, true);
    c->counts.polls++;
    chain_land(c, LANDING_LOOK, version);
    sound(c);
}

void chain_start(chain *c, chain_goal goal, int64_t now_ns)
{
    (void)now_ns;
    MUST_OR(c->state == WALK_IDLE, return );
    MUST_OR(!ask_any(&c->asks), return );
    MUST(goal <= CHAIN_REOPEN);
    begin(c, goal == CHAIN_POLL);
    if (goal == CHAIN_OPEN || c->held == NULL) {
        chain_begin(c, goal == CHAIN_OPEN && c->held == NULL && c->resume.at.version > 0);
    } else if (goal == CHAIN_REOPEN) {
        chain_reopen(c);
    } else {
        c->counts.polls++;
        chain_step(c);
    }
    sound(c);
}

static void end(chain *c, bw_status status)
{
    c->status = status;
    c->state = WALK_IDLE;
    ask_give_up(&c->asks);
    chain_set_tip(c, NULL);
}

void chain_fail(chain *c, bw_status status, const char *format, ...)
{
    va_list args;
    MUST(status != BW_OK);
    va_start(args, format);
    (void)error_vset(&c->error, status, format, args);
    va_end(args);
    end(c, status);
}

void chain_fail_with(chain *c, bw_status status, const bw_error *error)
{
    MUST(status != BW_OK);
    error_copy(&c->error, error);
    c->error.code = status;
    end(c, status);
}

void chain_arrive(chain *c)
{
    MUST_OR(c->tip != NULL, return );
    MUST_OR(c->tip_proved, return );
    MUST(c->held == NULL || c->tip->version >= c->held->version);
    const bool newest = c->tip_newest;
    if (c->tip != c->held) {
        c->quiet_polls = 0;
        manifest_unref(c->held);
        c->held = manifest_ref(c->tip);
    }
    end(c, BW_OK);
    c->is_newest = newest;
}

static void request_key(const chain *c, const ask *a, machine_request *request)
{
    switch (a->role) {
    case ROLE_GENESIS:
        key_genesis(&request->key);
        request->bytes_max = object_bytes_max(OBJECT_GENESIS);
        break;
    case ROLE_HINT:
        key_hint(&request->key);
        request->bytes_max = object_bytes_max(OBJECT_HINT);
        break;
    case ROLE_MANIFEST:
    case ROLE_HEAD_MANIFEST:
        key_manifest(&request->key, a->number);
        request->bytes_max = object_bytes_max(OBJECT_MANIFEST);
        break;
    case ROLE_HEAD_MARKER:
    case ROLE_MARKER:
        key_marker(&request->key, a->number);
        request->bytes_max = MARKER_READ_MAX;
        break;
    default:
        MUST(a->role == ROLE_SEGMENT);
        segment_ref_key(&c->wanted[a->number], &request->key);
        request->bytes_max = object_bytes_max(OBJECT_SEGMENT);
    }
}

static bool chain_next(void *self, machine_request *request)
{
    chain *c = self;
    const ask *a = ask_take(&c->asks);
    if (a == NULL)
        return false;
    *request = (machine_request){.id = a->id, .kind = a->kind};
    request_key(c, a, request);
    MUST(request->key.text[0] != '\0');
    if (a->role == ROLE_MARKER)
        c->counts.markers_read++;
    return true;
}

/* An answer that is one: found or not. The ask is done. */
static void answered(chain *c, const ask *a, machine_reply *reply)
{
    const bool present = reply->outcome != STORE_NOT_FOUND;
    MUST(c->state != WALK_IDLE);
    if (c->state == WALK_RESUME) {
        chain_resumed(c, a, reply);
        return;
    }
    switch (a->role) {
    case ROLE_GENESIS:
    case ROLE_HINT:
        chain_began(c, a, reply);
        break;
    case ROLE_HEAD_MARKER:
    case ROLE_HEAD_MANIFEST:
        chain_probed(c, a, present);
        break;
    case ROLE_MARKER:
        if (c->state == WALK_EMPTY)
            chain_empty_marker(c, present);
        else
            chain_marker_read(c, present);
        break;
    case ROLE_MANIFEST:
        if (c->state == WALK_BEGIN)
            chain_began(c, a, reply);
        else if (c->state == WALK_LAND)
            chain_landed(c, a, reply);
        else
            chain_stepped(c, a, reply);
        break;
    default:
        chain_segment_read(c, reply);
    }
}

static void failed(chain *c, const ask *a, const machine_reply *reply)
{
    const bw_status status = machine_status(reply);
    machine_request request;
    MUST(status != BW_OK);
    request_key(c, a, &request);
    (void)error_set(&c->error, status, "%s",
                    reply->message != NULL ? reply->message : bw_status_text(status));
    error_set_key(&c->error, request.key.text);
    error_set_attempts(&c->error, a->attempts + 1);
    end(c, status);
}

/* What cannot be read and is only a guess is as good as missing. */
static bool is_guess(const chain *c, const ask *a)
{
    return a->role == ROLE_HINT || (c->state == WALK_BEGIN && a->role == ROLE_MANIFEST) ||
           (c->state == WALK_RESUME && a->role == ROLE_SEGMENT);
}

static void chain_reply(void *self, int64_t now_ns, machine_reply *reply)
{
    chain *c = self;
    ask *a = ask_find(&c->asks, reply->id);
    if (a == NULL)
        return;
    const ask copy = *a;
    MUST(a->state == ASK_SENT);
    const bool answer =
        reply->outcome == STORE_OK || reply->outcome == STORE_NOT_FOUND || reply_damaged(reply);
    if (answer || is_guess(c, a)) {
        ask_done(&c->asks, a);
        answered(c, &copy, reply);
    } else if (reply->outcome == STORE_RETRY && a->attempts + 1 < ATTEMPTS_MAX) {
        ask_rest(&c->asks, a, now_ns);
    } else {
        ask_done(&c->asks, a);
        failed(c, &copy, reply);
    }
    sound(c);
}

static void chain_tick(void *self, int64_t now_ns)
{
    chain *c = self;
    ask_tick(&c->asks, now_ns);
    sound(c);
}

static int64_t chain_due(const void *self)
{
    const chain *c = self;
    return ask_due(&c->asks);
}

static bool chain_running(const void *self)
{
    const chain *c = self;
    return c->state != WALK_IDLE || ask_any(&c->asks);
}

const machine_type chain_machine = {
    .name = "chain",
    .next = chain_next,
    .reply = chain_reply,
    .tick = chain_tick,
    .due = chain_due,
    .running = chain_running,
};

bw_status chain_result(const chain *c, bw_error *error)
{
    MUST(c->status == BW_OK || c->error.code == c->status);
    if (c->status != BW_OK)
        error_copy(error, &c->error);
    return c->status;
}

const genesis *chain_genesis(const chain *c)
{
    return c->has_genesis ? &c->genesis : NULL;
}

const hash128 *chain_genesis_hash(const chain *c)
{
    return c->has_genesis ? &c->genesis_hash : NULL;
}

manifest *chain_held(const chain *c)
{
    return c->held;
}

bool chain_is_newest(const chain *c)
{
    return c->is_newest;
}

void chain_adopt(chain *c, manifest *m)
{
    MUST(c->state == WALK_IDLE);
    MUST(c->held == NULL || m->version > c->held->version);
    manifest *old = c->held;
    c->held = manifest_ref(m);
    manifest_unref(old);
    c->is_newest = false;
    c->quiet_polls = 0;
}

const chain_counts *chain_counted(const chain *c)
{
    return &c->counts;
}
