// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A reader that goes on from a cursor need not know the newest manifest to read its next step: any
 * proved one that describes the step will do. The cursor names one, and what leads to the step from
 * there; the hint names another (docs/design/restart.md). All of them are guesses: nothing is
 * believed of a manifest before its marker, and what they do not bring is found in the usual way.
 */
#include "protocol/chain_walk.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "base/mutant.h"
#include <string.h>

void chain_resume(chain *c, const resume_point *at, segment_cache *cache)
{
    MUST(c->state == WALK_IDLE);
    MUST(at->before <= at->step);
    MUST(cache != NULL);
    c->resume.at = *at;
    c->resume.cache = cache;
    if (at->version > NUMBER_MAX)
        c->resume.at.version = 0;
}

/* Behind the cursor's version: a step that was not committed yet when the cursor was saved stands
 * in one of the next, behind a pin or two; in the tail of the last of these as well. */
static const uint8_t guesses[RESUME_GUESSES] = {0, 1, 2, 8};

void chain_ask_early(chain *c)
{
    const uint64_t version = c->resume.at.version;
    MUST(version > 0);
    MUST(version <= NUMBER_MAX); /* beyond the last number nothing is found */
    for (uint32_t i = 0; i < RESUME_GUESSES; i++)
        (void)ask_add(&c->asks, ROLE_MANIFEST, STORE_GET, version + guesses[i]);
}

void chain_early(chain *c, const ask *a, machine_reply *reply)
{
    uint32_t i = 0;
    MUST(c->state == WALK_BEGIN);
    MUST(c->resume.asked);
    while (i + 1 < RESUME_GUESSES && c->resume.at.version + guesses[i] != a->number)
        i++;
    mem_free(c->resume.early[i].object);
    c->resume.early[i].object = NULL;
    if (reply->outcome != STORE_OK)
        return;
    c->resume.early[i].object = reply->bytes;
    c->resume.early[i].size = reply->size;
    reply->bytes = NULL;
}

/* Decoded; NULL: it is of no use, or the walk has failed. */
static manifest *take_early(chain *c, uint32_t i)
{
    machine_reply reply = {
        .outcome = STORE_OK, .bytes = c->resume.early[i].object, .size = c->resume.early[i].size};
    manifest *m = NULL;
    MUST(i < RESUME_GUESSES);
    if (reply.bytes == NULL)
        return NULL;
    c->resume.early[i].object = NULL;
    if (chain_decode(c, c->resume.at.version + guesses[i], &reply, &m) == BW_NOMEM)
        chain_fail_with(c, BW_NOMEM, &c->odd);
    mem_free(reply.bytes);
    return m;
}

static bool describes(const chain *c, const manifest *m)
{
    const uint64_t step = c->resume.at.step;
    MUST(m->trim <= m->next);
    return (m->trim <= step && step < m->next) || MUTANT(resume_without_step);
}

/* A segment is asked for once. */
static void ask_segment(chain *c, uint32_t index)
{
    MUST(index < 2 + WAY_MAX);
    for (uint32_t i = 0; i < index; i++)
        if (hash_equal(&c->wanted[i].hash, &c->wanted[index].hash))
            return;
    (void)ask_add(&c->asks, ROLE_SEGMENT, STORE_GET, index);
}

/* The first object on the way to `step`: the others are named by it, and perhaps by the cursor. */
static void ask_way(chain *c, uint64_t step, uint32_t index)
{
    descriptor found;
    segment_ref needed;
    MUST(c->state == WALK_RESUME);
    if (lookup_step(c->tip, c->resume.cache, step, &found, &needed) != LOOKUP_NEED)
        return;
    c->wanted[index] = needed;
    ask_segment(c, index);
}

/* With the tip, which describes the step. What a cursor says of the way is a guess: it is kept
 * under the hash that it has, and found by who comes down from a proved manifest. */
static void go_on(chain *c)
{
    MUST_OR(c->tip != NULL, return );
    MUST(!ask_any(&c->asks));
    c->state = WALK_RESUME;
    c->resume.retired = false;
    memset(c->wanted, 0, sizeof c->wanted);
    (void)ask_add(&c->asks, ROLE_MARKER, STORE_GET, genesis_block(&c->genesis, c->tip->version));
    ask_way(c, c->resume.at.step, 0);
    ask_way(c, c->resume.at.before, 1);
    for (uint32_t i = 0; i < c->resume.at.way_count && i < WAY_MAX; i++) {
        c->wanted[2 + i] = c->resume.at.way[i];
        ask_segment(c, 2 + i);
    }
}

bool chain_resumes(chain *c)
{
    manifest *with = NULL;
    bool any = false;
    uint64_t ahead = 0;
    MUST(c->state == WALK_BEGIN);
    MUST(c->has_genesis);
    if (!c->resume.asked)
        return false;
    for (uint32_t i = 0; i < RESUME_GUESSES && c->state == WALK_BEGIN; i++) {
        manifest *m = take_early(c, i);
        any |= m != NULL;
        if (m != NULL && with == NULL && describes(c, m)) {
            with = m;
        } else if (m != NULL) {
            ahead = m->version;
            manifest_unref(m);
        }
    }
    if (c->state != WALK_BEGIN) {
        manifest_unref(with);
        return true;
    }
    if (with != NULL) {
        c->counts.resume_later += with->version > c->resume.at.version;
        chain_set_tip(c, with);
        go_on(c);
        return true;
    }
    c->counts.resume_absent += !any;
    c->counts.resume_elsewhere += any;
    if (ahead > 0 && (!c->has_hint || ahead > c->hint)) {
        c->counts.resume_ahead++;
        c->has_hint = true;
        c->hint = ahead;
    }
    return false;
}

bool chain_resumes_by_hint(chain *c)
{
    MUST(c->state == WALK_LAND);
    MUST_OR(c->tip != NULL, return false);
    if (!c->resume.asked || !describes(c, c->tip))
        return false;
    c->counts.resume_hinted++;
    go_on(c);
    return true;
}

void chain_resumed(chain *c, const ask *a, machine_reply *reply)
{
    MUST_OR(c->tip != NULL, return );
    MUST(!c->tip_proved);
    if (a->role == ROLE_MARKER) {
        c->resume.retired = reply->outcome != STORE_NOT_FOUND;
    } else if (reply->outcome == STORE_OK) {
        /* One that is not what was referred to is read again by who needs it. */
        bw_error ignored;
        c->counts.resume_ways += a->number >= 2;
        (void)segment_cache_add(c->resume.cache, &c->wanted[a->number], c->genesis.uuid,
                                genesis_slices(&c->genesis), reply->bytes, reply->size, &ignored);
        reply->bytes = NULL;
    }
    if (ask_any(&c->asks))
        return;
    if (c->resume.retired && !MUTANT(resume_unproved)) {
        c->counts.resume_retired++;
        chain_reopen(c);
        return;
    }
    c->counts.resumed++;
    c->resume.began = c->tip->version;
    c->tip_proved = true;
    c->tip_newest = MUTANT(resume_is_newest);
    chain_arrive(c);
}
