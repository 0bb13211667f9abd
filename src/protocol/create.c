// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/create.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "base/mutant.h"
#include "protocol/ask.h"
#include "protocol/intent.h"
#include "protocol/read.h"
#include <string.h>

#define REST_MIN_NS (10 * NS_PER_MS)
#define REST_MAX_NS (2 * NS_PER_S)

enum create_role { CREATE_GENESIS, READ_GENESIS, CREATE_FIRST };

struct create {
    bool own; /* the genesis is ours, to be created */
    bool running;
    bool unknown; /* a create of the current object may have landed, or may still */
    bool refetched;
    uint64_t clock_ms;
    token128 nonce;
    int64_t deadline_ns;
    buf genesis_bytes; /* own */
    uint8_t *object;   /* read */
    size_t object_bytes;
    genesis genesis;
    hash128 genesis_hash;
    buf first; /* version 1 */
    rng random;
    ask slots[1];
    ask_table asks;
    bw_status status;
    bw_error error;
};

bw_status create_new(const genesis *g, uint64_t clock_ms, const token128 *nonce, create **out)
{
    create *c = mem_zalloc(sizeof *c);
    if (c == NULL)
        return BW_NOMEM;
    c->own = g != NULL;
    c->clock_ms = clock_ms;
    c->nonce = *nonce;
    uint64_t seed;
    memcpy(&seed, nonce->bytes, sizeof seed);
    rng_seed(&c->random, seed);
    ask_open(&c->asks, c->slots, 1, REST_MIN_NS, REST_MAX_NS, &c->random);
    buf_init(&c->genesis_bytes, object_bytes_max(OBJECT_GENESIS));
    buf_init(&c->first, object_bytes_max(OBJECT_MANIFEST));
    const bw_status status = g != NULL ? genesis_encode(g, &c->genesis_bytes) : BW_OK;
    if (status != BW_OK) {
        create_free(c);
        return status;
    }
    if (g != NULL)
        c->genesis = *g;
    MUST(!ask_any(&c->asks));
    *out = c;
    return BW_OK;
}

/* What holds between events: running means exactly one request. */
static void sound(const create *c)
{
    MUST(c->running == ask_any(&c->asks));
    MUST(c->asks.used <= 1);
    MUST(c->own == (c->genesis_bytes.size > 0));
    MUST(!c->own || c->object == NULL);
    MUST(c->running || c->status != BW_OK || c->first.size > 0);
    MUST(c->running || c->status != BW_UNKNOWN || c->unknown);
}

void create_free(create *c)
{
    if (c == NULL)
        return;
    buf_free(&c->genesis_bytes);
    buf_free(&c->first);
    mem_free(c->object);
    mem_free(c);
}

void create_start(create *c, int64_t now_ns, int64_t deadline_ns)
{
    (void)now_ns;
    MUST_OR(!c->running, return );
    c->running = true;
    c->unknown = c->refetched = false;
    c->deadline_ns = deadline_ns;
    c->status = BW_OK;
    error_clear(&c->error);
    if (c->own)
        (void)ask_add(&c->asks, CREATE_GENESIS, STORE_CREATE, 0);
    else
        (void)ask_add(&c->asks, READ_GENESIS, STORE_GET, 0);
    sound(c);
}

static void end(create *c, bw_status status)
{
    MUST(c->running);
    c->status = status;
    c->running = false;
}

static void fail(create *c, bw_status status, const char *key, const char *message)
{
    (void)error_set(&c->error, status, "%s", message);
    error_set_key(&c->error, key);
    end(c, status);
}

static void make_first(create *c, const void *genesis_object, size_t bytes)
{
    manifest draft;
    const intent_aid aid = {.genesis = &c->genesis, .nonce = c->nonce, .clock_ms = c->clock_ms};
    MUST_OR(genesis_object != NULL, return );
    MUST(bytes > 0);
    bw_status status = hash_bytes(genesis_object, bytes, &c->genesis_hash);
    if (status == BW_OK) {
        manifest_succeed(NULL, &c->genesis, &c->genesis_hash, &aid, &draft);
        buf_reset(&c->first);
        status = manifest_encode(&draft, &c->first);
    }
    if (status != BW_OK) {
        fail(c, status, "", "version 1 cannot be encoded");
        return;
    }
    MUST(draft.version == 1);
    MUST(c->first.size > 0);
    c->unknown = false;
    (void)ask_add(&c->asks, CREATE_FIRST, STORE_CREATE, 1);
}

/* What stands under the name that a create found taken, or that a finisher looks for. */
static void genesis_read(create *c, machine_reply *reply)
{
    MUST(c->running);
    if (reply->outcome == STORE_NOT_FOUND) {
        if (c->own)
            fail(c, BW_STORE_UNSAFE, "genesis", "exists for a create, not found for a read");
        else
            fail(c, BW_NO_NAMESPACE, "genesis",
                 "there is no namespace here; batchweave init makes one");
        return;
    }
    if (c->own && reply->size == c->genesis_bytes.size &&
        (memcmp(reply->bytes, c->genesis_bytes.data, reply->size) == 0 ||
         MUTANT(another_genesis_is_ours))) {
        make_first(c, c->genesis_bytes.data, c->genesis_bytes.size);
        return;
    }
    genesis read = {0};
    bw_status status = BW_CORRUPT;
    if (reply->outcome == STORE_OK)
        status = genesis_decode(view_of(reply->bytes, reply->size), &read, &c->error);
    else
        (void)error_set(&c->error, status, "%s",
                        reply_damage(reply, "larger than a genesis can be"));
    if (status != BW_OK && !c->refetched) {
        /* Damaged on its way, it may be anybody's, our own as well. */
        c->refetched = true;
        (void)ask_add(&c->asks, READ_GENESIS, STORE_GET, 0);
    } else if (status != BW_OK) {
        error_set_key(&c->error, "genesis");
        end(c, status);
    } else if (c->own) {
        fail(c, BW_NOT_EMPTY, "genesis", "there is another namespace at this place");
    } else {
        mem_free(c->object);
        c->genesis = read;
        c->object = reply->bytes;
        c->object_bytes = reply->size;
        reply->bytes = NULL;
        make_first(c, c->object, c->object_bytes);
    }
}

static const char *role_key(int role)
{
    return role == CREATE_FIRST ? "manifest/00000000000000000001.manifest" : "genesis";
}

static void again(create *c, ask *a, int64_t now_ns, const machine_reply *reply)
{
    MUST(reply->outcome == STORE_UNKNOWN || reply->outcome == STORE_RETRY);
    if (reply->outcome == STORE_UNKNOWN)
        c->unknown = true;
    if (now_ns < c->deadline_ns) {
        ask_rest(&c->asks, a, now_ns);
        return;
    }
    const char *message = reply->message != NULL ? reply->message : "the deadline passed";
    const bw_status status = reply->code != BW_OK ? reply->code : BW_IO;
    fail(c, c->unknown ? BW_UNKNOWN : status, role_key(a->role), message);
    ask_done(&c->asks, a);
}

static void answered(create *c, int role, machine_reply *reply)
{
    if (role == READ_GENESIS) {
        genesis_read(c, reply);
    } else if (role == CREATE_FIRST) {
        MUST(reply->outcome == STORE_CREATED || reply->outcome == STORE_EXISTS);
        end(c, BW_OK);
    } else if (reply->outcome == STORE_CREATED) {
        make_first(c, c->genesis_bytes.data, c->genesis_bytes.size);
    } else {
        (void)ask_add(&c->asks, READ_GENESIS, STORE_GET, 0);
    }
}

static bool create_next(void *self, machine_request *request)
{
    create *c = self;
    const ask *a = ask_take(&c->asks);
    if (a == NULL)
        return false;
    MUST(c->running);
    *request = (machine_request){
        .id = a->id, .kind = a->kind, .bytes_max = object_bytes_max(OBJECT_GENESIS)};
    MUST(a->kind != STORE_GET || a->role == READ_GENESIS);
    const buf *bytes = a->role == CREATE_FIRST ? &c->first : &c->genesis_bytes;
    if (a->role == CREATE_FIRST)
        key_manifest(&request->key, 1);
    else
        key_genesis(&request->key);
    if (a->kind == STORE_CREATE) {
        request->bytes = bytes->data;
        request->size = bytes->size;
        MUST(request->size > 0);
    }
    return true;
}

static void create_reply(void *self, int64_t now_ns, machine_reply *reply)
{
    create *c = self;
    ask *a = ask_find(&c->asks, reply->id);
    if (a == NULL)
        return;
    MUST(a->role <= CREATE_FIRST);
    switch (reply->outcome) {
    case STORE_OK:
    case STORE_NOT_FOUND:
    case STORE_CREATED:
    case STORE_EXISTS: {
        const int role = a->role;
        ask_done(&c->asks, a);
        answered(c, role, reply);
        break;
    }
    case STORE_RETRY:
    case STORE_UNKNOWN:
        again(c, a, now_ns, reply);
        break;
    default:
        if (a->role == READ_GENESIS && reply_damaged(reply)) {
            ask_done(&c->asks, a);
            genesis_read(c, reply);
            break;
        }
        /* Definite, unless an earlier attempt is still open. */
        fail(c, c->unknown ? BW_UNKNOWN : machine_status(reply), role_key(a->role),
             reply->message != NULL ? reply->message : "the store refused");
        ask_done(&c->asks, a);
    }
    sound(c);
}

static void create_tick(void *self, int64_t now_ns)
{
    create *c = self;
    ask_tick(&c->asks, now_ns);
    sound(c);
}

static int64_t create_due(const void *self)
{
    const create *c = self;
    return ask_due(&c->asks);
}

static bool create_running(const void *self)
{
    const create *c = self;
    return c->running; /* and nothing is asked for when it is not: see sound */
}

const machine_type create_machine = {
    .name = "create",
    .next = create_next,
    .reply = create_reply,
    .tick = create_tick,
    .due = create_due,
    .running = create_running,
};

bw_status create_result(const create *c, bw_error *error)
{
    if (c->status != BW_OK)
        error_copy(error, &c->error);
    return c->status;
}
