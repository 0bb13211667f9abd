// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A reader that held a manifest of one history and meets another (a store that was put back, or two
 * of one name), what stands in the way of a walk that began at a hint, and walks that are cut
 * short. */
#include "world.h"

#include "codec/small.h"

typedef struct scene {
    world old, new; /* the same genesis; each has a history of its own */
    actor p, q;     /* p of the old one, q of the new one */
    chain *reader;
} scene;

/* The reader holds the version of the old history in which `steps` are published. */
static void set_up(scene *s, uint32_t steps)
{
    world_open(&s->old, &(world_options){.block_size = 4, .tail_cap = 65536});
    world_open(&s->new, &(world_options){.block_size = 4, .tail_cap = 65536});
    s->new.seed = 1000;
    actor_start(&s->p, &s->old, "p");
    actor_start(&s->q, &s->new, "q");
    actor_open(&s->p);
    for (uint32_t k = 0; k < steps; k++)
        actor_publish(&s->p, 1);
    s->reader = world_chain(&s->old);
    assert_int_equal(chain_held(s->reader)->next, steps);
}

static void tear_down(scene *s)
{
    chain_free(s->reader);
    actor_stop(&s->p);
    actor_stop(&s->q);
    world_close(&s->old);
    world_close(&s->new);
}

static void open_until(scene *s, uint64_t version)
{
    while (!world_has_manifest(&s->new, version))
        actor_open(&s->q);
}

/* At the same version, and at the next one. */
static void another_manifest_at_this_version(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 3);
    const uint64_t version = chain_held(s.reader)->version;
    open_until(&s, version);
    assert_int_equal(world_walk(&s.new, s.reader, CHAIN_REOPEN), BW_STORE_UNSAFE);
    assert_int_equal(chain_held(s.reader)->version, version);
    open_until(&s, version + 1);
    assert_int_equal(world_walk(&s.new, s.reader, CHAIN_REOPEN), BW_CURSOR_REWRITTEN);
    assert_int_equal(chain_held(s.reader)->version, version);
    tear_down(&s);
}

/* Further on by versions, and behind by steps: what was read there is nowhere in it. */
static void a_history_that_is_shorter(void **state)
{
    (void)state;
    scene s;
    bw_error error;
    set_up(&s, 3);
    open_until(&s, chain_held(s.reader)->version + 5);
    assert_int_equal(world_walk(&s.new, s.reader, CHAIN_REOPEN), BW_CURSOR_REWRITTEN);
    assert_int_equal(chain_result(s.reader, &error), BW_CURSOR_REWRITTEN);
    assert_int_equal(error.step, 3);
    tear_down(&s);
}

static void set_hint(world *w, uint64_t version)
{
    buf out;
    buf_init(&out, object_bytes_max(OBJECT_HINT));
    assert_int_equal(hint_encode(w->genesis.uuid, version, &out), BW_OK);
    assert_int_equal(mem_space_set(w->space, "hint", out.data, out.size), BW_OK);
    buf_free(&out);
}

/* The hint leads to a good manifest, behind which a damaged one stands in the way. Who opens for
 * the first time takes the good one; who held another before does not, while nothing says that it
 * continues that one. */
static void damage_behind_a_hint(void **state)
{
    (void)state;
    scene s;
    object_key key;
    set_up(&s, 3);
    const uint64_t version = chain_held(s.reader)->version;
    for (uint32_t k = 0; k < 6; k++)
        actor_publish(&s.p, 1);
    key_manifest(&key, version + 6);
    assert_int_equal(mem_space_set(s.old.space, key.text, "damaged", 7), BW_OK);
    set_hint(&s.old, version + 5);
    chain *fresh;
    assert_int_equal(chain_new(5, NULL, &fresh), BW_OK);
    assert_int_equal(world_walk(&s.old, fresh, CHAIN_OPEN), BW_CHAIN_BLOCKED);
    assert_int_equal(chain_held(fresh)->version, version + 5);
    assert_int_equal(world_walk(&s.old, s.reader, CHAIN_OPEN), BW_CHAIN_BLOCKED);
    assert_int_equal(chain_held(s.reader)->version, version);
    chain_free(fresh);
    tear_down(&s);
}

/* What a hint leads to is damaged by the way: that says nothing, and costs a search. */
static void damage_at_a_hint(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 3);
    set_hint(&s.old, chain_held(s.reader)->version - 1);
    world_fault(&s.old, FAULT_FLIP, STORE_GET, "manifest/", 0, 1, STORE_PENDING);
    const uint64_t heads = s.old.asked[STORE_HEAD];
    chain_free(world_chain(&s.old));
    assert_true(s.old.asked[STORE_HEAD] > heads + 32); /* markers and manifests */
    tear_down(&s);
}

/* Found by the search, and gone when it was to be read: the search begins again. */
static void gone_behind_the_search(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 3);
    const uint64_t reopens = chain_counted(s.reader)->reopens;
    world_fault(&s.old, FAULT_SAY, STORE_GET, "manifest/", 0, 1, STORE_NOT_FOUND);
    assert_int_equal(world_walk(&s.old, s.reader, CHAIN_REOPEN), BW_OK);
    assert_int_equal(chain_counted(s.reader)->reopens, reopens + 2);
    assert_true(chain_is_newest(s.reader));
    tear_down(&s);
}

/* A poll takes so many versions, proves the last of them, and leaves the rest to the next poll. A
 * store that hides them from `head` keeps it from galloping. */
static void a_poll_ends_somewhere(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 1);
    const uint64_t version = chain_held(s.reader)->version;
    for (uint32_t k = 0; k < 100; k++)
        actor_publish(&s.p, 1);
    world_fault(&s.old, FAULT_SAY, STORE_HEAD, "manifest/", 0, UINT32_MAX, STORE_NOT_FOUND);
    assert_int_equal(world_walk(&s.old, s.reader, CHAIN_POLL), BW_OK);
    assert_int_equal(chain_held(s.reader)->version, version + 64);
    assert_false(chain_is_newest(s.reader));
    assert_int_equal(world_walk(&s.old, s.reader, CHAIN_POLL), BW_OK);
    assert_int_equal(chain_held(s.reader)->version, version + 100);
    tear_down(&s);
}

/* Without a genesis there is neither its hash. One that is answered while the hint is on its way
 * ends the walk with the hint. */
static void nothing_is_there(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 1);
    chain *c;
    assert_int_equal(chain_new(5, NULL, &c), BW_OK);
    assert_null(chain_genesis_hash(c));
    assert_non_null(chain_genesis_hash(s.reader));
    assert_true(mem_space_remove(s.old.space, "genesis"));
    world_fault(&s.old, FAULT_KEEP, STORE_GET, "hint", 0, 1, STORE_PENDING);
    world_fault(&s.old, FAULT_KEEP, STORE_GET, "genesis", 0, 1, STORE_PENDING);
    chain_start(c, CHAIN_OPEN, s.old.now_ns);
    assert_false(world_run(&s.old, &chain_machine, c));
    assert_int_equal(s.old.kept_count, 2);
    assert_false(world_answer(&s.old, &chain_machine, c, "genesis", true, STORE_PENDING));
    assert_true(chain_machine.running(c));
    assert_true(world_answer(&s.old, &chain_machine, c, "hint", false, STORE_NOT_FOUND));
    assert_int_equal(chain_result(c, NULL), BW_NO_NAMESPACE);
    chain_free(c);
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_manifest_at_this_version),
        cmocka_unit_test(a_history_that_is_shorter),
        cmocka_unit_test(damage_behind_a_hint),
        cmocka_unit_test(damage_at_a_hint),
        cmocka_unit_test(gone_behind_the_search),
        cmocka_unit_test(a_poll_ends_somewhere),
        cmocka_unit_test(nothing_is_there),
    };
    return cmocka_run_group_tests_name("rewritten", tests, NULL, NULL);
}
