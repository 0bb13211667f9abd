// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Decoding a golden object into JSON whose keys are the fields of docs/format.md, and encoding it
 * again. Hashes, tokens, sums and other bytes are hex in the order they are stored; u64 nonces are
 * 16 digits, most significant first. */
#include "golden.h"

#include "base/alloc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "golden: %s failed\n", what);
    exit(1);
}

void put_number(json_t *to, const char *key, uint64_t value)
{
    /* JSON integers end at 2^63 here; what is larger is written as text. */
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    json_object_set_new(to, key,
                        value <= INT64_MAX ? json_integer((json_int_t)value) : json_string(text));
}

void put_hex(json_t *to, const char *key, const void *bytes, size_t size)
{
    char *hex = malloc(2 * size + 1);
    must(hex != NULL, "memory");
    hex_encode(bytes, size, hex);
    json_object_set_new(to, key, json_string(hex));
    free(hex);
}

void put_nonce(json_t *to, const char *key, uint64_t nonce)
{
    char hex[17];
    snprintf(hex, sizeof hex, "%016llx", (unsigned long long)nonce);
    json_object_set_new(to, key, json_string(hex));
}

void put_text(json_t *to, const char *key, view text)
{
    json_t *value = json_stringn((const char *)text.data, text.size);
    must(value != NULL, "text");
    json_object_set_new(to, key, value);
}

static void put_hash(json_t *to, const char *key, const hash128 *hash)
{
    put_hex(to, key, hash->bytes, HASH_BYTES);
}

static void put_bool(json_t *to, const char *key, bool value)
{
    json_object_set_new(to, key, json_boolean(value));
}

static json_t *object_named(const char *object)
{
    json_t *root = json_object();
    put_text(root, "object", view_text(object));
    return root;
}

json_t *dump_genesis(view object)
{
    genesis g;
    must(genesis_decode(object, &g, NULL) == BW_OK, "genesis");
    json_t *root = object_named("genesis");
    put_hex(root, "uuid", g.uuid, UUID_BYTES);
    put_number(root, "created", g.created_ms);
    put_number(root, "dp", g.dp);
    put_number(root, "cp", g.cp);
    put_number(root, "items_default", g.items_default);
    put_number(root, "expected_producers", g.expected_producers);
    put_number(root, "block_size", g.block_size);
    put_number(root, "tail_cap", g.tail_cap);
    put_number(root, "part_bytes", g.part_bytes);
    put_number(root, "page_min", g.page_min);
    if (g.has_max_lag)
        put_number(root, "max_lag", g.max_lag);
    if (g.has_max_bytes)
        put_number(root, "max_bytes", g.max_bytes);
    put_text(root, "layout", view_text(g.layout));
    put_text(root, "schema", g.schema);
    return root;
}

static json_t *dump_descriptor(uint64_t step, const descriptor *d)
{
    static const char *const forms[] = {"uniform", "inline", "footer"};
    json_t *root = json_object();
    hash128 term;
    must(descriptor_term(step, d, &term) == BW_OK, "term");
    put_number(root, "step", step);
    put_text(root, "id", d->id);
    put_nonce(root, "nonce", d->record.nonce);
    put_number(root, "start", d->record.start);
    put_number(root, "end", d->record.end);
    put_number(root, "seq", d->record.seq);
    put_number(root, "epoch", d->record.epoch);
    put_text(root, "form", view_text(forms[d->shape.form]));
    put_number(root, "kind", d->shape.kind);
    put_number(root, "parts", d->shape.parts);
    put_number(root, "items", d->shape.items);
    put_number(root, "footer_bytes", d->shape.footer_bytes);
    put_number(root, "place", d->shape.uniform);
    put_number(root, "total_bytes", d->shape.total_bytes);
    put_number(root, "samples", d->shape.samples);
    put_number(root, "tokens", d->shape.tokens);
    put_number(root, "tag", d->shape.tag);
    put_hex(root, "side", d->shape.side.data, d->shape.side.size);
    put_hash(root, "term", &term);
    return root;
}

static json_t *dump_block(const block *b, uint64_t first)
{
    json_t *list = json_array();
    for (uint32_t k = 0; k < b->records; k++) {
        descriptor d;
        block_descriptor(b, k, &d);
        json_array_append_new(list, dump_descriptor(first + k, &d));
    }
    return list;
}

static json_t *dump_refs(const segment_ref *refs, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++) {
        json_t *ref = json_object();
        put_number(ref, "first", refs[i].first);
        put_number(ref, "last", refs[i].last);
        put_hash(ref, "hash", &refs[i].hash);
        put_hash(ref, "sum_before", &refs[i].sum_before);
        put_number(ref, "bytes", refs[i].bytes);
        put_number(ref, "level", refs[i].level);
        json_array_append_new(list, ref);
    }
    return list;
}

static json_t *dump_entries(const producer_entry *entries, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++) {
        const producer_entry *e = &entries[i];
        json_t *entry = json_object();
        put_text(entry, "id", e->id);
        put_number(entry, "epoch", e->epoch);
        put_bool(entry, "finished", e->finished);
        put_bool(entry, "forgotten", e->forgotten);
        put_number(entry, "slot", e->slot_ms);
        put_hex(entry, "token", e->token.bytes, TOKEN_BYTES);
        put_number(entry, "seq", e->seq);
        put_number(entry, "offset", e->offset);
        put_number(entry, "swept_seq", e->swept_seq);
        put_number(entry, "swept_offset", e->swept_offset);
        put_number(entry, "last_publish", e->last_publish);
        put_number(entry, "last_commit", e->last_commit);
        if (e->state_is_object) {
            json_t *ref = json_object();
            put_number(ref, "epoch", e->state_ref.epoch);
            put_number(ref, "seq", e->state_ref.seq);
            put_nonce(ref, "nonce", e->state_ref.nonce);
            put_number(ref, "bytes", e->state_ref.bytes);
            put_hash(ref, "hash", &e->state_ref.hash);
            json_object_set_new(entry, "state_object", ref);
        } else {
            put_hex(entry, "state", e->state.data, e->state.size);
        }
        json_array_append_new(list, entry);
    }
    return list;
}

static json_t *dump_group(const group *g)
{
    json_t *root = json_object(), *pins = json_array();
    put_text(root, "name", g->name);
    put_text(root, "launch", g->launch);
    put_number(root, "launch_number", g->launch_number);
    put_number(root, "hold", g->hold);
    json_object_set_new(root, "pinned", json_boolean(g->pinned));
    put_hash(root, "cursor_hash", &g->cursor_hash);
    put_number(root, "last_version", g->last_version);
    put_number(root, "last_clock", g->last_clock_ms);
    json_object_set_new(root, "pins", pins);
    for (uint32_t i = 0; i < g->pin_count; i++) {
        json_t *one = json_object();
        put_text(one, "id", g->pins[i].id);
        put_nonce(one, "nonce", g->pins[i].nonce);
        put_number(one, "step", g->pins[i].step);
        put_number(one, "item", g->pins[i].item);
        put_hash(one, "cursor_hash", &g->pins[i].cursor_hash);
        json_array_append_new(pins, one);
    }
    return root;
}

static manifest *decode_manifest(view object)
{
    manifest *m;
    uint8_t *copy = mem_dup(object.data, object.size);
    must(manifest_decode(copy, object.size, GOLDEN_SLICES, &m, NULL) == BW_OK, "manifest");
    return m;
}

json_t *dump_manifest(view object)
{
    manifest *m = decode_manifest(object);
    json_t *root = object_named("manifest"), *groups = json_array();
    put_number(root, "slices", GOLDEN_SLICES);
    put_number(root, "part_bytes", GOLDEN_PART_BYTES);
    put_hash(root, "hash", &m->hash);
    put_hex(root, "uuid", m->uuid, UUID_BYTES);
    put_number(root, "version", m->version);
    put_hex(root, "nonce", m->nonce.bytes, TOKEN_BYTES);
    put_hash(root, "previous", &m->previous);
    put_number(root, "clock", m->clock_ms);
    put_number(root, "next", m->next);
    put_number(root, "trim", m->trim);
    put_number(root, "swept", m->swept);
    put_bool(root, "sealed", m->sealed);
    put_number(root, "committed_bytes", m->committed_bytes);
    put_number(root, "swept_bytes", m->swept_bytes);
    put_number(root, "finished_producers", m->finished_producers);
    put_hash(root, "sum", &m->sum);
    put_text(root, "committer", m->committer);
    put_text(root, "turn", m->turn);
    if (m->has_page) {
        json_t *departed = json_object();
        put_number(departed, "version", m->page.version);
        put_nonce(departed, "nonce", m->page.nonce);
        put_hash(departed, "hash", &m->page.hash);
        put_number(departed, "bytes", m->page.bytes);
        put_number(departed, "entries", m->page.entries);
        json_object_set_new(root, "page", departed);
    }
    json_object_set_new(root, "references", dump_refs(m->refs, m->ref_count));
    json_object_set_new(root, "tail", dump_block(&m->tail, manifest_tail_first(m)));
    json_object_set_new(root, "producers", dump_entries(m->producers, m->producer_count));
    json_object_set_new(root, "groups", groups);
    for (uint32_t i = 0; i < m->group_count; i++)
        json_array_append_new(groups, dump_group(&m->groups[i]));
    manifest_unref(m);
    return root;
}

json_t *dump_segment(view object)
{
    segment s;
    must(segment_decode(object, GOLDEN_SLICES, &s, NULL) == BW_OK, "segment");
    json_t *root = object_named("segment");
    put_number(root, "slices", GOLDEN_SLICES);
    put_number(root, "part_bytes", GOLDEN_PART_BYTES);
    put_hex(root, "uuid", s.uuid, UUID_BYTES);
    put_number(root, "level", s.level);
    put_number(root, "first", s.first);
    put_number(root, "last", s.last);
    if (s.level == 0)
        json_object_set_new(root, "descriptors", dump_block(&s.block, s.first));
    else
        json_object_set_new(root, "references", dump_refs(s.children, INDEX_CHILDREN));
    return root;
}

json_t *dump_page(view object)
{
    page p;
    must(page_decode(object, &p, NULL) == BW_OK, "page");
    json_t *root = object_named("page");
    put_hex(root, "uuid", p.uuid, UUID_BYTES);
    put_number(root, "version", p.version);
    json_object_set_new(root, "entries", dump_entries(p.entries, p.count));
    page_free(&p);
    return root;
}

json_t *dump_marker(view object)
{
    uint8_t uuid[UUID_BYTES];
    uint64_t block_number;
    must(marker_decode(object, uuid, &block_number, NULL) == BW_OK, "marker");
    json_t *root = object_named("marker");
    put_hex(root, "uuid", uuid, UUID_BYTES);
    put_number(root, "block", block_number);
    return root;
}

json_t *dump_hint(view object)
{
    uint8_t uuid[UUID_BYTES];
    uint64_t version;
    must(hint_decode(object, uuid, &version, NULL) == BW_OK, "hint");
    json_t *root = object_named("hint");
    put_hex(root, "uuid", uuid, UUID_BYTES);
    put_number(root, "version", version);
    return root;
}

json_t *dump_state(view object)
{
    uint8_t uuid[UUID_BYTES];
    uint32_t epoch;
    uint64_t seq;
    view state;
    must(state_decode(object, uuid, &epoch, &seq, &state, NULL) == BW_OK, "state");
    json_t *root = object_named("state");
    put_hex(root, "uuid", uuid, UUID_BYTES);
    put_number(root, "epoch", epoch);
    put_number(root, "seq", seq);
    put_hex(root, "state", state.data, state.size);
    return root;
}

json_t *dump_cursor(view object)
{
    cursor c;
    hash128 hash;
    must(cursor_decode(object, &c, NULL) == BW_OK && cursor_hash(&c, &hash) == BW_OK, "cursor");
    json_t *root = object_named("cursor"), *skips = json_array();
    put_hash(root, "hash", &hash);
    put_hex(root, "namespace", c.uuid, UUID_BYTES);
    put_number(root, "step", c.step);
    put_number(root, "item", c.item);
    put_text(root, "mode", view_text(c.mode == MODE_SAME_BATCH ? "same_batch" : "scale_batch"));
    put_number(root, "dp", c.dp);
    if (c.has_nonce)
        put_nonce(root, "nonce", c.nonce);
    put_number(root, "version", c.version);
    json_object_set_new(root, "skips", skips);
    for (uint32_t i = 0; i < c.skip_count; i++)
        json_array_append_new(
            skips, json_pack("[II]", (json_int_t)c.skips[i].first, (json_int_t)c.skips[i].end));
    json_t *tags = c.tag_count > 0 ? json_array() : NULL;
    for (uint32_t i = 0; i < c.tag_count; i++)
        json_array_append_new(
            tags, c.tags[i].last == TAG_ANY
                      ? json_pack("[In]", (json_int_t)c.tags[i].first)
                      : json_pack("[II]", (json_int_t)c.tags[i].first, (json_int_t)c.tags[i].last));
    if (tags != NULL)
        json_object_set_new(root, "tags", tags);
    json_t *way = c.way_count > 0 ? json_array() : NULL;
    for (uint32_t i = 0; i < c.way_count; i++) {
        char name[2 * HASH_BYTES + 1];
        hex_encode(c.way[i].hash.bytes, HASH_BYTES, name);
        json_array_append_new(way, json_pack("[IIIs]", (json_int_t)c.way[i].first,
                                             (json_int_t)c.way[i].last, (json_int_t)c.way[i].bytes,
                                             name));
    }
    if (way != NULL)
        json_object_set_new(root, "way", way);
    cursor_free(&c);
    return root;
}

void again_genesis(view object, buf *out)
{
    genesis g;
    must(genesis_decode(object, &g, NULL) == BW_OK && genesis_encode(&g, out) == BW_OK, "genesis");
}

void again_manifest(view object, buf *out)
{
    manifest *m = decode_manifest(object);
    must(manifest_encode(m, out) == BW_OK, "manifest");
    manifest_unref(m);
}

void again_segment(view object, buf *out)
{
    segment s;
    segment_ref ref;
    buf block_bytes;
    buf_init(&block_bytes, object.size);
    must(segment_decode(object, GOLDEN_SLICES, &s, NULL) == BW_OK, "segment");
    if (s.level > 0) {
        must(segment_encode_index(s.uuid, s.children, out, &ref) == BW_OK, "index");
        return;
    }
    must(block_encode(&s.block, 0, NULL, 0, &block_bytes) == BW_OK, "block");
    must(segment_encode_block(s.uuid, s.first, s.block.records,
                              view_of(block_bytes.data, block_bytes.size), &(hash128){{0}}, out,
                              &ref) == BW_OK,
         "segment");
    buf_free(&block_bytes);
}

void again_page(view object, buf *out)
{
    page p;
    must(page_decode(object, &p, NULL) == BW_OK && page_encode(&p, out) == BW_OK, "page");
    page_free(&p);
}

void again_marker(view object, buf *out)
{
    uint8_t uuid[UUID_BYTES];
    uint64_t number;
    must(marker_decode(object, uuid, &number, NULL) == BW_OK, "marker");
    must(marker_encode(uuid, number, out) == BW_OK, "marker");
}

void again_hint(view object, buf *out)
{
    uint8_t uuid[UUID_BYTES];
    uint64_t number;
    must(hint_decode(object, uuid, &number, NULL) == BW_OK, "hint");
    must(hint_encode(uuid, number, out) == BW_OK, "hint");
}

void again_state(view object, buf *out)
{
    uint8_t uuid[UUID_BYTES];
    uint32_t epoch;
    uint64_t seq;
    view state;
    must(state_decode(object, uuid, &epoch, &seq, &state, NULL) == BW_OK, "state");
    must(state_encode(uuid, epoch, seq, state, out) == BW_OK, "state");
}

void again_cursor(view object, buf *out)
{
    cursor c;
    must(cursor_decode(object, &c, NULL) == BW_OK && cursor_encode(&c, out) == BW_OK, "cursor");
    cursor_free(&c);
}
