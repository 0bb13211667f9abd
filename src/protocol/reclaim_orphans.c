// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * What no manifest names, by proof only (docs/protocol.md): a listing says where to look, the chain
 * says what may go. Unreferenced alone proves nothing while a create is in flight.
 */
#include "protocol/reclaim_state.h"

#include "base/invariant.h"
#include "base/mutant.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const prefixes[] = {"data/", "segment/", "page/"};
#define PREFIXES (sizeof prefixes / sizeof *prefixes)

const char *reclaim_prefix(const reclaim *r)
{
    MUST_OR(r->prefix < PREFIXES, return prefixes[0]);
    return prefixes[r->prefix];
}

void reclaim_list(reclaim *r)
{
    MUST(r->prefix <= PREFIXES);
    MUST(r->base->version <= chain_held(r->chain)->version);
    if (r->base->has_page && !r->has_old_page) {
        r->phase = RECLAIM_LIST;
        reclaim_ask(r, RECLAIM_ASK_PAGE, STORE_GET);
        return;
    }
    if (r->prefix == PREFIXES) {
        reclaim_end(r, BW_OK);
        return;
    }
    r->phase = RECLAIM_LIST;
    r->suspect_count = 0;
    reclaim_ask(r, RECLAIM_ASK_LIST, STORE_LIST);
}

static const producer_entry *entry_of(const reclaim *r, view id)
{
    const producer_entry *e = manifest_producer(r->base, id);
    MUST(id.size > 0);
    return e != NULL || !r->has_old_page || MUTANT(departed_are_strangers)
               ? e
               : page_producer(&r->old_page, id);
}

static bool is_named_state(const producer_entry *e, const key_fields *f)
{
    return f->kind == KEY_STATE && e->state_is_object && !MUTANT(listed_state_goes) &&
           e->state_ref.epoch == f->epoch && e->state_ref.seq == f->number &&
           e->state_ref.nonce == f->nonce;
}

typedef enum verdict { KEEP, GO, SUSPECT } verdict;

static void note_staged(reclaim *r, view id, uint64_t bytes)
{
    reclaim_report *report = &r->report;
    uint32_t k = 0;
    MUST(id.size > 0);
    MUST_OR(id.size <= NAME_MAX_BYTES, return );
    report->staged_objects++;
    report->staged_bytes += bytes;
    while (k < report->staged_count && !view_equal(view_text(report->staged[k].producer), id))
        k++;
    if (k == RECLAIM_STAGED_MAX)
        return;
    reclaim_staged *s = &report->staged[k];
    if (k == report->staged_count) {
        memcpy(s->producer, id.data, id.size); /* all of it is zero before */
        report->staged_count++;
    }
    s->objects++;
    s->bytes += bytes;
}

static verdict judge_data(reclaim *r, const key_fields *f, uint64_t bytes)
{
    const producer_entry *e = entry_of(r, f->producer);
    /* Who is not found must not be on a page that was not read. */
    MUST(!r->base->has_page || r->has_old_page);
    if (e == NULL) {
        r->report.strangers++;
        return MUTANT(strangers_go) ? GO : KEEP;
    }
    MUST(e->swept_seq <= e->seq);
    if (is_named_state(e, f))
        return KEEP;
    if (f->number <= e->swept_seq)
        return GO;
    /* Whoever may still publish may be about to name it. */
    const bool over =
        f->epoch < e->epoch || (f->epoch == e->epoch && (e->finished || e->forgotten));
    if (over || r->base->sealed || MUTANT(orphan_in_flight))
        return SUSPECT;
    if (f->number > e->seq)
        note_staged(r, f->producer, bytes);
    return KEEP;
}

static verdict judge_key(reclaim *r, const key_fields *f, uint64_t bytes)
{
    const manifest *base = r->base;
    MUST(base->swept <= base->trim);
    switch (f->kind) {
    case KEY_PART:
    case KEY_STATE:
        return judge_data(r, f, bytes);
    case KEY_SEGMENT:
        return f->last < (MUTANT(listed_segment_goes) ? base->next : base->swept) ? GO : KEEP;
    case KEY_PAGE:
        return (f->number <= base->version || MUTANT(coming_page_goes)) &&
                       !(base->has_page && base->page.version == f->number &&
                         base->page.nonce == f->nonce)
                   ? GO
                   : KEEP;
    default:
        return KEEP;
    }
}

static void add(reclaim *r, const store_entry *entry, const key_fields *f, verdict v)
{
    MUST(v != KEEP);
    MUST_OR(r->suspect_count < RECLAIM_SUSPECTS_MAX, return );
    suspect *s = &r->suspects[r->suspect_count++];
    *s = (suspect){.nonce = f->nonce, .seq = f->number, .epoch = f->epoch, .bytes = entry->bytes};
    s->doubtful = v == SUSPECT;
    (void)snprintf(s->key.text, sizeof s->key.text, "%s", entry->key);
}

static int by_nonce(const void *a, const void *b)
{
    const suspect *x = a, *y = b;
    return x->nonce < y->nonce ? -1 : x->nonce > y->nonce;
}

void reclaim_listed(reclaim *r, const store_list *list)
{
    size_t i = 0;
    bool wild = false;
    MUST_OR(list != NULL, return );
    MUST(r->phase == RECLAIM_LIST);
    for (; i < list->count && r->suspect_count < RECLAIM_SUSPECTS_MAX; i++) {
        const store_entry *entry = &list->entries[i];
        key_fields fields;
        key_parse(view_text(entry->key), &fields);
        /* A foreign name too long to go on from ends the listing. */
        const int size = snprintf(r->after.text, sizeof r->after.text, "%s", entry->key);
        wild |= (size_t)size >= sizeof r->after.text; /* so is a negative one */
        const verdict v = judge_key(r, &fields, entry->bytes);
        if (v != KEEP)
            add(r, entry, &fields, v);
    }
    const bool full = i < list->count;
    r->listed_all = !full && (!list->more || wild);
    if (!full && !r->listed_all && r->suspect_count < RECLAIM_SUSPECTS_MAX) {
        reclaim_ask(r, RECLAIM_ASK_LIST, STORE_LIST);
        return;
    }
    bool doubtful = false;
    for (uint32_t k = 0; k < r->suspect_count; k++)
        doubtful |= r->suspects[k].doubtful;
    qsort(r->suspects, r->suspect_count, sizeof *r->suspects, by_nonce);
    r->at = doubtful ? r->base->swept : r->base->next;
    if (doubtful && MUTANT(orphan_by_tail_alone))
        r->at = manifest_tail_first(r->base);
    reclaim_judge(r);
}

static void name(reclaim *r, const descriptor *d)
{
    uint32_t low = 0, high = r->suspect_count;
    MUST(d->id.size > 0);
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (r->suspects[middle].nonce < d->record.nonce)
            low = middle + 1;
        else
            high = middle;
    }
    MUST(low == 0 || r->suspects[low - 1].nonce < d->record.nonce);
    for (; low < r->suspect_count && r->suspects[low].nonce == d->record.nonce; low++) {
        suspect *s = &r->suspects[low];
        /* Whose it is need not be asked: a nonce that is another's by chance keeps an orphan. */
        if (s->epoch == d->record.epoch && s->seq == d->record.seq)
            s->named = true;
    }
}

/* Looks at every descriptor that the proved manifest has. */
void reclaim_judge(reclaim *r)
{
    const manifest *base = r->base;
    const uint64_t tail_first = manifest_tail_first(base);
    descriptor d;
    r->phase = RECLAIM_JUDGE;
    while (r->at < base->next) {
        if (r->at >= tail_first) {
            block_descriptor(&base->tail, (uint32_t)(r->at - tail_first), &d);
            name(r, &d);
            r->at++;
            continue;
        }
        segment_ref path[SEGMENT_LEVELS_MAX];
        uint32_t depth;
        const segment *leaf;
        const lookup_verdict found = lookup_path(base, r->cache, r->at, path, &depth, &leaf);
        if (found == LOOKUP_NEED)
            reclaim_need_segment(r, &path[depth - 1]);
        else if (found != LOOKUP_FOUND)
            reclaim_fail(r, BW_BUG, "a step cannot be looked up");
        if (found != LOOKUP_FOUND)
            return;
        MUST_OR(r->at >= leaf->first, return );
        MUST_OR(leaf->last < base->next, return );
        for (; r->at <= leaf->last; r->at++) {
            block_descriptor(&leaf->block, (uint32_t)(r->at - leaf->first), &d);
            name(r, &d);
        }
    }
    /* Every descriptor was looked at. */
    MUST(r->at == base->next);
    r->suspect_at = 0;
    r->name_count = 0;
    reclaim_orphans(r);
}

void reclaim_orphans(reclaim *r)
{
    MUST(r->suspect_at <= r->suspect_count);
    MUST(r->name_count == 0);
    r->phase = RECLAIM_ORPHANS;
    while (r->suspect_at < r->suspect_count && r->name_count < RECLAIM_NAMES_MAX) {
        const suspect *s = &r->suspects[r->suspect_at++];
        if (s->doubtful && s->named)
            continue;
        r->report.orphan_bytes += s->bytes;
        if (r->options.apply)
            r->names[r->name_count++] = s->key;
        else
            r->report.orphans_deleted++;
    }
    if (r->name_count > 0) {
        reclaim_ask(r, RECLAIM_ASK_DELETE, STORE_DELETE);
        return;
    }
    if (r->listed_all) {
        r->prefix++;
        memset(&r->after, 0, sizeof r->after);
    }
    reclaim_list(r);
}
