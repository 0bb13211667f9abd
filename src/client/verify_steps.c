// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The newest manifest's references and tail: every step once, in order, and the sum before each. */
#include "client/verify.h"

#include "base/alloc.h"
#include <inttypes.h>
#include <string.h>

/* The walk ascends, so the list is sorted. */
static bw_status note_sum(verify *v, uint64_t step)
{
    void *sums = v->sums;
    if (!v->known)
        return BW_OK;
    if (mem_grow(&sums, &v->sum_capacity, v->sum_count + 1, sizeof *v->sums) != 0)
        return BW_NOMEM;
    v->sums = sums;
    v->sums[v->sum_count++] = (known_sum){step, v->sum};
    return BW_OK;
}

static bw_status tell(const verify *v, bw_error *error)
{
    const manifest *m = v->m;
    const bool deep = v->r->options->deep;
    const report_walk walk = {.step = v->at,
                              .first = v->first,
                              .end = m->next,
                              .bytes = deep ? v->retained_bytes : 0,
                              .bytes_all = deep ? m->committed_bytes - m->swept_bytes : 0};
    return report_progress(v->r, &walk, error);
}

static bw_status visit(verify *v, uint64_t step, const descriptor *d, bw_error *error)
{
    hash128 term;
    BW_TRY(note_sum(v, step));
    BW_TRY(descriptor_term(step, d, &term));
    hash_add(&v->sum, &term);
    v->at = step + 1;
    if (step < v->m->swept)
        return BW_OK;
    v->retained_bytes += d->shape.total_bytes;
    BW_TRY(verify_producers_step(v, step, d, error));
    BW_TRY(verify_batch(v, step, d, error));
    return tell(v, error);
}

static bw_status visit_block(verify *v, const block *b, uint64_t first, bw_error *error)
{
    for (uint32_t k = 0; k < b->records; k++) {
        descriptor d;
        block_descriptor(b, k, &d);
        BW_TRY(visit(v, first + k, &d, error));
    }
    return BW_OK;
}

/* The sum that a reference states on its left against the one that was reached. */
static bw_status enter(verify *v, const segment_ref *ref, const char *key, bw_error *error)
{
    bw_status status = BW_OK;
    if (ref->first != v->at)
        status =
            verify_found(v, "STEPS", key, v->at, error,
                         "steps [%" PRIu64 ", %" PRIu64 ") are not described", v->at, ref->first);
    else if (v->known && !hash_equal(&v->sum, &ref->sum_before))
        status = verify_found(v, "SUM", key, ref->first, error,
                              "the sum before step %" PRIu64 " is not the one stated", ref->first);
    v->at = ref->first;
    v->sum = ref->sum_before;
    v->known = true;
    return status;
}

/* After damage the sum goes on from the next reference that states one. */
static void leap(verify *v, uint64_t to)
{
    v->at = to;
    v->known = false;
}

static bw_status walk_reference(verify *v, const segment_ref *ref, bw_error *error);

static bw_status walk_segment(verify *v, const segment_ref *ref, const segment *s, const char *key,
                              bw_error *error)
{
    if (s->level == 0)
        return visit_block(v, &s->block, s->first, error);
    if (!hash_equal(&s->children[0].sum_before, &ref->sum_before))
        BW_TRY(verify_found(v, "SUM", key, ref->first, error,
                            "the first child states another sum than the reference"));
    for (uint32_t i = 0; i < INDEX_CHILDREN; i++)
        BW_TRY(walk_reference(v, &s->children[i], error));
    return BW_OK;
}

static bw_status walk_reference(verify *v, const segment_ref *ref, bw_error *error)
{
    object_key key;
    uint8_t *object = NULL;
    size_t size = 0;
    segment s;
    segment_ref_key(ref, &key);
    BW_TRY(key_set_add(&v->referenced, key.text));
    if (ref->last < v->m->swept) {
        leap(v, ref->last + 1); /* a child of an index that was swept; it may be deleted */
        return BW_OK;
    }
    BW_TRY(enter(v, ref, key.text, error));
    bw_status status =
        listing_get(v->s, key.text, object_bytes_max(OBJECT_SEGMENT), &object, &size, error);
    if (status == BW_OK)
        status =
            segment_open(view_of(object, size), ref, v->g->uuid, genesis_slices(v->g), &s, error);
    if (status == BW_OK) {
        v->segments++;
        status = walk_segment(v, ref, &s, key.text, error);
    } else {
        bool swept = false;
        if (status == BW_NOT_FOUND &&
            verify_is_trimmed(v, ref->last, true, &swept, NULL) == BW_OK && swept) {
            status = BW_OK;
            v->passed = true;
            verify_producers_gap(v);
        } else {
            status = verify_judge(v, status, "SEGMENT", key.text, ref->first, error);
        }
        leap(v, ref->last + 1);
    }
    mem_free(object);
    return status;
}

static void begin(verify *v)
{
    const manifest *m = v->m;
    v->first = v->at = m->ref_count > 0 ? m->refs[0].first : manifest_tail_first(m);
    /* Before the first step of all there is nothing; before a later one only what the manifest
     * states. */
    v->known = v->first == 0;
    v->sum = (hash128){{0}};
}

/* What the manifest states before its tail: its sum without the tail's terms. */
static bw_status sum_before_tail(const manifest *m, hash128 *sum)
{
    hash128 terms = {{0}};
    BW_TRY(block_add_terms(&m->tail, manifest_tail_first(m), 0, m->tail.records, &terms));
    *sum = m->sum;
    hash_subtract(sum, &terms);
    return BW_OK;
}

bw_status verify_steps(verify *v, bw_error *error)
{
    const manifest *m = v->m;
    object_key key;
    hash128 before_tail;
    key_manifest(&key, m->version);
    begin(v);
    for (uint32_t i = 0; i < m->ref_count; i++)
        BW_TRY(walk_reference(v, &m->refs[i], error));
    BW_TRY(sum_before_tail(m, &before_tail));
    if (v->at != manifest_tail_first(m))
        BW_TRY(verify_found(v, "STEPS", key.text, v->at, error,
                            "steps [%" PRIu64 ", %" PRIu64 ") are not described", v->at,
                            manifest_tail_first(m)));
    else if (v->known && !hash_equal(&v->sum, &before_tail))
        BW_TRY(verify_found(v, "SUM", key.text, v->at, error,
                            "the descriptors do not give the sum that the manifest states"));
    v->at = manifest_tail_first(m);
    v->sum = before_tail;
    v->known = true;
    BW_TRY(visit_block(v, &m->tail, manifest_tail_first(m), error));
    BW_TRY(note_sum(v, m->next));
    const uint64_t total = m->committed_bytes - m->swept_bytes;
    if (v->passed ? v->retained_bytes > total : v->retained_bytes != total)
        BW_TRY(verify_found(v, "TOTALS", key.text, NO_STEP, error,
                            "the retained steps have %" PRIu64 " bytes, the totals say %" PRIu64,
                            v->retained_bytes, total));
    return BW_OK;
}
