// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/block.h"
#include "codec/shape.h"
#include "support.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bw_status recode(view bytes, buf *out)
{
    block b;
    const bw_status status = block_decode(bytes, SLICES, &b, NULL);
    if (status == BW_OK)
        assert_int_equal(block_encode(&b, 0, NULL, 0, out), BW_OK);
    return status;
}

static void make_block(buf *bytes, many *m, uint32_t count, uint32_t kinds)
{
    rng r;
    rng_seed(&r, count * 10 + kinds);
    many_init(m, &r, count, kinds);
    buf_init(bytes, 16 << 20);
    assert_int_equal(block_encode(NULL, 0, m->all, count, bytes), BW_OK);
}

static void assert_same(const descriptor *a, const descriptor *b)
{
    uint8_t rows[2][SHAPE_BYTES];
    shape_store(&a->shape, 0, rows[0]);
    shape_store(&b->shape, 0, rows[1]);
    assert_memory_equal(rows[0], rows[1], SHAPE_BYTES);
    assert_true(view_equal(a->shape.side, b->shape.side));
    assert_true(view_equal(a->id, b->id));
    assert_true(a->record.nonce == b->record.nonce && a->record.start == b->record.start &&
                a->record.end == b->record.end && a->record.seq == b->record.seq &&
                a->record.epoch == b->record.epoch);
    assert_int_equal(b->record.id_index, 0);
    assert_int_equal(b->record.shape_index, 0);
}

static void descriptors_come_back(void **state)
{
    (void)state;
    buf bytes;
    many m;
    block b;
    make_block(&bytes, &m, 200, 10);
    assert_int_equal(block_decode(view_of(bytes.data, bytes.size), SLICES, &b, NULL), BW_OK);
    assert_int_equal(b.records, 200);
    assert_int_equal(b.ids, 7);
    assert_int_equal(b.shapes, 10);
    for (uint32_t k = 0; k < 200; k++) {
        descriptor d;
        block_descriptor(&b, k, &d);
        assert_same(&m.all[k], &d);
    }
    many_free(&m);
    buf_free(&bytes);
}

static void an_empty_block_is_five_zero_fields(void **state)
{
    (void)state;
    buf bytes;
    block b;
    buf_init(&bytes, 100);
    assert_int_equal(block_encode(NULL, 0, NULL, 0, &bytes), BW_OK);
    assert_int_equal(bytes.size, 20);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(bytes.data[i], 0);
    assert_int_equal(block_decode(view_of(bytes.data, 20), SLICES, &b, NULL), BW_OK);
    assert_int_equal(b.records, 0);
    for (size_t size = 0; size < 20; size++)
        assert_int_equal(block_decode(view_of(bytes.data, size), SLICES, &b, NULL), BW_CORRUPT);
    buf_free(&bytes);
}

static void cuts_and_mutations_are_survived(void **state)
{
    (void)state;
    buf bytes, out;
    many m;
    make_block(&bytes, &m, 12, 6);
    for (size_t size = 0; size < bytes.size; size++) {
        assert_int_equal(recode_copy(view_of(bytes.data, size), recode, &out), BW_CORRUPT);
        buf_free(&out);
    }
    check_raw_mutations(&bytes, recode, 5, 20000);
    many_free(&m);
    buf_free(&bytes);
}

/* A block by hand: two ids, a uniform and an inline shape, three records, so that each rule has its
 * bytes. */
#define HAND_IDS 20u             /* ends: 2 × u32 */
#define HAND_ID_BYTES 28u        /* "ab" "c" */
#define HAND_SHAPES 31u          /* 2 × 56 */
#define HAND_RECORDS (31u + 112) /* 3 × 40 */
#define HAND_SIDE (31u + 112 + 120)
#define HAND_SLICES 3u

static void make_by_hand(buf *bytes)
{
    buf_init(bytes, 1000);
    const uint64_t lengths[HAND_SLICES] = {300, 400, 300};
    const uint64_t equal[HAND_SLICES] = {300, 300, 300};
    buf side;
    buf_init(&side, 100);
    descriptor d[3];
    for (int i = 0; i < 3; i++) {
        d[i] =
            (descriptor){.id = view_text(i == 2 ? "c" : "ab"),
                         .record = {.nonce = 1, .start = 5, .end = 9, .seq = 1, .epoch = 1},
                         .shape = {.parts = 1, .items = 1, .footer_bytes = 100, .total_bytes = 9}};
        assert_int_equal(shape_places(&d[i].shape, i == 0 ? equal : lengths, HAND_SLICES, &side),
                         BW_OK);
    }
    assert_int_equal(block_encode(NULL, 0, d, 3, bytes), BW_OK);
    assert_int_equal(bytes->size, HAND_SIDE + 6);
    buf_free(&side);
}

static bw_status decode_hand(const buf *bytes)
{
    block b;
    bw_error error;
    error_clear(&error);
    const bw_status status =
        block_decode(view_of(bytes->data, bytes->size), HAND_SLICES, &b, &error);
    assert_true((status == BW_OK) == (error.message[0] == '\0'));
    return status;
}

static void each_rule_is_checked(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t bytes[4];
        size_t size;
    } cases[] = {
        {0, {3}, 1},                              /* ids */
        {4, {1}, 1},                              /* shapes */
        {8, {2}, 1},                              /* records */
        {12, {4}, 1},                             /* id bytes */
        {16, {5}, 1},                             /* side bytes */
        {HAND_IDS, {0}, 1},                       /* an empty id */
        {HAND_IDS, {3}, 1},                       /* the second one empty */
        {HAND_IDS + 4, {2}, 1},                   /* ends do not rise, bytes left over */
        {HAND_IDS + 4, {4}, 1},                   /* beyond the id bytes */
        {HAND_ID_BYTES, {'A'}, 1},                /* no name */
        {HAND_SHAPES, {3}, 1},                    /* form */
        {HAND_SHAPES, {2}, 1},                    /* footer form for three slices */
        {HAND_SHAPES + 1, {3}, 1},                /* kind */
        {HAND_SHAPES + 2, {0}, 1},                /* parts */
        {HAND_SHAPES + 12, {1}, 1},               /* side offset of a uniform row */
        {HAND_SHAPES + 56 + 12, {1}, 1},          /* side offset of the first inline row */
        {HAND_SHAPES + 56 + 16, {1}, 1},          /* uniform length of an inline row */
        {HAND_SIDE, {0xac, 0x02, 0xac, 0x02}, 4}, /* all lengths equal */
        {HAND_SIDE, {0xac, 0x82, 0x00}, 3},       /* 300 not minimal */
        {HAND_SIDE, {0x7f}, 1},                   /* below the least frame */
        {HAND_RECORDS + 8, {10}, 1},              /* start > end */
        {HAND_RECORDS + 24, {0}, 1},              /* seq */
        {HAND_RECORDS + 32, {0}, 1},              /* epoch */
        {HAND_RECORDS + 36, {1}, 1},              /* first use out of order */
        {HAND_RECORDS + 38, {1}, 1},
        {HAND_RECORDS + 80 + 36, {0}, 1}, /* an id unused */
        {HAND_RECORDS + 80 + 36, {2}, 1}, /* an id that is none */
        {HAND_RECORDS + 80 + 37, {1}, 1},
        {HAND_RECORDS + 40 + 38, {2}, 1}, /* a shape that is none */
    };
    buf bytes;
    make_by_hand(&bytes);
    assert_int_equal(decode_hand(&bytes), BW_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t before[4];
        memcpy(before, bytes.data + cases[i].at, cases[i].size);
        memcpy(bytes.data + cases[i].at, cases[i].bytes, cases[i].size);
        assert_int_equal(decode_hand(&bytes), BW_CORRUPT);
        memcpy(bytes.data + cases[i].at, before, cases[i].size);
    }
    assert_int_equal(decode_hand(&bytes), BW_OK);
    buf_free(&bytes);
}

/* Two records with two ids (or shapes) that are made equal. */
static void doubles_are_refused(void **state)
{
    (void)state;
    buf bytes;
    block b;
    descriptor d[2];
    for (int i = 0; i < 2; i++) {
        d[i] = (descriptor){
            .id = view_text(i == 0 ? "a" : "b"),
            .record = {.seq = 1, .epoch = 1},
            .shape = {
                .parts = 1, .items = 1, .footer_bytes = 100, .uniform = 200, .tag = (uint64_t)i}};
    }
    buf_init(&bytes, 1000);
    assert_int_equal(block_encode(NULL, 0, d, 2, &bytes), BW_OK);
    const view all = view_of(bytes.data, bytes.size);
    assert_int_equal(block_decode(all, 4, &b, NULL), BW_OK);
    bytes.data[29] = 'a';
    assert_int_equal(block_decode(all, 4, &b, NULL), BW_CORRUPT);
    bytes.data[29] = 'b';
    bytes.data[30 + 56 + 48] = 0; /* the second tag */
    assert_int_equal(block_decode(all, 4, &b, NULL), BW_CORRUPT);
    buf_free(&bytes);
    /* Inline: equal rows with equal side bytes are double, with other side bytes not. */
    for (uint64_t other = 0; other < 2; other++) {
        buf side;
        const uint64_t lengths[2][2] = {{300, 400}, {300, 400 + other}};
        buf_init(&side, 100);
        for (int i = 0; i < 2; i++) {
            d[i].shape.tag = (uint64_t)i;
            assert_int_equal(shape_places(&d[i].shape, lengths[i], 2, &side), BW_OK);
        }
        buf_init(&bytes, 1000);
        assert_int_equal(block_encode(NULL, 0, d, 2, &bytes), BW_OK);
        bytes.data[30 + 56 + 48] = 0;
        assert_int_equal(block_decode(view_of(bytes.data, bytes.size), 2, &b, NULL),
                         other ? BW_OK : BW_CORRUPT);
        buf_free(&side);
        buf_free(&bytes);
    }
}

static void side_bytes_are_used_once_in_order(void **state)
{
    (void)state;
    buf side, bytes;
    block b;
    descriptor d[2];
    const uint64_t lengths[2][2] = {{300, 400}, {500, 600}};
    buf_init(&side, 100);
    for (int i = 0; i < 2; i++) {
        d[i] = (descriptor){.id = view_text("a"),
                            .record = {.seq = 1, .epoch = 1},
                            .shape = {.parts = 1, .items = 1, .footer_bytes = 100}};
        assert_int_equal(shape_places(&d[i].shape, lengths[i], 2, &side), BW_OK);
    }
    buf_init(&bytes, 1000);
    assert_int_equal(block_encode(NULL, 0, d, 2, &bytes), BW_OK);
    assert_int_equal(block_decode(view_of(bytes.data, bytes.size), 2, &b, NULL), BW_OK);
    shape s;
    block_shape(&b, 1, &s);
    assert_int_equal(s.side.size, 4);
    assert_memory_equal(s.side.data, "\xf4\x03\xd8\x04", 4);
    uint8_t *second_side_at = bytes.data + 25 + 56 + 12;
    assert_int_equal(*second_side_at, 4);
    for (uint8_t at = 0; at < 8; at++) {
        *second_side_at = at;
        assert_int_equal(block_decode(view_of(bytes.data, bytes.size), 2, &b, NULL),
                         at == 4 ? BW_OK : BW_CORRUPT);
    }
    /* Of three slices each, the side bytes end early; of one, some are left over. */
    *second_side_at = 4;
    assert_int_equal(block_decode(view_of(bytes.data, bytes.size), 3, &b, NULL), BW_CORRUPT);
    assert_int_equal(block_decode(view_of(bytes.data, bytes.size), 1, &b, NULL), BW_CORRUPT);
    buf_free(&side);
    buf_free(&bytes);
}

static void counts_beyond_the_bytes_ask_for_no_memory(void **state)
{
    (void)state;
    /* Counts whose tables would take many gigabytes; each sum is made not to wrap to what is there.
     */
    uint8_t bytes[20];
    block b;
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(block_decode(view_of(bytes, 20), SLICES, &b, NULL), BW_CORRUPT);
    for (size_t at = 0; at < 20; at += 4) {
        memset(bytes, 0, sizeof bytes);
        store_u32(bytes + at, UINT32_MAX);
        assert_int_equal(block_decode(view_of(bytes, 20), SLICES, &b, NULL), BW_CORRUPT);
    }
}

static void counts_must_agree(void **state)
{
    (void)state;
    buf bytes;
    block b;
    make_by_hand(&bytes);
    /* Two of three lengths: side bytes are left over. */
    assert_int_equal(block_decode(view_of(bytes.data, bytes.size), 2, &b, NULL), BW_CORRUPT);
    /* "a" and "b" of "abc". */
    store_u32(bytes.data + HAND_IDS, 1);
    store_u32(bytes.data + HAND_IDS + 4, 2);
    assert_int_equal(decode_hand(&bytes), BW_CORRUPT);
    buf_free(&bytes);
    /* An id, then a shape, without records; then a record too many. */
    static const struct {
        uint32_t ids, shapes, records, id_bytes;
    } cases[] = {{1, 0, 0, 1}, {0, 1, 0, 0}, {0, 0, BLOCK_RECORDS_MAX + 1, 0}};
    for (size_t i = 0; i < 3; i++) {
        buf_init(&bytes, 4 << 20);
        buf_put_u32(&bytes, cases[i].ids);
        buf_put_u32(&bytes, cases[i].shapes);
        buf_put_u32(&bytes, cases[i].records);
        buf_put_u32(&bytes, cases[i].id_bytes);
        buf_put_u32(&bytes, 0);
        buf_put_zero(&bytes, 4 * cases[i].ids + cases[i].id_bytes + SHAPE_BYTES * cases[i].shapes +
                                 RECORD_BYTES * cases[i].records);
        assert_int_equal(buf_status(&bytes), BW_OK);
        assert_int_equal(block_decode(view_of(bytes.data, bytes.size), 2, &b, NULL), BW_CORRUPT);
        buf_free(&bytes);
    }
}

static void a_term_depends_on_the_values_only(void **state)
{
    (void)state;
    buf bytes;
    many m;
    block b;
    make_block(&bytes, &m, 50, 7);
    assert_int_equal(block_decode(view_of(bytes.data, bytes.size), SLICES, &b, NULL), BW_OK);
    hash128 sum = {{0}}, by_hand = {{0}}, term, again;
    assert_int_equal(block_add_terms(&b, 1000, 0, 50, &sum), BW_OK);
    for (uint32_t k = 0; k < 50; k++) {
        m.all[k].record.id_index = 9; /* not part of it */
        assert_int_equal(descriptor_term(1000 + k, &m.all[k], &term), BW_OK);
        hash_add(&by_hand, &term);
    }
    assert_true(hash_equal(&sum, &by_hand));
    assert_int_equal(descriptor_term(1, &m.all[0], &term), BW_OK);
    assert_int_equal(descriptor_term(2, &m.all[0], &again), BW_OK);
    assert_false(hash_equal(&term, &again));
    static const uint8_t long_id[NAME_MAX_BYTES + 1];
    descriptor d = m.all[0];
    d.id = view_of(long_id, sizeof long_id);
    assert_int_equal(descriptor_term(1, &d, &term), BW_TOO_LARGE);
    static const uint8_t long_side[INLINE_BYTES_MAX + 1];
    d.id = m.all[0].id;
    d.shape.side = view_of(long_side, sizeof long_side);
    assert_int_equal(descriptor_term(1, &d, &term), BW_TOO_LARGE);
    d.shape.side = m.all[0].shape.side;
    d.id = view_of(NULL, 0);
    assert_int_equal(descriptor_term(1, &m.all[0], &again), BW_OK);
    assert_int_equal(descriptor_term(1, &d, &term), BW_OK);
    assert_false(hash_equal(&term, &again));
    many_free(&m);
    buf_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors_come_back),
        cmocka_unit_test(an_empty_block_is_five_zero_fields),
        cmocka_unit_test(cuts_and_mutations_are_survived),
        cmocka_unit_test(each_rule_is_checked),
        cmocka_unit_test(doubles_are_refused),
        cmocka_unit_test(side_bytes_are_used_once_in_order),
        cmocka_unit_test(counts_beyond_the_bytes_ask_for_no_memory),
        cmocka_unit_test(counts_must_agree),
        cmocka_unit_test(a_term_depends_on_the_values_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
