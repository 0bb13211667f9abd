// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The parts of steps below trim, by name: nothing is listed. */
#include "protocol/reclaim_state.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "base/mutant.h"
#include <string.h>

/* The state that an entry names is needed when its producer opens again, whatever was swept. */
static bool is_resume_state(const manifest *m, const descriptor *d)
{
    const producer_entry *e = manifest_producer(m, d->id);
    return e != NULL && e->state_is_object && !MUTANT(resume_state_goes) &&
           e->state_ref.epoch == d->record.epoch && e->state_ref.seq == d->record.seq &&
           e->state_ref.nonce == d->record.nonce;
}

/* Who published it, and how far. */
static bool note_producer(reclaim *r, const descriptor *d)
{
    const producer_entry *e = manifest_producer(r->base, d->id);
    if (e == NULL || d->record.seq > e->seq || d->record.end > e->offset)
        return false;
    MUST(d->record.seq > e->swept_seq);
    uint32_t at = r->producer_count;
    while (at > 0 && view_compare(e->id, r->producers[at - 1].id) < 0)
        at--;
    if (at == 0 || !view_equal(r->producers[at - 1].id, e->id)) {
        MUST_OR(r->producer_count < r->base->producer_count, return false);
        memmove(&r->producers[at + 1], &r->producers[at],
                (r->producer_count - at) * sizeof *r->producers);
        r->producers[at++] = (swept_producer){.id = e->id};
        r->producer_count++;
    }
    swept_producer *s = &r->producers[at - 1];
    if (d->record.seq > s->seq)
        *s = (swept_producer){.id = e->id, .seq = d->record.seq, .offset = d->record.end};
    MUST(s->seq >= d->record.seq);
    MUST(s->offset >= d->record.end);
    return true;
}

/* False: this delete is full; `part` says where to go on. */
static bool name_parts(reclaim *r, const descriptor *d)
{
    const record *at = &d->record;
    MUST(d->shape.parts > 0);
    MUST(r->part <= d->shape.parts);
    for (; r->part < d->shape.parts; r->part++) {
        if (r->name_count == RECLAIM_NAMES_MAX)
            return false;
        key_part(&r->names[r->name_count++], d->id, at->epoch, at->seq, at->nonce, r->part);
    }
    if (!is_resume_state(r->base, d)) {
        if (r->name_count == RECLAIM_NAMES_MAX)
            return false;
        key_state(&r->names[r->name_count++], d->id, at->epoch, at->seq, at->nonce);
    }
    r->part = 0;
    return true;
}

/* Segments of which `step` is the last step, when all of them is swept by this pass. */
static bool doom(reclaim *r, uint64_t step, const segment_ref *path, uint32_t depth)
{
    for (uint32_t k = 0; k < depth; k++) {
        MUST(path[k].first <= step);
        MUST(path[k].last >= step);
        if (path[k].last != step && !MUTANT(segment_half_swept))
            continue;
        if (MUTANT(segments_before_swept) && r->name_count < RECLAIM_NAMES_MAX)
            segment_ref_key(&path[k], &r->names[r->name_count++]);
        void *doomed = r->doomed;
        if (mem_grow(&doomed, &r->doomed_capacity, r->doomed_count + 1, sizeof *r->doomed) != 0)
            return false;
        r->doomed = doomed;
        segment_ref_key(&path[k], &r->doomed[r->doomed_count++]);
    }
    return true;
}

/* The descriptor of `at`. False: not at hand, its segment was asked for. */
static bool describe(reclaim *r, descriptor *d, segment_ref *path, uint32_t *depth)
{
    const uint64_t tail_first = manifest_tail_first(r->base);
    MUST_OR(r->at < r->base->trim, return false);
    MUST(r->at >= r->base->swept);
    *depth = 0;
    if (r->at >= tail_first) {
        block_descriptor(&r->base->tail, (uint32_t)(r->at - tail_first), d);
        return true;
    }
    const segment *leaf;
    const lookup_verdict verdict = lookup_path(r->base, r->cache, r->at, path, depth, &leaf);
    if (verdict == LOOKUP_NEED)
        reclaim_need_segment(r, &path[*depth - 1]);
    else if (verdict != LOOKUP_FOUND)
        reclaim_fail(r, BW_BUG, "a step cannot be looked up");
    if (verdict != LOOKUP_FOUND)
        return false;
    block_descriptor(&leaf->block, (uint32_t)(r->at - leaf->first), d);
    return true;
}

/* A name for whose hash there was no memory is empty: its object would be left behind. */
static void delete_named(reclaim *r)
{
    for (uint32_t k = 0; k < r->name_count; k++) {
        if (r->names[k].text[0] != '\0')
            continue;
        reclaim_fail(r, BW_NOMEM, "no memory for a pass");
        return;
    }
    MUST(r->phase == RECLAIM_PARTS);
    MUST(r->options.apply);
    reclaim_ask(r, RECLAIM_ASK_DELETE, STORE_DELETE);
}

void reclaim_parts(reclaim *r)
{
    MUST_OR(r->to <= r->base->trim, return );
    MUST(r->at >= r->base->swept);
    MUST(r->phase == RECLAIM_PARTS);
    while (r->at < r->to) {
        segment_ref path[SEGMENT_LEVELS_MAX];
        uint32_t depth;
        descriptor d;
        if (!describe(r, &d, path, &depth))
            return;
        if (!name_parts(r, &d)) {
            if (r->options.apply) {
                delete_named(r);
                return;
            }
            r->report.names_deleted += r->name_count;
            r->name_count = 0;
            continue;
        }
        if (!note_producer(r, &d)) {
            reclaim_fail(r, BW_CORRUPT, "a descriptor that no producer published");
            return;
        }
        if (!doom(r, r->at, path, depth)) {
            reclaim_fail(r, BW_NOMEM, "no memory for a pass");
            return;
        }
        r->report.steps++;
        r->report.bytes += d.shape.total_bytes;
        r->at++;
    }
    if (r->name_count > 0 && r->options.apply) {
        delete_named(r);
        return;
    }
    r->report.names_deleted += r->name_count;
    r->name_count = 0;
    reclaim_swept(r);
}
