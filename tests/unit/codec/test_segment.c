// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/segment.h"
#include "support.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const uint8_t uuid[UUID_BYTES] = {1, 2, 3};
static const hash128 before = {{7, 7}};

static bw_status recode(view object, buf *out)
{
    segment s;
    segment_ref ref;
    const bw_status status = segment_decode(object, SLICES, &s, NULL);
    if (status != BW_OK)
        return status;
    if (s.level > 0) {
        assert_int_equal(segment_encode_index(s.uuid, s.children, out, &ref), BW_OK);
    } else {
        buf bytes;
        buf_init(&bytes, object.size);
        assert_int_equal(block_encode(&s.block, 0, NULL, 0, &bytes), BW_OK);
        assert_int_equal(segment_encode_block(s.uuid, s.first, s.block.records,
                                              view_of(bytes.data, bytes.size), &before, out, &ref),
                         BW_OK);
        buf_free(&bytes);
    }
    return BW_OK;
}

static void make_block_segment(buf *object, segment_ref *ref)
{
    rng r;
    many m;
    buf bytes;
    rng_seed(&r, 31);
    many_init(&m, &r, 6, 4);
    buf_init(&bytes, 100000);
    buf_init(object, 100000);
    assert_int_equal(block_encode(NULL, 0, m.all, 6, &bytes), BW_OK);
    assert_int_equal(
        segment_encode_block(uuid, 50, 6, view_of(bytes.data, bytes.size), &before, object, ref),
        BW_OK);
    buf_free(&bytes);
    many_free(&m);
}

static void make_index(buf *object, segment_ref *ref, segment_ref children[INDEX_CHILDREN])
{
    for (uint8_t i = 0; i < INDEX_CHILDREN; i++)
        children[i] = (segment_ref){.first = 100 + 3u * i,
                                    .last = 102 + 3u * i,
                                    .hash = {{i, 1}},
                                    .sum_before = {{i, 2}},
                                    .bytes = 1000,
                                    .level = 2};
    buf_init(object, 100000);
    assert_int_equal(segment_encode_index(uuid, children, object, ref), BW_OK);
}

static void a_block_segment_comes_back(void **state)
{
    (void)state;
    buf object;
    segment_ref ref;
    segment s;
    make_block_segment(&object, &ref);
    assert_true(ref.first == 50 && ref.last == 55 && ref.level == 0 && ref.bytes == object.size);
    assert_true(hash_equal(&ref.sum_before, &before));
    const view whole = view_of(object.data, object.size);
    assert_int_equal(segment_open(whole, &ref, uuid, SLICES, &s, NULL), BW_OK);
    assert_int_equal(s.block.records, 6);
    check_protected(&object, recode);
    check_mutations(&object, recode, 41, 8000);
    object_key key;
    key_fields fields;
    segment_ref_key(&ref, &key);
    key_parse(view_text(key.text), &fields);
    assert_true(fields.kind == KEY_SEGMENT && fields.number == 50 && fields.last == 55 &&
                hash_equal(&fields.hash, &ref.hash));
    buf_free(&object);
}

static void an_index_comes_back(void **state)
{
    (void)state;
    buf object;
    segment_ref ref, children[INDEX_CHILDREN];
    segment s;
    make_index(&object, &ref, children);
    assert_true(ref.first == 100 && ref.last == 147 && ref.level == 3 && ref.bytes == object.size);
    assert_true(hash_equal(&ref.sum_before, &children[0].sum_before));
    assert_int_equal(segment_open(view_of(object.data, object.size), &ref, uuid, SLICES, &s, NULL),
                     BW_OK);
    for (uint32_t i = 0; i < INDEX_CHILDREN; i++) {
        assert_true(s.children[i].first == children[i].first && s.children[i].level == 2);
        assert_true(hash_equal(&s.children[i].hash, &children[i].hash));
    }
    check_protected(&object, recode);
    check_mutations(&object, recode, 42, 4000);
    buf_free(&object);
}

static void opening_compares_with_the_reference(void **state)
{
    (void)state;
    buf object;
    segment_ref ref, wrong;
    segment s;
    make_block_segment(&object, &ref);
    const view whole = view_of(object.data, object.size);
    const uint8_t other[UUID_BYTES] = {9};
    assert_int_equal(segment_open(whole, &ref, other, SLICES, &s, NULL), BW_WRONG_NAMESPACE);
    wrong = ref;
    wrong.hash.bytes[0] ^= 1;
    assert_int_equal(segment_open(whole, &wrong, uuid, SLICES, &s, NULL), BW_CORRUPT);
    wrong = ref;
    wrong.bytes++;
    assert_int_equal(segment_open(whole, &wrong, uuid, SLICES, &s, NULL), BW_CORRUPT);
    wrong = ref;
    wrong.level++;
    assert_int_equal(segment_open(whole, &wrong, uuid, SLICES, &s, NULL), BW_CORRUPT);
    wrong = ref;
    wrong.first++;
    assert_int_equal(segment_open(whole, &wrong, uuid, SLICES, &s, NULL), BW_CORRUPT);
    wrong = ref;
    wrong.last++;
    assert_int_equal(segment_open(whole, &wrong, uuid, SLICES, &s, NULL), BW_CORRUPT);
    assert_int_equal(segment_open(view_of(object.data, 10), &ref, uuid, SLICES, &s, NULL),
                     BW_CORRUPT);
    buf_free(&object);
}

static void each_rule_is_checked(void **state)
{
    (void)state;
    /* Body: uuid 0, level 16, zero 17, first 24, last 32, then block or references of 64 bytes. */
    static const struct {
        size_t at;
        uint8_t value;
    } both[] = {{16, 16}, {16, 1}, {17, 1}, {23, 1}, {24, 250}, {24, 1}, {32, 1}, {32, 90}},
      index[] = {{40 + 0, 99},            /* first child elsewhere */
                 {40 + 64, 104},          /* a gap */
                 {40 + 64, 102},          /* an overlap */
                 {40 + 8, 99},            /* last before first */
                 {40 + 15 * 64 + 8, 148}, /* ends elsewhere */
                 {40 + 56, 1},            /* another level */
                 {40 + 57, 1},            /* reserved */
                 {40 + 48 + 1, 0},        /* 232 bytes are fine: see below */
                 {40 + 48 + 4, 1}};       /* 2^32 bytes */
    buf object;
    segment_ref ref, children[INDEX_CHILDREN];
    make_block_segment(&object, &ref);
    for (size_t i = 0; i < sizeof both / sizeof both[0]; i++)
        check_patched(&object, both[i].at, &both[i].value, 1, recode, BW_CORRUPT);
    buf_free(&object);
    make_index(&object, &ref, children);
    for (size_t i = 0; i < sizeof both / sizeof both[0]; i++)
        check_patched(&object, both[i].at, &both[i].value, 1, recode, BW_CORRUPT);
    for (size_t i = 0; i < sizeof index / sizeof index[0]; i++)
        check_patched(&object, index[i].at, &index[i].value, 1, recode,
                      index[i].at == 40 + 48 + 1 ? BW_OK : BW_CORRUPT);
    const uint8_t bytes_20[2] = {20, 0};
    check_patched(&object, 40 + 48, bytes_20, 2, recode, BW_CORRUPT);
    buf_free(&object);
}

static void steps_do_not_wrap(void **state)
{
    (void)state;
    buf out;
    segment_ref ref;
    buf_init(&out, 10000);
    assert_int_equal(segment_encode_block(uuid, 0, 0, view_of(NULL, 0), &before, &out, &ref),
                     BW_INVALID);
    assert_int_equal(
        segment_encode_block(uuid, UINT64_MAX - 3, 4, view_of(NULL, 0), &before, &out, &ref),
        BW_INVALID);
    segment_ref children[INDEX_CHILDREN];
    memset(children, 0, sizeof children);
    children[0].level = SEGMENT_LEVELS_MAX - 1;
    assert_int_equal(segment_encode_index(uuid, children, &out, &ref), BW_INVALID);
    assert_int_equal(out.size, 0);
    const segment_ref a = {.last = UINT64_MAX}, b = {.first = 0}, c = {.last = 4}, d = {.first = 5};
    assert_false(segment_ref_joins(&a, &b));
    assert_true(segment_ref_joins(&c, &d));
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_segment_comes_back),
        cmocka_unit_test(an_index_comes_back),
        cmocka_unit_test(opening_compares_with_the_reference),
        cmocka_unit_test(each_rule_is_checked),
        cmocka_unit_test(steps_do_not_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
