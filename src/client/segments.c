// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "client/segments.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include <inttypes.h>
#include <string.h>

bw_status segments_init(segments *s, size_t bytes_max)
{
    BW_TRY(lock_init(&s->lock));
    const bw_status status = segment_cache_new(bytes_max, &s->cache);
    if (status != BW_OK)
        lock_destroy(&s->lock);
    return status;
}

void segments_destroy(segments *s)
{
    segment_cache_free(s->cache);
    lock_destroy(&s->lock);
}

void step_entry_set(step_entry *out, uint64_t step, const descriptor *d)
{
    memset(out, 0, sizeof *out);
    MUST_OR(d->id.size <= sizeof out->id, return );
    MUST_OR(d->shape.side.size <= sizeof out->side, return );
    out->step = step;
    out->descriptor = *d;
    memcpy(out->id, d->id.data, d->id.size);
    out->descriptor.id.data = out->id;
    if (d->shape.side.size > 0)
        memcpy(out->side, d->shape.side.data, d->shape.side.size);
    out->descriptor.shape.side.data = out->side;
}

lookup_verdict segments_find(segments *s, const manifest *m, uint64_t step, step_entry *out,
                             segment_ref *needed)
{
    descriptor found;
    lock_acquire(&s->lock);
    const lookup_verdict verdict = lookup_step(m, s->cache, step, &found, needed);
    if (verdict == LOOKUP_FOUND)
        step_entry_set(out, step, &found);
    lock_release(&s->lock);
    return verdict;
}

void segments_way(segments *s, const manifest *m, cursor *c)
{
    lock_acquire(&s->lock);
    handout_way(m, s->cache, c);
    lock_release(&s->lock);
}

bw_status segments_load(segments *s, store *on, const genesis *g, const segment_ref *ref,
                        bw_error *error)
{
    object_key key;
    segment_ref_key(ref, &key);
    store_op op;
    store_op_init(&op, STORE_GET, key.text);
    buf_init(&op.out, object_bytes_max(OBJECT_SEGMENT));
    bw_status status = BW_OK;
    const store_outcome outcome = store_run(on, &op);
    if (outcome == STORE_NOT_FOUND) {
        status =
            error_set(error, BW_NOT_FOUND, "a segment that the manifest references is missing");
    } else if (outcome != STORE_OK) {
        status = store_op_status(&op);
        error_copy(error, &op.error);
    } else {
        size_t size = 0;
        uint8_t *object = buf_take(&op.out, &size);
        lock_acquire(&s->lock);
        status = segment_cache_add(s->cache, ref, g->uuid, genesis_slices(g), object, size, error);
        lock_release(&s->lock);
    }
    if (status != BW_OK)
        error_set_key(error, key.text);
    store_op_clear(&op);
    return status;
}

bw_status segments_get(segments *s, store *on, const genesis *g, const manifest *m, uint64_t step,
                       step_entry *out, bw_error *error)
{
    /* Each round goes one level down; another thread may push out what was just read, so a few more
     * are granted. */
    for (uint32_t round = 0; round < 4 * SEGMENT_LEVELS_MAX; round++) {
        segment_ref needed;
        switch (segments_find(s, m, step, out, &needed)) {
        case LOOKUP_FOUND:
            return BW_OK;
        case LOOKUP_NEED:
            BW_TRY(segments_load(s, on, g, &needed, error));
            break;
        case LOOKUP_TRIMMED:
            (void)error_set(error, BW_TRIMMED,
                            "step %" PRIu64 " is not retained: the trim step is %" PRIu64, step,
                            m->trim);
            error_set_step(error, step);
            return BW_TRIMMED;
        case LOOKUP_BEYOND:
            (void)error_set(error, BW_BEYOND_END,
                            "step %" PRIu64 " lies beyond the end: the next step is %" PRIu64, step,
                            m->next);
            error_set_step(error, step);
            return BW_BEYOND_END;
        case LOOKUP_FAILED:
            if (invariant_taken(error))
                return BW_BUG;
            return error_set(error, BW_NOMEM, "out of memory");
        }
    }
    return error_set(error, BW_NOMEM,
                     "the segment cache is too small for the segments of one step");
}
