// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* From a manifest to its successors, and the markers that prove them. */
#include "protocol/chain_walk.h"

#include "base/invariant.h"
#include "base/mutant.h"
#include "protocol/read.h"

/* A poll takes at most this many versions; a walk to the newest goes on. */
#define RUN_MAX 64u
/* Versions in a row after which it is worth asking how far it goes: 2^10 ahead at most, then again.
 */
#define GALLOP_AFTER 8u
#define GALLOP_POWERS 11u
#define GALLOP_SPAN ((uint64_t)1 << (GALLOP_POWERS - 1))
/* Every so many polls that find nothing the marker is read: a block retired meanwhile would mean
 * 404 for ever. */
#define MARKER_EVERY 16u

static void ask_marker(chain *c, walk_state state, uint64_t version)
{
    MUST(version > 0);
    MUST(state == WALK_TIP || state == WALK_NEWEST || state == WALK_ODD);
    c->state = state;
    /* The block of what is held was found unmarked when that was proved. */
    if (state == WALK_TIP && c->held != NULL && MUTANT(marker_remembered) &&
        genesis_block(&c->genesis, c->held->version) == genesis_block(&c->genesis, version)) {
        chain_marker_read(c, false);
        return;
    }
    (void)ask_add(&c->asks, ROLE_MARKER, STORE_GET, genesis_block(&c->genesis, version));
}

void chain_step(chain *c)
{
    MUST_OR(c->tip != NULL, return );
    MUST(c->tip->version < UINT64_MAX);
    c->state = WALK_STEP;
    c->refetched = false;
    (void)ask_add(&c->asks, ROLE_MANIFEST, STORE_GET, c->tip->version + 1);
}

void chain_look_ahead(chain *c, uint64_t from)
{
    MUST(from <= NUMBER_MAX); /* no manifest decodes beyond it, so nothing overflows */
    search_start(&c->search, from, true, from + GALLOP_SPAN + 1, GALLOP_POWERS);
    for (uint32_t i = 0; i < c->search.probe_count; i++)
        (void)ask_add(&c->asks, ROLE_HEAD_MANIFEST, STORE_HEAD, c->search.probes[i]);
}

static void gallop(chain *c)
{
    MUST_OR(c->tip != NULL, return );
    c->state = WALK_GALLOP;
    chain_look_ahead(c, c->tip->version);
}

static void next_absent(chain *c)
{
    MUST_OR(c->tip != NULL, return );
    c->next_absent = true;
    if (!c->tip_proved) {
        ask_marker(c, WALK_TIP, c->tip->version);
        return;
    }
    c->quiet_polls++;
    if (c->want_newest || (c->quiet_polls % MARKER_EVERY == 0 && !MUTANT(marker_of_quiet)))
        ask_marker(c, WALK_NEWEST, c->tip->version + 1);
    else
        chain_check_gap(c);
}

void chain_looked_ahead(chain *c)
{
    MUST(c->search.found);
    MUST_OR(c->tip != NULL, return );
    MUST(c->search.low >= c->tip->version);
    const bool hinted = c->state == WALK_LAND;
    c->state = WALK_GALLOP;
    if (!search_done(&c->search)) {
        for (uint32_t i = 0; i < c->search.probe_count; i++)
            (void)ask_add(&c->asks, ROLE_HEAD_MANIFEST, STORE_HEAD, c->search.probes[i]);
    } else if (c->search.low > c->tip->version + 1) {
        chain_land(c, LANDING_GALLOP, c->search.low);
    } else if (c->search.low == c->tip->version && hinted) {
        next_absent(c); /* a good hint is one to the newest, and has to be worth a round trip */
    } else {
        chain_step(c);
    }
}

bw_status chain_decode(chain *c, uint64_t version, machine_reply *reply, manifest **out)
{
    const hash128 *previous = NULL;
    MUST(version > 0);
    MUST(c->state == WALK_STEP || c->state == WALK_LAND || c->state == WALK_BEGIN);
    if (version == 1)
        previous = &c->genesis_hash;
    else if (c->tip != NULL && c->tip->version + 1 == version &&
             (c->state == WALK_STEP || !MUTANT(look_unlinked)))
        previous = &c->tip->hash;
    c->counts.versions_read++;
    return manifest_read(reply, &c->genesis, version, previous, out, &c->odd);
}

bool chain_is_odd(chain *c, uint64_t version)
{
    MUST(c->odd_status != BW_OK);
    if (!c->refetched && !MUTANT(odd_not_reread)) {
        c->refetched = true;
        (void)ask_add(&c->asks, ROLE_MANIFEST, STORE_GET, version);
        return false;
    }
    /* Blocks are retired in order: when the tip's block is not, no later one is. If it is, the tip
     * is the ghost. */
    const bool tip_decides = c->tip != NULL && !c->tip_proved;
    ask_marker(c, WALK_ODD, tip_decides ? c->tip->version : version);
    return true;
}

void chain_looked(chain *c, uint64_t version, bool present)
{
    MUST_OR(c->tip != NULL, return );
    MUST(c->landing == LANDING_LOOK);
    if (present && MUTANT(look_unproved)) {
        c->tip_proved = true;
        chain_check_gap(c);
    } else if (present)
        ask_marker(c, WALK_TIP, version);
    else if (version == c->tip->version + 1 || MUTANT(look_ahead_is_next))
        next_absent(c);
    else
        chain_check_gap(c); /* what lies further ahead says nothing about the next one */
}

void chain_stepped(chain *c, const ask *a, machine_reply *reply)
{
    MUST(c->state == WALK_STEP);
    MUST(a->number == c->tip->version + 1);
    if (reply->outcome == STORE_NOT_FOUND) {
        next_absent(c);
        return;
    }
    manifest *m = NULL;
    c->odd_status = chain_decode(c, a->number, reply, &m);
    if (c->odd_status == BW_NOMEM) {
        chain_fail_with(c, BW_NOMEM, &c->odd);
        return;
    }
    if (c->odd_status != BW_OK) {
        (void)chain_is_odd(c, a->number);
        return;
    }
    MUST(m->version == a->number);
    chain_set_tip(c, m);
    c->run++;
    if (c->may_stop && c->run >= RUN_MAX)
        ask_marker(c, WALK_TIP, m->version);
    else if (c->run % GALLOP_AFTER == 0)
        gallop(c);
    else
        chain_step(c);
}

/* The marker is absent after the damaged object was read: it stands in the way. What was read
 * before it is proved by the same read, and kept where it is news. */
static void blocked(chain *c)
{
    MUST(c->odd_status != BW_OK);
    const bw_status status = c->odd_status == BW_FORMAT ? BW_FORMAT : BW_CHAIN_BLOCKED;
    if (c->tip != NULL && c->linked && (c->held == NULL || c->tip->version > c->held->version)) {
        manifest *m = manifest_ref(c->tip);
        chain_fail_with(c, status, &c->odd);
        chain_adopt(c, m);
        manifest_unref(m);
    } else {
        chain_fail_with(c, status, &c->odd);
    }
}

void chain_marker_read(chain *c, bool present)
{
    if (present && ((c->state == WALK_TIP && MUTANT(marker_of_tip)) ||
                    (c->state == WALK_NEWEST && MUTANT(marker_of_newest)) ||
                    (c->state == WALK_ODD && MUTANT(marker_of_odd))))
        present = false;
    if (present) {
        chain_reopen(c);
        return;
    }
    const genesis *g = &c->genesis;
    switch (c->state) {
    case WALK_TIP:
        MUST_OR(c->tip != NULL, return );
        c->tip_proved = true;
        c->tip_newest = c->next_absent &&
                        genesis_block(g, c->tip->version) == genesis_block(g, c->tip->version + 1);
        if (c->want_newest && !c->tip_newest)
            ask_marker(c, WALK_NEWEST, c->tip->version + 1);
        else
            chain_check_gap(c);
        break;
    case WALK_NEWEST:
        MUST(c->tip_proved);
        MUST(c->next_absent);
        c->tip_newest = true;
        chain_check_gap(c);
        break;
    default:
        MUST(c->state == WALK_ODD);
        blocked(c);
    }
}
