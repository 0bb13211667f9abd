// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "stand.h"

#include <string.h>

#define STEPS 12u

/* A few steps in segments and a few in the tail, and a cache that knows nothing yet. */
typedef struct scene {
    stand s;
    reader r;
    segments cache;
} scene;

static void scene_open(scene *sc)
{
    stand *s = &sc->s;
    stand_open(s, 1, "", false);
    bw_producer *p = stand_producer(s, s->space, "p", "naive");
    for (uint64_t i = 1; i <= STEPS; i++) {
        stand_put(s, p, "item", i);
        stand_expect(s, producer_flush(p, true, 20 * NS_PER_S, &s->error), BW_OK);
    }
    stand_expect(s, producer_finish(p, 20 * NS_PER_S, &s->error), BW_OK);
    stand_expect(s, producer_close(p, 0, &s->error), BW_OK);
    stand_expect(s, reader_open(s->space, TIME_NEVER, NULL, &sc->r, &s->error), BW_OK);
    assert_int_equal(segments_init(&sc->cache, 1u << 20), BW_OK);
    const manifest *m = chain_held(sc->r.chain);
    assert_true(m->ref_count > 0 && m->tail.records > 0 && m->next == STEPS);
}

static void scene_close(scene *sc)
{
    segments_destroy(&sc->cache);
    reader_close(&sc->r);
    stand_close(&sc->s);
}

static bw_status get(scene *sc, const manifest *m, uint64_t step, step_entry *out)
{
    return segments_get(&sc->cache, drive_store(sc->r.drive), sc->s.space->genesis, m, step, out,
                        &sc->s.error);
}

static void test_needed_once(void **state)
{
    (void)state;
    scene sc;
    scene_open(&sc);
    const manifest *m = chain_held(sc.r.chain);
    step_entry entry;
    segment_ref needed;
    assert_int_equal(segments_find(&sc.cache, m, STEPS - 1, &entry, &needed), LOOKUP_FOUND);
    assert_int_equal(entry.step, STEPS - 1); /* of the tail: nothing was to be read */
    assert_int_equal(segments_find(&sc.cache, m, 0, &entry, &needed), LOOKUP_NEED);
    assert_int_equal(needed.first, 0);
    stand_expect(&sc.s,
                 segments_load(&sc.cache, drive_store(sc.r.drive), sc.s.space->genesis, &needed,
                               &sc.s.error),
                 BW_OK);
    assert_int_equal(segments_find(&sc.cache, m, 0, &entry, &needed), LOOKUP_FOUND);
    assert_int_equal(entry.descriptor.record.end, 1);
    scene_close(&sc);
}

static void test_each_step(void **state)
{
    (void)state;
    scene sc;
    scene_open(&sc);
    const manifest *m = chain_held(sc.r.chain);
    const uint64_t before = mem_space_applied(sc.s.contents, STORE_GET);
    for (int round = 0; round < 2; round++)
        for (uint64_t step = 0; step < STEPS; step++) {
            step_entry entry;
            stand_expect(&sc.s, get(&sc, m, step, &entry), BW_OK);
            assert_int_equal(entry.descriptor.record.seq, step + 1);
            assert_int_equal(entry.descriptor.record.end, step + 1);
            assert_true(view_equal(entry.descriptor.id, view_text("p")));
        }
    /* Each object was read once, whatever number of steps it holds. */
    assert_in_range(mem_space_applied(sc.s.contents, STORE_GET) - before, 1, STEPS - 1);
    scene_close(&sc);
}

static void test_outside(void **state)
{
    (void)state;
    scene sc;
    scene_open(&sc);
    const manifest *m = chain_held(sc.r.chain);
    step_entry entry;
    stand_expect(&sc.s, get(&sc, m, STEPS, &entry), BW_BEYOND_END);
    assert_int_equal(bw_error_step(&sc.s.error), STEPS);
    manifest cut = *m; /* the same after a trim and its sweep */
    cut.trim = cut.swept = 3;
    stand_expect(&sc.s, get(&sc, &cut, cut.trim - 1, &entry), BW_TRIMMED);
    assert_int_equal(bw_error_step(&sc.s.error), cut.trim - 1);
    stand_expect(&sc.s, get(&sc, &cut, cut.trim, &entry), BW_OK);
    scene_close(&sc);
}

static void test_lost_or_damaged(void **state)
{
    (void)state;
    scene sc;
    scene_open(&sc);
    const manifest *m = chain_held(sc.r.chain);
    step_entry entry;
    segment_ref needed;
    object_key key;
    const uint8_t *bytes = NULL;
    uint8_t copy[65536];
    size_t size = 0;
    assert_int_equal(segments_find(&sc.cache, m, 0, &entry, &needed), LOOKUP_NEED);
    segment_ref_key(&needed, &key);
    assert_true(mem_space_get(sc.s.contents, key.text, &bytes, &size));
    assert_true(size > 40 && size <= sizeof copy);
    memcpy(copy, bytes, size);
    copy[size / 2] ^= 1u;
    assert_int_equal(mem_space_set(sc.s.contents, key.text, copy, size), BW_OK);
    stand_expect(&sc.s, get(&sc, m, 0, &entry), BW_CORRUPT);
    assert_string_equal(bw_error_key(&sc.s.error), key.text);
    assert_true(mem_space_remove(sc.s.contents, key.text));
    stand_expect(&sc.s, get(&sc, m, 0, &entry), BW_NOT_FOUND);
    assert_string_equal(bw_error_key(&sc.s.error), key.text);
    copy[size / 2] ^= 1u; /* nothing wrong was kept */
    assert_int_equal(mem_space_set(sc.s.contents, key.text, copy, size), BW_OK);
    stand_expect(&sc.s, get(&sc, m, 0, &entry), BW_OK);
    scene_close(&sc);
}

/* An entry stands on its own when what it was copied from is gone. */
static void test_own_memory(void **state)
{
    (void)state;
    char id[] = "producer";
    uint8_t side[] = {1, 2, 3};
    const descriptor from = {
        .id = view_text(id),
        .record = {.seq = 9},
        .shape = {.form = FORM_INLINE, .side = view_of(side, sizeof side)},
    };
    step_entry entry;
    step_entry_set(&entry, 4, &from);
    memset(id, 'x', strlen(id));
    memset(side, 0, sizeof side);
    assert_int_equal(entry.step, 4);
    assert_int_equal(entry.descriptor.record.seq, 9);
    assert_true(view_equal(entry.descriptor.id, view_text("producer")));
    assert_int_equal(entry.descriptor.shape.side.size, 3);
    assert_memory_equal(entry.descriptor.shape.side.data, "\1\2\3", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_needed_once), cmocka_unit_test(test_each_step),
        cmocka_unit_test(test_outside),     cmocka_unit_test(test_lost_or_damaged),
        cmocka_unit_test(test_own_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
