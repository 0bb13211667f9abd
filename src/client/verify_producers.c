// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Per producer, committed ranges tile [0, offset): from what was swept, batch by batch, to what the
 * entry says. */
#include "client/verify.h"

#include "base/alloc.h"
#include "codec/small.h"
#include "protocol/read.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int compare_tilings(const void *a, const void *b)
{
    const tiling *x = a, *y = b;
    return view_compare(x->entry->id, y->entry->id);
}

static bool same_page(const manifest *a, const manifest *b)
{
    return a->has_page && b->has_page && a->page.version == b->page.version &&
           a->page.nonce == b->page.nonce;
}

/* A sweep replaces the page, and deletes the one before: then the newest manifest is the one to
 * verify. Nothing was verified yet. */
static bw_status overtaken(verify *v, bool *by_newer, bw_error *error)
{
    BW_TRY(
        chain_walk(v->reader.chain, v->reader.drive, CHAIN_NEWEST, v->r->deadline_ns, NULL, error));
    manifest *now = chain_held(v->reader.chain);
    *by_newer = !same_page(now, v->m);
    if (*by_newer) {
        manifest_unref(v->m);
        v->m = manifest_ref(now);
    }
    return BW_OK;
}

static bw_status read_page(verify *v, bw_error *error)
{
    object_key key;
    size_t size = 0;
    bw_status status = BW_NOT_FOUND;
    for (bool again = true; again && v->m->has_page;) {
        key_page(&key, v->m->page.version, v->m->page.nonce);
        status = listing_get(v->s, key.text, object_bytes_max(OBJECT_PAGE), &v->page_object, &size,
                             error);
        again = false;
        if (status == BW_NOT_FOUND)
            BW_TRY(overtaken(v, &again, error));
    }
    if (!v->m->has_page)
        return BW_OK;
    const page_ref *ref = &v->m->page;
    BW_TRY(key_set_add(&v->referenced, key.text));
    if (status == BW_NOT_FOUND)
        (void)error_set(error, status, "the page that the manifest refers to is missing");
    if (status == BW_OK)
        status = page_prove(view_of(v->page_object, size), ref, &v->page, error);
    if (status == BW_OK && (memcmp(v->page.uuid, v->g->uuid, UUID_BYTES) != 0 ||
                            v->page.version != ref->version || v->page.count != ref->entries))
        status = error_set(error, BW_CORRUPT, "the page is not what its reference says");
    return verify_judge(v, status, "PAGE", key.text, NO_STEP, error);
}

/* An id that was opened again lives in the map; what the page says of it is of an older epoch, and
 * counts for nothing. */
static bw_status check_older(verify *v, const producer_entry *old, const producer_entry *now,
                             bw_error *error)
{
    if (old->epoch < now->epoch && old->seq <= now->seq && old->offset <= now->offset)
        return BW_OK;
    return verify_found(v, "PRODUCER", "", NO_STEP, error,
                        "producer %.*s stands on the page with epoch %u, seq %" PRIu64
                        ", and in the map with epoch %u, seq %" PRIu64,
                        (int)now->id.size, (const char *)now->id.data, old->epoch, old->seq,
                        now->epoch, now->seq);
}

bw_status verify_producers_begin(verify *v, bw_error *error)
{
    if (v->m->has_page)
        BW_TRY(read_page(v, error));
    const size_t count = (size_t)v->m->producer_count + v->page.count;
    v->tilings = mem_array(count, sizeof *v->tilings);
    if (v->tilings == NULL)
        return error_set(error, BW_NOMEM, "out of memory");
    uint32_t at = 0;
    for (uint32_t i = 0; i < v->m->producer_count; i++) {
        const producer_entry *e = &v->m->producers[i];
        v->tilings[at++] = (tiling){e, e->swept_seq, e->swept_offset, 0, false};
    }
    for (uint32_t i = 0; i < v->page.count; i++) {
        const producer_entry *e = &v->page.entries[i];
        const producer_entry *now = manifest_producer(v->m, e->id);
        if (now != NULL)
            BW_TRY(check_older(v, e, now, error));
        else
            v->tilings[at++] = (tiling){e, e->swept_seq, e->swept_offset, 0, false};
        if (e->swept_seq != e->seq || e->swept_offset != e->offset)
            BW_TRY(verify_found(v, "PRODUCER", "", NO_STEP, error,
                                "producer %.*s stands on the page, and is not wholly swept",
                                (int)e->id.size, (const char *)e->id.data));
    }
    v->tiling_count = at;
    qsort(v->tilings, at, sizeof *v->tilings, compare_tilings);
    return BW_OK;
}

static tiling *find(verify *v, view id)
{
    const producer_entry entry = {.id = id};
    const tiling wanted = {.entry = &entry};
    return bsearch(&wanted, v->tilings, v->tiling_count, sizeof *v->tilings, compare_tilings);
}

void verify_producers_gap(verify *v)
{
    for (uint32_t i = 0; i < v->tiling_count; i++)
        v->tilings[i].gap = true;
}

/* Directly behind what was seen last; behind a gap, anywhere after it. */
static bool follows(const tiling *t, const record *r)
{
    if (r->end < r->start)
        return false;
    return t->gap ? r->seq > t->seq && r->start >= t->offset
                  : r->seq == t->seq + 1 && r->start == t->offset;
}

static bool ends_well(const tiling *t, const producer_entry *e)
{
    return t->gap ? t->seq <= e->seq && t->offset <= e->offset
                  : t->seq == e->seq && t->offset == e->offset;
}

bw_status verify_producers_step(verify *v, uint64_t step, const descriptor *d, bw_error *error)
{
    tiling *t = find(v, d->id);
    const record *r = &d->record;
    if (t == NULL)
        return verify_found(v, "PRODUCER", "", step, error, "producer %.*s has no entry",
                            (int)d->id.size, (const char *)d->id.data);
    bw_status status = BW_OK;
    if (!follows(t, r))
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
    t->gap = false;
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
        const manifest *newest = chain_held(v->reader.chain);
        const producer_entry *now = manifest_producer(newest, e->id);
        if (now == NULL ? newest->version != v->m->version && !same_page(newest, v->m)
                        : now->seq != e->seq || now->epoch != e->epoch)
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
        if (!ends_well(t, e))
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
