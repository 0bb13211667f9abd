// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* "inspect": one stored object, decoded from its bytes alone. */
#include "client/listing.h"
#include "client/reports.h"

#include "base/alloc.h"
#include "codec/small.h"
#include <inttypes.h>
#include <string.h>

static void put_refs(buf *out, const char *key, const segment_ref *refs, uint32_t count)
{
    json_put_array(out, key);
    for (uint32_t i = 0; i < count; i++)
        put_segment_ref(out, &refs[i]);
    json_put_array_end(out);
}

static void put_block(buf *out, const char *key, const block *b, uint64_t first)
{
    json_put_array(out, key);
    for (uint32_t k = 0; k < b->records; k++) {
        descriptor d;
        block_descriptor(b, k, &d);
        put_step(out, first + k, &d);
    }
    json_put_array_end(out);
}

static bw_status inspect_genesis(report *r, view object, bw_error *error)
{
    genesis g;
    BW_TRY(genesis_decode(object, &g, error));
    put_genesis_members(&r->out, &g);
    return BW_OK;
}

static bw_status inspect_manifest(report *r, view object, bw_error *error)
{
    manifest *m = NULL;
    uint8_t *copy = mem_dup(object.data, object.size);
    if (copy == NULL)
        return error_set(error, BW_NOMEM, "out of memory");
    const bw_status status =
        manifest_decode(copy, object.size, genesis_slices(r->space->genesis), &m, error);
    if (status != BW_OK) {
        mem_free(copy);
        return status;
    }
    json_put_hex(&r->out, "uuid", m->uuid, UUID_BYTES);
    put_manifest_members(&r->out, m);
    json_put_hex(&r->out, "nonce", m->nonce.bytes, TOKEN_BYTES);
    json_put_hex(&r->out, "previous", m->previous.bytes, HASH_BYTES);
    json_put_hex(&r->out, "sum", m->sum.bytes, HASH_BYTES);
    put_refs(&r->out, "references", m->refs, m->ref_count);
    put_block(&r->out, "tail", &m->tail, manifest_tail_first(m));
    manifest_unref(m);
    return BW_OK;
}

static bw_status inspect_segment(report *r, view object, bw_error *error)
{
    segment s;
    BW_TRY(segment_decode(object, genesis_slices(r->space->genesis), &s, error));
    json_put_hex(&r->out, "uuid", s.uuid, UUID_BYTES);
    json_put_u64(&r->out, "level", s.level);
    json_put_u64(&r->out, "first", s.first);
    json_put_u64(&r->out, "last", s.last);
    if (s.level == 0)
        put_block(&r->out, "steps", &s.block, s.first);
    else
        put_refs(&r->out, "references", s.children, INDEX_CHILDREN);
    return BW_OK;
}

static bw_status inspect_page(report *r, view object, bw_error *error)
{
    page p;
    BW_TRY(page_decode(object, &p, error));
    json_put_hex(&r->out, "uuid", p.uuid, UUID_BYTES);
    json_put_u64(&r->out, "version", p.version);
    json_put_array(&r->out, "producers");
    for (uint32_t i = 0; i < p.count; i++)
        put_producer(&r->out, &p.entries[i]);
    json_put_array_end(&r->out);
    page_free(&p);
    return BW_OK;
}

static bw_status inspect_small(report *r, key_kind kind, view object, bw_error *error)
{
    uint8_t uuid[UUID_BYTES];
    uint64_t number = 0;
    uint32_t epoch = 0;
    view state = {0};
    if (kind == KEY_MARKER) {
        BW_TRY(marker_decode(object, uuid, &number, error));
        json_put_u64(&r->out, "block", number);
    } else if (kind == KEY_HINT) {
        BW_TRY(hint_decode(object, uuid, &number, error));
        json_put_u64(&r->out, "version", number);
    } else {
        BW_TRY(state_decode(object, uuid, &epoch, &number, &state, error));
        json_put_u64(&r->out, "epoch", epoch);
        json_put_u64(&r->out, "seq", number);
        json_put_u64(&r->out, "state_bytes", state.size);
        json_put_hex(&r->out, "state", state.data, state.size);
    }
    json_put_hex(&r->out, "uuid", uuid, UUID_BYTES);
    return BW_OK;
}

static bw_status inspect_object(report *r, key_kind kind, view object, bw_error *error)
{
    if (r->space->genesis == NULL && (kind == KEY_MANIFEST || kind == KEY_SEGMENT))
        return error_set(error, BW_CORRUPT,
                         "genesis is damaged, so it is not known how many slices a step has");
    switch (kind) {
    case KEY_GENESIS:
        return inspect_genesis(r, object, error);
    case KEY_MANIFEST:
        return inspect_manifest(r, object, error);
    case KEY_SEGMENT:
        return inspect_segment(r, object, error);
    case KEY_PAGE:
        return inspect_page(r, object, error);
    case KEY_MARKER:
    case KEY_HINT:
    case KEY_STATE:
        return inspect_small(r, kind, object, error);
    default:
        return BW_OK;
    }
}

/* ---- parts: heads only, however large they are ---- */

static bw_status put_frame(report *r, store *s, uint64_t at, uint64_t left, uint64_t *next,
                           bw_error *error)
{
    uint8_t head[FRAME_HEAD_BYTES];
    BW_TRY(listing_read(s, r->options->key, at, sizeof head, head, error));
    const uint32_t items = load_u32(head + 20);
    if (items == 0 || items > ITEMS_MAX || frame_table_end(items) > left)
        return error_set(error, BW_CORRUPT, "no slice begins at byte %" PRIu64, at);
    const size_t bytes = (size_t)frame_table_end(items);
    uint8_t *table = mem_alloc(bytes);
    frame_item *rows = mem_array(items, sizeof *rows);
    frame_head decoded = {0};
    bw_status status = table == NULL || rows == NULL
                           ? error_set(error, BW_NOMEM, "out of memory")
                           : listing_read(s, r->options->key, at, bytes, table, error);
    if (status == BW_OK)
        status = frame_decode_head(view_of(table, bytes), &decoded, rows, items, error);
    if (status == BW_OK) {
        json_put_object(&r->out, NULL);
        json_put_u64(&r->out, "at", at);
        json_put_u64(&r->out, "slice", decoded.slice);
        json_put_nonce(&r->out, "nonce", decoded.nonce);
        json_put_text(&r->out, "kind", kind_name(decoded.kind));
        json_put_u64(&r->out, "bytes", decoded.framed_bytes);
        json_put_array(&r->out, "items");
        for (uint32_t i = 0; i < items; i++) {
            json_put_object(&r->out, NULL);
            json_put_u64(&r->out, "at", at + rows[i].offset);
            json_put_u64(&r->out, "bytes", rows[i].stored_bytes);
            json_put_u64(&r->out, "plain", rows[i].plain_bytes);
            json_put_bool(&r->out, "pad", rows[i].pad);
            json_put_object_end(&r->out);
        }
        json_put_array_end(&r->out);
        json_put_object_end(&r->out);
    }
    *next = align64(at + decoded.framed_bytes);
    mem_free(table);
    mem_free(rows);
    return status;
}

static bw_status put_footer(report *r, store *s, uint64_t at, uint64_t bytes, bw_error *error)
{
    footer f;
    if (bytes > object_bytes_max(OBJECT_FOOTER))
        return error_set(error, BW_CORRUPT, "a footer of %" PRIu64 " bytes", bytes);
    uint8_t *object = mem_alloc((size_t)bytes);
    if (object == NULL)
        return error_set(error, BW_NOMEM, "out of memory");
    bw_status status = listing_read(s, r->options->key, at, bytes, object, error);
    if (status == BW_OK)
        status = footer_decode(view_of(object, (size_t)bytes), &f, error);
    if (status == BW_OK) {
        json_put_object(&r->out, "footer");
        json_put_u64(&r->out, "at", at);
        json_put_u64(&r->out, "bytes", bytes);
        json_put_nonce(&r->out, "nonce", f.nonce);
        json_put_u64(&r->out, "dp", f.dp);
        json_put_u64(&r->out, "cp", f.cp);
        json_put_u64(&r->out, "items", f.items);
        json_put_view(&r->out, "media_type", f.media_type);
        json_put_u64(&r->out, "metadata_bytes", f.metadata.size);
        json_put_object_end(&r->out);
        footer_free(&f);
    }
    mem_free(object);
    return status;
}

static bw_status inspect_part(report *r, store *s, uint64_t bytes, bw_error *error)
{
    uint64_t at = 0, footer_at = bytes;
    bw_status status = BW_OK;
    json_put_array(&r->out, "slices");
    while (at < bytes && status == BW_OK) {
        uint8_t magic[4];
        if (bytes - at < FRAME_HEAD_BYTES && footer_at == bytes && at + 4 > bytes)
            return error_set(error, BW_CORRUPT, "%" PRIu64 " bytes that are no slice", bytes - at);
        status = listing_read(s, r->options->key, at, sizeof magic, magic, error);
        if (status == BW_OK && memcmp(magic, "BWTF", 4) == 0) {
            footer_at = at;
            break;
        }
        if (status == BW_OK)
            status = put_frame(r, s, at, bytes - at, &at, error);
    }
    json_put_array_end(&r->out);
    if (status == BW_OK && footer_at < bytes)
        status = put_footer(r, s, footer_at, bytes - footer_at, error);
    return status;
}

static bw_status inspect(report *r, store *s, const key_fields *fields, bw_error *error)
{
    const char *key = r->options->key;
    uint64_t bytes = 0;
    BW_TRY(listing_size(s, key, &bytes, error));
    json_put_object(&r->out, NULL);
    json_put_text(&r->out, "key", key);
    json_put_text(&r->out, "kind", key_kind_name(fields->kind));
    json_put_u64(&r->out, "bytes", bytes);
    bw_status status = BW_OK;
    if (fields->kind == KEY_PART) {
        status = inspect_part(r, s, bytes, error);
    } else if (fields->kind != KEY_PROBE && fields->kind != KEY_TMP &&
               fields->kind != KEY_FOREIGN) {
        uint8_t *object = NULL;
        size_t size = 0;
        hash128 hash;
        status = listing_get(s, key, object_bytes_max(OBJECT_MANIFEST), &object, &size, error);
        if (status == BW_OK)
            status = hash_bytes(object, size, &hash);
        if (status == BW_OK) {
            json_put_hex(&r->out, "hash", hash.bytes, HASH_BYTES);
            status = inspect_object(r, fields->kind, view_of(object, size), error);
        }
        mem_free(object);
    }
    json_put_object_end(&r->out);
    if (status != BW_OK)
        error_set_key(error, key);
    return status;
}

bw_status report_inspect(report *r, bw_error *error)
{
    if (r->options->key == NULL || r->options->key[0] == '\0')
        return error_set(error, BW_INVALID, "inspect: which object? Set key");
    key_fields fields;
    key_parse(view_text(r->options->key), &fields);
    store *s = NULL;
    BW_TRY(space_store(r->space, &s, error));
    const bw_status status = inspect(r, s, &fields, error);
    store_close(s);
    return status == BW_OK ? report_emit(r, error) : status;
}
