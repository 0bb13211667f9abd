// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Markers, and the manifests above the highest: linked by hash, never going back, and in agreement
 * with the newest about every step. */
#include "client/verify.h"

#include "base/alloc.h"
#include "codec/small.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct chain_check {
    verify *v;
    uint64_t version;
    hash128 previous; /* hash of the manifest before */
    bool linked;      /* … is known */
    manifest *before; /* NULL at the first and after damage */
} chain_check;

/* ---- markers ---- */

static bw_status check_marker(verify *v, uint64_t number, bool *present, bw_error *error)
{
    object_key key;
    uint8_t *object = NULL;
    size_t size = 0;
    uint8_t uuid[UUID_BYTES];
    uint64_t stated = 0;
    key_marker(&key, number);
    bw_status status =
        listing_get(v->s, key.text, object_bytes_max(OBJECT_MARKER), &object, &size, error);
    *present = status != BW_NOT_FOUND;
    if (!*present)
        return BW_OK;
    if (status == BW_OK)
        status = marker_decode(view_of(object, size), uuid, &stated, error);
    if (status == BW_OK && (memcmp(uuid, v->g->uuid, UUID_BYTES) != 0 || stated != number))
        status = error_set(error, BW_CORRUPT, "the marker is of another block or namespace");
    mem_free(object);
    return verify_judge(v, status, "MARKER", key.text, NO_STEP, error);
}

/* Markers are written in block order, so the first that is absent ends them. */
static bw_status check_markers(verify *v, bw_error *error)
{
    for (uint64_t number = v->blocks_retired;; number++) {
        bool present = false;
        BW_TRY(check_marker(v, number, &present, error));
        if (!present) {
            v->blocks_retired = number;
            v->first_version = number == 0 ? 1 : number * v->g->block_size;
            return BW_OK;
        }
    }
}

/* ---- one manifest against the newest ---- */

static bw_status differs(chain_check *c, const char *what, uint64_t step, bw_error *error)
{
    object_key key;
    key_manifest(&key, c->version);
    return verify_found(c->v, "SUM", key.text, step, error,
                        "%s at step %" PRIu64 " is not the newest manifest's", what, step);
}

static int compare_steps(const void *a, const void *b)
{
    const known_sum *x = a, *y = b;
    return (x->step > y->step) - (x->step < y->step);
}

/* True when the newest manifest says otherwise. */
static bool contradicts(const verify *v, uint64_t step, const hash128 *sum)
{
    const known_sum wanted = {.step = step};
    const known_sum *known =
        v->sum_count == 0 ? NULL
                          : bsearch(&wanted, v->sums, v->sum_count, sizeof *v->sums, compare_steps);
    return known != NULL && !hash_equal(sum, &known->sum);
}

static bw_status check_sums(chain_check *c, const manifest *m, bw_error *error)
{
    verify *v = c->v;
    hash128 terms = {{0}}, before = m->sum;
    BW_TRY(block_add_terms(&m->tail, manifest_tail_first(m), 0, m->tail.records, &terms));
    hash_subtract(&before, &terms);
    if (contradicts(v, m->next, &m->sum))
        return differs(c, "the sum", m->next, error);
    if (contradicts(v, manifest_tail_first(m), &before))
        return differs(c, "the sum before the tail", manifest_tail_first(m), error);
    for (uint32_t i = 0; i < m->ref_count; i++) {
        const segment_ref *ref = &m->refs[i];
        object_key key;
        segment_ref_key(ref, &key);
        if (contradicts(v, ref->first, &ref->sum_before))
            return differs(c, "the sum before a reference", ref->first, error);
        if (ref->last >= v->m->swept && !key_set_has(&v->referenced, key.text))
            BW_TRY(verify_found(v, "REFERENCE", key.text, ref->first, error,
                                "manifest %" PRIu64
                                " references a segment that the newest one does not reach",
                                m->version));
    }
    return BW_OK;
}

/* trim = max(trim before, W); without a group it stays. */
static bool trims(const manifest *a, const manifest *b)
{
    const uint64_t w = b->group_count > 0 ? manifest_w(b) : a->trim;
    return b->trim == (w > a->trim ? w : a->trim);
}

static bool another_page(const manifest *a, const manifest *b)
{
    return b->has_page && (!a->has_page || a->page.nonce != b->page.nonce);
}

/* What comes and goes, by whose leave: each launch of a group is one further, only a sweep counts
 * what is swept, and a page is made for one version. */
static const char *groups_go_back(const manifest *a, const manifest *b)
{
    if (!trims(a, b))
        return "the trim step is not the least that a group keeps";
    for (uint32_t i = 0; i < a->group_count; i++) {
        const group *x = &a->groups[i];
        const group *y = manifest_group(b, x->name);
        if (y == NULL)
            continue;
        if (y->launch_number < x->launch_number)
            return "a group's launches go back";
        if (view_equal(x->launch, y->launch) != (x->launch_number == y->launch_number))
            return "a group's launch and its number do not change together";
    }
    if (a->swept == b->swept && a->swept_bytes != b->swept_bytes)
        return "swept bytes change without a sweep";
    if (a->has_page && !b->has_page)
        return "the page is gone";
    if (another_page(a, b) && b->page.version != b->version)
        return "the page was made for another version";
    return NULL;
}

static const char *goes_back(const manifest *a, const manifest *b)
{
    if (b->next < a->next || b->trim < a->trim || b->swept < a->swept)
        return "a step goes back";
    if (b->committed_bytes < a->committed_bytes || b->swept_bytes < a->swept_bytes)
        return "a total goes back";
    if (a->sealed && (!b->sealed || b->next != a->next))
        return "something follows the seal";
    if ((a->next == b->next) != hash_equal(&a->sum, &b->sum))
        return "steps and sum do not change together";
    for (uint32_t i = 0; i < a->producer_count; i++) {
        const producer_entry *x = &a->producers[i];
        const producer_entry *y = manifest_producer(b, x->id);
        if (y == NULL && !(another_page(a, b) && (x->finished || x->forgotten)))
            return "a producer is gone";
        if (y == NULL)
            continue;
        if (y->epoch < x->epoch || y->seq < x->seq || y->offset < x->offset)
            return "a producer goes back";
        if (y->epoch == x->epoch && !token_equal(&y->token, &x->token))
            return "one epoch of a producer has two tokens";
        if (y->seq != x->seq && y->last_publish != b->version)
            return "a producer's last publish is another version";
    }
    return groups_go_back(a, b);
}

static bw_status check_manifest(chain_check *c, const manifest *m, const char *key, bw_error *error)
{
    verify *v = c->v;
    if (memcmp(m->uuid, v->g->uuid, UUID_BYTES) != 0 || m->version != c->version)
        return verify_found(v, "MANIFEST", key, NO_STEP, error,
                            "the manifest is of another namespace or version");
    if (c->linked && !hash_equal(&m->previous, &c->previous))
        BW_TRY(verify_found(v, "LINK", key, NO_STEP, error,
                            "it does not carry the hash of the manifest before it"));
    if (c->before != NULL) {
        const char *why = goes_back(c->before, m);
        if (why != NULL)
            BW_TRY(verify_found(v, "ORDER", key, NO_STEP, error, "%s", why));
        if (memcmp(c->before->nonce.bytes, m->nonce.bytes, TOKEN_BYTES) == 0)
            BW_TRY(verify_found(v, "ORDER", key, NO_STEP, error, "a commit nonce stands twice"));
    }
    return check_sums(c, m, error);
}

/* Damaged or missing: the link to the next one is not known. */
static void lose_link(chain_check *c)
{
    manifest_unref(c->before);
    c->before = NULL;
    c->linked = false;
}

static bw_status check_missing(chain_check *c, const char *key, bool *retired, bw_error *error)
{
    verify *v = c->v;
    BW_TRY(check_markers(v, error));
    *retired = c->version < v->first_version;
    lose_link(c);
    if (*retired) {
        c->version = v->first_version; /* a sweep passed */
        return BW_OK;
    }
    c->version++;
    return verify_found(v, "GAP", key, NO_STEP, error, "a manifest of the chain is missing");
}

static bw_status check_version(chain_check *c, bw_error *error)
{
    verify *v = c->v;
    object_key key;
    uint8_t *object = NULL;
    size_t size = 0;
    manifest *m = NULL;
    key_manifest(&key, c->version);
    BW_TRY(key_set_add(&v->referenced, key.text));
    bw_status status =
        listing_get(v->s, key.text, object_bytes_max(OBJECT_MANIFEST), &object, &size, error);
    if (status == BW_NOT_FOUND) {
        bool retired = false;
        return check_missing(c, key.text, &retired, error);
    }
    if (status == BW_OK)
        status = manifest_decode(object, size, genesis_slices(v->g), &m, error);
    if (status != BW_OK) {
        mem_free(object);
        lose_link(c);
        c->version++;
        return verify_judge(v, status, "MANIFEST", key.text, NO_STEP, error);
    }
    status = check_manifest(c, m, key.text, error);
    if (c->version == v->m->version && !hash_equal(&m->hash, &v->m->hash) && status == BW_OK)
        status = verify_found(v, "MANIFEST", key.text, NO_STEP, error,
                              "it changed while it was being verified");
    c->previous = m->hash;
    c->linked = true;
    manifest_unref(c->before);
    c->before = m;
    c->version++;
    return status;
}

bw_status verify_chain(verify *v, bw_error *error)
{
    BW_TRY(check_markers(v, error));
    chain_check c = {.v = v, .version = v->first_version};
    if (v->first_version == 1) {
        c.previous = v->r->space->genesis_hash;
        c.linked = true;
    }
    bw_status status = BW_OK;
    while (status == BW_OK && c.version <= v->m->version)
        status = check_version(&c, error);
    manifest_unref(c.before);
    return status;
}
