// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A reader that goes on from a cursor need not know the newest manifest to read its next step: any
 * proved one that describes the step will do, and the cursor names one (docs/design/restart.md). It
 * is a guess: nothing is believed of it before its marker, and what it does not bring is found in
 * the usual way. */
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

void chain_early(chain *c, machine_reply *reply)
{
    MUST(c->state == WALK_BEGIN);
    MUST(c->resume.asked);
    mem_free(c->resume.object);
    c->resume.object = NULL;
    if (reply->outcome != STORE_OK)
        return;
    c->resume.object = reply->bytes;
    c->resume.size = reply->size;
    reply->bytes = NULL;
}

/* Decoded; NULL: it is of no use, or the walk has failed. */
static manifest *take_early(chain *c)
{
    machine_reply reply = {.outcome = STORE_OK, .bytes = c->resume.object, .size = c->resume.size};
    manifest *m = NULL;
    MUST(reply.bytes != NULL);
    c->resume.object = NULL;
    if (chain_decode(c, c->resume.at.version, &reply, &m) == BW_NOMEM)
        chain_fail_with(c, BW_NOMEM, &c->odd);
    mem_free(reply.bytes);
    return m;
}

/* The first object on the way to `step`: the others are named by it. */
static void ask_way(chain *c, uint64_t step, uint32_t index)
{
    descriptor found;
    segment_ref *wanted = &c->wanted[index];
    MUST(c->state == WALK_RESUME);
    if (lookup_step(c->tip, c->resume.cache, step, &found, wanted) != LOOKUP_NEED)
        return;
    if (index == 0 || !hash_equal(&wanted->hash, &c->wanted[0].hash))
        (void)ask_add(&c->asks, ROLE_SEGMENT, STORE_GET, index);
}

bool chain_resumes(chain *c)
{
    MUST(c->state == WALK_BEGIN);
    MUST(c->has_genesis);
    if (!c->resume.asked)
        return false;
    if (c->resume.object == NULL) {
        c->counts.resume_absent++;
        return false;
    }
    manifest *m = take_early(c);
    if (m == NULL)
        return c->state == WALK_IDLE;
    const uint64_t step = c->resume.at.step;
    if ((step < m->trim || step >= m->next) && !MUTANT(resume_without_step)) {
        c->counts.resume_elsewhere++;
        if (!c->has_hint || m->version > c->hint) {
            c->counts.resume_ahead++;
            c->has_hint = true;
            c->hint = m->version;
        }
        manifest_unref(m);
        return false;
    }
    MUST(m->version == c->resume.at.version);
    chain_set_tip(c, m);
    c->state = WALK_RESUME;
    c->resume.retired = false;
    memset(c->wanted, 0, sizeof c->wanted);
    (void)ask_add(&c->asks, ROLE_MARKER, STORE_GET, genesis_block(&c->genesis, m->version));
    ask_way(c, step, 0);
    ask_way(c, c->resume.at.before, 1);
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
