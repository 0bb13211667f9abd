// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/fold.h"
#include "support.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_fold_is_due_above_half_the_cap(void **state)
{
    (void)state;
    rng r;
    draft d;
    rng_seed(&r, 91);
    draft_init(&d, &r, 5, 2);
    const uint32_t size = (uint32_t)d.m.tail.bytes.size;
    assert_true(fold_due(&d.m, 2 * size - 1));
    assert_true(fold_due(&d.m, 2 * size - 2));
    assert_false(fold_due(&d.m, 2 * size));
    assert_true(fold_must(&d.m, size - 1));
    assert_false(fold_must(&d.m, size));
    draft_free(&d);
    /* An empty tail never folds, however small the cap. */
    draft_init(&d, &r, 0, 2);
    assert_false(fold_due(&d.m, 0));
    assert_false(fold_must(&d.m, 0));
    draft_free(&d);
}

static void a_fold_is_a_copy_of_the_tail(void **state)
{
    (void)state;
    rng r;
    draft d;
    rng_seed(&r, 92);
    draft_init(&d, &r, 5, 2);
    buf object;
    segment_ref ref;
    segment s;
    buf_init(&object, 1 << 20);
    assert_int_equal(fold_build(&d.m, &object, &ref), BW_OK);
    assert_true(ref.first == 1000 && ref.last == 1004 && ref.level == 0);
    assert_int_equal(
        segment_open(view_of(object.data, object.size), &ref, d.m.uuid, SLICES, &s, NULL), BW_OK);
    assert_true(view_equal(s.block.bytes, d.m.tail.bytes));
    /* The terms bring the sum before it to the manifest's. */
    hash128 sum = ref.sum_before;
    assert_int_equal(block_add_terms(&s.block, ref.first, 0, 5, &sum), BW_OK);
    assert_true(hash_equal(&sum, &d.m.sum));
    buf_free(&object);
    draft_free(&d);
}

/* References of these levels, ten steps each. */
static void make_refs(manifest *m, segment_ref *refs, const uint8_t *levels, uint32_t count)
{
    memset(m, 0, sizeof *m);
    for (uint32_t i = 0; i < count; i++)
        refs[i] = (segment_ref){.first = i * 10u,
                                .last = i * 10u + 9,
                                .hash = {{(uint8_t)i}},
                                .sum_before = {{1, (uint8_t)i}},
                                .bytes = 100,
                                .level = levels[i]};
    m->refs = refs;
    m->ref_count = count;
}

static uint32_t fill(uint8_t *levels, uint32_t at, uint8_t level, uint32_t count)
{
    memset(levels + at, level, count);
    return at + count;
}

static void merges_are_judged_by_rows_of_one_level(void **state)
{
    (void)state;
    static const struct {
        uint32_t level2, level1, level0;
        bool due, must;
        uint32_t at;
    } cases[] = {
        {0, 0, 15, false, false, 0}, {0, 0, 16, true, false, 0},   {0, 0, 31, true, false, 0},
        {0, 0, 32, true, true, 0},   {0, 10, 10, false, false, 0}, {0, 15, 16, true, false, 15},
        {0, 16, 15, true, false, 0}, {0, 16, 16, true, false, 16}, {0, 32, 16, true, true, 32},
        {3, 20, 4, true, false, 3},  {16, 0, 0, true, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t levels[100];
        segment_ref refs[100];
        manifest m;
        uint32_t count = fill(levels, 0, 2, cases[i].level2);
        count = fill(levels, count, 1, cases[i].level1);
        count = fill(levels, count, 0, cases[i].level0);
        make_refs(&m, refs, levels, count);
        assert_int_equal(merge_due(&m), cases[i].due);
        assert_int_equal(merge_must(&m), cases[i].must);
        if (cases[i].due)
            assert_int_equal(merge_at(&m), cases[i].at);
    }
}

static void the_highest_level_is_not_merged(void **state)
{
    (void)state;
    uint8_t levels[32];
    segment_ref refs[32], ref;
    manifest m;
    buf object;
    fill(levels, 0, SEGMENT_LEVELS_MAX - 1, 32);
    make_refs(&m, refs, levels, 32);
    assert_false(merge_due(&m));
    assert_false(merge_must(&m));
    buf_init(&object, 10000);
    assert_int_equal(merge_build(&m, &object, &ref), BW_BUG);
    buf_free(&object);
}

static void a_merge_takes_the_oldest_sixteen(void **state)
{
    (void)state;
    uint8_t levels[20];
    segment_ref refs[20], merged, out[21];
    manifest m;
    buf object;
    segment s;
    fill(levels, fill(levels, 0, 1, 2), 0, 18);
    make_refs(&m, refs, levels, 20);
    buf_init(&object, 10000);
    assert_int_equal(merge_build(&m, &object, &merged), BW_OK);
    assert_true(merged.first == 20 && merged.last == 179 && merged.level == 1);
    assert_true(hash_equal(&merged.sum_before, &refs[2].sum_before));
    assert_int_equal(
        segment_open(view_of(object.data, object.size), &merged, m.uuid, SLICES, &s, NULL), BW_OK);
    assert_true(hash_equal(&s.children[15].hash, &refs[17].hash));

    const segment_ref folded = {.first = 200, .last = 204, .bytes = 77};
    assert_int_equal(fold_refs(&m, NULL, NULL, out), 20);
    assert_true(out[19].first == 190);
    assert_int_equal(fold_refs(&m, NULL, &folded, out), 21);
    assert_true(out[20].first == 200 && out[20].bytes == 77);
    assert_int_equal(fold_refs(&m, &merged, &folded, out), 6);
    const uint64_t firsts[] = {0, 10, 20, 180, 190, 200};
    for (int i = 0; i < 6; i++)
        assert_true(out[i].first == firsts[i]);
    for (int i = 0; i < 5; i++)
        assert_true(segment_ref_joins(&out[i], &out[i + 1]) && out[i + 1].level <= out[i].level);
    assert_int_equal(fold_refs(&m, &merged, NULL, out), 5);
    buf_free(&object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fold_is_due_above_half_the_cap),
        cmocka_unit_test(a_fold_is_a_copy_of_the_tail),
        cmocka_unit_test(merges_are_judged_by_rows_of_one_level),
        cmocka_unit_test(the_highest_level_is_not_merged),
        cmocka_unit_test(a_merge_takes_the_oldest_sixteen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
