// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The commit that says what is gone, and the page of the producers of whom nothing is left. */
#include "protocol/reclaim_state.h"

#include "base/alloc.h"
#include "base/invariant.h"
#include "base/mutant.h"
#include "protocol/read.h"
#include <string.h>

static void commit_swept(reclaim *r)
{
    MUST(r->options.apply);
    MUST(r->name_count == 0);
    MUST(r->at == r->to);
    MUST(r->to > r->report.swept);
    MUST(!r->has_new_page || r->new_page_ref.version == r->base->version + 1);
    r->intent = (intent){.kind = INTENT_SWEPT,
                         .swept = {.from = r->report.swept,
                                   .step = r->to,
                                   .bytes = r->report.bytes,
                                   .producers = r->producers,
                                   .producer_count = r->producer_count}};
    if (r->has_new_page) {
        r->intent.swept.page = &r->new_page;
        r->intent.swept.page_ref = &r->new_page_ref;
        r->intent.swept.page_base = r->base->has_page ? &r->base->page.hash : NULL;
    }
    r->phase = RECLAIM_COMMIT;
    commit_start(r->commit, &r->intent, view_text(""), r->now_ns, r->deadline_ns);
    /* It may have ended at once: no reply and no tick would ever tell. */
    if (!commit_machine.running(r->commit))
        reclaim_committed(r);
}

static const swept_producer *swept_of(const reclaim *r, view id)
{
    for (uint32_t k = 0; k < r->producer_count; k++)
        if (view_equal(r->producers[k].id, id))
            return &r->producers[k];
    return NULL;
}

/* As the entry will be once this pass is committed. False: something of its is left, or it may
 * publish more. */
static bool departs(const reclaim *r, const producer_entry *e, producer_entry *out)
{
    const swept_producer *s = swept_of(r, e->id);
    *out = *e;
    if (s != NULL) {
        MUST(s->seq > e->swept_seq);
        MUST(s->seq <= e->seq);
        MUST(s->offset <= e->offset);
        out->swept_seq = s->seq;
        out->swept_offset = s->offset;
    }
    return (e->finished || e->forgotten) &&
           (out->swept_seq == out->seq || MUTANT(moved_before_swept));
}

static uint32_t departing(const reclaim *r)
{
    producer_entry moved;
    uint32_t count = 0;
    for (uint32_t k = 0; k < r->base->producer_count; k++)
        count += departs(r, &r->base->producers[k], &moved);
    MUST(count <= r->base->producer_count);
    return count;
}

/* The old page and those that depart, by id; who is on both is there as the map has them. */
static uint32_t merge(const reclaim *r, producer_entry *out)
{
    const page *old = &r->old_page;
    const uint32_t old_count = r->has_old_page && !MUTANT(page_forgets_older) ? old->count : 0;
    uint32_t count = 0, at = 0;
    for (uint32_t k = 0; k < r->base->producer_count; k++) {
        producer_entry moved;
        if (!departs(r, &r->base->producers[k], &moved))
            continue;
        while (at < old_count && view_compare(old->entries[at].id, moved.id) < 0)
            out[count++] = old->entries[at++];
        if (at < old_count && view_equal(old->entries[at].id, moved.id)) {
            if (MUTANT(page_keeps_first_leave))
                moved = old->entries[at];
            at++;
        }
        out[count++] = moved;
    }
    while (at < old_count)
        out[count++] = old->entries[at++];
    MUST(at == old_count);
    MUST(count >= old_count);
    return count;
}

/* The page is for the very next version: see intent_swept.c. */
static bw_status build_page(reclaim *r)
{
    const uint32_t old_count = r->has_old_page ? r->old_page.count : 0;
    const uint32_t moved = departing(r);
    buf out;
    MUST(r->base->has_page == r->has_old_page);
    MUST(moved > 0);
    MUST(r->page_entries == NULL);
    r->page_entries = mem_array((size_t)old_count + moved, sizeof *r->page_entries);
    if (r->page_entries == NULL)
        return BW_NOMEM;
    r->new_page = (page){.version = r->base->version + 1,
                         .count = merge(r, r->page_entries),
                         .entries = r->page_entries};
    MUST(r->new_page.count >= moved);
    MUST(r->new_page.count <= old_count + moved);
    memcpy(r->new_page.uuid, r->base->uuid, UUID_BYTES);
    buf_init(&out, object_bytes_max(OBJECT_PAGE));
    bw_status status = page_encode(&r->new_page, &out);
    r->new_page_object = buf_take(&out, &r->new_page_bytes);
    r->new_page_ref = (page_ref){.version = r->new_page.version,
                                 .nonce = rng_u64(&r->random),
                                 .bytes = r->new_page_bytes,
                                 .entries = r->new_page.count};
    if (status == BW_OK)
        status = hash_bytes(r->new_page_object, r->new_page_bytes, &r->new_page_ref.hash);
    r->report.moved = moved;
    return status;
}

static void put_page(reclaim *r)
{
    const bw_status status = build_page(r);
    if (status == BW_NOMEM) {
        reclaim_fail(r, status, "no memory for a page");
        return;
    }
    if (status != BW_OK) { /* full: they stay in the map */
        r->report.moved = 0;
        commit_swept(r);
        return;
    }
    if (MUTANT(page_not_durable)) {
        r->has_new_page = true;
        commit_swept(r);
        return;
    }
    r->phase = RECLAIM_PAGE_PUT;
    reclaim_ask(r, RECLAIM_ASK_PAGE_PUT, STORE_PUT);
}

void reclaim_swept(reclaim *r)
{
    MUST(r->at == r->to);
    MUST(r->name_count == 0);
    r->report.swept_to = r->to;
    if (r->to == r->report.swept || !r->options.apply) {
        reclaim_after_swept(r);
        return;
    }
    const uint32_t page_min = chain_genesis(r->chain)->page_min;
    if (page_min == 0 || departing(r) < page_min) {
        commit_swept(r);
    } else if (r->base->has_page) {
        r->phase = RECLAIM_PAGE_READ;
        reclaim_ask(r, RECLAIM_ASK_PAGE, STORE_GET);
    } else {
        put_page(r);
    }
}

void reclaim_page_read(reclaim *r, ask *a, machine_reply *reply)
{
    bw_error error;
    MUST(r->phase == RECLAIM_PAGE_READ || r->phase == RECLAIM_LIST);
    MUST(r->base->has_page);
    MUST_OR(!r->has_old_page, return );
    const bw_status status =
        page_read(reply, &r->base->page, &r->old_page, &r->old_page_object, &error);
    r->has_old_page = status == BW_OK;
    if (status != BW_OK && !r->refetched) {
        r->refetched = true;
        ask_rest(&r->asks, a, r->now_ns);
        return;
    }
    ask_done(&r->asks, a);
    if (status == BW_NOMEM) {
        reclaim_fail(r, status, "no memory for a page");
    } else if (status != BW_OK) {
        object_key key;
        key_page(&key, r->base->page.version, r->base->page.nonce);
        reclaim_doubt(r, &error, &key);
    } else if (r->phase == RECLAIM_PAGE_READ) {
        put_page(r);
    } else {
        reclaim_list(r);
    }
}

void reclaim_page_put(reclaim *r)
{
    MUST(r->phase == RECLAIM_PAGE_PUT);
    r->has_new_page = true;
    commit_swept(r);
}

void reclaim_committed(reclaim *r)
{
    const commit_report *report = commit_reported(r->commit);
    const manifest *held = chain_held(r->chain);
    MUST(report->end != COMMIT_RUNNING);
    MUST(report->end != COMMIT_DONE || held->swept >= r->to);
    if (report->end == COMMIT_REFUSED && report->status == BW_FENCED) {
        /* Another sweep got there in between: it goes on from what the chain says now. */
        if (!MUTANT(fenced_sweep_deletes))
            r->doomed_count = 0;
        r->report.moved = 0;
        r->report.swept_to = held->swept;
        reclaim_after_swept(r);
        return;
    }
    if (report->end == COMMIT_LOST) {
        reclaim_fail(r, BW_TIMEOUT, "others committed until the time was over");
        return;
    }
    if (report->end != COMMIT_DONE) {
        error_copy(&r->report.error, &report->error);
        reclaim_end(r, report->status);
        return;
    }
    if (!held->has_page || held->page.nonce != r->new_page_ref.nonce)
        r->report.moved = 0;
    reclaim_after_swept(r);
}
