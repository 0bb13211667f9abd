// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "smith.h"

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "codec/small.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OBJECT_MAX ((size_t)32 << 20)
#define ITEM_BYTES 40u
#define SPAN 3u /* of a producer's offsets, for each step */

void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "smith: %s\n", what);
    abort();
}

/* ---- bytes ---- */

void put8(buf *b, size_t at, unsigned value)
{
    must(at < b->size, "a place beyond the bytes");
    b->data[at] = (uint8_t)value;
}

void put16(buf *b, size_t at, unsigned value)
{
    put8(b, at, value & 0xff);
    put8(b, at + 1, value >> 8);
}

void put32(buf *b, size_t at, uint32_t value)
{
    must(at + 4 <= b->size, "a place beyond the bytes");
    store_u32(b->data + at, value);
}

void put64(buf *b, size_t at, uint64_t value)
{
    must(at + 8 <= b->size, "a place beyond the bytes");
    store_u64(b->data + at, value);
}

void grow(buf *b, size_t at, size_t bytes)
{
    must(at <= b->size, "a place beyond the bytes");
    const size_t after = b->size - at;
    buf_put_zero(b, bytes);
    must(buf_status(b) == BW_OK, "memory");
    memmove(b->data + at + bytes, b->data + at, after);
    memset(b->data + at, 0, bytes);
}

void cut(buf *b, size_t at, size_t bytes)
{
    must(at + bytes <= b->size, "a place beyond the bytes");
    memmove(b->data + at, b->data + at + bytes, b->size - at - bytes);
    b->size -= bytes;
}

void reseal(buf *object)
{
    must(object->size >= OBJECT_EXTRA_BYTES, "an object without a head");
    put64(object, 8, object->size - OBJECT_EXTRA_BYTES);
    put32(object, object->size - 4, crc32c(0, object->data, object->size - 4));
}

void reseal_frame(buf *frame)
{
    const uint32_t items = load_u32(frame->data + 20);
    const size_t table = (size_t)FRAME_ITEM_BYTES * items;
    must(FRAME_HEAD_BYTES + table <= frame->size, "a frame without its table");
    put32(frame, 60, crc32c(crc32c(0, frame->data, 60), frame->data + FRAME_HEAD_BYTES, table));
}

/* ---- objects ---- */

static smith_object *find(const smith *s, const char *key)
{
    for (size_t i = 0; i < s->object_count; i++)
        if (strcmp(s->objects[i].key.text, key) == 0)
            return &s->objects[i];
    return NULL;
}

buf *smith_object_at(smith *s, const char *key)
{
    smith_object *found = find(s, key);
    if (found == NULL) {
        void *objects = s->objects;
        must(mem_grow(&objects, &s->object_capacity, s->object_count + 1, sizeof *s->objects) == 0,
             "memory");
        s->objects = objects;
        found = &s->objects[s->object_count++];
        snprintf(found->key.text, sizeof found->key.text, "%s", key);
        buf_init(&found->bytes, OBJECT_MAX);
    }
    return &found->bytes;
}

void smith_remove(smith *s, const char *key)
{
    smith_object *found = find(s, key);
    must(found != NULL, key);
    buf_free(&found->bytes);
    *found = s->objects[--s->object_count];
}

void smith_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777);
        *slash = '/';
    }
}

void smith_write(const smith *s, const char *directory)
{
    for (size_t i = 0; i < s->object_count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", directory, s->objects[i].key.text);
        smith_parents(path);
        FILE *file = fopen(path, "wb");
        must(file != NULL, path);
        const buf *b = &s->objects[i].bytes;
        must(b->size == 0 || fwrite(b->data, b->size, 1, file) == 1, path);
        must(fclose(file) == 0, path);
    }
}

/* ---- a batch ---- */

void smith_part_key(const smith *s, uint32_t step, uint32_t part, object_key *key)
{
    const descriptor *d = &s->steps[step];
    key_part(key, d->id, d->record.epoch, d->record.seq, d->record.nonce, part);
}

/* The frame of one slice: an item that says where it belongs. */
static void put_frame(buf *out, uint64_t nonce, uint32_t slice, uint32_t bytes)
{
    uint8_t payload[ITEM_BYTES * 3];
    must(bytes <= sizeof payload, "a payload too long");
    memset(payload, (int)(slice & 0xff), bytes);
    frame_head head = {.nonce = nonce, .slice = slice, .items = 1, .kind = ITEM_RAW};
    frame_item item = {
        .stored_bytes = bytes, .plain_bytes = bytes, .crc = crc32c(0, payload, bytes)};
    must(frame_layout(&head, &item) == BW_OK, "frame_layout");
    const size_t at = out->size;
    must(frame_encode_head(&head, &item, out) == BW_OK, "frame_encode_head");
    buf_put_zero(out, at + (size_t)item.offset - out->size);
    buf_put(out, payload, bytes);
}

static void put_footer(const smith *s, uint64_t nonce, const uint64_t *lengths, buf *out)
{
    static footer_slice slices[SMITH_SLICES_MAX];
    footer f = {.nonce = nonce,
                .dp = s->genesis.dp,
                .cp = 1,
                .items = 1,
                .media_type = view_text("x/y"),
                .metadata = view_text("{}"),
                .slice_count = s->genesis.dp,
                .slices = slices};
    for (uint32_t i = 0; i < s->genesis.dp; i++)
        slices[i] = (footer_slice){.framed_bytes = lengths[i], .items_set = 1};
    must(footer_encode(&f, out) == BW_OK, "footer_encode");
}

static void write_parts(smith *s, uint32_t step, const place *places, const tgb_extent *extent,
                        const buf *footer_object)
{
    const uint64_t nonce = s->steps[step].record.nonce;
    object_key key;
    for (uint32_t i = 0; i < s->genesis.dp; i++) {
        smith_part_key(s, step, places[i].part, &key);
        buf *part = smith_object_at(s, key.text);
        buf_put_zero(part, (size_t)places[i].offset - part->size);
        put_frame(part, nonce, i, (uint32_t)(places[i].bytes - frame_bytes_min(1)));
    }
    smith_part_key(s, step, extent->parts - 1, &key);
    buf *part = smith_object_at(s, key.text);
    buf_put_zero(part, (size_t)extent->footer_offset - part->size);
    buf_put(part, footer_object->data, footer_object->size);
}

static void make_step(smith *s, uint32_t step)
{
    static uint64_t lengths[SMITH_SLICES_MAX];
    static place places[SMITH_SLICES_MAX];
    descriptor *d = &s->steps[step];
    const uint64_t seq = 1 + step / 2;
    d->id = view_text(step % 2 == 0 ? "p0" : "p1");
    d->record = (record){
        .nonce = 1000 + step, .start = SPAN * (seq - 1), .end = SPAN * seq, .seq = seq, .epoch = 1};
    for (uint32_t i = 0; i < s->genesis.dp; i++)
        lengths[i] = frame_bytes_min(1) + ITEM_BYTES + (step % 2 == 0 ? 0 : i % 50);
    buf footer_object;
    buf_init(&footer_object, OBJECT_MAX);
    put_footer(s, d->record.nonce, lengths, &footer_object);
    tgb_extent extent;
    must(tgb_pack(lengths, s->genesis.dp, SMITH_PART_BYTES, footer_object.size, places, &extent) ==
             BW_OK,
         "tgb_pack");
    d->shape = (shape){.kind = ITEM_RAW,
                       .parts = (uint16_t)extent.parts,
                       .items = 1,
                       .footer_bytes = (uint32_t)footer_object.size,
                       .total_bytes = extent.total_bytes};
    must(shape_places(&d->shape, lengths, s->genesis.dp, &s->sides) == BW_OK, "shape_places");
    if (d->shape.form == FORM_FOOTER)
        d->shape.uniform = extent.footer_offset;
    write_parts(s, step, places, &extent, &footer_object);
    buf_free(&footer_object);
    s->m.committed_bytes += extent.total_bytes;
}

/* ---- segments and manifest ---- */

static void sum_before(const smith *s, uint32_t step, hash128 *sum)
{
    *sum = (hash128){{0}};
    for (uint32_t k = 0; k < step; k++) {
        hash128 term;
        must(descriptor_term(k, &s->steps[k], &term) == BW_OK, "descriptor_term");
        hash_add(sum, &term);
    }
}

static void make_segment(smith *s, uint32_t first, uint32_t count, segment_ref *ref)
{
    buf block_bytes, object;
    hash128 sum;
    object_key key;
    buf_init(&block_bytes, OBJECT_MAX);
    buf_init(&object, OBJECT_MAX);
    sum_before(s, first, &sum);
    must(block_encode(NULL, 0, s->steps + first, count, &block_bytes) == BW_OK, "block_encode");
    must(segment_encode_block(s->genesis.uuid, first, count,
                              view_of(block_bytes.data, block_bytes.size), &sum, &object,
                              ref) == BW_OK,
         "segment_encode_block");
    segment_ref_key(ref, &key);
    buf_put(smith_object_at(s, key.text), object.data, object.size);
    buf_free(&block_bytes);
    buf_free(&object);
}

static void make_segments(smith *s)
{
    buf object;
    object_key key;
    for (uint32_t i = 0; i < INDEX_CHILDREN; i++)
        make_segment(s, i, 1, &s->children[i]);
    buf_init(&object, OBJECT_MAX);
    must(segment_encode_index(s->genesis.uuid, s->children, &object, &s->refs[0]) == BW_OK,
         "segment_encode_index");
    segment_ref_key(&s->refs[0], &key);
    buf_put(smith_object_at(s, key.text), object.data, object.size);
    buf_free(&object);
    make_segment(s, INDEX_CHILDREN, SMITH_TAIL - INDEX_CHILDREN, &s->refs[1]);
}

void smith_tail(smith *s)
{
    buf_reset(&s->tail);
    must(block_encode(NULL, 0, s->steps + SMITH_TAIL, SMITH_STEPS - SMITH_TAIL, &s->tail) == BW_OK,
         "block_encode");
    s->m.tail =
        (block){.bytes = view_of(s->tail.data, s->tail.size), .records = SMITH_STEPS - SMITH_TAIL};
    sum_before(s, SMITH_STEPS, &s->m.sum);
}

void smith_page(smith *s)
{
    buf object;
    object_key key;
    buf_init(&object, OBJECT_MAX);
    must(page_encode(&s->page, &object) == BW_OK, "page_encode");
    s->m.page.bytes = object.size;
    s->m.page.entries = s->page.count;
    must(hash_bytes(object.data, object.size, &s->m.page.hash) == BW_OK, "hash_bytes");
    key_page(&key, s->m.page.version, s->m.page.nonce);
    buf *stored = smith_object_at(s, key.text);
    buf_reset(stored);
    buf_put(stored, object.data, object.size);
    buf_free(&object);
}

void smith_publish(smith *s)
{
    object_key key;
    key_manifest(&key, s->m.version);
    buf *object = smith_object_at(s, key.text);
    buf_reset(object);
    must(manifest_encode(&s->m, object) == BW_OK, "manifest_encode");
}

static void make_producers(smith *s)
{
    producer_entry *p = s->producers;
    for (uint32_t i = 0; i < 2; i++)
        p[i] = (producer_entry){.id = view_text(i == 0 ? "p0" : "p1"),
                                .epoch = 1,
                                .token = {{(uint8_t)(1 + i)}},
                                .seq = SMITH_STEPS / 2,
                                .offset = SPAN * SMITH_STEPS / 2,
                                .last_publish = 2,
                                .last_commit = 2,
                                .state = view_text(i == 0 ? "resume" : "")};
    p[1].finished = true;
    p[2] = (producer_entry){.id = view_text("p2"), .epoch = 3, .token = {{9}}, .last_commit = 2};
    s->m.producers = p;
    s->m.producer_count = 3;
    for (uint32_t i = 0; i < 2; i++)
        s->departed[i] = (producer_entry){.id = view_text(i == 0 ? "q0" : "q1"),
                                          .epoch = 1,
                                          .finished = i == 0,
                                          .forgotten = i == 1,
                                          .token = {{(uint8_t)(20 + i)}},
                                          .last_commit = 1};
    s->page = (page){.version = 2, .count = 2, .entries = s->departed};
    memcpy(s->page.uuid, s->genesis.uuid, UUID_BYTES);
    s->m.has_page = true;
    s->m.page = (page_ref){.version = 2, .nonce = 77};
    s->m.finished_producers = 2;
    smith_page(s);
}

static void make_groups(smith *s)
{
    s->pins[0] = (pin){.id = view_text("c1"), .nonce = 5, .step = 5, .cursor_hash = {{5}}};
    s->pins[1] = (pin){.id = view_text("c2"), .nonce = 6, .step = 7, .cursor_hash = {{7}}};
    s->groups[0] = (group){.name = view_text("a-train"),
                           .launch = view_text("slurm 1"),
                           .launch_number = 1,
                           .last_version = 2};
    s->groups[1] = (group){.name = view_text("b.eval"),
                           .launch = view_text("x"),
                           .launch_number = 1,
                           .hold = 7,
                           .pinned = true,
                           .last_version = 2,
                           .pin_count = 2,
                           .pins = s->pins};
    s->m.groups = s->groups;
    s->m.group_count = 2;
}

static void make_genesis(smith *s, uint32_t dp)
{
    genesis *g = &s->genesis;
    *g = (genesis){.created_ms = 5,
                   .dp = dp,
                   .cp = 1,
                   .items_default = 1,
                   .block_size = SMITH_BLOCK_SIZE,
                   .tail_cap = 256,
                   .part_bytes = SMITH_PART_BYTES,
                   .page_min = 2,
                   .schema = view_text("bytes")};
    for (uint32_t i = 0; i < UUID_BYTES; i++)
        g->uuid[i] = (uint8_t)(i + 1);
    buf *object = smith_object_at(s, "genesis");
    must(genesis_encode(g, object) == BW_OK, "genesis_encode");
    must(hash_bytes(object->data, object->size, &s->genesis_hash) == BW_OK, "hash_bytes");
}

/* Version 1 is empty and leads to `m`. */
static void make_first(smith *s)
{
    manifest first = {.version = 1, .nonce = {{1}}, .previous = s->genesis_hash, .clock_ms = 6};
    buf empty, *object = smith_object_at(s, "manifest/00000000000000000001.manifest");
    memcpy(first.uuid, s->genesis.uuid, UUID_BYTES);
    buf_init(&empty, OBJECT_MAX);
    must(block_encode(NULL, 0, NULL, 0, &empty) == BW_OK, "block_encode");
    first.tail.bytes = view_of(empty.data, empty.size);
    must(manifest_encode(&first, object) == BW_OK, "manifest_encode");
    must(hash_bytes(object->data, object->size, &s->m.previous) == BW_OK, "hash_bytes");
    buf_free(&empty);
}

void smith_init(smith *s, uint32_t dp)
{
    memset(s, 0, sizeof *s);
    must(dp <= SMITH_SLICES_MAX, "too many slices");
    buf_init(&s->tail, OBJECT_MAX);
    buf_init(&s->sides, OBJECT_MAX);
    /* Reserved whole: shapes point into it. */
    must(buf_reserve(&s->sides, SMITH_STEPS * INLINE_BYTES_MAX) == BW_OK, "memory");
    make_genesis(s, dp);
    make_first(s);
    manifest *m = &s->m;
    memcpy(m->uuid, s->genesis.uuid, UUID_BYTES);
    m->version = 2;
    m->nonce = (token128){{2}};
    m->clock_ms = 7;
    m->next = SMITH_STEPS;
    m->committer = view_text("p0");
    for (uint32_t step = 0; step < SMITH_STEPS; step++)
        make_step(s, step);
    make_segments(s);
    m->refs = s->refs;
    m->ref_count = 2;
    smith_tail(s);
    make_producers(s);
    make_groups(s);
    smith_publish(s);
}

void smith_free(smith *s)
{
    for (size_t i = 0; i < s->object_count; i++)
        buf_free(&s->objects[i].bytes);
    mem_free(s->objects);
    buf_free(&s->tail);
    buf_free(&s->sides);
}
