// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A restart by a cursor (docs/design/restart.md): round trips from nothing to the request for the
 * slice, in every case of the version that the cursor names; and that nothing is believed of it. */
#include "world.h"

#include "base/alloc.h"
#include "protocol/handout.h"
#include <string.h>

#define CACHE_BYTES ((size_t)4 << 20)

typedef struct scene {
    world w;
    actor p;
    chain *chain; /* of the restart */
    segment_cache *cache;
} scene;

static void set_up(scene *s, uint32_t block_size, uint32_t tail_cap)
{
    memset(s, 0, sizeof *s);
    world_open(&s->w, &(world_options){.block_size = block_size, .tail_cap = tail_cap});
    actor_start(&s->p, &s->w, "p");
    actor_open(&s->p);
}

static void forget(scene *s)
{
    chain_free(s->chain);
    segment_cache_free(s->cache);
    s->chain = NULL;
    s->cache = NULL;
}

static void tear_down(scene *s)
{
    forget(s);
    actor_stop(&s->p);
    world_close(&s->w);
}

/* Commits of `each` steps, until there are so many. */
static void fill(scene *s, uint64_t steps, uint32_t each)
{
    while (s->p.seq < steps)
        actor_publish(&s->p, each);
}

static manifest *version_of(scene *s, uint64_t version)
{
    const uint8_t *bytes;
    size_t size;
    object_key key;
    manifest *m = NULL;
    key_manifest(&key, version);
    assert_true(mem_space_get(s->w.space, key.text, &bytes, &size));
    assert_int_equal(
        manifest_decode(mem_dup(bytes, size), size, genesis_slices(&s->w.genesis), &m, NULL),
        BW_OK);
    return m;
}

/* The version that was newest when `step` was found: its tail holds it. Looked for from `version`
 * on.
 */
static uint64_t found_in(scene *s, uint64_t step, uint64_t version)
{
    for (;; version++) {
        manifest *m = version_of(s, version);
        const bool here = manifest_tail_first(m) <= step && step < m->next;
        manifest_unref(m);
        if (here)
            return version;
    }
}

/* Asks for what leads to `step`, one after the other: how many. */
static uint32_t look_up(scene *s, uint64_t step)
{
    for (uint32_t count = 0;; count++) {
        descriptor found;
        segment_ref needed;
        object_key key;
        const uint8_t *bytes;
        size_t size;
        const manifest *m = chain_held(s->chain);
        const lookup_verdict verdict = lookup_step(m, s->cache, step, &found, &needed);
        if (verdict == LOOKUP_FOUND)
            return count;
        assert_int_equal(verdict, LOOKUP_NEED);
        segment_ref_key(&needed, &key);
        assert_true(mem_space_get(s->w.space, key.text, &bytes, &size));
        assert_int_equal(segment_cache_add(s->cache, &needed, s->w.genesis.uuid,
                                           genesis_slices(&s->w.genesis), mem_dup(bytes, size),
                                           size, NULL),
                         BW_OK);
    }
}

/* Round trips to the descriptors of the cursor's step and the one before it, from nothing. */
static uint32_t restart_by(scene *s, const cursor *at, bool backwards)
{
    const uint64_t step = at->step;
    resume_point point;
    bw_error error;
    forget(s);
    assert_int_equal(chain_new(++s->w.seed, NULL, &s->chain), BW_OK);
    assert_int_equal(segment_cache_new(CACHE_BYTES, &s->cache), BW_OK);
    handout_resume_point(at, &point);
    chain_resume(s->chain, &point, s->cache);
    chain_start(s->chain, CHAIN_OPEN, s->w.now_ns);
    const uint32_t rounds = world_rounds(&s->w, &chain_machine, s->chain, backwards);
    assert_int_equal(chain_result(s->chain, &error), BW_OK);
    return rounds + look_up(s, step > 0 ? step - 1 : 0) + look_up(s, step);
}

static uint32_t restart(scene *s, uint64_t step, uint64_t version, bool backwards)
{
    return restart_by(s, &(cursor){.step = step, .version = version, .has_nonce = true}, backwards);
}

/* A rank's that has looked the step up in `m`. */
static cursor saved_at(scene *s, const manifest *m, segment_cache *cache, uint64_t step)
{
    cursor c = {.step = step, .version = m->version, .has_nonce = true};
    chain *held = s->chain;
    segment_cache *own = s->cache;
    assert_int_equal(chain_new(++s->w.seed, NULL, &s->chain), BW_OK);
    chain_adopt(s->chain, (manifest *)(uintptr_t)m);
    s->cache = cache;
    (void)look_up(s, step);
    handout_way(m, cache, &c);
    chain_free(s->chain);
    s->chain = held;
    s->cache = own;
    return c;
}

static bool resumed(const scene *s, uint64_t version)
{
    const bool so = chain_counted(s->chain)->resumed > 0;
    if (so) {
        assert_int_equal(chain_held(s->chain)->version, version);
        assert_false(chain_is_newest(s->chain));
    } else {
        assert_true(chain_is_newest(s->chain));
    }
    return so;
}

static uint64_t newest_of(scene *s)
{
    chain *c = world_chain(&s->w);
    const uint64_t version = chain_held(c)->version;
    chain_free(c);
    return version;
}

/* Two to the descriptor, so three with the slice, wherever the step is by now: the manifest in
 * whose tail it was found is there. With genesis and hint, then with its marker. */
static void a_step_in_the_versions_tail_takes_three(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 1024, 8192);
    fill(&s, 100000, 50);
    uint64_t version = 2;
    for (uint64_t step = 1; step < s.p.seq; step += 211) {
        version = found_in(&s, step, version);
        assert_int_equal(restart(&s, step, version, step % 2 == 0) + 1, 3);
        assert_true(resumed(&s, version));
    }
    tear_down(&s);
}

/* A segment that the version refers to is read beside its marker; of indexes only the first, so one
 * more for each level. */
static void below_an_index_takes_one_more_a_level(void **state)
{
    (void)state;
    scene s;
    uint32_t seen[8] = {0};
    set_up(&s, 1024, 256);
    fill(&s, 1200, 1);
    const uint64_t version = newest_of(&s);
    for (uint64_t step = 1; step < s.p.seq; step += 1) {
        const uint32_t rounds = restart(&s, step, version, step % 2 == 0) + 1;
        assert_in_range(rounds, 3, 7);
        seen[rounds]++;
        /* What the open read beside the marker is all of it that the step and the one before need,
         * where their references are the version's own. */
        const manifest *m = chain_held(s.chain);
        for (uint32_t i = 0; i < m->ref_count; i++)
            if (m->refs[i].first < step && step <= m->refs[i].last && m->refs[i].level == 0)
                assert_int_equal(rounds, 3);
        assert_true(resumed(&s, version));
    }
    assert_true(seen[3] > 0 && seen[4] > 0 && seen[5] > 0);
    tear_down(&s);
}

static bool is_leafs_first(scene *s, uint64_t step)
{
    descriptor found;
    const segment *leaf;
    segment_ref path[SEGMENT_LEVELS_MAX];
    uint32_t depth;
    const manifest *m = chain_held(s->chain);
    assert_int_equal(lookup_step(m, s->cache, step, &found, path), LOOKUP_FOUND);
    return step < manifest_tail_first(m) &&
           lookup_path(m, s->cache, step, path, &depth, &leaf) == LOOKUP_FOUND &&
           leaf->first == step;
}

/* What the cursor names is read at once, however deep. The step before may be the last of another
 * segment: that one is not named. */
static void by_its_way_it_takes_three(void **state)
{
    (void)state;
    scene s;
    uint32_t ways[WAY_MAX + 1] = {0}, longer = 0;
    segment_cache *cache;
    set_up(&s, 1024, 256);
    fill(&s, 1700, 1);
    manifest *m = version_of(&s, newest_of(&s));
    assert_int_equal(segment_cache_new(CACHE_BYTES, &cache), BW_OK);
    for (uint64_t step = 1; step < s.p.seq; step++) {
        const cursor at = saved_at(&s, m, cache, step);
        const uint32_t rounds = restart_by(&s, &at, step % 2 == 0) + 1;
        ways[at.way_count]++;
        assert_true(resumed(&s, m->version));
        if (is_leafs_first(&s, step))
            assert_in_range(rounds, 3, 6);
        else
            assert_int_equal(rounds, 3);
        longer += rounds > 3;
    }
    assert_true(ways[0] > 0 && ways[1] > 0 && ways[2] > 0);
    assert_in_range(longer, 1, s.p.seq / 2); /* segments of two steps here, of a hundred else */
    segment_cache_free(cache);
    manifest_unref(m);
    tear_down(&s);
}

/* Nothing is said that is not known, of steps that are not there, or in the tail. */
static void a_way_is_said_of_what_is_known(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 1024, 256);
    fill(&s, 200, 1);
    manifest *m = version_of(&s, newest_of(&s));
    assert_int_equal(segment_cache_new(CACHE_BYTES, &s.cache), BW_OK);
    assert_int_equal(m->refs[0].level, 1);
    cursor c = {.step = 2, .version = m->version};
    handout_way(m, s.cache, &c);
    assert_int_equal(c.way_count, 0);
    c = saved_at(&s, m, s.cache, 2);
    assert_int_equal(c.way_count, 1);
    assert_true(c.way[0].level == 0 && c.way[0].first <= 2 && c.way[0].last >= 2);
    /* The index is known, and by it the name of a segment that was not read. */
    c.step = m->refs[0].last;
    handout_way(m, s.cache, &c);
    assert_true(c.way_count == 1 && c.way[0].last == m->refs[0].last);
    skip_range skip = {3, m->next};
    cursor skips = {.step = 3, .version = m->version, .skip_count = 1, .skips = &skip};
    handout_way(m, s.cache, &skips);
    assert_int_equal(skips.way_count, 0);
    skips.item = 1;
    handout_way(m, s.cache, &skips);
    assert_int_equal(skips.way_count, 1);
    c.step = m->next;
    handout_way(m, s.cache, &c);
    assert_int_equal(c.way_count, 0);
    m->swept = 3;
    c.step = 2;
    handout_way(m, s.cache, &c);
    assert_int_equal(c.way_count, 0);
    manifest_unref(m);
    tear_down(&s);
}

/* A segment that is no part of the chain, under the name that its bytes give it, is read by who is
 * told it and found by nobody. Ways of other steps, and names that nothing has, do no harm. */
static void a_way_is_not_believed(void **state)
{
    (void)state;
    scene s;
    descriptor right, found;
    segment_ref needed;
    object_key key;
    segment_cache *cache;
    buf forged, tail;
    set_up(&s, 1024, 256);
    fill(&s, 200, 1);
    manifest *m = version_of(&s, newest_of(&s));
    assert_int_equal(segment_cache_new(CACHE_BYTES, &cache), BW_OK);
    cursor at = saved_at(&s, m, cache, 7);
    assert_int_equal(lookup_step(m, cache, 7, &right, &needed), LOOKUP_FOUND);
    buf_init(&forged, SIZE_MAX);
    buf_init(&tail, SIZE_MAX);
    /* As many records as the chain's own has, of other steps. */
    const uint32_t records = (uint32_t)(at.way[0].last - at.way[0].first + 1);
    const segment *other = segment_cache_find(cache, &at.way[0].hash);
    assert_non_null(other);
    block wrong = other->block;
    assert_int_equal(block_encode(&wrong, 0, NULL, 0, &tail), BW_OK);
    tail.data[tail.size - 1 - 39] ^= 1; /* the last one's nonce */
    assert_int_equal(segment_encode_block(s.w.genesis.uuid, at.way[0].first, records,
                                          view_of(tail.data, tail.size), &(hash128){{0}}, &forged,
                                          &at.way[0]),
                     BW_OK);
    segment_ref_key(&at.way[0], &key);
    assert_int_equal(mem_space_set(s.w.space, key.text, forged.data, forged.size), BW_OK);
    for (uint32_t lie = 0; lie < 3; lie++) {
        at.step = 7;
        assert_in_range(restart_by(&s, &at, false), 3, 4);
        assert_int_equal(chain_counted(s.chain)->resume_ways, lie < 2);
        assert_int_equal(lookup_step(m, s.cache, 7, &found, &needed), LOOKUP_FOUND);
        assert_int_equal(found.record.nonce, right.record.nonce);
        const cursor of_other = saved_at(&s, m, cache, m->refs[0].last);
        at.way[0] = of_other.way[0];
        at.way[0].bytes += lie; /* then none of that size */
        at.way[0].hash.bytes[0] ^= (uint8_t)lie;
    }
    buf_free(&tail);
    buf_free(&forged);
    segment_cache_free(cache);
    manifest_unref(m);
    tear_down(&s);
}

/* The step was not there yet: it came with one of the next versions, or is in the tail of a later
 * one. Which is proved as any other. */
static void a_step_that_came_soon_after_takes_three(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 1024, 8192);
    fill(&s, 60, 1);
    const uint64_t version = found_in(&s, 40, 2);
    for (uint64_t before = 1; before <= 8; before++) {
        const uint64_t guess = before <= 2 ? before : 8;
        assert_int_equal(restart(&s, 40, version - before, before % 2 == 0) + 1, 3);
        assert_true(resumed(&s, version - before + guess));
        assert_int_equal(chain_counted(s.chain)->resume_later, 1);
    }
    (void)restart(&s, 40, version - 9, false);
    assert_int_equal(chain_counted(s.chain)->resume_elsewhere, 1);
    tear_down(&s);
}

/* What is of no use costs nothing: as many as without it; and less where the hint leads to a
 * version that has the step, since the newest is not looked for. */
static void a_version_of_no_use_costs_nothing(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 4, 256);
    fill(&s, 60, 1);
    const uint64_t newest = newest_of(&s);
    (void)world_sweep(&s.w);
    const uint64_t none[] = {1, 3, newest + 1, newest + 500, NUMBER_MAX, UINT64_MAX};
    for (uint64_t hinted = 0; hinted < 3; hinted++) {
        if (hinted > 0)
            world_hint(&s.w, newest - hinted);
        const uint32_t usual = restart(&s, 58, 0, false);
        assert_false(resumed(&s, 0));
        for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
            const uint32_t rounds = restart(&s, 58, none[i], i % 2 == 0);
            const bool is_number = none[i] <= NUMBER_MAX;
            assert_int_equal(chain_counted(s.chain)->resume_absent, is_number);
            if (hinted == 1 && is_number) {
                assert_true(resumed(&s, newest - 1) && rounds == 3);
                assert_int_equal(chain_counted(s.chain)->resume_hinted, 1);
            } else {
                assert_int_equal(rounds, usual);
                assert_false(resumed(&s, 0));
            }
        }
    }
    /* One of which nothing can be read. */
    object_key key;
    const uint64_t found = found_in(&s, 58, newest - 3);
    assert_int_equal(found, newest - 1);
    assert_int_equal(restart(&s, 58, found, false), 2);
    key_manifest(&key, found);
    assert_int_equal(mem_space_set(s.w.space, key.text, "x", 1), BW_OK);
    assert_int_equal(restart(&s, 58, found, false), 2);
    assert_true(resumed(&s, newest));
    tear_down(&s);
}

/* A step that was not there yet: the version leads on better than a hint that is older, or missing.
 */
static void ahead_of_the_hint_it_is_the_hint(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 1024, 256);
    fill(&s, 60, 1);
    const uint64_t newest = newest_of(&s);
    resume_point point;
    handout_resume_point(&(cursor){.version = newest, .step = 60}, &point);
    for (uint32_t hinted = 0; hinted < 2; hinted++) {
        if (hinted > 0)
            world_hint(&s.w, newest - 20);
        forget(&s);
        assert_int_equal(chain_new(++s.w.seed, NULL, &s.chain), BW_OK);
        assert_int_equal(segment_cache_new(CACHE_BYTES, &s.cache), BW_OK);
        chain_resume(s.chain, &point, s.cache);
        chain_start(s.chain, CHAIN_OPEN, s.w.now_ns);
        assert_int_equal(world_rounds(&s.w, &chain_machine, s.chain, false), 3);
        assert_int_equal(chain_counted(s.chain)->resume_ahead, 1);
        assert_true(chain_is_newest(s.chain));
        assert_int_equal(chain_held(s.chain)->version, newest);
    }
    tear_down(&s);
}

/* What stands under a name that was given up is not believed, whatever it says. */
static void a_ghost_is_not_believed(void **state)
{
    (void)state;
    scene s;
    const uint8_t *bytes;
    size_t size;
    object_key key;
    set_up(&s, 4, 256);
    fill(&s, 20, 1);
    const uint64_t version = found_in(&s, 10, 2);
    key_manifest(&key, version);
    assert_true(mem_space_get(s.w.space, key.text, &bytes, &size));
    uint8_t *copy = mem_dup(bytes, size);
    fill(&s, 60, 1);
    (void)world_sweep(&s.w);
    assert_false(world_has_manifest(&s.w, version));
    assert_int_equal(mem_space_set(s.w.space, key.text, copy, size), BW_OK);
    mem_free(copy);
    (void)restart(&s, 10, version, false);
    assert_int_equal(chain_counted(s.chain)->resume_retired, 1);
    assert_false(resumed(&s, 0));
    assert_int_equal(chain_held(s.chain)->version, newest_of(&s));
    tear_down(&s);
}

/* The segments beside the marker are guesses as well: gone, or damaged, they are read again by who
 * needs them. */
static void a_segment_that_is_no_use_is_read_again(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 1024, 256);
    fill(&s, 60, 1);
    const uint64_t version = newest_of(&s);
    manifest *m = version_of(&s, version);
    assert_true(m->ref_count > 1);
    const uint64_t step = m->refs[m->ref_count - 1].first + 1;
    assert_int_equal(m->refs[m->ref_count - 1].level, 0);
    manifest_unref(m);
    assert_int_equal(restart(&s, step, version, false), 2);
    const store_outcome outcomes[] = {STORE_NOT_FOUND, STORE_DENIED, STORE_RETRY};
    for (size_t i = 0; i < 3; i++) {
        const cursor at = {.step = step, .version = version};
        resume_point point;
        forget(&s);
        assert_int_equal(chain_new(++s.w.seed, NULL, &s.chain), BW_OK);
        assert_int_equal(segment_cache_new(CACHE_BYTES, &s.cache), BW_OK);
        handout_resume_point(&at, &point);
        chain_resume(s.chain, &point, s.cache);
        world_fault(&s.w, FAULT_SAY, STORE_GET, "segment/", 0, 1, outcomes[i]);
        assert_int_equal(world_walk(&s.w, s.chain, CHAIN_OPEN), BW_OK);
        assert_true(resumed(&s, version));
        assert_int_equal(look_up(&s, step), 1);
    }
    tear_down(&s);
}

/* All that the version describes was swept since: the newest is held all the same, as if the open
 * had found it. */
static void from_long_ago_the_newest_is_found(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 1024, 256);
    fill(&s, 20, 1);
    const uint64_t version = found_in(&s, 10, 2);
    fill(&s, 60, 1);
    const cursor of_job = {.dp = s.w.genesis.dp};
    actor_commit(&s.p, &(intent){.kind = INTENT_LAUNCH,
                                 .launch = {.name = view_text("g"),
                                            .launch = view_text("one"),
                                            .start = LAUNCH_LATEST,
                                            .cursor = &of_job}});
    const swept_producer mine = {view_text("p"), 50, 500};
    actor_commit(
        &s.p,
        &(intent){
            .kind = INTENT_SWEPT,
            .swept = {.step = 50, .bytes = 50 * 316, .producers = &mine, .producer_count = 1}});
    assert_int_equal(restart(&s, 10, version, false), 2);
    assert_true(resumed(&s, version));
    assert_int_equal(world_walk(&s.w, s.chain, CHAIN_NEWEST), BW_OK);
    assert_true(chain_is_newest(s.chain));
    assert_int_equal(chain_held(s.chain)->swept, 50);
    tear_down(&s);
}

/* Which step is looked for: behind a skip, or within a step; and which one before it. */
static void the_place_is_the_cursors(void **state)
{
    (void)state;
    skip_range skip = {20, 30};
    resume_point at;
    handout_resume_point(&(cursor){.step = 7, .version = 9}, &at);
    assert_true(at.version == 9 && at.step == 7 && at.before == 7);
    handout_resume_point(&(cursor){.step = 7, .has_nonce = true}, &at);
    assert_true(at.version == 0 && at.step == 7 && at.before == 6);
    handout_resume_point(&(cursor){.step = 7, .item = 1, .has_nonce = true}, &at);
    assert_true(at.step == 7 && at.before == 7);
    handout_resume_point(&(cursor){.has_nonce = true}, &at);
    assert_true(at.step == 0 && at.before == 0);
    cursor c = {.step = 20, .has_nonce = true, .skip_count = 1, .skips = &skip};
    handout_resume_point(&c, &at);
    assert_true(at.step == 30 && at.before == 19);
    c.step = 30;
    handout_resume_point(&c, &at);
    assert_true(at.step == 30 && at.before == 19);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_in_the_versions_tail_takes_three),
        cmocka_unit_test(below_an_index_takes_one_more_a_level),
        cmocka_unit_test(by_its_way_it_takes_three),
        cmocka_unit_test(a_way_is_said_of_what_is_known),
        cmocka_unit_test(a_way_is_not_believed),
        cmocka_unit_test(a_step_that_came_soon_after_takes_three),
        cmocka_unit_test(a_version_of_no_use_costs_nothing),
        cmocka_unit_test(ahead_of_the_hint_it_is_the_hint),
        cmocka_unit_test(a_ghost_is_not_believed),
        cmocka_unit_test(a_segment_that_is_no_use_is_read_again),
        cmocka_unit_test(from_long_ago_the_newest_is_found),
        cmocka_unit_test(the_place_is_the_cursors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
