// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Finding steps through tail, segments and indexes (deeper trees: test_folding). */
#include "world.h"

#include "base/alloc.h"

typedef struct scene {
    world w;
    actor p;
    chain *chain;
    const manifest *m;
    segment_cache *cache;
} scene;

static void set_up(scene *s, uint64_t steps, size_t cache_bytes)
{
    world_open(&s->w, &(world_options){.block_size = 4});
    actor_start(&s->p, &s->w, "p");
    actor_open(&s->p);
    while (s->p.seq < steps)
        actor_publish(&s->p, 1);
    s->chain = world_chain(&s->w);
    s->m = chain_held(s->chain);
    assert_int_equal(segment_cache_new(cache_bytes, &s->cache), BW_OK);
}

static void tear_down(scene *s)
{
    segment_cache_free(s->cache);
    chain_free(s->chain);
    actor_stop(&s->p);
    world_close(&s->w);
}

static uint8_t *read_object(scene *s, const segment_ref *ref, size_t *size)
{
    object_key key;
    const uint8_t *bytes;
    segment_ref_key(ref, &key);
    assert_true(mem_space_get(s->w.space, key.text, &bytes, size));
    uint8_t *copy = mem_dup(bytes, *size);
    assert_non_null(copy);
    return copy;
}

static void fetch(scene *s, const segment_ref *ref)
{
    size_t size;
    uint8_t *object = read_object(s, ref, &size);
    assert_int_equal(segment_cache_add(s->cache, ref, s->w.genesis.uuid, 1, object, size, NULL),
                     BW_OK);
}

static void steps_are_found_and_bounded(void **state)
{
    (void)state;
    scene s;
    segment_ref needed;
    descriptor d;
    set_up(&s, 150, 1 << 20);
    assert_true(s.m->ref_count > 1);
    assert_int_equal(lookup_step(s.m, s.cache, 150, &d, &needed), LOOKUP_BEYOND);
    assert_int_equal(lookup_step(s.m, s.cache, 149, &d, &needed), LOOKUP_FOUND);
    assert_int_equal(d.record.seq, 150);
    uint32_t reads = 0;
    for (uint64_t step = 0; step < 150; step++) {
        lookup_verdict verdict;
        while ((verdict = lookup_step(s.m, s.cache, step, &d, &needed)) == LOOKUP_NEED) {
            fetch(&s, &needed);
            reads++;
        }
        assert_int_equal(verdict, LOOKUP_FOUND);
        assert_int_equal(d.record.seq, step + 1);
        assert_true(view_equal(d.id, view_text("p")));
    }
    /* Each once; one more may have been put for a commit to come. */
    const size_t segments = mem_space_count(s.w.space, "segment/");
    assert_in_range(reads, segments - 1, segments);
    manifest swept = {.next = 150, .swept = 10};
    assert_int_equal(lookup_step(&swept, s.cache, 9, &d, &needed), LOOKUP_TRIMMED);
    hash128 sum;
    assert_int_equal(lookup_sum(&swept, s.cache, 9, &sum, &needed), LOOKUP_TRIMMED);
    assert_int_equal(lookup_sum(s.m, s.cache, 151, &sum, &needed), LOOKUP_BEYOND);
    assert_int_equal(lookup_sum(s.m, s.cache, 150, &sum, &needed), LOOKUP_FOUND);
    assert_true(hash_equal(&sum, &s.m->sum));
    assert_int_equal(lookup_sum(s.m, s.cache, 0, &sum, &needed), LOOKUP_FOUND);
    assert_true(hash_is_zero(&sum));
    tear_down(&s);
}

/* A cache smaller than anything still holds one way down, and throws out the oldest. */
static void a_small_cache_makes_progress(void **state)
{
    (void)state;
    scene s;
    segment_ref needed;
    descriptor d;
    set_up(&s, 150, 1);
    uint32_t reads = 0;
    for (uint32_t round = 0; round < 2; round++)
        for (uint64_t step = 0; step < 149; step++)
            while (lookup_step(s.m, s.cache, step, &d, &needed) == LOOKUP_NEED) {
                fetch(&s, &needed);
                assert_true(++reads < 400);
            }
    assert_true(reads > mem_space_count(s.w.space, "segment/"));
    assert_null(segment_cache_find(s.cache, &(hash128){{0}}));
    tear_down(&s);
}

static void a_wrong_object_is_refused(void **state)
{
    (void)state;
    scene s;
    size_t size;
    bw_error error;
    set_up(&s, 20, 1 << 20);
    const segment_ref *ref = &s.m->refs[0];
    uint8_t *object = read_object(&s, ref, &size);
    object[size / 2] ^= 1;
    assert_int_equal(segment_cache_add(s.cache, ref, s.w.genesis.uuid, 1, object, size, &error),
                     BW_CORRUPT);
    object = read_object(&s, ref, &size);
    assert_int_equal(
        segment_cache_add(s.cache, &s.m->refs[1], s.w.genesis.uuid, 1, object, size, &error),
        BW_CORRUPT);
    fetch(&s, ref);
    fetch(&s, ref); /* once more is harmless */
    assert_non_null(segment_cache_find(s.cache, &ref->hash));
    tear_down(&s);
}

/* A manifest that lies may name one object for two ranges of steps: the hash alone does not tell.
 */
static void one_object_for_two_ranges_is_refused(void **state)
{
    (void)state;
    scene s;
    bw_error error;
    size_t size;
    set_up(&s, 40, 1 << 20);
    fetch(&s, &s.m->refs[0]);
    segment_ref lie = s.m->refs[0];
    lie.first += 1000;
    lie.last += 1000;
    uint8_t *object = read_object(&s, &s.m->refs[0], &size);
    assert_int_equal(segment_cache_add(s.cache, &lie, s.w.genesis.uuid, 1, object, size, &error),
                     BW_CORRUPT);
    /* Nor is what is cached taken for it. */
    segment_ref refs[1] = {lie};
    manifest liar = *s.m;
    segment_ref needed;
    descriptor d;
    liar.refs = refs;
    liar.ref_count = 1;
    liar.next = lie.last + 1 + liar.tail.records;
    assert_int_equal(lookup_step(&liar, s.cache, lie.first, &d, &needed), LOOKUP_NEED);
    /* Nor where only the end, or only the level, is another. */
    refs[0] = s.m->refs[0];
    refs[0].last++;
    liar.next = refs[0].last + 1 + liar.tail.records;
    assert_int_equal(lookup_step(&liar, s.cache, refs[0].first, &d, &needed), LOOKUP_NEED);
    refs[0] = s.m->refs[0];
    refs[0].level++;
    liar.next = refs[0].last + 1 + liar.tail.records;
    assert_int_equal(lookup_step(&liar, s.cache, refs[0].first, &d, &needed), LOOKUP_NEED);
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_found_and_bounded),
        cmocka_unit_test(a_small_cache_makes_progress),
        cmocka_unit_test(a_wrong_object_is_refused),
        cmocka_unit_test(one_object_for_two_ranges_is_refused),
    };
    return cmocka_run_group_tests_name("lookup", tests, NULL, NULL);
}
