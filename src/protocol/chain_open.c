// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* From nothing to a manifest that is read: hint, else search above the highest marker. Whatever is
 * found here is only a place to start from; chain_step.c goes on to the newest and proves it. */
#include "protocol/chain_walk.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "base/mutant.h"
#include "codec/small.h"
#include "protocol/read.h"
#include <string.h>

/* Manifests above the highest marker: more would be absurd. */
#define MANIFEST_POWERS 40u
/* The chain retires blocks more slowly than this searches; a walk that keeps losing says so instead
 * of running for ever. */
#define REOPENS_MAX 64u

void chain_begin(chain *c, bool resumes)
{
    MUST(!ask_any(&c->asks));
    c->state = WALK_BEGIN;
    c->has_hint = false;
    c->want_newest = true;
    if (!c->has_genesis)
        (void)ask_add(&c->asks, ROLE_GENESIS, STORE_GET, 0);
    (void)ask_add(&c->asks, ROLE_HINT, STORE_GET, 0);
    c->resume.asked = resumes;
    MUST(!resumes || c->held == NULL);
    if (resumes)
        chain_ask_early(c);
}

/* False: asked again, or failed. */
static bool genesis_read(chain *c, machine_reply *reply)
{
    MUST(!c->has_genesis);
    MUST(c->genesis_object == NULL);
    if (reply->outcome == STORE_NOT_FOUND) {
        chain_fail(c, BW_NO_NAMESPACE, "there is no namespace here; batchweave init makes one");
        error_set_key(&c->error, "genesis");
        return false;
    }
    bw_error error;
    bw_status status = BW_CORRUPT;
    if (reply->outcome == STORE_OK)
        status = genesis_decode(view_of(reply->bytes, reply->size), &c->genesis, &error);
    else
        (void)error_set(&error, status, "%s", reply_damage(reply, "larger than a genesis can be"));
    if (status == BW_OK)
        status = hash_bytes(reply->bytes, reply->size, &c->genesis_hash);
    if (status != BW_OK && !c->refetched) {
        c->refetched = true;
        (void)ask_add(&c->asks, ROLE_GENESIS, STORE_GET, 0);
        return false;
    }
    if (status != BW_OK) {
        error_set_key(&error, "genesis");
        chain_fail_with(c, status, &error);
        return false;
    }
    MUST(c->genesis.block_size > 0);
    c->refetched = false;
    c->has_genesis = true;
    c->genesis_object = reply->bytes;
    reply->bytes = NULL;
    return true;
}

static void hint_read(chain *c, const machine_reply *reply)
{
    uint8_t uuid[UUID_BYTES];
    MUST(!c->has_hint);
    if (reply->outcome != STORE_OK ||
        hint_decode(view_of(reply->bytes, reply->size), uuid, &c->hint, NULL) != BW_OK)
        return;
    /* A hint of another namespace is caught by the manifest that it leads to. */
    c->has_hint = c->hint >= 1 && c->hint <= NUMBER_MAX;
}

static void search_markers(chain *c)
{
    MUST(c->has_genesis);
    MUST(!ask_any(&c->asks));
    c->state = WALK_MARKERS;
    chain_set_tip(c, NULL);
    search_start(&c->search, 0, false, genesis_block(&c->genesis, UINT64_MAX) + 1,
                 SEARCH_POWERS_MAX);
    for (uint32_t i = 0; i < c->search.probe_count; i++)
        (void)ask_add(&c->asks, ROLE_HEAD_MARKER, STORE_HEAD, c->search.probes[i]);
}

void chain_began(chain *c, const ask *a, machine_reply *reply)
{
    MUST(c->state == WALK_BEGIN);
    if (a->role == ROLE_HINT)
        hint_read(c, reply);
    else if (a->role == ROLE_MANIFEST)
        chain_early(c, a, reply);
    else if (!genesis_read(c, reply))
        return;
    if (!c->has_genesis || ask_any(&c->asks) || chain_resumes(c))
        return;
    if (!c->has_hint) {
        search_markers(c);
        return;
    }
    /* The hint may be right: what lies behind it is asked for at once. Who finds v + 1 absent first
     * and reads v afterwards knows as much as in the other order: v was the newest at some moment
     * of the walk. */
    chain_set_tip(c, NULL);
    chain_land(c, LANDING_HINT, c->hint);
    chain_look_ahead(c, c->hint);
}

/* The hinted manifest and how far the chain goes behind it: once both are known. */
static void hint_followed(chain *c)
{
    MUST(c->state == WALK_LAND);
    MUST(c->landing == LANDING_HINT);
    MUST(!c->tip_proved);
    if (ask_any(&c->asks))
        return;
    if (c->tip == NULL)
        search_markers(c);
    else if (!chain_resumes_by_hint(c))
        chain_looked_ahead(c);
}

void chain_reopen(chain *c)
{
    MUST(c->has_genesis);
    MUST(!ask_any(&c->asks));
    c->counts.reopens++;
    if (c->tip != NULL && !c->tip_proved)
        c->counts.ghosts_met++;
    c->want_newest = true;
    c->may_stop = false;
    c->refetched = false;
    if (c->reopens++ >= REOPENS_MAX) {
        chain_fail(c, BW_IO, "blocks are being retired faster than they can be searched");
        return;
    }
    log_line(c->log, LOG_LEVEL_DEBUG, "chain: a retirement marker was met, opening above it");
    search_markers(c);
}

static void search_manifests(chain *c)
{
    MUST(c->state == WALK_MARKERS);
    MUST_OR(c->genesis.block_size > 0, return );
    const uint64_t blocks = c->search.found ? c->search.low + 1 : 0;
    if (blocks > UINT64_MAX / c->genesis.block_size - 1) {
        chain_fail(c, BW_CORRUPT, "the marker of block %llu cannot be",
                   (unsigned long long)c->search.low);
        return;
    }
    c->first = blocks > 0 && !MUTANT(search_from_start) ? blocks * c->genesis.block_size : 1;
    MUST(c->first > 0);
    c->state = WALK_MANIFESTS;
    search_start(&c->search, c->first, false, UINT64_MAX, MANIFEST_POWERS);
    for (uint32_t i = 0; i < c->search.probe_count; i++)
        (void)ask_add(&c->asks, ROLE_HEAD_MANIFEST, STORE_HEAD, c->search.probes[i]);
}

void chain_probed(chain *c, const ask *a, bool present)
{
    const uint8_t role = a->role;
    MUST(a->kind == STORE_HEAD);
    const bool last = search_answer(&c->search, a->number, present);
    if (c->state == WALK_LAND) {
        hint_followed(c);
    } else if (!last) {
        return;
    } else if (c->state == WALK_GALLOP) {
        chain_looked_ahead(c);
    } else if (!search_done(&c->search)) {
        for (uint32_t i = 0; i < c->search.probe_count; i++)
            (void)ask_add(&c->asks, role, STORE_HEAD, c->search.probes[i]);
    } else if (c->state == WALK_MARKERS) {
        search_manifests(c);
    } else if (c->search.found) {
        chain_land(c, LANDING_SEARCH, c->search.low);
    } else {
        c->state = WALK_EMPTY;
        (void)ask_add(&c->asks, ROLE_MARKER, STORE_GET, genesis_block(&c->genesis, c->first));
    }
}

/* The first manifest above the highest marker was absent, and after that its own marker was read.
 */
void chain_empty_marker(chain *c, bool present)
{
    MUST(c->state == WALK_EMPTY);
    MUST(!c->search.found);
    if (present) {
        chain_reopen(c);
    } else if (c->first == 1) {
        chain_fail(c, BW_NOT_READY, "there is a genesis and no version 1 yet");
    } else {
        object_key key;
        key_manifest(&key, c->first);
        chain_fail(c, BW_CORRUPT, "no manifest lies above the retired blocks");
        error_set_key(&c->error, key.text);
    }
}

void chain_land(chain *c, landing from, uint64_t version)
{
    MUST(version > 0);
    MUST(from != LANDING_GALLOP || c->tip != NULL);
    c->state = WALK_LAND;
    c->landing = from;
    c->refetched = false;
    (void)ask_add(&c->asks, ROLE_MANIFEST, STORE_GET, version);
}

/* Whether the links lead from what was held to `m`, which was not reached step by step. */
static bool lands_linked(const chain *c, const manifest *m)
{
    MUST(m != NULL);
    if (c->held == NULL)
        return true;
    if (m->version == c->held->version)
        return hash_equal(&m->hash, &c->held->hash);
    return m->version == c->held->version + 1 && hash_equal(&m->previous, &c->held->hash);
}

void chain_landed(chain *c, const ask *a, machine_reply *reply)
{
    manifest *m = NULL;
    MUST(c->state == WALK_LAND);
    MUST(a->number > 0);
    if (reply->outcome == STORE_NOT_FOUND) {
        if (c->landing == LANDING_HINT)
            hint_followed(c);
        else if (c->landing == LANDING_LOOK)
            chain_looked(c, a->number, false);
        else
            chain_reopen(c);
        return;
    }
    c->odd_status = chain_decode(c, a->number, reply, &m);
    if (c->odd_status == BW_NOMEM) {
        chain_fail_with(c, BW_NOMEM, &c->odd);
    } else if (c->odd_status != BW_OK) {
        if (c->landing == LANDING_HINT)
            hint_followed(c);
        else
            (void)chain_is_odd(c, a->number);
    } else {
        MUST(m->version == a->number);
        const bool linked = lands_linked(c, m);
        chain_set_tip(c, m);
        c->linked = linked;
        c->run++;
        /* A hint is up to 32 versions old, and a search may be as old as it took. */
        if (c->landing == LANDING_HINT && MUTANT(hint_trusted)) {
            c->tip_proved = c->tip_newest = true;
            chain_arrive(c);
        } else if (c->landing == LANDING_HINT)
            hint_followed(c);
        else if (c->landing == LANDING_LOOK)
            chain_looked(c, a->number, true);
        else
            chain_step(c);
    }
}
