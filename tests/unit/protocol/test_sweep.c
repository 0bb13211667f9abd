// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* R8's other half: whole blocks in ascending order, marker first, never near the newest, ghosts
 * again; restartable, and safe when several run. */
#include "world.h"

#include <string.h>

typedef struct scene {
    world w;
    actor p;
    chain *chain;
    sweep *sweep;
} scene;

static void set_up(scene *s, uint64_t version, const sweep_options *more)
{
    sweep_options options = *more;
    world_open(&s->w, &(world_options){.block_size = 4, .tail_cap = 8192});
    actor_start(&s->p, &s->w, "p");
    actor_open(&s->p);
    while (!world_has_manifest(&s->w, version))
        actor_publish(&s->p, 1);
    options.backoff_min_ns = options.backoff_max_ns = NS_PER_MS;
    options.seed = 3;
    assert_int_equal(chain_new(4, NULL, &s->chain), BW_OK);
    assert_int_equal(sweep_new(s->chain, &options, &s->sweep), BW_OK);
}

static void tear_down(scene *s)
{
    sweep_free(s->sweep);
    chain_free(s->chain);
    actor_stop(&s->p);
    world_close(&s->w);
}

static const sweep_report *pass(scene *s)
{
    sweep_start(s->sweep, s->w.now_ns, s->w.now_ns + NS_PER_S);
    assert_true(world_run(&s->w, &sweep_machine, s->sweep));
    return sweep_reported(s->sweep);
}

static size_t manifests(world *w)
{
    return mem_space_count(w->space, "manifest/");
}

static void a_dry_run_only_says(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 21, &(sweep_options){0});
    const sweep_report *r = pass(&s);
    assert_int_equal(r->status, BW_OK);
    assert_int_equal(r->newest, 21);
    assert_int_equal(r->blocks_retired, 4); /* 21 is in block 5: 4 stays too */
    assert_int_equal(r->manifests_deleted, 15);
    assert_int_equal(r->ghosts_deleted, 0);
    assert_int_equal(manifests(&s.w), 21);
    assert_int_equal(mem_space_count(s.w.space, "retired/"), 0);
    assert_int_equal(s.w.asked[STORE_DELETE], 0);
    tear_down(&s);
}

static void blocks_go_in_order_and_ghosts_again(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 21, &(sweep_options){.apply = true, .blocks_max = 3});
    const sweep_report *r = pass(&s);
    assert_int_equal(r->blocks_retired, 3);
    assert_int_equal(r->blocks_total, 3);
    assert_int_equal(r->manifests_deleted, 11);
    assert_int_equal(manifests(&s.w), 10);
    for (uint64_t b = 0; b < 6; b++)
        assert_int_equal(world_has_marker(&s.w, b), b < 3);
    r = pass(&s);
    assert_int_equal(r->blocks_retired, 1);
    assert_int_equal(r->blocks_total, 4);
    assert_int_equal(mem_space_set(s.w.space, "manifest/00000000000000000002.manifest", "g", 1),
                     BW_OK);
    assert_int_equal(mem_space_set(s.w.space, "manifest/foreign", "g", 1), BW_OK);
    assert_int_equal(mem_space_set(s.w.space, "manifest/00000000000000000015.manifest", "g", 1),
                     BW_OK);
    r = pass(&s);
    assert_int_equal(r->blocks_retired, 0);
    assert_int_equal(r->ghosts_deleted, 2);
    assert_false(world_has_manifest(&s.w, 2) || world_has_manifest(&s.w, 15));
    assert_true(world_has(&s.w, "manifest/foreign"));
    assert_int_equal(manifests(&s.w), 7);
    (void)world_check(&s.w);
    tear_down(&s);
}

/* The marker is durable before a name goes: one in doubt is created again. */
static void nothing_goes_before_its_marker(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 12, &(sweep_options){.apply = true});
    world_fault(&s.w, FAULT_SAY, STORE_CREATE, "retired/", 0, 2, STORE_UNKNOWN);
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, "retired/", 0, 1, STORE_PENDING);
    sweep_start(s.sweep, 0, NS_PER_S);
    assert_false(world_run(&s.w, &sweep_machine, s.sweep));
    assert_int_equal(s.w.asked[STORE_DELETE], 0);
    assert_int_equal(manifests(&s.w), 12);
    assert_true(world_release(&s.w, &sweep_machine, s.sweep, true, STORE_PENDING));
    assert_int_equal(sweep_reported(s.sweep)->blocks_retired, 2);
    assert_int_equal(manifests(&s.w), 5);
    tear_down(&s);
}

/* Died between marker and delete: the next pass finds the names listed in a retired block. */
static void a_dead_sweepers_work_is_taken_up(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 12, &(sweep_options){.apply = true});
    world_fault(&s.w, FAULT_SAY, STORE_DELETE, "", 0, 1, STORE_DENIED);
    const sweep_report *r = pass(&s);
    assert_int_equal(r->status, BW_DENIED);
    assert_true(world_has_marker(&s.w, 0));
    assert_true(world_has_manifest(&s.w, 1));
    const sweep_report after = world_sweep(&s.w);
    assert_int_equal(after.ghosts_deleted, 3);
    assert_int_equal(after.manifests_deleted, 4);
    assert_int_equal(manifests(&s.w), 5);
    tear_down(&s);
}

/* Two sweepers: one is held before its marker, the other does the work, the first finds it done. */
static void two_sweepers_agree(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 21, &(sweep_options){.apply = true});
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, "retired/", 0, 1, STORE_PENDING);
    sweep_start(s.sweep, 0, NS_PER_S);
    assert_false(world_run(&s.w, &sweep_machine, s.sweep));
    assert_int_equal(world_sweep(&s.w).blocks_retired, 4);
    while (!world_has_manifest(&s.w, 40))
        actor_publish(&s.p, 1);
    assert_int_equal(world_sweep(&s.w).blocks_total, 9);
    assert_true(world_release(&s.w, &sweep_machine, s.sweep, true, STORE_PENDING));
    assert_int_equal(sweep_reported(s.sweep)->status, BW_OK);
    assert_int_equal(sweep_reported(s.sweep)->blocks_retired, 0);
    assert_int_equal(manifests(&s.w), 5);
    (void)world_check(&s.w);
    tear_down(&s);
}

/* A marker where none can be yet does not make the living names dead. */
static void an_absurd_marker_deletes_nothing_alive(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 12, &(sweep_options){.apply = true});
    (void)pass(&s); /* the chain is open: only the sweep looks for markers now */
    world_fault(&s.w, FAULT_APPLY_SAY, STORE_HEAD, "retired/", 1, 60, STORE_OK);
    const sweep_report *r = pass(&s);
    assert_true(r->blocks_total > 1000);
    assert_int_equal(r->ghosts_deleted + r->manifests_deleted, 0);
    for (uint64_t version = 8; version <= 12; version++)
        assert_true(world_has_manifest(&s.w, version));
    tear_down(&s);
}

/* One page of a listing may name more than one delete takes: the pass goes on behind the last that
 * it took. Deletes that did nothing leave all blocks as ghosts. */
static void more_ghosts_than_one_delete_takes(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 310, &(sweep_options){.apply = true});
    s.w.list_max = 1000;
    world_fault(&s.w, FAULT_SAY, STORE_DELETE, "", 0, UINT32_MAX, STORE_OK);
    assert_int_equal(pass(&s)->status, BW_OK);
    assert_int_equal(manifests(&s.w), 310);
    world_calm(&s.w);
    const uint64_t deletes = s.w.asked[STORE_DELETE];
    const sweep_report *r = pass(&s);
    assert_int_equal(r->status, BW_OK);
    assert_int_equal(r->ghosts_deleted, 303); /* 310 is in block 77: 76 and 77 stay */
    assert_int_equal(s.w.asked[STORE_DELETE], deletes + 2);
    assert_int_equal(manifests(&s.w), 7);
    tear_down(&s);
}

static void a_pass_ends_at_its_deadline(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 12, &(sweep_options){.apply = true});
    world_fault(&s.w, FAULT_SAY, STORE_LIST, "", 0, 100000, STORE_RETRY);
    assert_int_equal(pass(&s)->status, BW_IO);
    world_calm(&s.w);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "retired/", 0, 1, STORE_DENIED);
    assert_int_equal(pass(&s)->status, BW_DENIED);
    assert_int_equal(pass(&s)->status, BW_OK);
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dry_run_only_says),
        cmocka_unit_test(blocks_go_in_order_and_ghosts_again),
        cmocka_unit_test(nothing_goes_before_its_marker),
        cmocka_unit_test(a_dead_sweepers_work_is_taken_up),
        cmocka_unit_test(two_sweepers_agree),
        cmocka_unit_test(an_absurd_marker_deletes_nothing_alive),
        cmocka_unit_test(more_ghosts_than_one_delete_takes),
        cmocka_unit_test(a_pass_ends_at_its_deadline),
    };
    return cmocka_run_group_tests_name("sweep", tests, NULL, NULL);
}
