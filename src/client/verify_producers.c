// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Per producer, committed ranges tile [0, offset): from what was swept, batch by batch, to what the
 * entry says. */
#include "client/verify.h"

#include "base/alloc.h"
#include "codec/small.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int compare_tilings(const void *a, const void *b)
{
    const tiling *x = a, *y = b;
    return view_compare(x->entry->id, y->entry->id);
}

static bw_status read_page(verify *v, bw_error *error)
{
    const page_ref *ref = &v->m->page;
    object_key key;
    size_t size = 0;
    hash128 hash;
    key_page(&key, ref->version, ref->nonce);
    BW_TRY(key_set_add(&v->referenced, key.text));
    bw_status status =
        listing_get(v->s, key.text, object_bytes_max(OBJECT_PAGE), &v->page_object, &size, error);
    if (status == BW_OK)
        status = hash_bytes(v->page_object, size, &hash);
    if (status == BW_OK && (!hash_equal(&hash, &ref->hash) || size != ref->bytes))
        status = error_set(error, BW_CORRUPT, "another page than the one that is referenced");
    if (status == BW_OK)
        status = page_decode(view_of(v->page_object, size), &v->page, error);
    if (status == BW_OK && (memcmp(v->page.uuid, v->g->uuid, UUID_BYTES) != 0 ||
                            v->page.version != ref->version || v->page.count != ref->entries))
        status = error_set(error, BW_CORRUPT, "the page is not what its reference says");
    return verify_judge(v, status, "PAGE", key.text, NO_STEP, error);
}

bw_status verify_producers_begin(verify *v, bw_error *error)
{
    if (v->m->has_page)
        BW_TRY(read_page(v, error));
    const size_t count = (size_t)v->m->producer_count + v->page.count;
    v->tilings = mem_array(count, sizeof *v->tilings);
    if (v->tilings == NULL)
        return error_set(error, BW_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const producer_entry *e = i < v->m->producer_count
                                      ? &v->m->producers[i]
                                      : &v->page.entries[i - v->m->producer_count];
        v->tilings[i] = (tiling){e, e->swept_seq, e->swept_offset, 0};
    }
    v->tiling_count = (uint32_t)count;
    qsort(v->tilings, count, sizeof *v->tilings, compare_tilings);
    for (uint32_t i = 1; i < v->tiling_count; i++)
        if (compare_tilings(&v->tilings[i - 1], &v->tilings[i]) == 0)
            BW_TRY(verify_found(v, "PRODUCER", "", NO_STEP, error,
                                "a producer stands in the map and on the page"));
    return BW_OK;
}

static tiling *find(verify *v, view id)
{
    const producer_entry entry = {.id = id};
    const tiling wanted = {.entry = &entry};
    return bsearch(&wanted, v->tilings, v->tiling_count, sizeof *v->tilings, compare_tilings);
}

bw_status verify_producers_step(verify *v, uint64_t step, const descriptor *d, bw_error *error)
{
    tiling *t = find(v, d->id);
    const record *r = &d->record;
    if (t == NULL)
        return verify_found(v, "PRODUCER", "", step, error, "producer %.*s has no entry",
                            (int)d->id.size, (const char *)d->id.data);
    bw_status status = BW_OK;
    if (r->seq != t->seq + 1 || r->start != t->offset || r->end < r->start)
        status = verify_found(v, "TILING", "", step, error,
                              "producer %.*s: seq %" PRIu64 " covers [%" PRIu64 ", %" PRIu64
                              ") after seq %" PRIu64 " which ended at %" PRIu64,
                              (int)d->id.size, (const char *)d->id.data, r->seq, r->start, r->end,
                              t->seq, t->offset);
    else if (r->epoch < t->epoch || r->epoch > t->entry->epoch)
        status = verify_found(v, "TILING", "", step, error,
                              "producer %.*s: epoch %u after %u, the newest is %u", (int)d->id.size,
                              (const char *)d->id.data, r->epoch, t->epoch, t->entry->epoch);
    t->seq = r->seq;
    t->offset = r->end;
    t->epoch = r->epoch;
    return status;
}

static bw_status check_state(verify *v, const producer_entry *e, bw_error *error)
{
    const state_ref *ref = &e->state_ref;
    object_key key;
    uint8_t *object = NULL;
    size_t size = 0;
    uint8_t uuid[UUID_BYTES];
    uint32_t epoch = 0;
    uint64_t seq = 0;
    view state;
    hash128 hash;
    key_state(&key, e->id, ref->epoch, ref->seq, ref->nonce);
    BW_TRY(key_set_add(&v->referenced, key.text));
    bw_status status =
        listing_get(v->s, key.text, object_bytes_max(OBJECT_STATE), &object, &size, error);
    if (status == BW_OK)
        status = hash_bytes(object, size, &hash);
    if (status == BW_OK && (!hash_equal(&hash, &ref->hash) || size != ref->bytes))
        status = error_set(error, BW_CORRUPT, "another state than the one that is referenced");
    if (status == BW_OK)
        status = state_decode(view_of(object, size), uuid, &epoch, &seq, &state, error);
    if (status == BW_OK &&
        (memcmp(uuid, v->g->uuid, UUID_BYTES) != 0 || epoch != ref->epoch || seq != ref->seq))
        status = error_set(error, BW_CORRUPT, "the state is of another producer, epoch or seq");
    mem_free(object);
    v->states += status == BW_OK;
    if (status == BW_NOT_FOUND && v->blocked_version == 0) {
        /* A live producer replaces its state with each commit, and the old one may be swept. */
        bool trimmed = false;
        BW_TRY(verify_is_trimmed(v, 0, false, &trimmed, NULL));
        const producer_entry *now = manifest_producer(chain_held(v->reader.chain), e->id);
        if (now == NULL || now->seq != e->seq || now->epoch != e->epoch)
            return BW_OK;
    }
    return verify_judge(v, status, "STATE", key.text, NO_STEP, error);
}

bw_status verify_producers_end(verify *v, bw_error *error)
{
    uint64_t finished = 0;
    for (uint32_t i = 0; i < v->tiling_count; i++) {
        const tiling *t = &v->tilings[i];
        const producer_entry *e = t->entry;
        finished += e->finished;
        if (e->seq != t->seq || e->offset != t->offset)
            BW_TRY(verify_found(v, "TILING", "", NO_STEP, error,
                                "producer %.*s: the entry says seq %" PRIu64 ", offset %" PRIu64
                                "; its batches end at seq %" PRIu64 ", offset %" PRIu64,
                                (int)e->id.size, (const char *)e->id.data, e->seq, e->offset,
                                t->seq, t->offset));
        if (e->state_is_object)
            BW_TRY(check_state(v, e, error));
    }
    if (finished != v->m->finished_producers)
        BW_TRY(verify_found(v, "TOTALS", "", NO_STEP, error,
                            "%" PRIu64 " producers are flagged finished, the total says %" PRIu64,
                            finished, v->m->finished_producers));
    return BW_OK;
}
