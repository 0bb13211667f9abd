// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/sweep.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "base/mutant.h"
#include "codec/small.h"
#include "protocol/ask.h"
#include "protocol/search.h"
#include <stdio.h>
#include <string.h>

/* Tells our requests from those of the chain; ask ids are below. */
#define SWEEP_ID 0x40000000u
/* Names of one delete. */
#define NAMES_MAX 256u
#define SWEEP_ASKS (2u * SEARCH_PROBES_MAX)

typedef enum sweep_state {
    SWEEP_IDLE,
    SWEEP_WALK,    /* to a proved newest manifest */
    SWEEP_MARKERS, /* which blocks are retired already */
    SWEEP_MARK,    /* the next one's marker */
    SWEEP_DELETE,  /* its names */
    SWEEP_LIST,    /* what lies in retired blocks again */
    SWEEP_GHOSTS   /* and is deleted again */
} sweep_state;

enum sweep_role { SWEEP_ASK_HEAD, SWEEP_ASK_MARKER, SWEEP_ASK_DELETE, SWEEP_ASK_LIST };

struct sweep {
    chain *chain;
    sweep_options options;
    rng random;
    ask slots[SWEEP_ASKS];
    ask_table asks;
    int64_t now_ns, deadline_ns;
    sweep_state state;
    search search;
    uint64_t limit;   /* blocks below may go: not the newest one's, not the one before it */
    uint64_t retired; /* blocks below have their marker */
    uint64_t version; /* the next name of the block to delete */
    uint32_t blocks;  /* done in this pass */
    buf marker;
    object_key after; /* listed up to here */
    bool listed_all;
    uint32_t name_count;
    object_key names[NAMES_MAX];
    sweep_report report;
};

bw_status sweep_new(chain *c, const sweep_options *options, sweep **out)
{
    sweep *s = mem_zalloc(sizeof *s);
    if (s == NULL)
        return BW_NOMEM;
    s->chain = c;
    s->options = *options;
    rng_seed(&s->random, options->seed);
    ask_open(&s->asks, s->slots, SWEEP_ASKS, options->backoff_min_ns, options->backoff_max_ns,
             &s->random);
    buf_init(&s->marker, object_bytes_max(OBJECT_MARKER));
    chain_forgive_gaps(c);
    *out = s;
    return BW_OK;
}

/* What holds between events: nothing is asked for that could touch what must stay. */
static void sound(const sweep *s)
{
    MUST(s->asks.used <= SWEEP_ASKS);
    MUST(s->name_count <= NAMES_MAX);
    MUST(s->state == SWEEP_IDLE || s->state == SWEEP_WALK || ask_any(&s->asks));
    MUST(s->state != SWEEP_MARK || s->retired < s->limit);
    MUST(s->state != SWEEP_DELETE || s->retired < s->limit);
    MUST(s->state != SWEEP_MARK || s->options.apply);
    MUST(s->state != SWEEP_DELETE || s->options.apply);
    MUST(s->state != SWEEP_GHOSTS || s->options.apply);
    MUST(s->options.blocks_max == 0 || s->blocks <= s->options.blocks_max);
}

void sweep_free(sweep *s)
{
    if (s == NULL)
        return;
    buf_free(&s->marker);
    mem_free(s);
}

void sweep_start(sweep *s, int64_t now_ns, int64_t deadline_ns)
{
    MUST_OR(!sweep_machine.running(s), return );
    MUST_OR(!chain_machine.running(s->chain), return );
    memset(&s->report, 0, sizeof s->report);
    s->now_ns = now_ns;
    s->deadline_ns = deadline_ns;
    s->blocks = 0;
    s->name_count = 0;
    s->listed_all = false;
    memset(&s->after, 0, sizeof s->after);
    s->state = SWEEP_WALK;
    chain_start(s->chain, chain_held(s->chain) == NULL ? CHAIN_OPEN : CHAIN_NEWEST, now_ns);
    sound(s);
}

static void end(sweep *s, bw_status status)
{
    MUST(s->state != SWEEP_IDLE);
    s->report.status = status;
    s->report.blocks_total = s->retired;
    s->state = SWEEP_IDLE;
    ask_give_up(&s->asks);
}

static void ask_probes(sweep *s)
{
    for (uint32_t i = 0; i < s->search.probe_count; i++)
        (void)ask_add(&s->asks, SWEEP_ASK_HEAD, STORE_HEAD, s->search.probes[i]);
}

static void walked(sweep *s)
{
    const bw_status status = chain_result(s->chain, &s->report.error);
    if (status != BW_OK) {
        end(s, status);
        return;
    }
    MUST_OR(chain_is_newest(s->chain), return );
    MUST_OR(chain_held(s->chain) != NULL, return );
    const genesis *g = chain_genesis(s->chain);
    s->report.newest = chain_held(s->chain)->version;
    const uint64_t newest_block = genesis_block(g, s->report.newest);
    s->limit = newest_block > 0 ? newest_block - 1 : 0;
    MUST(s->report.newest > 0);
    if (MUTANT(newest_block_retired))
        s->limit = newest_block + 1;
    else if (MUTANT(block_before_newest_retired))
        s->limit = newest_block;
    s->state = SWEEP_MARKERS;
    search_start(&s->search, 0, false, genesis_block(g, UINT64_MAX) + 1, SEARCH_POWERS_MAX);
    ask_probes(s);
}

static void list_more(sweep *s)
{
    MUST(!s->listed_all);
    s->state = SWEEP_LIST;
    s->name_count = 0;
    (void)ask_add(&s->asks, SWEEP_ASK_LIST, STORE_LIST, 0);
}

static void marked(sweep *s, store_outcome outcome);

static void next_block(sweep *s)
{
    const bool may = s->options.blocks_max == 0 || s->blocks < s->options.blocks_max;
    if (!may || s->retired >= s->limit) {
        list_more(s);
        return;
    }
    if (!s->options.apply) {
        uint64_t blocks = s->limit - s->retired;
        if (s->options.blocks_max > 0 && blocks > s->options.blocks_max)
            blocks = s->options.blocks_max;
        s->report.blocks_retired = blocks;
        list_more(s);
        return;
    }
    buf_reset(&s->marker);
    const bw_status status = marker_encode(chain_genesis(s->chain)->uuid, s->retired, &s->marker);
    if (status != BW_OK) {
        (void)error_set(&s->report.error, status, "a marker cannot be encoded");
        end(s, status);
        return;
    }
    if (s->limit > s->retired + 1 && MUTANT(markers_out_of_order))
        s->retired++;
    if (MUTANT(delete_before_marker)) {
        marked(s, STORE_EXISTS);
        return;
    }
    MUST(s->marker.size > 0);
    MUST(s->retired < s->limit);
    s->state = SWEEP_MARK;
    (void)ask_add(&s->asks, SWEEP_ASK_MARKER, STORE_CREATE, s->retired);
}

static void probed(sweep *s, uint64_t number, bool present)
{
    MUST(s->state == SWEEP_MARKERS);
    if (!search_answer(&s->search, number, present))
        return;
    if (!search_done(&s->search)) {
        ask_probes(s);
        return;
    }
    s->retired = s->search.found ? s->search.low + 1 : 0;
    next_block(s);
}

/* The block's marker is durable: its names may go, as many a request as there is room for. */
static void delete_names(sweep *s)
{
    const uint64_t end_version = (s->retired + 1) * chain_genesis(s->chain)->block_size;
    MUST(s->version > 0);
    MUST(end_version < s->report.newest);
    s->name_count = 0;
    while (s->version < end_version && s->name_count < NAMES_MAX)
        key_manifest(&s->names[s->name_count++], s->version++);
    MUST(s->version <= end_version);
    if (s->name_count > 0) {
        s->state = SWEEP_DELETE;
        (void)ask_add(&s->asks, SWEEP_ASK_DELETE, STORE_DELETE, s->retired);
        return;
    }
    s->retired++;
    s->blocks++;
    next_block(s);
}

static void marked(sweep *s, store_outcome outcome)
{
    MUST(outcome == STORE_CREATED || outcome == STORE_EXISTS);
    MUST(s->options.apply);
    if (outcome == STORE_CREATED)
        s->report.blocks_retired++;
    s->version = s->retired * chain_genesis(s->chain)->block_size;
    if (s->version == 0)
        s->version = 1;
    delete_names(s);
}

/* A dry run counts what would go with the blocks that would be retired; what lies in retired blocks
 * is deleted again, since a create that was delayed may have landed there. */
static void listed(sweep *s, const store_list *list)
{
    const genesis *g = chain_genesis(s->chain);
    MUST_OR(list != NULL, return );
    MUST(s->state == SWEEP_LIST);
    MUST(s->limit <= genesis_block(g, s->report.newest));
    /* Whatever the markers say, what lies near the newest stays. */
    const uint64_t dead = s->retired < s->limit ? s->retired : s->limit;
    const uint64_t would = s->options.apply ? dead : dead + s->report.blocks_retired;
    bool beyond = false;
    size_t i = 0;
    for (; i < list->count && s->name_count < NAMES_MAX; i++) {
        key_fields fields;
        key_parse(view_text(list->entries[i].key), &fields);
        /* The prefix holds nothing else; a foreign name too long to go on from ends the listing. */
        const int size = snprintf(s->after.text, sizeof s->after.text, "%s", list->entries[i].key);
        MUST(size >= 0);
        beyond |= (size_t)size >= sizeof s->after.text;
        if (fields.kind != KEY_MANIFEST)
            continue;
        const uint64_t in = genesis_block(g, fields.number);
        if (in < dead || (fields.number < s->report.newest && MUTANT(list_trusted)))
            key_manifest(&s->names[s->name_count++], fields.number);
        else if (in < would)
            s->report.manifests_deleted++;
        else
            beyond = true;
    }
    /* Most stores list in order; where one does not, the next pass finds the rest. */
    s->listed_all = i == list->count && (!list->more || beyond);
    if (s->options.apply && s->name_count > 0 && !MUTANT(ghosts_left)) {
        s->state = SWEEP_GHOSTS;
        (void)ask_add(&s->asks, SWEEP_ASK_DELETE, STORE_DELETE, 0);
        return;
    }
    s->report.ghosts_deleted += s->name_count;
    if (s->listed_all)
        end(s, BW_OK);
    else
        list_more(s);
}

static void deleted(sweep *s)
{
    MUST(s->state == SWEEP_DELETE || s->state == SWEEP_GHOSTS);
    MUST(s->name_count > 0);
    if (s->state == SWEEP_DELETE) {
        s->report.manifests_deleted += s->name_count;
        delete_names(s);
        return;
    }
    s->report.ghosts_deleted += s->name_count;
    if (s->listed_all)
        end(s, BW_OK);
    else
        list_more(s);
}

static bool sweep_next(void *self, machine_request *request)
{
    sweep *s = self;
    const ask *a = ask_take(&s->asks);
    if (a == NULL)
        return chain_machine.next(s->chain, request);
    *request = (machine_request){.id = a->id | SWEEP_ID, .kind = a->kind};
    switch (a->role) {
    case SWEEP_ASK_LIST:
        (void)snprintf(request->key.text, sizeof request->key.text, "manifest/");
        request->after = s->after;
        break;
    case SWEEP_ASK_DELETE:
        request->keys = s->names;
        request->key_count = s->name_count;
        MUST(request->key_count > 0);
        break;
    case SWEEP_ASK_MARKER:
        key_marker(&request->key, a->number);
        request->bytes = s->marker.data;
        request->size = s->marker.size;
        MUST(request->size > 0);
        break;
    default:
        key_marker(&request->key, a->number);
    }
    return true;
}

static void own_reply(sweep *s, ask *a, machine_reply *reply)
{
    const ask copy = *a;
    MUST(a->state == ASK_SENT);
    MUST(s->state != SWEEP_IDLE);
    const bool marker = a->role == SWEEP_ASK_MARKER;
    const bool answer =
        marker ? reply->outcome == STORE_CREATED || reply->outcome == STORE_EXISTS ||
                     (MUTANT(marker_in_doubt_trusted) && reply->outcome == STORE_UNKNOWN)
               : reply->outcome == STORE_OK || reply->outcome == STORE_NOT_FOUND;
    /* A marker in doubt is created again until it is there: nothing is deleted before (R8). */
    const bool again = reply->outcome == STORE_RETRY || reply->outcome == STORE_UNKNOWN;
    if (!answer && again && s->now_ns < s->deadline_ns) {
        ask_rest(&s->asks, a, s->now_ns);
        return;
    }
    ask_done(&s->asks, a);
    if (!answer) {
        const bw_status status = machine_status(reply);
        (void)error_set(&s->report.error, status, "%s",
                        reply->message != NULL ? reply->message : bw_status_text(status));
        end(s, status);
    } else if (marker) {
        marked(s, reply->outcome);
    } else if (copy.role == SWEEP_ASK_DELETE) {
        deleted(s);
    } else if (copy.role == SWEEP_ASK_LIST) {
        listed(s, reply->list);
    } else {
        probed(s, copy.number, reply->outcome == STORE_OK);
    }
}

static void sweep_reply(void *self, int64_t now_ns, machine_reply *reply)
{
    sweep *s = self;
    s->now_ns = now_ns;
    if ((reply->id & SWEEP_ID) != 0) {
        reply->id &= ~SWEEP_ID;
        ask *a = ask_find(&s->asks, reply->id);
        if (a != NULL)
            own_reply(s, a, reply);
        sound(s);
        return;
    }
    MUST(s->state == SWEEP_WALK); /* until the chain's last request was answered */
    chain_machine.reply(s->chain, now_ns, reply);
    if (!chain_machine.running(s->chain))
        walked(s);
    sound(s);
}

static void sweep_tick(void *self, int64_t now_ns)
{
    sweep *s = self;
    s->now_ns = now_ns;
    ask_tick(&s->asks, now_ns);
    if (s->state == SWEEP_WALK)
        chain_machine.tick(s->chain, now_ns);
}

static int64_t sweep_due(const void *self)
{
    const sweep *s = self;
    const int64_t own = ask_due(&s->asks);
    const int64_t walk = s->state == SWEEP_WALK ? chain_machine.due(s->chain) : TIME_NEVER;
    return own < walk ? own : walk;
}

static bool sweep_running(const void *self)
{
    const sweep *s = self;
    return s->state != SWEEP_IDLE || ask_any(&s->asks);
}

const machine_type sweep_machine = {
    .name = "sweep",
    .next = sweep_next,
    .reply = sweep_reply,
    .tick = sweep_tick,
    .due = sweep_due,
    .running = sweep_running,
};

const sweep_report *sweep_reported(const sweep *s)
{
    return &s->report;
}
