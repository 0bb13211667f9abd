// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "golden.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t uuid[UUID_BYTES] = {0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17,
                                         0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f};

static hash128 hash_of(const char *text)
{
    hash128 hash;
    must(hash_bytes(text, strlen(text), &hash) == BW_OK, "hash");
    return hash;
}

static token128 token_of(const char *text)
{
    token128 token;
    const hash128 hash = hash_of(text);
    memcpy(token.bytes, hash.bytes, TOKEN_BYTES);
    return token;
}

void build_genesis(buf *out)
{
    genesis g = {
        .created_ms = 1767225600123,
        .dp = GOLDEN_DP,
        .cp = GOLDEN_CP,
        .items_default = 4,
        .expected_producers = 12,
        .block_size = 1024,
        .tail_cap = 8192,
        .part_bytes = GOLDEN_PART_BYTES,
        .page_min = 64,
        .has_max_lag = true,
        .has_max_bytes = true,
        .max_lag = 2000,
        .max_bytes = (uint64_t)5 << 40,
        .layout = "headtail",
        .schema = view_text("{\"tokens\":\"u16\"} \xc3\xa9"),
    };
    memcpy(g.uuid, uuid, UUID_BYTES);
    must(genesis_encode(&g, out) == BW_OK, "genesis");
}

void build_genesis_plain(buf *out)
{
    const genesis g = {
        .uuid = {1},
        .dp = 1,
        .cp = 1,
        .items_default = 1,
        .block_size = 4,
        .tail_cap = 256,
        .part_bytes = 4096,
        .page_min = 2,
    };
    must(genesis_encode(&g, out) == BW_OK, "genesis");
}

void build_manifest_first(buf *out)
{
    buf block_bytes;
    buf_init(&block_bytes, 100);
    must(block_encode(NULL, 0, NULL, 0, &block_bytes) == BW_OK, "block");
    manifest m = {
        .version = 1,
        .nonce = token_of("commit 1"),
        .previous = hash_of("genesis"),
        .clock_ms = 1767225600200,
        .tail.bytes = view_of(block_bytes.data, block_bytes.size),
    };
    memcpy(m.uuid, uuid, UUID_BYTES);
    must(manifest_encode(&m, out) == BW_OK, "manifest");
    buf_free(&block_bytes);
}

/* Three descriptors, one of each form. `number` makes those of one call differ from those of
 * another. */
typedef struct three {
    descriptor all[3];
    uint64_t lengths[3][GOLDEN_SLICES];
    buf side;
} three;

static void make_three(three *t, uint64_t number)
{
    static const char *const ids[] = {"alpha", "beta.2", "alpha"};
    buf_init(&t->side, 4096);
    for (uint32_t i = 0; i < 3; i++) {
        /* All 20,000; or two bytes of LEB128 each; or three. */
        for (uint32_t k = 0; k < GOLDEN_SLICES; k++)
            t->lengths[i][k] = i == 0 ? 20000 : i == 1 ? 1000 + number + k % 7 : 16384 + k;
        descriptor *d = &t->all[i];
        *d = (descriptor){
            .id = view_text(ids[i]),
            .record = {.nonce = 0xfedcba9876543210 + number * 16 + i,
                       .start = number * 100 + i * 10,
                       .end = number * 100 + i * 10 + (i == 1 ? 0 : 10),
                       .seq = number * 3 + i + 1,
                       .epoch = i + 1},
            .shape = {.kind = (item_kind)i,
                      .items = i + 1,
                      .footer_bytes = 9000 + i,
                      .samples = 512 * (i + 1),
                      .tokens = 4096 * (i + 1),
                      .tag = i == 2 ? UINT64_MAX : number},
        };
        tgb_extent extent;
        must(tgb_pack(t->lengths[i], GOLDEN_SLICES, GOLDEN_PART_BYTES, d->shape.footer_bytes, NULL,
                      &extent) == BW_OK,
             "pack");
        d->shape.parts = (uint16_t)extent.parts;
        d->shape.total_bytes = extent.total_bytes;
        must(shape_places(&d->shape, t->lengths[i], GOLDEN_SLICES, &t->side) == BW_OK, "places");
        if (d->shape.form == FORM_FOOTER)
            d->shape.uniform = extent.footer_offset;
    }
    must(t->all[0].shape.form == FORM_UNIFORM && t->all[1].shape.form == FORM_INLINE &&
             t->all[2].shape.form == FORM_FOOTER,
         "one of each form");
}

/* A block of `make_three(number)`; decoded into `b`, whose bytes are `out`. */
static void make_block(uint64_t number, buf *out, block *b)
{
    three *t = calloc(1, sizeof *t);
    must(t != NULL, "memory");
    make_three(t, number);
    buf_init(out, 1 << 20);
    must(block_encode(NULL, 0, t->all, 3, out) == BW_OK, "block");
    must(block_decode(view_of(out->data, out->size), GOLDEN_SLICES, b, NULL) == BW_OK, "block");
    buf_free(&t->side);
    free(t);
}

/* A base with 16 references of level 0 over steps 0 … 159 and a tail of steps 160 … 162, so that
 * both a fold and a merge are due. */
typedef struct chain {
    manifest base;
    segment_ref refs[INDEX_CHILDREN + 1];
    buf tail;
} chain;

static void make_chain(chain *c)
{
    memset(c, 0, sizeof *c);
    for (uint8_t i = 0; i < INDEX_CHILDREN; i++) {
        const char name[] = {'s', 'e', 'g', (char)('a' + i), '\0'};
        const char sum[] = {'s', 'u', 'm', (char)('a' + i), '\0'};
        c->refs[i] = (segment_ref){.first = i * 10u,
                                   .last = i * 10u + 9,
                                   .hash = hash_of(name),
                                   .sum_before = hash_of(sum),
                                   .bytes = 1000u + i};
    }
    memcpy(c->base.uuid, uuid, UUID_BYTES);
    c->base.refs = c->refs;
    c->base.ref_count = INDEX_CHILDREN;
    c->base.next = 163;
    make_block(1, &c->tail, &c->base.tail);
    c->base.sum = hash_of("sum before 160");
    must(block_add_terms(&c->base.tail, 160, 0, 3, &c->base.sum) == BW_OK, "terms");
}

void build_segment_block(buf *out)
{
    chain c;
    segment_ref ref;
    make_chain(&c);
    must(fold_build(&c.base, out, &ref) == BW_OK, "fold");
    const hash128 before = hash_of("sum before 160");
    must(hash_equal(&ref.sum_before, &before), "sum before the fold");
    buf_free(&c.tail);
}

void build_segment_index(buf *out)
{
    chain c;
    segment_ref ref;
    make_chain(&c);
    must(merge_build(&c.base, out, &ref) == BW_OK, "merge");
    buf_free(&c.tail);
}

static const producer_entry page_entries[] = {
    {.id = {(const uint8_t *)"done-1", 6},
     .epoch = 2,
     .finished = true,
     .slot_ms = 12,
     .token = {{0xa1, 0xa2}},
     .seq = 40,
     .offset = 4000,
     .swept_seq = 40,
     .swept_offset = 4000,
     .last_publish = 300,
     .last_commit = 310,
     .state = {(const uint8_t *)"row 4000", 8}},
    {.id = {(const uint8_t *)"lost", 4},
     .epoch = 7,
     .forgotten = true,
     .state_is_object = true,
     .token = {{0xb1}},
     .seq = 1,
     .offset = 0,
     .swept_seq = 1,
     .last_publish = 7,
     .last_commit = 9,
     .state_ref =
         {.epoch = 6, .seq = 1, .nonce = 0x0123456789abcdef, .bytes = 5000, .hash = {{9}}}},
};

void build_page(buf *out)
{
    page p = {.version = 290, .count = 2};
    producer_entry entries[2];
    memcpy(entries, page_entries, sizeof entries);
    memcpy(p.uuid, uuid, UUID_BYTES);
    p.entries = entries;
    must(page_encode(&p, out) == BW_OK, "page");
}

static const producer_entry map_entries[] = {
    {.id = {(const uint8_t *)"alpha", 5},
     .epoch = 3,
     .slot_ms = 250,
     .token = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
     .seq = 9,
     .offset = 230,
     .swept_seq = 3,
     .swept_offset = 30,
     .last_publish = 410,
     .last_commit = 411,
     .state = {(const uint8_t *)"{\"file\":\"a\\n\"}", 14}},
    {.id = {(const uint8_t *)"beta.2", 6},
     .epoch = 4294967295,
     .finished = true,
     .state_is_object = true,
     .token = {{0xff}},
     .seq = 8,
     .offset = 210,
     .last_publish = 411,
     .last_commit = 411,
     .state_ref = {.epoch = 2, .seq = 8, .nonce = 0xfedcba9876543210, .bytes = 777, .hash = {{7}}}},
    {.id = {(const uint8_t *)"gamma", 5}, .epoch = 1, .token = {{3}}, .last_commit = 405},
    {.id = {(const uint8_t *)"gone_1", 6},
     .epoch = 5,
     .forgotten = true,
     .token = {{4}},
     .seq = 2,
     .offset = 20,
     .last_publish = 17,
     .last_commit = 18},
};

/* The candidate on make_chain's base that folds, merges and publishes three more steps, with every
 * field set. */
void build_manifest_full(buf *out)
{
    chain c;
    make_chain(&c);
    buf objects, tail;
    buf_init(&objects, 1 << 20);
    segment_ref refs[2], merged, folded;
    must(merge_due(&c.base) && fold_due(&c.base, 64), "both due");
    must(merge_build(&c.base, &objects, &merged) == BW_OK, "merge");
    must(fold_build(&c.base, &objects, &folded) == BW_OK, "fold");
    page_ref departed = {.version = 290, .nonce = 0x1122334455667788, .entries = 2};
    buf_reset(&objects);
    build_page(&objects);
    departed.bytes = objects.size;
    must(hash_bytes(objects.data, objects.size, &departed.hash) == BW_OK, "hash");

    pin pins[] = {
        {view_text("ckpt 10"), 0x8877665544332211, 160, 0, hash_of("cursor 160")},
        {view_text("ckpt 9"), 5, 7, 3, hash_of("cursor 7")},
        {view_text("step-165"), 6, 165, 1, hash_of("cursor 165")},
    };
    group groups[] = {
        {.name = view_text("train"),
         .launch = view_text("slurm:4711.0:2"),
         .launch_number = 3,
         .hold = 160,
         .pinned = true,
         .cursor_hash = hash_of("start of train"),
         .last_version = 409,
         .last_clock_ms = 1767225700000,
         .pin_count = 2,
         .pins = pins},
        {.name = view_text("valid"),
         .launch = view_text("x"),
         .launch_number = 1,
         .hold = 8,
         .cursor_hash = hash_of("start of valid"),
         .last_version = 12,
         .last_clock_ms = 1767225600999,
         .pin_count = 1,
         .pins = pins + 2},
    };
    producer_entry producers[4];
    memcpy(producers, map_entries, sizeof producers);
    manifest m = c.base;
    m.version = 411;
    m.nonce = token_of("commit 411");
    m.previous = hash_of("manifest 410");
    m.clock_ms = 1767225701234;
    m.next = 166;
    m.trim = 7;
    m.swept = 5;
    m.sealed = m.has_page = true;
    m.committed_bytes = 123456789012345;
    m.swept_bytes = 9876543210;
    m.finished_producers = 2;
    make_block(2, &tail, &m.tail);
    must(block_add_terms(&m.tail, 163, 0, 3, &m.sum) == BW_OK, "terms");
    m.committer = view_text("beta.2");
    m.turn = view_text("alpha");
    m.page = departed;
    m.ref_count = fold_refs(&c.base, &merged, &folded, refs);
    m.refs = refs;
    m.producer_count = 4;
    m.producers = producers;
    m.group_count = 2;
    m.groups = groups;
    must(manifest_encode(&m, out) == BW_OK, "manifest");
    buf_free(&c.tail);
    buf_free(&tail);
    buf_free(&objects);
}

void build_marker(buf *out)
{
    must(marker_encode(uuid, 3, out) == BW_OK, "marker");
}

void build_hint(buf *out)
{
    must(hint_encode(uuid, 411, out) == BW_OK, "hint");
}

void build_state(buf *out)
{
    uint8_t state[300];
    for (size_t i = 0; i < sizeof state; i++)
        state[i] = (uint8_t)i;
    must(state_encode(uuid, 2, 8, view_of(state, sizeof state), out) == BW_OK, "state");
}

void build_cursor(buf *out)
{
    cursor c = {.step = 0, .mode = MODE_SAME_BATCH, .dp = 32};
    memcpy(c.uuid, uuid, UUID_BYTES);
    must(cursor_encode(&c, out) == BW_OK, "cursor");
}

void build_cursor_skips(buf *out)
{
    skip_range skips[] = {{170, 180}, {181, INT64_MAX}};
    cursor c = {.step = 165,
                .item = 3,
                .mode = MODE_SCALE_BATCH,
                .dp = 64,
                .has_nonce = true,
                .nonce = 0x00000000deadbeef,
                .version = 411,
                .skip_count = 2,
                .skips = skips};
    memcpy(c.uuid, uuid, UUID_BYTES);
    must(cursor_encode(&c, out) == BW_OK, "cursor");
}

void build_cursor_way(buf *out)
{
    cursor c = {.step = 73,
                .dp = 32,
                .has_nonce = true,
                .nonce = 0x0123456789abcdef,
                .version = 411,
                .way_count = 2,
                .way = {{.first = 0, .last = 79, .hash = hash_of("index"), .bytes = 1100},
                        {.first = 70, .last = 74, .hash = hash_of("segment"), .bytes = 345}}};
    memcpy(c.uuid, uuid, UUID_BYTES);
    must(cursor_encode(&c, out) == BW_OK, "cursor");
}

void build_cursor_tags(buf *out)
{
    skip_range skips[] = {{3, 7}};
    tag_range tags[] = {{0, 0}, {41, 52}, {60, TAG_ANY}};
    cursor c = {.step = 7, .dp = 4, .skip_count = 1, .skips = skips, .tag_count = 3, .tags = tags};
    memcpy(c.uuid, uuid, UUID_BYTES);
    must(cursor_encode(&c, out) == BW_OK, "cursor");
}
