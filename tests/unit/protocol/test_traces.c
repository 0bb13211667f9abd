// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * The traces that a model checker found in a draft of the protocol (T1 – T8), played on the real
 * machines with block size 2: block k holds versions 2k and 2k + 1, and goes once the newest
 * version is in block k + 2 or later. Each comment names the clause without which the test fails.
 */
#include "world.h"

/* Lets `other` commit until version `version` is there, then sweeps. */
static void advance(world *w, actor *other, uint64_t version)
{
    while (!world_has_manifest(w, version))
        actor_publish(other, 1);
    (void)world_sweep(w);
}

/* P stands at version 2 (its own open), Q is another producer whose chain follows. */
typedef struct stage_set {
    world w;
    actor p, q;
} stage_set;

static void set_up(stage_set *s, uint32_t tail_cap)
{
    world_open(&s->w, &(world_options){.tail_cap = tail_cap});
    actor_start(&s->p, &s->w, "p");
    actor_start(&s->q, &s->w, "q");
    actor_open(&s->p); /* version 2 */
}

static void tear_down(stage_set *s)
{
    actor_stop(&s->p);
    actor_stop(&s->q);
    world_close(&s->w);
}

/* What P believes is what the chain says, and every step is there exactly once. */
static void judge(stage_set *s, const actor *p)
{
    (void)world_check(&s->w);
    chain *c = world_chain(&s->w);
    const producer_entry *e = manifest_producer(chain_held(c), view_text(p->id));
    assert_non_null(e);
    assert_int_equal(e->offset, p->offset);
    assert_int_equal(e->seq, p->seq);
    chain_free(c);
}

/* T1. Clause: R8's marker check after CREATED, before the acknowledgement. */
static void t1_created_on_a_dead_name_is_not_acknowledged(void **state)
{
    (void)state;
    stage_set s;
    set_up(&s, 0);
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    actor_begin_publish(&s.p, 1, false);
    assert_false(actor_drive(&s.p)); /* P sleeps before its create of version 3 */
    actor_open(&s.q);
    advance(&s.w, &s.q, 6);
    assert_true(world_has_marker(&s.w, 1));
    assert_false(world_has_manifest(&s.w, 3));

    assert_true(actor_release(&s.p, true, STORE_PENDING));
    const commit_report *r = actor_report(&s.p);
    assert_int_equal(r->end, COMMIT_DONE);
    assert_true(r->version > 6);
    assert_int_equal(commit_counted(s.p.commit)->marker_after_created, 1);
    assert_int_equal(commit_counted(s.p.commit)->witness_lost, 1);
    actor_settle(&s.p);
    judge(&s, &s.p);
    tear_down(&s);
}

/* T2. Clause: R5's marker check before the verdict "own nonce, so it was us". */
static void t2_own_nonce_on_a_dead_name_is_not_ours(void **state)
{
    (void)state;
    stage_set s;
    late_write late;
    set_up(&s, 0);
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    actor_begin_publish(&s.p, 1, false);
    assert_false(actor_drive(&s.p));
    world_keep(&s.w, &late); /* a duplicate stays in the network */
    actor_open(&s.q);        /* version 3 is Q's */
    world_fault(&s.w, FAULT_HOLD, STORE_GET, "manifest/00000000000000000003", 0, 1, STORE_PENDING);
    assert_false(actor_release(&s.p, true, STORE_PENDING)); /* EXISTS; the read is held */
    advance(&s.w, &s.q, 6);
    assert_int_equal(world_apply_late(&s.w, &late), STORE_CREATED);

    assert_true(actor_release(&s.p, true, STORE_PENDING)); /* reads its own nonce */
    assert_int_equal(actor_report(&s.p)->end, COMMIT_DONE);
    assert_true(actor_report(&s.p)->version > 6);
    assert_int_equal(commit_counted(s.p.commit)->marker_after_exists, 1);
    assert_int_equal(commit_counted(s.p.commit)->exists_ours, 0);
    actor_settle(&s.p);
    judge(&s, &s.p);
    late_free(&late);
    tear_down(&s);
}

/* T3. Clause: R5's marker check before the verdict "another's nonce, so definitely lost". */
static void t3_anothers_nonce_on_a_dead_name_is_not_lost(void **state)
{
    (void)state;
    stage_set s;
    actor z;
    late_write ghost;
    set_up(&s, 0);
    actor_start(&z, &s.w, "z");
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    actor_begin_open(&z, false);
    assert_false(actor_drive(&z)); /* Z sleeps before its create of version 3 */
    world_abandon(&s.w, &ghost);

    world_fault(&s.w, FAULT_APPLY_SAY, STORE_CREATE, "manifest/", 0, 1, STORE_UNKNOWN);
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    actor_begin_publish(&s.p, 1, false);
    assert_false(actor_drive(&s.p)); /* it landed, the reply was lost; the second create is held */
    actor_open(&s.q);
    advance(&s.w, &s.q, 6);
    assert_int_equal(world_apply_late(&s.w, &ghost), STORE_CREATED);

    assert_true(actor_release(&s.p, true, STORE_PENDING)); /* EXISTS: Z's nonce */
    const commit_report *r = actor_report(&s.p);
    assert_int_equal(r->end, COMMIT_DONE);
    assert_int_equal(r->version, 3);
    assert_int_equal(r->result.first_step, 0);
    assert_int_equal(r->result.published, 1);
    assert_int_equal(r->conflicts, 0);
    assert_int_equal(commit_counted(s.p.commit)->witness_made, 1);
    actor_settle(&s.p);
    judge(&s, &s.p);
    late_free(&ghost);
    actor_stop(&z);
    tear_down(&s);
}

/* T4. Clause: R1: the offset is told only after the fence is closed as ours and proved. */
static void t4_a_fence_on_a_dead_name_tells_no_offset(void **state)
{
    (void)state;
    stage_set s;
    actor again;
    set_up(&s, 0);
    actor_start(&again, &s.w, "p");
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    actor_begin_open(&again, false);
    assert_false(actor_drive(&again));
    advance(&s.w, &s.p, 6); /* the old incarnation goes on appending */
    const uint64_t appended = s.p.offset;
    assert_true(appended > 0);

    assert_true(actor_release(&again, true, STORE_PENDING));
    assert_int_equal(actor_report(&again)->end, COMMIT_DONE);
    actor_settle(&again);
    assert_int_equal(again.offset, appended);
    assert_int_equal(again.epoch, 2);
    actor_begin_publish(&s.p, 1, false);
    assert_true(actor_drive(&s.p));
    assert_int_equal(actor_report(&s.p)->end, COMMIT_REFUSED);
    assert_int_equal(actor_report(&s.p)->status, BW_FENCED);
    assert_false(actor_report(&s.p)->open_unknown);
    actor_publish(&again, 1);
    judge(&s, &again);
    actor_stop(&again);
    tear_down(&s);
}

/* T5. Clause: a follower adopts nothing before the marker of its block was read as absent. */
static void t5_a_reader_does_not_follow_a_ghost(void **state)
{
    (void)state;
    stage_set s;
    actor z;
    late_write ghost;
    set_up(&s, 0);
    chain *reader = world_chain(&s.w); /* holds version 2 */
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    actor_begin_publish(&s.p, 1, false);
    assert_false(actor_drive(&s.p));
    world_abandon(&s.w, &ghost); /* version 3 with another TGB for step 0 */
    actor_start(&z, &s.w, "z");
    actor_open(&z);
    actor_publish(&z, 1);
    advance(&s.w, &z, 6);
    assert_int_equal(world_apply_late(&s.w, &ghost), STORE_CREATED);

    /* The ghost follows version 2 by its hash, and lies alone for a reader that polls once. */
    world_fault(&s.w, FAULT_SAY, STORE_GET, "manifest/00000000000000000004", 0, 1, STORE_NOT_FOUND);
    assert_int_equal(world_walk(&s.w, reader, CHAIN_POLL), BW_OK);
    const manifest *held = chain_held(reader);
    assert_true(held->version >= 6);
    assert_null(manifest_producer(held, view_text("none")));
    assert_int_equal(manifest_producer(held, view_text("p"))->seq, 0);
    assert_int_equal(chain_counted(reader)->ghosts_met, 1);
    assert_int_equal(chain_counted(reader)->reopens, 1);
    chain_free(reader);
    late_free(&ghost);
    actor_stop(&z);
    tear_down(&s);
}

/* T5, the form with 404. Clause: "v + 1 not found" means newest only with the marker absent after
 * it; a poller reads it every 16th time. */
static void t5_not_found_is_not_the_end(void **state)
{
    (void)state;
    stage_set s;
    set_up(&s, 0);
    actor_publish(&s.p, 1);
    chain *reader = world_chain(&s.w);
    chain *poller = world_chain(&s.w);
    assert_int_equal(chain_held(reader)->version, 3);
    advance(&s.w, &s.p, 9);
    assert_false(world_has_manifest(&s.w, 4));
    assert_true(world_has_marker(&s.w, 2));

    assert_int_equal(world_walk(&s.w, reader, CHAIN_NEWEST), BW_OK);
    assert_int_equal(chain_held(reader)->version, 9);
    assert_true(chain_is_newest(reader));
    uint32_t polls = 0;
    while (chain_held(poller)->version == 3) {
        assert_true(polls++ < 16);
        assert_int_equal(world_walk(&s.w, poller, CHAIN_POLL), BW_OK);
        assert_false(chain_held(poller)->version == 3 && chain_is_newest(poller));
    }
    assert_int_equal(chain_held(poller)->version, 9);
    chain_free(reader);
    chain_free(poller);
    tear_down(&s);
}

/* T6 (i), for a committer without a map entry. Clause: on a dead name it claims neither made nor
 * lost, looks for its key in a proved newest manifest and tries again. */
static void t6_a_seal_on_a_dead_name_is_not_made(void **state)
{
    (void)state;
    stage_set s;
    actor op;
    set_up(&s, 0);
    actor_start(&op, &s.w, "op");
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    actor_begin_seal(&op, true);
    assert_false(actor_drive(&op));
    advance(&s.w, &s.p, 6);

    assert_true(actor_release(&op, true, STORE_PENDING));
    assert_int_equal(actor_report(&op)->end, COMMIT_DONE);
    assert_true(actor_report(&op)->version > 6);
    chain *c = world_chain(&s.w);
    assert_true(chain_held(c)->sealed);
    assert_int_equal(chain_held(c)->next, s.p.seq);
    chain_free(c);
    actor_stop(&op);
    tear_down(&s);
}

/* P's version 3 lands and is answered, its marker read is delayed until a newer incarnation has
 * fenced P and block 1 is retired. */
static void fenced_before_the_marker(stage_set *s, actor *newer)
{
    world_fault(&s->w, FAULT_HOLD, STORE_GET, "retired/", 0, 1, STORE_PENDING);
    actor_begin_publish(&s->p, 1, false);
    assert_false(actor_drive(&s->p));
    assert_true(world_has_manifest(&s->w, 3));
    actor_start(newer, &s->w, "p");
    actor_open(newer);
    assert_int_equal(newer->offset, 10);
    advance(&s->w, newer, 8);
    assert_true(world_has_marker(&s->w, 1));
    assert_true(actor_release(&s->p, true, STORE_PENDING));
}

/* T7. Clause: FENCED is no verdict on an open attempt; a descriptor with our epoch, seq and nonce
 * closes it as made … */
static void t7_fenced_but_made(void **state)
{
    (void)state;
    stage_set s;
    actor newer;
    set_up(&s, 8192);
    fenced_before_the_marker(&s, &newer);
    assert_int_equal(actor_report(&s.p)->end, COMMIT_DONE);
    assert_int_equal(actor_report(&s.p)->result.first_step, 0);
    assert_int_equal(actor_report(&s.p)->result.published, 1);
    assert_int_equal(commit_counted(s.p.commit)->witness_made, 1);
    judge(&s, &newer);
    actor_stop(&newer);
    tear_down(&s);
}

/* … and without one it stays unknown. */
static void t7_fenced_and_unknown(void **state)
{
    (void)state;
    stage_set s;
    actor newer;
    set_up(&s, 64); /* folded away at once */
    fenced_before_the_marker(&s, &newer);
    assert_int_equal(actor_report(&s.p)->end, COMMIT_REFUSED);
    assert_int_equal(actor_report(&s.p)->status, BW_FENCED);
    assert_true(actor_report(&s.p)->open_unknown);
    assert_int_equal(actor_report(&s.p)->open_version, 3);
    assert_int_equal(commit_counted(s.p.commit)->witness_fenced, 1);
    judge(&s, &newer);
    actor_stop(&newer);
    tear_down(&s);
}

/* T8. Clause: never the block of the newest version, nor the one before it. */
static void t8_the_newest_blocks_stay(void **state)
{
    (void)state;
    stage_set s;
    set_up(&s, 0);
    for (uint64_t version = 3; version < 24; version++) {
        advance(&s.w, &s.p, version);
        const uint64_t newest = version / 2;
        assert_false(world_has_marker(&s.w, newest));
        assert_false(world_has_marker(&s.w, newest - 1));
        assert_true(newest < 2 || world_has_marker(&s.w, newest - 2));
        assert_true(world_has_manifest(&s.w, version - 1) || version % 2 == 0);
        chain *c = world_chain(&s.w);
        assert_int_equal(chain_held(c)->version, version);
        chain_free(c);
    }
    judge(&s, &s.p);
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t1_created_on_a_dead_name_is_not_acknowledged),
        cmocka_unit_test(t2_own_nonce_on_a_dead_name_is_not_ours),
        cmocka_unit_test(t3_anothers_nonce_on_a_dead_name_is_not_lost),
        cmocka_unit_test(t4_a_fence_on_a_dead_name_tells_no_offset),
        cmocka_unit_test(t5_a_reader_does_not_follow_a_ghost),
        cmocka_unit_test(t5_not_found_is_not_the_end),
        cmocka_unit_test(t6_a_seal_on_a_dead_name_is_not_made),
        cmocka_unit_test(t7_fenced_but_made),
        cmocka_unit_test(t7_fenced_and_unknown),
        cmocka_unit_test(t8_the_newest_blocks_stay),
    };
    return cmocka_run_group_tests_name("traces", tests, NULL, NULL);
}
