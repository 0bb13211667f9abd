// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Opening with and without a hint, following, galloping, and what a chain says about stores and
 * histories that are not as they should be. */
#include "world.h"

#include "base/alloc.h"
#include "base/crc32c.h"
#include "codec/small.h"
#include <string.h>

typedef struct scene {
    world w;
    actor p;
} scene;

static void set_up(scene *s, uint64_t version)
{
    world_open(&s->w, &(world_options){.block_size = 4});
    actor_start(&s->p, &s->w, "p");
    actor_open(&s->p);
    while (!world_has_manifest(&s->w, version))
        actor_publish(&s->p, 1);
}

static void tear_down(scene *s)
{
    actor_stop(&s->p);
    world_close(&s->w);
}

static chain *fresh(world *w)
{
    chain *c;
    assert_int_equal(chain_new(++w->seed, NULL, &c), BW_OK);
    return c;
}

static bw_status opens(world *w, bw_error *error)
{
    chain *c = fresh(w);
    chain_start(c, CHAIN_OPEN, w->now_ns);
    assert_true(world_run(w, &chain_machine, c));
    assert_true(chain_result(c, error) == BW_OK ? chain_is_newest(c) : chain_held(c) == NULL);
    const bw_status status = chain_result(c, error);
    chain_free(c);
    return status;
}

static uint64_t newest(world *w)
{
    chain *c = world_chain(w);
    assert_true(chain_is_newest(c));
    const uint64_t version = chain_held(c)->version;
    chain_free(c);
    return version;
}

static void set_hint(world *w, uint64_t version, uint8_t uuid)
{
    uint8_t bytes[UUID_BYTES];
    buf out;
    memset(bytes, uuid, sizeof bytes);
    buf_init(&out, object_bytes_max(OBJECT_HINT));
    assert_int_equal(hint_encode(bytes, version, &out), BW_OK);
    assert_int_equal(mem_space_set(w->space, "hint", out.data, out.size), BW_OK);
    buf_free(&out);
}

static void there_is_nothing_or_not_yet(void **state)
{
    (void)state;
    scene s;
    bw_error error;
    set_up(&s, 3);
    assert_true(mem_space_remove(s.w.space, "manifest/00000000000000000001.manifest"));
    assert_true(mem_space_remove(s.w.space, "manifest/00000000000000000002.manifest"));
    assert_true(mem_space_remove(s.w.space, "manifest/00000000000000000003.manifest"));
    assert_int_equal(opens(&s.w, &error), BW_NOT_READY);
    assert_true(mem_space_remove(s.w.space, "genesis"));
    assert_int_equal(opens(&s.w, &error), BW_NO_NAMESPACE);
    assert_string_equal(error.key, "genesis");
    tear_down(&s);
}

/* A hint that is missing, old, absurd, dead, foreign or damaged costs a search and nothing else. */
static void any_hint_will_do(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 90);
    (void)world_sweep(&s.w);
    assert_true(world_has_marker(&s.w, 20));
    assert_true(mem_space_remove(s.w.space, "hint"));
    assert_int_equal(newest(&s.w), 90);
    const uint64_t hints[] = {0, 1, 40, 86, 89, 90, 91, 5000, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        set_hint(&s.w, hints[i], 7);
        assert_int_equal(newest(&s.w), 90);
    }
    set_hint(&s.w, 90, 8);
    assert_int_equal(newest(&s.w), 90);
    assert_int_equal(mem_space_set(s.w.space, "hint", "x", 1), BW_OK);
    assert_int_equal(newest(&s.w), 90);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "hint", 0, 1, STORE_DENIED);
    assert_int_equal(newest(&s.w), 90);
    /* A good one saves the search. */
    set_hint(&s.w, 88, 7);
    memset(s.w.asked, 0, sizeof s.w.asked);
    assert_int_equal(newest(&s.w), 90);
    assert_true(s.w.asked[STORE_HEAD] < 16);
    tear_down(&s);
}

/* A hint to a ghost: believed only when proved. */
static void a_hint_to_a_ghost(void **state)
{
    (void)state;
    scene s;
    const uint8_t *bytes;
    size_t size;
    set_up(&s, 9);
    object_key key;
    key_manifest(&key, 9);
    assert_true(mem_space_get(s.w.space, key.text, &bytes, &size));
    uint8_t *copy = mem_dup(bytes, size);
    assert_non_null(copy);
    while (!world_has_manifest(&s.w, 40))
        actor_publish(&s.p, 1);
    (void)world_sweep(&s.w);
    assert_false(world_has_manifest(&s.w, 9));
    assert_int_equal(mem_space_set(s.w.space, key.text, copy, size), BW_OK);
    set_hint(&s.w, 9, 7);
    chain *c = world_chain(&s.w);
    assert_int_equal(chain_held(c)->version, 40);
    assert_int_equal(chain_counted(c)->ghosts_met, 1);
    chain_free(c);
    mem_free(copy);
    tear_down(&s);
}

static void reads_that_fail(void **state)
{
    (void)state;
    scene s;
    bw_error error;
    set_up(&s, 6);
    /* Damage that goes away on the second read is no verdict. */
    world_fault(&s.w, FAULT_FLIP, STORE_GET, "genesis", 0, 1, STORE_PENDING);
    world_fault(&s.w, FAULT_FLIP, STORE_GET, "manifest/", 0, 1, STORE_PENDING);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "retired/", 0, 3, STORE_RETRY);
    world_fault(&s.w, FAULT_SAY, STORE_HEAD, "retired/", 0, 70, STORE_RETRY);
    assert_int_equal(newest(&s.w), 6);
    world_fault(&s.w, FAULT_FLIP, STORE_GET, "genesis", 0, 2, STORE_PENDING);
    assert_int_equal(opens(&s.w, &error), BW_CORRUPT);
    assert_string_equal(error.key, "genesis");
    world_fault(&s.w, FAULT_SAY, STORE_GET, "genesis", 0, 2, STORE_FATAL);
    s.w.faults[0].code = BW_TOO_LARGE;
    assert_int_equal(opens(&s.w, &error), BW_CORRUPT);
    world_fault(&s.w, FAULT_FLIP, STORE_GET, "manifest/", 0, 2, STORE_PENDING);
    assert_int_equal(opens(&s.w, &error), BW_CHAIN_BLOCKED);
    assert_string_equal(error.key, "manifest/00000000000000000006.manifest");
    world_fault(&s.w, FAULT_SAY, STORE_GET, "manifest/", 0, 2, STORE_FATAL);
    s.w.faults[0].code = BW_TOO_LARGE;
    assert_int_equal(opens(&s.w, &error), BW_CHAIN_BLOCKED);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "manifest/", 0, 100, STORE_RETRY);
    assert_int_equal(opens(&s.w, &error), BW_IO);
    assert_int_equal(error.attempts, 10);
    world_calm(&s.w);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "genesis", 0, 1, STORE_DENIED);
    assert_int_equal(opens(&s.w, &error), BW_DENIED);
    world_fault(&s.w, FAULT_SAY, STORE_HEAD, "manifest/", 3, 1, STORE_DENIED);
    assert_int_equal(opens(&s.w, &error), BW_DENIED);
    world_calm(&s.w);
    /* A future format is refused by that name. */
    object_key key;
    const uint8_t *bytes;
    size_t size;
    key_manifest(&key, 6);
    assert_true(mem_space_get(s.w.space, key.text, &bytes, &size));
    uint8_t *copy = mem_dup(bytes, size);
    assert_non_null(copy);
    copy[4] = 2;
    store_u32(copy + size - 4, crc32c(0, copy, size - 4));
    assert_int_equal(mem_space_set(s.w.space, key.text, copy, size), BW_OK);
    assert_int_equal(opens(&s.w, &error), BW_FORMAT);
    mem_free(copy);
    tear_down(&s);
}

/* A damaged object in the way: what was read before it is kept, and it is never skipped. */
static void a_blocked_chain_keeps_what_is_proved(void **state)
{
    (void)state;
    scene s;
    bw_error error;
    set_up(&s, 3);
    chain *c = world_chain(&s.w);
    actor_publish(&s.p, 1);
    actor_publish(&s.p, 1);
    assert_int_equal(mem_space_set(s.w.space, "manifest/00000000000000000006.manifest", "x", 1),
                     BW_OK);
    assert_int_equal(world_walk(&s.w, c, CHAIN_NEWEST), BW_CHAIN_BLOCKED);
    assert_int_equal(chain_result(c, &error), BW_CHAIN_BLOCKED);
    assert_string_equal(error.key, "manifest/00000000000000000006.manifest");
    assert_int_equal(chain_held(c)->version, 5);
    assert_false(chain_is_newest(c));
    assert_int_equal(world_walk(&s.w, c, CHAIN_POLL), BW_CHAIN_BLOCKED);
    assert_int_equal(chain_held(c)->version, 5);
    /* Found by the simulator: an assertion failed when a search landed on what is held already. */
    assert_int_equal(world_walk(&s.w, c, CHAIN_REOPEN), BW_CHAIN_BLOCKED);
    assert_int_equal(chain_held(c)->version, 5);
    chain_free(c);
    tear_down(&s);
}

/* Found by a mutant that survived: nothing met a manifest of another namespace without links. */
static void a_manifest_of_another_namespace_is_met(void **state)
{
    (void)state;
    scene s;
    bw_error error;
    set_up(&s, 3);
    const uint8_t *bytes;
    size_t size;
    assert_true(mem_space_get(s.w.space, "manifest/00000000000000000003.manifest", &bytes, &size));
    uint8_t *copy = mem_dup(bytes, size);
    assert_non_null(copy);
    copy[OBJECT_HEAD_BYTES] ^= 1; /* the uuid */
    store_u32(copy + size - 4, crc32c(0, copy, size - 4));
    assert_int_equal(mem_space_set(s.w.space, "manifest/00000000000000000003.manifest", copy, size),
                     BW_OK);
    assert_int_equal(opens(&s.w, &error), BW_CHAIN_BLOCKED);
    assert_string_equal(error.key, "manifest/00000000000000000003.manifest");
    mem_free(copy);
    tear_down(&s);
}

/* A manifest that does not follow by its hash is as foreign as garbage. */
static void a_break_in_the_links_is_met(void **state)
{
    (void)state;
    scene s, t;
    set_up(&s, 3);
    set_up(&t, 2);
    chain *c = world_chain(&s.w);
    const uint8_t *bytes;
    size_t size;
    actor_publish(&t.p, 2);
    actor_publish(&t.p, 1); /* another version 4 of the same identity */
    assert_true(mem_space_get(t.w.space, "manifest/00000000000000000004.manifest", &bytes, &size));
    uint8_t *copy = mem_dup(bytes, size);
    assert_non_null(copy);
    assert_int_equal(mem_space_set(s.w.space, "manifest/00000000000000000004.manifest", copy, size),
                     BW_OK);
    assert_int_equal(world_walk(&s.w, c, CHAIN_POLL), BW_CHAIN_BLOCKED);
    assert_int_equal(chain_held(c)->version, 3);
    chain_free(c);
    mem_free(copy);
    tear_down(&s);
    tear_down(&t);
}

/* A run of manifests costs one marker; a poll that finds nothing costs one read. */
static void polls_are_cheap(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 4);
    chain *c = world_chain(&s.w);
    actor_publish(&s.p, 1);
    actor_publish(&s.p, 1);
    memset(s.w.asked, 0, sizeof s.w.asked);
    s.w.markers_read = 0;
    assert_int_equal(world_walk(&s.w, c, CHAIN_POLL), BW_OK);
    assert_int_equal(chain_held(c)->version, 6);
    assert_true(chain_is_newest(c));
    assert_int_equal(s.w.asked[STORE_GET], 4);
    assert_int_equal(s.w.markers_read, 1);
    s.w.markers_read = 0;
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(world_walk(&s.w, c, CHAIN_POLL), BW_OK);
    assert_int_equal(s.w.asked[STORE_GET], 4 + 32 + 2);
    assert_int_equal(s.w.markers_read, 2);
    chain_free(c);
    tear_down(&s);
}

/* Far behind it gallops, and the reader finds its old sum at its old place, in a segment by now. */
static void a_reader_far_behind_gallops(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 5);
    chain *reader = world_chain(&s.w), *retired = world_chain(&s.w);
    while (!world_has_manifest(&s.w, 700))
        actor_publish(&s.p, 1);
    memset(s.w.asked, 0, sizeof s.w.asked);
    assert_int_equal(world_walk(&s.w, reader, CHAIN_NEWEST), BW_OK);
    assert_int_equal(chain_held(reader)->version, 700);
    assert_true(s.w.asked[STORE_GET] < 40);
    assert_true(chain_counted(reader)->skipped_checks > 1);
    (void)world_sweep(&s.w);
    assert_int_equal(world_walk(&s.w, retired, CHAIN_NEWEST), BW_OK);
    assert_int_equal(chain_held(retired)->version, 700);
    assert_int_equal(chain_counted(retired)->reopens, 1);
    chain_free(reader);
    chain_free(retired);
    tear_down(&s);
}

/* Segments on the way to the old sum: damaged once, damaged, missing. */
static void a_gap_check_meets_bad_segments(void **state)
{
    (void)state;
    scene s;
    bw_error error;
    set_up(&s, 5);
    chain *a = world_chain(&s.w), *b = world_chain(&s.w), *c = world_chain(&s.w);
    chain *d = world_chain(&s.w);
    while (!world_has_manifest(&s.w, 60))
        actor_publish(&s.p, 1);
    (void)world_sweep(&s.w);
    world_fault(&s.w, FAULT_FLIP, STORE_GET, "segment/", 0, 1, STORE_PENDING);
    assert_int_equal(world_walk(&s.w, a, CHAIN_NEWEST), BW_OK);
    world_fault(&s.w, FAULT_FLIP, STORE_GET, "segment/", 0, 2, STORE_PENDING);
    assert_int_equal(world_walk(&s.w, b, CHAIN_NEWEST), BW_CORRUPT);
    /* Found by the simulator: one that seems too large was not looked at again. */
    world_fault(&s.w, FAULT_SAY, STORE_GET, "segment/", 0, 1, STORE_FATAL);
    s.w.faults[0].code = BW_TOO_LARGE;
    assert_int_equal(world_walk(&s.w, d, CHAIN_NEWEST), BW_OK);
    assert_int_equal(s.w.faults[0].times, 0);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "segment/", 0, 1, STORE_NOT_FOUND);
    assert_int_equal(world_walk(&s.w, b, CHAIN_NEWEST), BW_OK);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "segment/", 0, 2, STORE_NOT_FOUND);
    assert_int_equal(world_walk(&s.w, c, CHAIN_NEWEST), BW_CORRUPT);
    assert_int_equal(chain_result(c, &error), BW_CORRUPT);
    assert_int_equal(strncmp(error.key, "segment/", 8), 0);
    assert_int_equal(chain_held(c)->version, 5);
    chain_free(a);
    chain_free(b);
    chain_free(c);
    chain_free(d);
    tear_down(&s);
}

/* Found by the simulator: a poll that had gone far, and was sent on because a sweep took the
 * segment, stopped after one step more and took it for the newest. */
static void a_long_poll_meets_a_swept_segment(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 5);
    chain *c = world_chain(&s.w);
    while (!world_has_manifest(&s.w, 120))
        actor_publish(&s.p, 1);
    /* The probes of its first leap find a little, all others nothing: it steps on and on. */
    world_fault(&s.w, FAULT_SAY, STORE_HEAD, "manifest/", 3, 1000, STORE_NOT_FOUND);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "segment/", 0, 1, STORE_NOT_FOUND);
    assert_int_equal(world_walk(&s.w, c, CHAIN_POLL), BW_OK);
    assert_int_equal(s.w.faults[1].times, 0);
    assert_true(chain_is_newest(c));
    assert_false(world_has_manifest(&s.w, chain_held(c)->version + 1));
    chain_free(c);
    tear_down(&s);
}

/* Another history under the same identity: markers cannot tell, the sum does. */
static void a_rewritten_history_is_refused(void **state)
{
    (void)state;
    scene s, t;
    bw_error error;
    set_up(&s, 5);
    set_up(&t, 3);
    chain *reader = world_chain(&s.w);
    while (!world_has_manifest(&t.w, 40))
        actor_publish(&t.p, 2);
    (void)world_sweep(&t.w);
    assert_int_equal(world_walk(&t.w, reader, CHAIN_NEWEST), BW_CURSOR_REWRITTEN);
    assert_int_equal(chain_result(reader, &error), BW_CURSOR_REWRITTEN);
    assert_int_equal(error.step, chain_held(reader)->next);
    assert_int_equal(chain_held(reader)->version, 5);
    /* One with fewer steps, or versions, than were seen. */
    while (!world_has_manifest(&s.w, 60))
        actor_publish(&s.p, 3);
    assert_int_equal(world_walk(&s.w, reader, CHAIN_NEWEST), BW_OK);
    assert_int_equal(world_walk(&t.w, reader, CHAIN_NEWEST), BW_OK); /* 404, no marker so far on */
    assert_int_equal(world_walk(&t.w, reader, CHAIN_REOPEN), BW_STORE_UNSAFE);
    chain_free(reader);
    tear_down(&s);
    tear_down(&t);
}

static void sweep_all(manifest *draft, void *context)
{
    static const uint8_t empty[20];
    (void)context;
    draft->trim = draft->swept = draft->next;
    draft->swept_bytes = draft->committed_bytes;
    draft->ref_count = 0;
    draft->tail = (block){.bytes = view_of(empty, sizeof empty)};
}

/* What a reader would have to compare was swept: TRIMMED for a reader, nothing to a committer. */
static void an_old_place_that_was_swept(void **state)
{
    (void)state;
    scene s;
    bw_error error;
    set_up(&s, 5);
    chain *reader = world_chain(&s.w), *committer = world_chain(&s.w);
    chain_forgive_gaps(committer);
    while (!world_has_manifest(&s.w, 30))
        actor_publish(&s.p, 1);
    world_plant(&s.w, sweep_all, NULL);
    (void)world_sweep(&s.w);
    assert_int_equal(world_walk(&s.w, reader, CHAIN_NEWEST), BW_TRIMMED);
    assert_int_equal(chain_result(reader, &error), BW_TRIMMED);
    assert_int_equal(error.step, 3);
    assert_int_equal(world_walk(&s.w, committer, CHAIN_NEWEST), BW_OK);
    assert_int_equal(chain_held(committer)->version, 31);
    chain_free(reader);
    chain_free(committer);
    tear_down(&s);
}

/* Nothing above the retired blocks: lost data, unless a block was retired meanwhile. */
static void nothing_above_the_markers(void **state)
{
    (void)state;
    scene s;
    bw_error error;
    set_up(&s, 20);
    (void)world_sweep(&s.w);
    for (uint64_t version = 16; version <= 20; version++) {
        object_key key;
        key_manifest(&key, version);
        (void)mem_space_remove(s.w.space, key.text);
    }
    assert_int_equal(opens(&s.w, &error), BW_CORRUPT);
    tear_down(&s);
    /* A marker that cannot be written by anybody. */
    object_key key;
    set_up(&s, 5);
    for (uint32_t k = 0; k < 64; k++) {
        key_marker(&key, k == 0 ? 0 : (uint64_t)1 << k);
        if (k < 62)
            assert_int_equal(mem_space_set(s.w.space, key.text, "x", 1), BW_OK);
    }
    assert_int_equal(opens(&s.w, &error), BW_CORRUPT);
    tear_down(&s);
}

static bool looks(world *w, chain *c, uint64_t version)
{
    const uint64_t held = chain_held(c)->version;
    chain_look(c, version, w->now_ns);
    assert_true(world_run(w, &chain_machine, c));
    assert_int_equal(chain_result(c, NULL), BW_OK);
    return chain_held(c)->version > held;
}

/* One GET when it is not there, one and a marker when it is; what lies between is not read. */
static void a_look_ahead(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 9);
    chain *c = world_chain(&s.w);
    chain_forgive_gaps(c);
    while (!world_has_manifest(&s.w, 12))
        actor_publish(&s.p, 1);
    uint64_t asked = s.w.asked[STORE_GET];
    assert_false(looks(&s.w, c, 13));
    assert_int_equal(s.w.asked[STORE_GET], asked + 1);
    asked = s.w.asked[STORE_GET];
    assert_true(looks(&s.w, c, 12));
    assert_int_equal(s.w.asked[STORE_GET], asked + 2);
    assert_int_equal(chain_held(c)->version, 12);
    assert_false(chain_is_newest(c));
    assert_int_equal(world_walk(&s.w, c, CHAIN_POLL), BW_OK);
    assert_int_equal(chain_held(c)->version, 12);
    chain_free(c);
    tear_down(&s);
}

/* R8: a name in a retired block is a ghost, whatever it holds; and who is told 404 for ever reads
 * the marker in the end. */
static void a_look_at_retired_names(void **state)
{
    (void)state;
    scene s;
    object_key key;
    const uint8_t *bytes;
    size_t size;
    set_up(&s, 9);
    chain *c = world_chain(&s.w), *d = world_chain(&s.w);
    chain_forgive_gaps(c);
    chain_forgive_gaps(d);
    while (!world_has_manifest(&s.w, 30))
        actor_publish(&s.p, 1);
    key_manifest(&key, 11);
    assert_true(mem_space_get(s.w.space, key.text, &bytes, &size));
    uint8_t *ghost = mem_dup(bytes, size);
    assert_non_null(ghost);
    (void)world_sweep(&s.w);
    assert_false(world_has_manifest(&s.w, 11));
    uint32_t looked = 0;
    while (!looks(&s.w, c, 10))
        assert_true(++looked < 16);
    assert_true(looked > 2);
    assert_int_equal(chain_held(c)->version, 30);
    machine_request put = {.kind = STORE_PUT, .key = key, .bytes = ghost, .size = size};
    machine_reply reply;
    world_execute(&s.w, &put, &reply);
    assert_int_equal(reply.outcome, STORE_OK);
    assert_true(looks(&s.w, d, 11));
    assert_int_equal(chain_held(d)->version, 30);
    mem_free(ghost);
    chain_free(c);
    chain_free(d);
    tear_down(&s);
}

static bw_status look_ends(world *w, chain *c, uint64_t version)
{
    chain_look(c, version, w->now_ns);
    assert_true(world_run(w, &chain_machine, c));
    return chain_result(c, NULL);
}

/* Damaged once it is read again; damaged twice it stands in the way, or is a ghost. Whatever comes,
 * what is held stays held. */
static void a_look_at_what_is_damaged(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 9);
    chain *c = world_chain(&s.w), *d = world_chain(&s.w);
    chain_forgive_gaps(c);
    chain_forgive_gaps(d);
    while (!world_has_manifest(&s.w, 30))
        actor_publish(&s.p, 1);
    world_fault(&s.w, FAULT_FLIP, STORE_GET, "manifest/", 0, 2, STORE_PENDING);
    assert_int_equal(look_ends(&s.w, c, 12), BW_CHAIN_BLOCKED);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "manifest/", 0, 1, STORE_DENIED);
    assert_int_equal(look_ends(&s.w, c, 12), BW_DENIED);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "retired/", 0, 1, STORE_DENIED);
    assert_int_equal(look_ends(&s.w, c, 12), BW_DENIED);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "manifest/", 0, 100, STORE_RETRY);
    assert_int_equal(look_ends(&s.w, c, 12), BW_IO);
    world_calm(&s.w);
    assert_int_equal(chain_held(c)->version, 9);
    world_fault(&s.w, FAULT_FLIP, STORE_GET, "manifest/", 0, 1, STORE_PENDING);
    assert_true(looks(&s.w, c, 12));
    assert_int_equal(chain_held(c)->version, 12);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "manifest/", 0, 3, STORE_RETRY);
    assert_true(looks(&s.w, c, 13));
    assert_int_equal(chain_held(c)->version, 13);
    (void)world_sweep(&s.w);
    assert_int_equal(mem_space_set(s.w.space, "manifest/00000000000000000011.manifest", "x", 1),
                     BW_OK);
    assert_true(looks(&s.w, d, 11));
    assert_int_equal(chain_held(d)->version, 30);
    chain_free(c);
    chain_free(d);
    tear_down(&s);
}

/* The version after what is held has to follow it, looked at or walked to. */
static void a_look_meets_a_break_in_the_links(void **state)
{
    (void)state;
    scene s, t;
    const uint8_t *bytes;
    size_t size;
    set_up(&s, 3);
    set_up(&t, 2);
    chain *c = world_chain(&s.w);
    chain_forgive_gaps(c);
    actor_publish(&t.p, 2);
    actor_publish(&t.p, 1);
    assert_true(mem_space_get(t.w.space, "manifest/00000000000000000004.manifest", &bytes, &size));
    uint8_t *copy = mem_dup(bytes, size);
    assert_non_null(copy);
    assert_int_equal(mem_space_set(s.w.space, "manifest/00000000000000000004.manifest", copy, size),
                     BW_OK);
    assert_int_equal(look_ends(&s.w, c, 4), BW_CHAIN_BLOCKED);
    assert_int_equal(chain_held(c)->version, 3);
    chain_free(c);
    mem_free(copy);
    tear_down(&s);
    tear_down(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_nothing_or_not_yet),
        cmocka_unit_test(any_hint_will_do),
        cmocka_unit_test(a_hint_to_a_ghost),
        cmocka_unit_test(reads_that_fail),
        cmocka_unit_test(a_blocked_chain_keeps_what_is_proved),
        cmocka_unit_test(a_manifest_of_another_namespace_is_met),
        cmocka_unit_test(a_break_in_the_links_is_met),
        cmocka_unit_test(polls_are_cheap),
        cmocka_unit_test(a_look_ahead),
        cmocka_unit_test(a_look_at_retired_names),
        cmocka_unit_test(a_look_at_what_is_damaged),
        cmocka_unit_test(a_look_meets_a_break_in_the_links),
        cmocka_unit_test(a_reader_far_behind_gallops),
        cmocka_unit_test(a_gap_check_meets_bad_segments),
        cmocka_unit_test(a_long_poll_meets_a_swept_segment),
        cmocka_unit_test(a_rewritten_history_is_refused),
        cmocka_unit_test(an_old_place_that_was_swept),
        cmocka_unit_test(nothing_above_the_markers),
    };
    return cmocka_run_group_tests_name("chain", tests, NULL, NULL);
}
