// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "support.h"

#include "base/alloc.h"
#include "base/crc32c.h"
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

void reseal(buf *object)
{
    assert_true(object->size >= OBJECT_EXTRA_BYTES);
    store_u64(object->data + 8, object->size - OBJECT_EXTRA_BYTES);
    store_u32(object->data + object->size - 4, crc32c(0, object->data, object->size - 4));
}

bw_status recode_copy(view object, recode_fn recode, buf *out)
{
    buf_init(out, SIZE_MAX);
    uint8_t *copy = mem_dup(object.data, object.size);
    assert_non_null(copy);
    const bw_status status = recode(view_of(copy, object.size), out);
    mem_free(copy);
    return status;
}

static void check_comes_back(view object, const buf *out)
{
    assert_int_equal(buf_status(out), BW_OK);
    assert_int_equal(out->size, object.size);
    assert_memory_equal(out->data, object.data, object.size);
}

void check_protected(const buf *object, recode_fn recode)
{
    buf out;
    const view whole = view_of(object->data, object->size);
    assert_int_equal(recode_copy(whole, recode, &out), BW_OK);
    check_comes_back(whole, &out);
    buf_free(&out);
    for (size_t size = 0; size < object->size; size++) {
        assert_int_equal(recode_copy(view_of(object->data, size), recode, &out), BW_CORRUPT);
        buf_free(&out);
    }
    rng r;
    rng_seed(&r, object->size);
    uint8_t *copy = mem_dup(object->data, object->size);
    for (size_t at = 0; at < object->size; at++) {
        copy[at] ^= (uint8_t)(1 + rng_below(&r, 255));
        assert_int_equal(recode_copy(view_of(copy, object->size), recode, &out), BW_CORRUPT);
        buf_free(&out);
        copy[at] = object->data[at];
    }
    mem_free(copy);
}

/* Values that length and count fields break at, more often than chance would have them. */
static uint8_t interesting(rng *r)
{
    static const uint8_t bytes[] = {0, 1, 2, 0x7f, 0x80, 0xff};
    return rng_below(r, 2) == 0 ? (uint8_t)rng_u64(r) : bytes[rng_below(r, sizeof bytes)];
}

static void mutate(buf *b, size_t from, size_t end, rng *r)
{
    for (uint64_t changes = 1 + rng_below(r, 3); changes > 0; changes--) {
        const size_t at = from + rng_below(r, end - from);
        if (rng_below(r, 4) == 0 && at + 1 < end)
            b->data[at] = b->data[at + 1];
        else
            b->data[at] = interesting(r);
    }
}

/* Mostly leaves the length alone; else cuts or repeats some bytes before the last `keep`. */
static void resize(buf *b, size_t keep, rng *r)
{
    const uint64_t what = rng_below(r, 10);
    const size_t some = (size_t)rng_below(r, 60);
    if (what == 0 && b->size > keep + OBJECT_HEAD_BYTES + some)
        b->size -= some;
    else if (what == 1)
        buf_put_zero(b, some);
}

static void check_one(view object, recode_fn recode, int *accepted, int *refused)
{
    buf out;
    const bw_status status = recode_copy(object, recode, &out);
    if (status == BW_OK) {
        ++*accepted;
        check_comes_back(object, &out);
    } else {
        ++*refused;
        assert_true(status == BW_CORRUPT || status == BW_FORMAT || status == BW_UNSUPPORTED ||
                    status == BW_CURSOR_INVALID);
    }
    buf_free(&out);
}

void check_mutations(const buf *object, recode_fn recode, uint64_t seed, int rounds)
{
    rng r;
    rng_seed(&r, seed);
    buf changed;
    buf_init(&changed, object->size + 100);
    int accepted = 0, refused = 0;
    for (int i = 0; i < rounds; i++) {
        buf_reset(&changed);
        buf_put(&changed, object->data, object->size);
        mutate(&changed, OBJECT_HEAD_BYTES, object->size - 4, &r);
        resize(&changed, 4, &r);
        reseal(&changed);
        check_one(view_of(changed.data, changed.size), recode, &accepted, &refused);
    }
    assert_true(accepted > 0);
    assert_true(refused > 0);
    buf_free(&changed);
}

void check_raw_mutations(const buf *bytes, recode_fn recode, uint64_t seed, int rounds)
{
    rng r;
    rng_seed(&r, seed);
    buf changed;
    buf_init(&changed, bytes->size + 100);
    int accepted = 0, refused = 0;
    for (int i = 0; i < rounds; i++) {
        buf_reset(&changed);
        buf_put(&changed, bytes->data, bytes->size);
        mutate(&changed, 0, bytes->size, &r);
        resize(&changed, 0, &r);
        check_one(view_of(changed.data, changed.size), recode, &accepted, &refused);
    }
    assert_true(accepted > 0);
    assert_true(refused > 0);
    buf_free(&changed);
}

void check_patched(const buf *object, size_t body_at, const void *bytes, size_t size,
                   recode_fn recode, bw_status expected)
{
    buf changed, out;
    buf_init(&changed, object->size);
    buf_put(&changed, object->data, object->size);
    memcpy(changed.data + OBJECT_HEAD_BYTES + body_at, bytes, size);
    assert_memory_not_equal(changed.data, object->data, object->size);
    reseal(&changed);
    assert_int_equal(recode_copy(view_of(changed.data, changed.size), recode, &out), expected);
    buf_free(&out);
    buf_free(&changed);
}

/* Shape `number`, always the same one: uniform, inline (two bytes each) or footer (four bytes
 * each). */
static void make_shape(uint32_t number, shape *s, buf *side)
{
    uint64_t lengths[SLICES];
    for (uint32_t i = 0; i < SLICES; i++) {
        const uint64_t spread = number % 3 == 0 ? 0 : i % 5;
        lengths[i] = (number % 3 == 2 ? 3000000 : 1000) + number + spread;
    }
    *s = (shape){.kind = (item_kind)(number / 3 % ITEM_KINDS),
                 .items = 1 + number % 4,
                 .footer_bytes = 8000 + number,
                 .samples = number,
                 .tokens = number * 100,
                 .tag = number % 2};
    tgb_extent extent;
    assert_int_equal(tgb_pack(lengths, SLICES, PART_BYTES, s->footer_bytes, NULL, &extent), BW_OK);
    s->parts = (uint16_t)extent.parts;
    s->total_bytes = extent.total_bytes;
    assert_int_equal(shape_places(s, lengths, SLICES, side), BW_OK);
    assert_int_equal(s->form, number % 3 == 0   ? FORM_UNIFORM
                              : number % 3 == 1 ? FORM_INLINE
                                                : FORM_FOOTER);
    if (s->form == FORM_FOOTER)
        s->uniform = extent.footer_offset;
}

void many_init(many *m, rng *r, uint32_t count, uint32_t kinds)
{
    static const char *const ids[] = {"p0", "p1", "p2", "p3", "p4", "p5", "p6"};
    *m = (many){mem_array(count, sizeof *m->all), count, mem_array(kinds, sizeof *m->sides)};
    shape *shapes = mem_array(kinds, sizeof *shapes);
    for (uint32_t i = 0; i < kinds; i++) {
        buf_init(&m->sides[i], INLINE_BYTES_MAX);
        make_shape(i, &shapes[i], &m->sides[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t start = rng_below(r, 1000000);
        m->all[i] = (descriptor){
            .id = view_text(ids[rng_below(r, 7)]),
            .record = {.nonce = rng_u64(r),
                       .start = start,
                       .end = start + rng_below(r, 100),
                       .seq = 1 + rng_below(r, 1000),
                       .epoch = 1 + (uint32_t)rng_below(r, 9)},
            .shape = shapes[rng_below(r, kinds)],
        };
    }
    mem_free(shapes);
    /* The count of sides, for many_free, stands behind an end mark. */
    m->sides = mem_realloc(m->sides, (kinds + 1) * sizeof *m->sides);
    buf_init(&m->sides[kinds], 0);
}

void many_free(many *m)
{
    for (uint32_t i = 0; m->sides[i].max > 0; i++)
        buf_free(&m->sides[i]);
    mem_free(m->sides);
    mem_free(m->all);
}

static void random_hash(rng *r, hash128 *hash)
{
    rng_bytes(r, hash->bytes, HASH_BYTES);
}

static void make_producer(draft *d, rng *r, uint32_t i)
{
    producer_entry *e = &d->producers[i];
    snprintf(d->ids[i], sizeof d->ids[i], "p%03u", i);
    *e = (producer_entry){.id = view_text(d->ids[i]),
                          .epoch = 1 + (uint32_t)rng_below(r, 5),
                          .finished = i % 4 == 1,
                          .forgotten = i % 4 == 2,
                          .state_is_object = i % 3 == 1,
                          .slot_ms = (uint16_t)rng_u64(r),
                          .seq = 100 + i,
                          .offset = 1000 + rng_below(r, 1000),
                          .swept_seq = rng_below(r, 100),
                          .swept_offset = rng_below(r, 1000),
                          .last_publish = 1 + rng_below(r, 100),
                          .last_commit = rng_below(r, 100)};
    rng_bytes(r, e->token.bytes, TOKEN_BYTES);
    if (e->state_is_object) {
        e->state_ref = (state_ref){.epoch = 1, .seq = i, .nonce = rng_u64(r), .bytes = 300};
        random_hash(r, &e->state_ref.hash);
    } else {
        e->state = view_of("resume here", rng_below(r, 12));
    }
}

void draft_init(draft *d, rng *r, uint32_t records, uint32_t producers)
{
    memset(d, 0, sizeof *d);
    many m;
    many_init(&m, r, records, 5);
    buf_init(&d->tail, 1 << 20);
    assert_int_equal(block_encode(NULL, 0, m.all, records, &d->tail), BW_OK);
    many_free(&m);
    /* Levels 2, 0, 0 over steps 100 … 799, 800 … 899, 900 … 999. */
    for (uint32_t i = 0; i < 3; i++) {
        d->refs[i] = (segment_ref){.first = i == 0 ? 100 : 700 + 100 * i,
                                   .last = 799 + 100 * i,
                                   .bytes = 500 + i,
                                   .level = i == 0 ? 2 : 0};
        random_hash(r, &d->refs[i].hash);
        random_hash(r, &d->refs[i].sum_before);
    }
    for (uint32_t i = 0; i < producers; i++)
        make_producer(d, r, i);
    static const char *const pin_ids[] = {"ckpt-1", "ckpt-10", "ckpt-2", "x"};
    for (uint32_t i = 0; i < 4; i++) {
        d->pins[i] = (pin){view_text(pin_ids[i]), rng_u64(r), 150 + i, i, {{0}}};
        random_hash(r, &d->pins[i].cursor_hash);
    }
    d->groups[0] = (group){.name = view_text("a-train"),
                           .launch = view_text("slurm 1/2"),
                           .launch_number = 4,
                           .hold = 152,
                           .pinned = true,
                           .last_version = 50,
                           .last_clock_ms = 12345,
                           .pin_count = 3,
                           .pins = d->pins};
    d->groups[1] = (group){.name = view_text("b.eval"),
                           .launch = view_text("x"),
                           .launch_number = 1,
                           .hold = 170,
                           .pin_count = 1,
                           .pins = d->pins + 3};
    manifest *t = &d->m;
    t->version = 77;
    rng_bytes(r, t->uuid, UUID_BYTES);
    rng_bytes(r, t->nonce.bytes, TOKEN_BYTES);
    random_hash(r, &t->previous);
    random_hash(r, &t->sum);
    t->clock_ms = 1700000000000;
    t->next = 1000 + records;
    t->trim = 140;
    t->swept = 120;
    t->sealed = t->has_page = true;
    t->committed_bytes = 1000000;
    t->swept_bytes = 999999;
    for (uint32_t i = 0; i < producers; i++)
        t->finished_producers += d->producers[i].finished;
    t->committer = view_text("p000");
    t->turn = view_text("p001");
    t->page = (page_ref){.version = 70, .nonce = rng_u64(r), .bytes = 400, .entries = 3};
    t->ref_count = 3;
    t->refs = d->refs;
    assert_int_equal(block_decode(view_of(d->tail.data, d->tail.size), SLICES, &t->tail, NULL),
                     BW_OK);
    t->producer_count = producers;
    t->producers = d->producers;
    t->group_count = 2;
    t->groups = d->groups;
}

void draft_free(draft *d)
{
    buf_free(&d->tail);
}
