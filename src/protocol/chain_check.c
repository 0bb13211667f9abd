// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A reader that skipped versions must find its old sum at its old `next` in the new history
 * (docs/format.md section 10): the markers prove the new manifest, the sum proves that it continues
 * what was read before. */
#include "protocol/chain_walk.h"

#include "base/invariant.h"
#include "base/mutant.h"
#include "protocol/read.h"

#define CHECK_CACHE_BYTES ((size_t)4 << 20)

static void judge(chain *c, const hash128 *sum)
{
    MUST_OR(c->held != NULL, return );
    if (hash_equal(sum, &c->held->sum) || MUTANT(gap_unchecked)) {
        c->linked = true;
        chain_arrive(c);
        return;
    }
    chain_fail(c, BW_CURSOR_REWRITTEN, "the history before step %llu is not the one read before",
               (unsigned long long)c->held->next);
    error_set_step(&c->error, c->held->next);
}

void chain_check_gap(chain *c)
{
    const manifest *old = c->held;
    MUST_OR(c->tip != NULL, return );
    MUST(c->tip_proved);
    if (old != NULL &&
        (c->tip->version < old->version ||
         (c->tip->version == old->version && !hash_equal(&c->tip->hash, &old->hash)))) {
        chain_fail(c, BW_STORE_UNSAFE, "version %llu was on the chain, now it has another at %llu",
                   (unsigned long long)old->version, (unsigned long long)c->tip->version);
        return;
    }
    if (c->held == NULL || c->linked || c->lenient) {
        chain_arrive(c);
        return;
    }
    if (c->cache == NULL && segment_cache_new(CHECK_CACHE_BYTES, &c->cache) != BW_OK) {
        chain_fail(c, BW_NOMEM, "no memory for segments");
        return;
    }
    hash128 sum;
    MUST_OR(c->cache != NULL, return );
    const uint64_t step = c->held->next;
    c->counts.skipped_checks++;
    switch (lookup_sum(c->tip, c->cache, step, &sum, &c->wanted[0])) {
    case LOOKUP_FOUND:
        judge(c, &sum);
        break;
    case LOOKUP_NEED:
        c->state = WALK_SEGMENT;
        c->refetched = false;
        (void)ask_add(&c->asks, ROLE_SEGMENT, STORE_GET, 0);
        break;
    case LOOKUP_TRIMMED:
        /* A cursor's version of long ago: as if the open had found the newest. */
        if (c->held->version == c->resume.began) {
            chain_arrive(c);
            break;
        }
        chain_fail(c, BW_TRIMMED, "step %llu was swept, the first one left is %llu",
                   (unsigned long long)step, (unsigned long long)c->tip->swept);
        error_set_step(&c->error, step);
        break;
    case LOOKUP_BEYOND:
        judge(c, &(hash128){{0}});
        break;
    default:
        chain_fail(c, BW_NOMEM, "no memory for a sum");
    }
}

void chain_segment_read(chain *c, machine_reply *reply)
{
    bw_error error;
    object_key key;
    bw_status status = BW_CORRUPT;
    const bool missing = reply->outcome == STORE_NOT_FOUND;
    MUST(c->state == WALK_SEGMENT);
    MUST_OR(c->cache != NULL, return );
    if (missing && !c->rewalked) {
        /* It may have left with a sweep: judge by the newest manifest. */
        c->rewalked = c->want_newest = true;
        c->may_stop = false;
        chain_step(c);
        return;
    }
    if (reply->outcome == STORE_OK) {
        uint8_t *object = reply->bytes;
        reply->bytes = NULL;
        status = segment_cache_add(c->cache, &c->wanted[0], c->genesis.uuid,
                                   genesis_slices(&c->genesis), object, reply->size, &error);
    } else {
        (void)error_set(&error, status, "a segment that a manifest refers to is %s",
                        missing ? "missing" : reply_damage(reply, "larger than a segment can be"));
    }
    if (status == BW_OK) {
        chain_check_gap(c);
    } else if (!missing && status != BW_NOMEM && !c->refetched) {
        c->refetched = true;
        (void)ask_add(&c->asks, ROLE_SEGMENT, STORE_GET, 0);
    } else {
        segment_ref_key(&c->wanted[0], &key);
        error_set_key(&error, key.text);
        chain_fail_with(c, status, &error);
    }
}
