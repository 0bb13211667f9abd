// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "stand.h"

#include "base/alloc.h"
#include <string.h>

/* One step of a namespace, and a request for the slice of one position. */
typedef struct scene {
    stand s;
    reader r;
    budget *budget;
    step_entry entry;
    handout *handout;
    slice_request request;
} scene;

static const char texts[] = "the bytes of an item, of which each slice takes another number: ..."
                            "................................................................";

/* Slice d has an item of 20 + d % `spread` bytes, and one more that is a pad. */
static void put(stand *s, uint32_t dp, uint32_t spread)
{
    bw_producer *p = stand_producer(s, s->space, "p", "naive");
    bw_batch *b = NULL;
    stand_expect(s, batch_new(p, 2, &b, &s->error), BW_OK);
    stand_expect(s, batch_set_meta(b, 7, NULL, 0, &s->error), BW_OK);
    for (uint32_t d = 0; d < dp; d++) {
        const struct iovec piece = {(void *)(uintptr_t)texts, 20 + d % spread};
        stand_expect(s, batch_set_item(b, d, 0, 0, &piece, 1, &s->error), BW_OK);
        stand_expect(s, batch_set_pad(b, d, 0, 1, &s->error), BW_OK);
    }
    stand_expect(s, producer_put(p, b, 1, view_text(""), 1, 20 * NS_PER_S, &s->error), BW_OK);
    stand_expect(s, producer_finish(p, 20 * NS_PER_S, &s->error), BW_OK);
    stand_expect(s, producer_close(p, 0, &s->error), BW_OK);
}

/* For slice 0 a long item, one too short to be packed and another long one; for slice 1 two long
 * ones and a pad. */
static char long_text[9000];

static void put_packed(stand *s)
{
    for (size_t i = 0; i < sizeof long_text; i++)
        long_text[i] = texts[i % 29 * (i % 3)];
    s->zstd_level = 3;
    bw_producer *p = stand_producer(s, s->space, "p", "naive");
    bw_batch *b = NULL;
    stand_expect(s, batch_new(p, 3, &b, &s->error), BW_OK);
    const struct iovec whole[2] = {{long_text, 4000}, {long_text + 4000, 5000}};
    const struct iovec half = {long_text, 5000}, little = {(void *)(uintptr_t)texts, 3};
    stand_expect(s, batch_set_item(b, 0, 0, 0, whole, 2, &s->error), BW_OK);
    stand_expect(s, batch_set_item(b, 0, 0, 1, &little, 1, &s->error), BW_OK);
    stand_expect(s, batch_set_item(b, 0, 0, 2, &half, 1, &s->error), BW_OK);
    stand_expect(s, batch_set_item(b, 1, 0, 0, &half, 1, &s->error), BW_OK);
    stand_expect(s, batch_set_pad(b, 1, 0, 1, &s->error), BW_OK);
    stand_expect(s, batch_set_item(b, 1, 0, 2, whole, 2, &s->error), BW_OK);
    stand_expect(s, producer_put(p, b, 1, view_text(""), 1, 20 * NS_PER_S, &s->error), BW_OK);
    stand_expect(s, producer_finish(p, 20 * NS_PER_S, &s->error), BW_OK);
    stand_expect(s, producer_close(p, 0, &s->error), BW_OK);
}

#define PACKED 0u /* for a spread: put_packed */

static void scene_open(scene *sc, uint32_t dp, uint32_t spread, uint32_t d)
{
    stand *s = &sc->s;
    stand_open(s, dp, "", false);
    if (spread == PACKED)
        put_packed(s);
    else
        put(s, dp, spread);
    const genesis *g = s->space->genesis;
    stand_expect(s, reader_open(s->space, TIME_NEVER, NULL, &sc->r, &s->error), BW_OK);
    stand_expect(s, reader_step(s->space, &sc->r, 0, TIME_NEVER, &sc->entry, &s->error), BW_OK);
    stand_expect(s, handout_new(g, (position){d, 0}, dp, MODE_SAME_BATCH, &sc->handout, &s->error),
                 BW_OK);
    assert_int_equal(budget_new(1u << 20, &sc->budget), BW_OK);
    sc->request = (slice_request){
        .genesis = g, .handout = sc->handout, .budget = sc->budget, .verify = true, .map = true};
    stand_expect(
        s, handout_plan(sc->handout, 0, 0, &sc->entry.descriptor, &sc->request.plan, &s->error),
        BW_OK);
    sc->request.reserved = slice_estimate(g, &sc->request.plan);
    assert_true(budget_take(sc->budget, sc->request.reserved, false));
}

static void scene_close(scene *sc)
{
    budget_give(sc->budget, sc->request.reserved);
    assert_int_equal(budget_used(sc->budget), 0);
    budget_unref(sc->budget);
    handout_free(sc->handout);
    reader_close(&sc->r);
    stand_close(&sc->s);
}

static bw_status fetch_slice(scene *sc, slice **out)
{
    return slice_fetch(&sc->request, drive_store(sc->r.drive), out, &sc->s.error);
}

/* The key of the part where `where` lies. */
static void key_of(const scene *sc, const place *where, object_key *key)
{
    const record *at = &sc->entry.descriptor.record;
    key_part(key, sc->entry.descriptor.id, at->epoch, at->seq, at->nonce, where->part);
}

/* Turns one byte of the part over; the same again turns it back. */
static void flip(scene *sc, const place *where, uint64_t at)
{
    object_key key;
    const uint8_t *bytes = NULL;
    uint8_t copy[65536];
    size_t size = 0;
    key_of(sc, where, &key);
    assert_true(mem_space_get(sc->s.contents, key.text, &bytes, &size));
    assert_true(size <= sizeof copy && where->offset + at < size);
    memcpy(copy, bytes, size);
    copy[where->offset + at] ^= 0x10u;
    assert_int_equal(mem_space_set(sc->s.contents, key.text, copy, size), BW_OK);
}

static void check_items(const slice *s, uint32_t bytes)
{
    assert_int_equal(s->items, 2);
    assert_int_equal(s->frames[0].stored_bytes, bytes);
    assert_memory_equal(s->data + s->frames[0].offset, texts, bytes);
    assert_false(s->frames[0].pad);
    assert_true(s->frames[1].pad);
}

static void test_from_plan_to_items(void **state)
{
    (void)state;
    for (int map = 0; map < 2; map++) {
        scene sc;
        slice *s = NULL;
        scene_open(&sc, 3, 2, 1);
        sc.request.map = map == 1;
        assert_false(sc.request.plan.needs_footer);
        const uint64_t reserved = sc.request.reserved;
        assert_int_equal(reserved, sc.request.plan.where.bytes);
        stand_expect(&sc.s, fetch_slice(&sc, &s), BW_OK);
        assert_int_equal(sc.request.reserved, 0); /* taken over */
        assert_int_equal(budget_used(sc.budget), reserved);
        assert_true(s->step == 0 && s->d == 1 && s->c == 0 && s->tag == 7);
        assert_int_equal(s->nonce, sc.entry.descriptor.record.nonce);
        assert_true((s->buffer.data == NULL) == (map == 1));
        check_items(s, 21);
        slice_unref(s);
        scene_close(&sc);
    }
}

static void test_items_hold_the_slice(void **state)
{
    (void)state;
    scene sc;
    slice *s = NULL;
    scene_open(&sc, 1, 1, 0);
    const uint64_t reserved = sc.request.reserved;
    stand_expect(&sc.s, fetch_slice(&sc, &s), BW_OK);
    bw_item *first = slice_item(s, 0), *second = slice_item(s, 1);
    slice_unref(s);
    assert_int_equal(first->index, 0);
    assert_int_equal(second->index, 1);
    item_release(first);
    check_items(second->owner, 20);
    assert_int_equal(budget_used(sc.budget), reserved);
    item_release(second);
    assert_int_equal(budget_used(sc.budget), 0);
    item_release(NULL);
    scene_close(&sc);
}

static void expect_item(const slice *s, uint32_t index, const void *bytes, uint32_t size)
{
    assert_int_equal(s->frames[index].plain_bytes, size);
    assert_memory_equal(s->handles[index].data, bytes, size);
}

/* Packed items are unpacked before they are handed out, and the budget holds what is kept. */
static void test_packed(void **state)
{
    (void)state;
    for (uint32_t d = 0; d < 2; d++)
        for (int map = 0; map < 2; map++) {
            scene sc;
            slice *s = NULL;
            scene_open(&sc, 2, PACKED, d);
            sc.request.map = map == 1;
            const uint64_t framed = sc.request.plan.where.bytes;
            assert_true(framed < 9000);
            stand_expect(&sc.s, fetch_slice(&sc, &s), BW_OK);
            expect_item(s, d == 0 ? 0 : 2, long_text, 9000);
            expect_item(s, d == 0 ? 2 : 0, long_text, 5000);
            expect_item(s, 1, texts, d == 0 ? 3 : 0);
            assert_int_equal(s->frames[d == 0 ? 0 : 2].codec, CODEC_ZSTD);
            assert_int_equal(s->frames[1].codec, CODEC_NONE);
            /* The frame is kept only for what is not packed. */
            assert_true((s->data != NULL) == (d == 0));
            assert_true((s->buffer.data != NULL) == (d == 0 && map == 0));
            const uint64_t unpacked = d == 0 ? align64(9000) + 5000 : align64(5000) + 9000;
            assert_int_equal(s->reserved, unpacked + (d == 0 ? framed : 0) + SLICE_SLACK_BYTES);
            assert_int_equal(budget_used(sc.budget), s->reserved);
            slice_unref(s);
            scene_close(&sc);
        }
}

static void expect_corrupt(scene *sc, const place *where)
{
    slice *s = NULL;
    object_key key;
    key_of(sc, where, &key);
    stand_expect(&sc->s, fetch_slice(sc, &s), BW_CORRUPT);
    assert_null(s);
    assert_string_equal(bw_error_key(&sc->s.error), key.text);
    assert_int_equal(bw_error_step(&sc->s.error), 0);
    assert_non_null(strstr(sc->s.error.message, "step 0, slice"));
    assert_int_equal(budget_used(sc->budget), sc->request.reserved); /* still the request's */
}

static void test_damaged(void **state)
{
    (void)state;
    scene sc;
    slice *s = NULL;
    scene_open(&sc, 2, 2, 1);
    const place where = sc.request.plan.where;
    const uint64_t item = frame_bytes_min(2), padding = item - 1;
    for (int map = 0; map < 2; map++) {
        sc.request.map = map == 1;
        for (uint64_t at = 0; at < where.bytes; at++) {
            flip(&sc, &where, at);
            expect_corrupt(&sc, &where);
            flip(&sc, &where, at);
        }
    }
    /* Without `verify` the head is checked all the same. */
    sc.request.verify = false;
    flip(&sc, &where, 8);
    expect_corrupt(&sc, &where);
    flip(&sc, &where, 8);
    flip(&sc, &where, item);
    flip(&sc, &where, padding);
    stand_expect(&sc.s, fetch_slice(&sc, &s), BW_OK);
    slice_unref(s);
    scene_close(&sc);
}

/* Each byte of packed items is covered; and what was verified by nobody does no harm. */
static void test_damaged_packed(void **state)
{
    (void)state;
    scene sc;
    slice *s = NULL;
    object_key key;
    scene_open(&sc, 2, PACKED, 1);
    const place where = sc.request.plan.where;
    key_of(&sc, &where, &key);
    for (uint64_t at = 0; at < where.bytes; at++) {
        flip(&sc, &where, at);
        stand_expect(&sc.s, fetch_slice(&sc, &s), BW_CORRUPT);
        assert_string_equal(bw_error_key(&sc.s.error), key.text);
        flip(&sc, &where, at);
    }
    sc.request.verify = false;
    for (uint64_t at = frame_bytes_min(3); at < where.bytes; at++) {
        flip(&sc, &where, at);
        const bw_status status = fetch_slice(&sc, &s);
        assert_true(status == BW_OK || status == BW_CORRUPT);
        if (status == BW_OK)
            slice_unref(s);
        flip(&sc, &where, at);
    }
    scene_close(&sc);
}

static void test_missing(void **state)
{
    (void)state;
    scene sc;
    slice *s = NULL;
    object_key key;
    scene_open(&sc, 1, 1, 0);
    key_of(&sc, &sc.request.plan.where, &key);
    assert_true(mem_space_remove(sc.s.contents, key.text));
    for (int map = 0; map < 2; map++) {
        sc.request.map = map == 1;
        stand_expect(&sc.s, fetch_slice(&sc, &s), BW_NOT_FOUND);
        assert_string_equal(bw_error_key(&sc.s.error), key.text);
        assert_int_equal(bw_error_step(&sc.s.error), 0);
    }
    scene_close(&sc);
}

/* So many different lengths that only the footer tells the place. */
#define MANY 600u
#define SPREAD 61u

static void test_placed_by_the_footer(void **state)
{
    (void)state;
    static const uint32_t positions[] = {0, 299, MANY - 1};
    for (size_t i = 0; i < sizeof positions / sizeof positions[0]; i++) {
        scene sc;
        slice *s = NULL;
        scene_open(&sc, MANY, SPREAD, positions[i]);
        assert_true(sc.request.plan.needs_footer);
        assert_int_equal(sc.request.reserved, sc.entry.descriptor.shape.total_bytes / MANY);
        stand_expect(&sc.s, fetch_slice(&sc, &s), BW_OK);
        check_items(s, 20 + positions[i] % SPREAD);
        assert_int_equal(s->reserved, sc.request.plan.where.bytes); /* no estimate any more */
        assert_int_equal(budget_used(sc.budget), s->reserved);
        slice_unref(s);
        scene_close(&sc);
    }
}

static void test_damaged_footer(void **state)
{
    (void)state;
    scene sc;
    slice *s = NULL;
    object_key key;
    const uint8_t *bytes = NULL;
    uint8_t copy[65536];
    size_t size = 0;
    scene_open(&sc, MANY, SPREAD, 5);
    const place footer_at = sc.request.plan.footer;
    flip(&sc, &footer_at, 100);
    expect_corrupt(&sc, &footer_at);
    flip(&sc, &footer_at, 100);
    /* Whole and well, but of another batch. */
    key_of(&sc, &footer_at, &key);
    assert_true(mem_space_get(sc.s.contents, key.text, &bytes, &size));
    assert_true(size <= sizeof copy);
    memcpy(copy, bytes, size);
    sc.entry.descriptor.record.nonce ^= 1u;
    sc.request.plan.record.nonce ^= 1u;
    key_of(&sc, &footer_at, &key);
    assert_int_equal(mem_space_set(sc.s.contents, key.text, copy, size), BW_OK);
    expect_corrupt(&sc, &footer_at);
    assert_non_null(strstr(sc.s.error.message, "another batch"));
    assert_true(mem_space_remove(sc.s.contents, key.text));
    stand_expect(&sc.s, fetch_slice(&sc, &s), BW_NOT_FOUND);
    assert_string_equal(bw_error_key(&sc.s.error), key.text);
    scene_close(&sc);
}

/* The request's slice goes to a lent buffer of `bytes`; what was reserved is given back. */
static lending *lend(scene *sc, uint64_t bytes, uint8_t **memory)
{
    lending *ring = NULL;
    *memory = mem_aligned(64, (size_t)bytes);
    memset(*memory, 0xee, (size_t)bytes);
    assert_int_equal(lending_new(&ring), BW_OK);
    stand_expect(&sc->s, lending_add(ring, *memory, (size_t)bytes, 9, &sc->s.error), BW_OK);
    assert_int_equal(lending_take(ring, bytes, &sc->request.lent), LENDING_TAKEN);
    budget_give(sc->budget, sc->request.reserved);
    sc->request.reserved = 0;
    return ring;
}

static void expect_free(lending *ring, uint64_t count)
{
    assert_int_equal(lending_count(ring).free, count);
}

/* Whether mapping is possible or not. */
static void test_into_a_lent_buffer(void **state)
{
    (void)state;
    for (int map = 0; map < 2; map++) {
        scene sc;
        slice *s = NULL;
        uint8_t *memory;
        scene_open(&sc, 3, 2, 1);
        sc.request.map = map == 1;
        const uint64_t framed = sc.request.plan.where.bytes;
        lending *ring = lend(&sc, align64(framed) + 64, &memory);
        stand_expect(&sc.s, fetch_slice(&sc, &s), BW_OK);
        assert_ptr_equal(s->data, memory);
        assert_true(s->buffer.data == NULL && s->mapping.release == NULL);
        check_items(s, 21);
        assert_ptr_equal(item_lent(&s->handles[0]), s->lent);
        assert_int_equal(s->lent->token, 9);
        assert_int_equal(memory[framed], 0xee);
        assert_int_equal(budget_used(sc.budget), 0);
        expect_free(ring, 0);
        lending_close(ring);
        slice_unref(s);
        mem_free(memory);
        scene_close(&sc);
    }
}

/* Damage leaves it with the request. */
static void test_damaged_in_a_lent_buffer(void **state)
{
    (void)state;
    scene sc;
    slice *s = NULL;
    uint8_t *memory;
    scene_open(&sc, 3, 2, 1);
    const place where = sc.request.plan.where;
    lending *ring = lend(&sc, align64(where.bytes), &memory);
    flip(&sc, &where, where.bytes - 1);
    expect_corrupt(&sc, &where);
    flip(&sc, &where, where.bytes - 1);
    assert_ptr_equal(sc.request.lent->data, memory);
    expect_free(ring, 0);
    stand_expect(&sc.s, fetch_slice(&sc, &s), BW_OK);
    assert_null(sc.request.lent);
    slice_unref(s);
    expect_free(ring, 1);
    lending_close(ring);
    mem_free(memory);
    scene_close(&sc);
}

/* What was packed lies behind the frame, to the last byte of the buffer; one byte less, and it is
 * in memory that is ours, and the buffer holds only what was not packed. */
static void test_packed_in_a_lent_buffer(void **state)
{
    (void)state;
    for (uint32_t d = 0; d < 2; d++)
        for (uint32_t less = 0; less < 2; less++) {
            scene sc;
            slice *s = NULL;
            uint8_t *memory;
            scene_open(&sc, 2, PACKED, d);
            const uint64_t unpacked = d == 0 ? align64(9000) + 5000 : align64(5000) + 9000;
            const uint64_t bytes = align64(sc.request.plan.where.bytes) + unpacked - less;
            lending *ring = lend(&sc, bytes, &memory);
            stand_expect(&sc.s, fetch_slice(&sc, &s), BW_OK);
            expect_item(s, d == 0 ? 0 : 2, long_text, 9000);
            expect_item(s, d == 0 ? 2 : 0, long_text, 5000);
            expect_item(s, 1, texts, d == 0 ? 3 : 0);
            assert_true((item_lent(&s->handles[0]) != NULL) == (less == 0));
            assert_true((item_lent(&s->handles[1]) != NULL) == (less == 0 || d == 0));
            assert_int_equal(s->reserved, less == 0 ? 0 : unpacked + SLICE_SLACK_BYTES);
            assert_int_equal(budget_used(sc.budget), s->reserved);
            expect_free(ring, less == 1 && d == 1);
            slice_unref(s);
            expect_free(ring, 1);
            lending_close(ring);
            mem_free(memory);
            scene_close(&sc);
        }
}

/* The footer tells of more than was expected. */
static void test_a_lent_buffer_too_small(void **state)
{
    (void)state;
    scene sc;
    slice *s = NULL;
    uint8_t *memory;
    scene_open(&sc, MANY, SPREAD, 5);
    lending *ring = lend(&sc, 64, &memory);
    stand_expect(&sc.s, fetch_slice(&sc, &s), BW_OK);
    check_items(s, 25);
    assert_null(item_lent(&s->handles[0]));
    assert_int_equal(s->reserved, sc.request.plan.where.bytes);
    expect_free(ring, 1);
    slice_unref(s);
    lending_close(ring);
    mem_free(memory);
    scene_close(&sc);
}

static void test_kind_names(void **state)
{
    (void)state;
    assert_string_equal(kind_name(ITEM_RAW), "raw");
    assert_string_equal(kind_name(ITEM_SAMPLES), "samples");
    assert_string_equal(kind_name(ITEM_SAFETENSORS), "safetensors");
    assert_string_equal(kind_name(ITEM_KINDS), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_plan_to_items),
        cmocka_unit_test(test_items_hold_the_slice),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_damaged_packed),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_placed_by_the_footer),
        cmocka_unit_test(test_damaged_footer),
        cmocka_unit_test(test_into_a_lent_buffer),
        cmocka_unit_test(test_damaged_in_a_lent_buffer),
        cmocka_unit_test(test_packed_in_a_lent_buffer),
        cmocka_unit_test(test_a_lent_buffer_too_small),
        cmocka_unit_test(test_kind_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
