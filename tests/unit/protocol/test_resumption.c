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

/* Round trips to the descriptors of `step` and the one before it, from nothing. */
static uint32_t restart(scene *s, uint64_t step, uint64_t version, bool backwards)
{
    const cursor at = {.step = step, .version = version, .has_nonce = true};
    resume_point point;
    bw_error error;
    forget(s);
    assert_int_equal(chain_new(++s->w.seed, NULL, &s->chain), BW_OK);
    assert_int_equal(segment_cache_new(CACHE_BYTES, &s->cache), BW_OK);
    handout_resume_point(&at, &point);
    chain_resume(s->chain, &point, s->cache);
    chain_start(s->chain, CHAIN_OPEN, s->w.now_ns);
    const uint32_t rounds = world_rounds(&s->w, &chain_machine, s->chain, backwards);
    assert_int_equal(chain_result(s->chain, &error), BW_OK);
    return rounds + look_up(s, step > 0 ? step - 1 : 0) + look_up(s, step);
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

/* What is of no use costs nothing: as many as without it. */
static void a_version_of_no_use_costs_nothing(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 4, 256);
    fill(&s, 60, 1);
    const uint64_t newest = newest_of(&s);
    (void)world_sweep(&s.w);
    world_hint(&s.w, newest);
    const uint32_t usual = restart(&s, 59, 0, false);
    const uint64_t none[] = {1, 3, newest + 1, newest + 500, NUMBER_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(restart(&s, 59, none[i], i % 2 == 0), usual);
        assert_false(resumed(&s, 0));
    }
    /* The one before the step came, and one of which nothing can be read. */
    assert_int_equal(restart(&s, 59, found_in(&s, 59, newest - 3) - 1, false), usual);
    assert_int_equal(chain_counted(s.chain)->resume_elsewhere, 1);
    assert_false(resumed(&s, 0));
    object_key key;
    key_manifest(&key, newest - 3);
    assert_int_equal(mem_space_set(s.w.space, key.text, "x", 1), BW_OK);
    assert_int_equal(restart(&s, 59, newest - 3, false), usual);
    assert_false(resumed(&s, 0));
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
    const resume_point point = {.version = newest, .step = 60, .before = 60};
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
        cmocka_unit_test(a_version_of_no_use_costs_nothing),
        cmocka_unit_test(ahead_of_the_hint_it_is_the_hint),
        cmocka_unit_test(a_ghost_is_not_believed),
        cmocka_unit_test(a_segment_that_is_no_use_is_read_again),
        cmocka_unit_test(from_long_ago_the_newest_is_found),
        cmocka_unit_test(the_place_is_the_cursors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
