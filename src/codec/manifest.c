// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/parts.h"

#include "base/alloc.h"

#define MANIFEST_SEALED 1u
#define MANIFEST_HAS_PAGE 2u
#define MANIFEST_FLAGS (MANIFEST_SEALED | MANIFEST_HAS_PAGE)

bw_status manifest_encode(const manifest *draft, buf *out)
{
    const size_t at = object_begin(out, OBJECT_MANIFEST);
    buf_put(out, draft->uuid, UUID_BYTES);
    buf_put_u64(out, draft->version);
    buf_put(out, draft->nonce.bytes, TOKEN_BYTES);
    buf_put(out, draft->previous.bytes, HASH_BYTES);
    buf_put_u64(out, draft->clock_ms);
    buf_put_u64(out, draft->next);
    buf_put_u64(out, draft->trim);
    buf_put_u64(out, draft->swept);
    buf_put_u32(out,
                (draft->sealed ? MANIFEST_SEALED : 0) | (draft->has_page ? MANIFEST_HAS_PAGE : 0));
    buf_put_u64(out, draft->committed_bytes);
    buf_put_u64(out, draft->swept_bytes);
    buf_put_u64(out, draft->finished_producers);
    buf_put(out, draft->sum.bytes, HASH_BYTES);
    wire_put_text8(out, draft->committer);
    wire_put_text8(out, draft->turn);
    if (draft->has_page) {
        buf_put_u64(out, draft->page.version);
        buf_put_u64(out, draft->page.nonce);
        buf_put(out, draft->page.hash.bytes, HASH_BYTES);
        buf_put_u64(out, draft->page.bytes);
        buf_put_u32(out, draft->page.entries);
    }
    buf_put_u32(out, draft->ref_count);
    for (uint32_t i = 0; i < draft->ref_count; i++)
        segment_ref_encode(&draft->refs[i], out);
    wire_put_text32(out, draft->tail.bytes);
    buf_put_u32(out, draft->producer_count);
    for (uint32_t i = 0; i < draft->producer_count; i++)
        producer_entry_encode(&draft->producers[i], out);
    buf_put_u32(out, draft->group_count);
    for (uint32_t i = 0; i < draft->group_count; i++)
        group_encode(&draft->groups[i], out);
    object_finish(out, at);
    const bw_status status = buf_status(out);
    return status == BW_TOO_LARGE ? BW_MANIFEST_FULL : status;
}

/* Up to the sum, with what these fields alone must fulfil. */
static bw_status read_head(wire_reader *r, manifest *m, bw_error *error)
{
    wire_bytes(r, m->uuid, UUID_BYTES);
    m->version = wire_u64(r);
    wire_bytes(r, m->nonce.bytes, TOKEN_BYTES);
    wire_bytes(r, m->previous.bytes, HASH_BYTES);
    m->clock_ms = wire_u64(r);
    m->next = wire_u64(r);
    m->trim = wire_u64(r);
    m->swept = wire_u64(r);
    const uint32_t flags = wire_u32(r);
    m->sealed = (flags & MANIFEST_SEALED) != 0;
    m->has_page = (flags & MANIFEST_HAS_PAGE) != 0;
    m->committed_bytes = wire_u64(r);
    m->swept_bytes = wire_u64(r);
    m->finished_producers = wire_u64(r);
    wire_bytes(r, m->sum.bytes, HASH_BYTES);
    if (r->failed || (flags & ~MANIFEST_FLAGS) != 0 || m->version == 0 || m->version > NUMBER_MAX ||
        m->next > NUMBER_MAX)
        return error_set(error, BW_CORRUPT, "manifest: the first fields break the format");
    if (m->swept > m->trim || m->trim > m->next || m->swept_bytes > m->committed_bytes)
        return error_set(error, BW_CORRUPT, "manifest: swept, trim and next are out of order");
    return BW_OK;
}

static bw_status read_names_and_page(wire_reader *r, manifest *m, bw_error *error)
{
    m->committer = wire_text8(r);
    m->turn = wire_text8(r);
    if ((m->committer.size > 0 && !name_is_valid(m->committer)) ||
        (m->turn.size > 0 && !name_is_valid(m->turn)))
        return error_set(error, BW_CORRUPT, "manifest: committer or turn is no name");
    if (!m->has_page)
        return BW_OK;
    m->page.version = wire_u64(r);
    m->page.nonce = wire_u64(r);
    wire_bytes(r, m->page.hash.bytes, HASH_BYTES);
    m->page.bytes = wire_u64(r);
    m->page.entries = wire_u32(r);
    if (r->failed || m->page.version == 0 || m->page.version > m->version || m->page.entries == 0)
        return error_set(error, BW_CORRUPT, "manifest: the page reference breaks the format");
    return BW_OK;
}

static bw_status read_refs(wire_reader *r, manifest *m, bw_error *error)
{
    m->ref_count = wire_u32(r);
    if (m->ref_count > wire_left(r) / REFERENCE_BYTES)
        return error_set(error, BW_CORRUPT, "manifest: %u references in %zu bytes", m->ref_count,
                         wire_left(r));
    m->refs = mem_array(m->ref_count, sizeof *m->refs);
    if (m->refs == NULL)
        return error_set(error, BW_NOMEM, "manifest: no memory for %u references", m->ref_count);
    for (uint32_t i = 0; i < m->ref_count; i++) {
        segment_ref *ref = &m->refs[i];
        segment_ref_read(r, ref);
        if (r->failed ||
            (i > 0 && (!segment_ref_joins(ref - 1, ref) || ref->level > ref[-1].level)))
            return error_set(error, BW_CORRUPT, "manifest: reference %u breaks the format", i);
    }
    return BW_OK;
}

/* References and tail describe exactly the steps from a first one ≤ swept up to next. */
static bw_status read_tail(wire_reader *r, uint32_t slices, manifest *m, bw_error *error)
{
    const view tail = wire_text32(r);
    if (r->failed)
        return error_set(error, BW_CORRUPT, "manifest: the tail ends early");
    BW_TRY(block_decode(tail, slices, &m->tail, error));
    bool covered = m->tail.records <= m->next;
    const uint64_t tail_first = manifest_tail_first(m);
    if (m->ref_count == 0) {
        covered &= tail_first == m->swept;
    } else {
        const segment_ref *first = &m->refs[0], *last = &m->refs[m->ref_count - 1];
        covered &= first->first <= m->swept && m->swept <= first->last;
        covered &= tail_first > last->last && tail_first - last->last == 1;
    }
    if (!covered)
        return error_set(
            error, BW_CORRUPT,
            "manifest: references and tail do not describe the steps from swept to next");
    return BW_OK;
}

static bw_status read_producers(wire_reader *r, manifest *m, bw_error *error)
{
    m->producer_count = wire_u32(r);
    BW_TRY(producer_entries_read(r, m->producer_count, &m->producers, error));
    uint64_t finished = 0;
    for (uint32_t i = 0; i < m->producer_count; i++)
        finished += m->producers[i].finished;
    const uint64_t on_page = m->has_page ? m->page.entries : 0;
    if (m->finished_producers < finished || m->finished_producers - finished > on_page)
        return error_set(error, BW_CORRUPT, "manifest: the count of finished producers is wrong");
    return BW_OK;
}

static bw_status read_body(view body, uint32_t slices, manifest *m, bw_error *error)
{
    wire_reader r;
    wire_open(&r, body);
    BW_TRY(read_head(&r, m, error));
    BW_TRY(read_names_and_page(&r, m, error));
    BW_TRY(read_refs(&r, m, error));
    BW_TRY(read_tail(&r, slices, m, error));
    BW_TRY(read_producers(&r, m, error));
    BW_TRY(groups_read(&r, m, error));
    if (!wire_done(&r))
        return error_set(error, BW_CORRUPT, "manifest: %zu bytes after the last field",
                         wire_left(&r));
    return BW_OK;
}

bw_status manifest_decode(uint8_t *object, size_t bytes, uint32_t slices, manifest **out,
                          bw_error *error)
{
    *out = NULL;
    view body;
    BW_TRY(object_open(view_of(object, bytes), OBJECT_MANIFEST, &body, error));
    manifest *m = mem_zalloc(sizeof *m);
    if (m == NULL)
        return error_set(error, BW_NOMEM, "manifest: no memory");
    atomic_init(&m->references, 1);
    bw_status status = read_body(body, slices, m, error);
    if (status == BW_OK && hash_bytes(object, bytes, &m->hash) != BW_OK)
        status = error_set(error, BW_NOMEM, "manifest: no memory to hash it");
    if (status != BW_OK) {
        manifest_unref(m); /* it does not own the object yet */
        return status;
    }
    m->object = object;
    m->object_bytes = bytes;
    *out = m;
    return BW_OK;
}

manifest *manifest_ref(manifest *m)
{
    atomic_fetch_add_explicit(&m->references, 1, memory_order_relaxed);
    return m;
}

void manifest_unref(manifest *m)
{
    if (m == NULL || atomic_fetch_sub_explicit(&m->references, 1, memory_order_acq_rel) > 1)
        return;
    mem_free(m->refs);
    mem_free(m->producers);
    mem_free(m->groups);
    mem_free(m->pin_storage);
    mem_free(m->object);
    mem_free(m);
}

const producer_entry *manifest_producer(const manifest *m, view id)
{
    return producer_entries_find(m->producers, m->producer_count, id);
}

const group *manifest_group(const manifest *m, view name)
{
    for (uint32_t i = 0; i < m->group_count; i++) {
        if (view_equal(m->groups[i].name, name))
            return &m->groups[i];
    }
    return NULL;
}
