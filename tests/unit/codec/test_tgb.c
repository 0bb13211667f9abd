// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"
#include "codec/tgb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void packing_follows_the_page(void **state)
{
    (void)state;
    /* Parts of 256: 100 and 100 fit (0, 128), 120 does not (256 + 120); 300 has a part of its own.
     */
    const uint64_t lengths[] = {100, 100, 120, 300, 10};
    place places[5];
    tgb_extent extent;
    assert_int_equal(tgb_pack(lengths, 5, 256, 40, places, &extent), BW_OK);
    const place expected[] = {{0, 0, 100}, {0, 128, 100}, {1, 0, 120}, {2, 0, 300}, {3, 0, 10}};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(places[i].part, expected[i].part);
        assert_int_equal(places[i].offset, expected[i].offset);
        assert_int_equal(places[i].bytes, expected[i].bytes);
    }
    assert_int_equal(extent.parts, 4);
    assert_int_equal(extent.footer_offset, 64);
    assert_int_equal(extent.total_bytes, 228 + 120 + 300 + 64 + 40);
    /* Ending exactly at the part size still fits; the footer may pass it. */
    const uint64_t exact[] = {128, 128};
    assert_int_equal(tgb_pack(exact, 2, 256, 1000, NULL, &extent), BW_OK);
    assert_int_equal(extent.parts, 1);
    assert_int_equal(extent.footer_offset, 256);
    assert_int_equal(extent.total_bytes, 1256);
}

static void caps_are_kept(void **state)
{
    (void)state;
    tgb_extent extent;
    uint64_t one = SLICE_BYTES_MAX;
    assert_int_equal(tgb_pack(&one, 1, 4096, 100, NULL, &extent), BW_OK);
    one++;
    assert_int_equal(tgb_pack(&one, 1, 4096, 100, NULL, &extent), BW_TOO_LARGE);
    one = 100;
    assert_int_equal(tgb_pack(&one, 1, 4096, object_bytes_max(OBJECT_FOOTER), NULL, &extent),
                     BW_OK);
    assert_int_equal(tgb_pack(&one, 1, 4096, object_bytes_max(OBJECT_FOOTER) + 1, NULL, &extent),
                     BW_TOO_LARGE);
    /* Each slice in a part of its own. */
    static uint64_t many[PARTS_MAX + 1];
    for (uint32_t i = 0; i <= PARTS_MAX; i++)
        many[i] = 4096;
    assert_int_equal(tgb_pack(many, PARTS_MAX, 4096, 100, NULL, &extent), BW_OK);
    assert_int_equal(extent.parts, PARTS_MAX);
    assert_int_equal(tgb_pack(many, PARTS_MAX + 1, 4096, 100, NULL, &extent), BW_TOO_LARGE);
    /* 2^18 slices of 2^32 are 2^50, and the footer is too much. */
    static uint64_t full[1u << 18];
    for (uint32_t i = 0; i < 1u << 18; i++)
        full[i] = SLICE_BYTES_MAX;
    assert_int_equal(tgb_pack(full, (1u << 18) - 1, (uint64_t)1 << 40, 100, NULL, &extent), BW_OK);
    assert_int_equal(tgb_pack(full, 1u << 18, (uint64_t)1 << 40, 100, NULL, &extent), BW_TOO_LARGE);
}

static void uniform_places_are_those_of_packing(void **state)
{
    (void)state;
    rng r;
    rng_seed(&r, 4);
    for (int round = 0; round < 300; round++) {
        uint64_t lengths[100];
        place places[100], one;
        tgb_extent extent;
        const uint64_t part_bytes = 64 * (1 + rng_below(&r, 50));
        const uint64_t length = 1 + rng_below(&r, 2000);
        for (int i = 0; i < 100; i++)
            lengths[i] = length;
        assert_int_equal(tgb_pack(lengths, 100, part_bytes, 30, places, &extent), BW_OK);
        for (uint32_t i = 0; i < 100; i++) {
            tgb_place_uniform(length, part_bytes, i, &one);
            assert_true(one.part == places[i].part && one.offset == places[i].offset &&
                        one.bytes == length);
        }
    }
}

/* Lengths of which no part holds two: each slice is alone in its part. */
static void slices_that_stand_alone(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {0, 4097, 1u << 20};
    for (size_t k = 0; k < 3; k++) {
        place at;
        tgb_place_uniform(lengths[k], 4096, 3, &at);
        assert_int_equal(at.part, 3);
        assert_int_equal(at.offset, 0);
        assert_int_equal(at.bytes, lengths[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packing_follows_the_page),
        cmocka_unit_test(caps_are_kept),
        cmocka_unit_test(uniform_places_are_those_of_packing),
        cmocka_unit_test(slices_that_stand_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
