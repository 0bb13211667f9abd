// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "block_walk.h"
#include "fuzz.h"

#include "base/alloc.h"
#include "codec/fold.h"
#include "codec/manifest.h"
#include <string.h>

/* The decoder takes over the bytes. */
static bw_status decode(view object, uint32_t slices, void *decoded, bw_error *error)
{
    uint8_t *bytes = mem_dup(object.data, object.size);
    PROMISE(bytes != NULL);
    manifest **m = decoded;
    const bw_status status = manifest_decode(bytes, object.size, slices, m, error);
    PROMISE((status == BW_OK) == (*m != NULL));
    if (status != BW_OK)
        mem_free(bytes);
    return status;
}

static bw_status encode(const void *decoded, buf *out)
{
    manifest *const *m = decoded;
    return manifest_encode(*m, out);
}

static void check_fold(const manifest *m)
{
    buf object;
    buf_init(&object, SIZE_MAX);
    segment_ref ref, merged;
    segment s;
    PROMISE(!fold_must(m, 64) || fold_due(m, 64));
    PROMISE(!merge_must(m) || merge_due(m));
    if (m->tail.records > 0) {
        PROMISE(fold_build(m, &object, &ref) == BW_OK);
        PROMISE(segment_open(view_of(object.data, object.size), &ref, m->uuid, m->tail.slices, &s,
                             NULL) == BW_OK);
        PROMISE(s.last + 1 == m->next);
    }
    buf_reset(&object);
    if (merge_due(m) && m->refs[merge_at(m)].level + 1u < SEGMENT_LEVELS_MAX) {
        segment_ref *refs = mem_array(m->ref_count + 1, sizeof *refs);
        PROMISE(refs != NULL && merge_build(m, &object, &merged) == BW_OK);
        PROMISE(segment_open(view_of(object.data, object.size), &merged, m->uuid, m->tail.slices,
                             &s, NULL) == BW_OK);
        const uint32_t count = fold_refs(m, &merged, m->tail.records > 0 ? &ref : NULL, refs);
        PROMISE(count == m->ref_count - INDEX_CHILDREN + 1u + (m->tail.records > 0 ? 1u : 0u));
        mem_free(refs);
    }
    buf_free(&object);
}

static void walk(const void *decoded)
{
    manifest *m = *(manifest *const *)decoded;
    block_walk(&m->tail);
    for (uint32_t i = 0; i < m->producer_count; i++)
        PROMISE(manifest_producer(m, m->producers[i].id) == &m->producers[i]);
    PROMISE(manifest_producer(m, view_text("~")) == NULL);
    for (uint32_t i = 0; i < m->group_count; i++)
        PROMISE(manifest_group(m, m->groups[i].name) == &m->groups[i]);
    PROMISE(manifest_group(m, view_text("~")) == NULL);
    PROMISE(manifest_w(m) >= m->trim);
    PROMISE(manifest_ref(m) == m);
    manifest_unref(m);
    check_fold(m);
}

static void release(void *decoded)
{
    manifest_unref(*(manifest **)decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const object_case manifest_case = {decode, encode, walk, release};
    object_try(&manifest_case, data, size);
    return 0;
}
