// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The rules R1 – R10 one by one (R2 is test_stage, the zombies of R8 are test_traces), and what a
 * commit makes of a store that fails. */
#include "world.h"

#include <string.h>

typedef struct scene {
    world w;
    actor p, q;
} scene;

static void set_up(scene *s, const world_options *options)
{
    world_open(&s->w, options);
    actor_start(&s->p, &s->w, "p");
    actor_start(&s->q, &s->w, "q");
    actor_open(&s->p);
}

static void tear_down(scene *s)
{
    actor_stop(&s->p);
    actor_stop(&s->q);
    world_close(&s->w);
}

static void ends(const actor *a, commit_end end, bw_status status)
{
    assert_int_equal(actor_report(a)->end, end);
    assert_int_equal(actor_report(a)->status, status);
}

static const char next_name[] = "manifest/00000000000000000003";

/* R1: an open that loses its race to another open of the same id is fenced, for its epoch was
 * fixed. */
static void r1_two_openers_one_wins(void **state)
{
    (void)state;
    scene s;
    actor second;
    set_up(&s, &(world_options){0});
    actor_start(&second, &s.w, "q");
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    actor_begin_open(&second, false);
    assert_false(actor_drive(&second));
    actor_open(&s.q);
    assert_true(actor_release(&second, true, STORE_PENDING));
    ends(&second, COMMIT_REFUSED, BW_FENCED);
    assert_int_equal(actor_report(&second)->conflicts, 1);
    assert_false(actor_report(&second)->open_unknown);
    actor_stop(&second);
    tear_down(&s);
}

/* R1: lost to somebody else, the open tries again and keeps its token and epoch. */
static void r1_an_open_that_lost_tries_again(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){0});
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    actor_begin_open(&s.q, false);
    assert_false(actor_drive(&s.q));
    actor_publish(&s.p, 2);
    assert_true(actor_release(&s.q, true, STORE_PENDING));
    ends(&s.q, COMMIT_DONE, BW_OK);
    assert_int_equal(actor_report(&s.q)->version, 4);
    assert_int_equal(actor_report(&s.q)->result.epoch, 1);
    tear_down(&s);
}

/* R3: a base that has some of the batches already gets the others only. */
static void r3_what_is_in_is_dropped(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){.tail_cap = 8192});
    actor_publish(&s.p, 2);
    s.p.seq = s.p.offset = 0; /* as if the end of that commit had not been heard */
    actor_begin_publish(&s.p, 3, false);
    assert_true(actor_drive(&s.p));
    ends(&s.p, COMMIT_DONE, BW_OK);
    assert_int_equal(actor_report(&s.p)->result.already, 2);
    assert_int_equal(actor_report(&s.p)->result.published, 1);
    assert_int_equal(actor_report(&s.p)->result.first_step, 2);
    actor_settle(&s.p);
    actor_begin_publish(&s.p, 0, false);
    assert_true(actor_drive(&s.p));
    ends(&s.p, COMMIT_DONE, BW_OK);
    assert_int_equal(actor_report(&s.p)->attempts, 0);
    assert_int_equal(world_check(&s.w), 3);
    tear_down(&s);
}

/* R3: batches that do not continue the map's entry are a broken rule of our own: refused, the
 * handle is not aborted. */
static void r3_a_gap_is_refused(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){0});
    s.p.offset = 5;
    actor_begin_publish(&s.p, 1, false);
    assert_true(actor_drive(&s.p));
    ends(&s.p, COMMIT_REFUSED, BW_BUG);
    s.p.offset = 0;
    s.p.seq = 3;
    actor_begin_publish(&s.p, 1, false);
    assert_true(actor_drive(&s.p));
    ends(&s.p, COMMIT_REFUSED, BW_BUG);
    tear_down(&s);
}

/* R4, R8: one create, one marker read, nothing else; a producer alone does not look first. */
static void r4_a_commit_is_one_create_and_one_marker(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){.tail_cap = 8192});
    memset(s.w.asked, 0, sizeof s.w.asked);
    s.w.markers_read = 0;
    actor_publish(&s.p, 1);
    assert_int_equal(s.w.asked[STORE_CREATE], 1);
    assert_int_equal(s.w.asked[STORE_GET], 1);
    assert_int_equal(s.w.markers_read, 1);
    assert_int_equal(s.w.asked[STORE_PUT] + s.w.asked[STORE_HEAD] + s.w.asked[STORE_LIST], 0);
    /* R9: nobody deletes what it staged. */
    assert_int_equal(s.w.asked[STORE_DELETE], 0);
    tear_down(&s);
}

/* R5: the reply was lost; EXISTS with our own nonce was us. */
static void r5_a_lost_reply_was_us(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){0});
    world_fault(&s.w, FAULT_APPLY_SAY, STORE_CREATE, "manifest/", 0, 1, STORE_UNKNOWN);
    actor_publish(&s.p, 1);
    assert_int_equal(actor_report(&s.p)->version, 3);
    assert_int_equal(actor_report(&s.p)->result.first_step, 0);
    assert_int_equal(commit_counted(s.p.commit)->exists_ours, 1);
    assert_int_equal(commit_counted(s.p.commit)->unknown, 1);
    actor_publish(&s.p, 1);
    assert_int_equal(world_check(&s.w), 2);
    tear_down(&s);
}

/* R5: another's nonce is a lost race: caught up, rebased; or the cadence is asked first. */
static void r5_a_lost_race_is_rebased(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){0});
    actor_open(&s.q);
    actor_publish(&s.p, 1);
    actor_publish(&s.q, 1);
    assert_int_equal(actor_report(&s.q)->version, 5);
    actor_publish(&s.p, 1); /* on a stale base unless it looks first, which it does in a crowd */
    assert_int_equal(actor_report(&s.p)->version, 6);
    assert_int_equal(world_check(&s.w), 3);

    s.w.conflict_retries = 1;
    actor r;
    actor_start(&r, &s.w, "r");
    actor_open(&r);
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    actor_begin_publish(&r, 1, false);
    assert_false(actor_drive(&r));
    actor_publish(&s.p, 1);
    assert_true(actor_release(&r, true, STORE_PENDING));
    ends(&r, COMMIT_LOST, BW_OK);
    actor_publish(&r, 1);
    assert_int_equal(actor_report(&r)->conflicts, 0);
    assert_int_equal(world_check(&s.w), 5);
    actor_stop(&r);
    tear_down(&s);
}

/* R5: EXISTS, then 404 with the marker absent: the store breaks its promise; nothing is known about
 * the attempt. */
static void r5_exists_and_not_found_is_an_unsafe_store(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){0});
    world_fault(&s.w, FAULT_SAY, STORE_CREATE, "manifest/", 0, 1, STORE_EXISTS);
    actor_begin_publish(&s.p, 1, false);
    assert_true(actor_drive(&s.p));
    ends(&s.p, COMMIT_FAILED, BW_STORE_UNSAFE);
    assert_true(actor_report(&s.p)->open_unknown);
    tear_down(&s);
}

/* R6: UNKNOWN that did not land: the same bytes at the same name until it is closed. */
static void r6_unknown_is_created_again(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){0});
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, next_name, 0, 1, STORE_PENDING);
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, next_name, 0, 1, STORE_PENDING);
    actor_begin_publish(&s.p, 1, false);
    assert_false(actor_drive(&s.p));
    late_write first;
    world_keep(&s.w, &first);
    assert_false(actor_release(&s.p, false, STORE_UNKNOWN));
    assert_int_equal(s.w.held.size, first.request.size);
    assert_memory_equal(s.w.held.bytes, first.bytes, first.request.size);
    /* The first one lands after all, before the second. */
    assert_int_equal(world_apply_late(&s.w, &first), STORE_CREATED);
    assert_true(actor_release(&s.p, true, STORE_PENDING));
    ends(&s.p, COMMIT_DONE, BW_OK);
    assert_int_equal(commit_counted(s.p.commit)->exists_ours, 1);
    assert_int_equal(commit_counted(s.p.commit)->resent, 1);
    late_free(&first);
    tear_down(&s);
}

/* R6: a later RETRY never lowers an earlier UNKNOWN: past the deadline it is overdue, not failed.
 */
static void r6_retry_does_not_lower_unknown(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){0});
    s.w.patience_ns = 50 * NS_PER_MS;
    world_fault(&s.w, FAULT_SAY, STORE_CREATE, "manifest/", 0, 1, STORE_UNKNOWN);
    world_fault(&s.w, FAULT_SAY, STORE_CREATE, "manifest/", 0, 30, STORE_RETRY);
    actor_begin_publish(&s.p, 1, false);
    assert_true(actor_drive(&s.p));
    ends(&s.p, COMMIT_DONE, BW_OK); /* it went on resolving */
    assert_true(actor_report(&s.p)->overdue);
    assert_int_equal(actor_report(&s.p)->version, 3);
    assert_int_equal(world_check(&s.w), 1);
    tear_down(&s);
}

/* R6: past the deadline the report says BW_UNKNOWN with version and nonce while the machine goes
 * on. */
static void r6_overdue_names_the_attempt(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){0});
    s.w.patience_ns = 50 * NS_PER_MS;
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, next_name, 1, 1, STORE_PENDING);
    world_fault(&s.w, FAULT_SAY, STORE_CREATE, next_name, 0, 1, STORE_UNKNOWN);
    actor_begin_publish(&s.p, 1, false);
    assert_false(actor_drive(&s.p));
    const commit_report *r = actor_report(&s.p);
    assert_false(r->overdue);
    assert_int_equal(commit_machine.due(s.p.commit), 50 * NS_PER_MS);
    commit_machine.tick(s.p.commit, s.w.now_ns = 50 * NS_PER_MS);
    assert_true(r->overdue);
    assert_int_equal(r->end, COMMIT_RUNNING);
    assert_int_equal(r->status, BW_UNKNOWN);
    assert_int_equal(r->open_version, 3);
    char nonce[2 * TOKEN_BYTES + 1];
    hex_encode(r->nonce.bytes, TOKEN_BYTES, nonce);
    assert_non_null(strstr(r->error.message, nonce));
    assert_true(actor_release(&s.p, true, STORE_PENDING));
    ends(&s.p, COMMIT_DONE, BW_OK);
    tear_down(&s);
}

/* Nothing may still land after a definite failure. */
static void r6_only_retries_are_a_definite_failure(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){0});
    s.w.patience_ns = 50 * NS_PER_MS;
    world_fault(&s.w, FAULT_SAY, STORE_CREATE, "manifest/", 0, 1000, STORE_RETRY);
    actor_begin_publish(&s.p, 1, false);
    assert_true(actor_drive(&s.p));
    ends(&s.p, COMMIT_FAILED, BW_IO);
    assert_false(actor_report(&s.p)->open_unknown || actor_report(&s.p)->overdue);
    world_calm(&s.w);
    actor_publish(&s.p, 1);
    assert_int_equal(world_check(&s.w), 1);
    tear_down(&s);
}

/* A store that refuses the create: definite at once; in doubt it is told at once and resolved
 * later. */
static void a_create_that_is_refused(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){0});
    world_fault(&s.w, FAULT_SAY, STORE_CREATE, "manifest/", 0, 1, STORE_FATAL);
    s.w.faults[0].code = BW_DENIED;
    actor_begin_publish(&s.p, 1, false);
    assert_true(actor_drive(&s.p));
    ends(&s.p, COMMIT_FAILED, BW_DENIED);
    world_fault(&s.w, FAULT_SAY, STORE_CREATE, "manifest/", 0, 1, STORE_UNSUPPORTED);
    actor_begin_publish(&s.p, 1, false);
    assert_true(actor_drive(&s.p));
    ends(&s.p, COMMIT_FAILED, BW_UNSUPPORTED);

    world_fault(&s.w, FAULT_APPLY_SAY, STORE_CREATE, "manifest/", 0, 1, STORE_UNKNOWN);
    world_fault(&s.w, FAULT_SAY, STORE_CREATE, "manifest/", 0, 2, STORE_FATAL);
    actor_begin_publish(&s.p, 1, false);
    assert_true(actor_drive(&s.p));
    ends(&s.p, COMMIT_DONE, BW_OK);
    assert_true(actor_report(&s.p)->overdue);
    tear_down(&s);
}

/* The marker, or what EXISTS, cannot be read for a while: the attempt stays open until it can. */
static void reads_that_fail_leave_it_open(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){0});
    world_fault(&s.w, FAULT_SAY, STORE_GET, "retired/", 0, 2, STORE_DENIED);
    actor_begin_publish(&s.p, 1, false);
    assert_true(actor_drive(&s.p));
    ends(&s.p, COMMIT_DONE, BW_OK);
    assert_true(actor_report(&s.p)->overdue);
    actor_settle(&s.p);

    world_fault(&s.w, FAULT_APPLY_SAY, STORE_CREATE, "manifest/", 0, 1, STORE_UNKNOWN);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "manifest/", 0, 2, STORE_RETRY);
    world_fault(&s.w, FAULT_FLIP, STORE_GET, "manifest/", 0, 1, STORE_PENDING);
    actor_publish(&s.p, 1);
    assert_false(actor_report(&s.p)->overdue);
    assert_int_equal(world_check(&s.w), 2);
    tear_down(&s);
}

/* A damaged or foreign object under the next name is never skipped. */
static void a_foreign_object_blocks_the_chain(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){0});
    assert_int_equal(
        mem_space_set(s.w.space, "manifest/00000000000000000003.manifest", "garbage", 7), BW_OK);
    actor_begin_publish(&s.p, 1, false);
    assert_true(actor_drive(&s.p));
    ends(&s.p, COMMIT_FAILED, BW_CHAIN_BLOCKED);
    assert_true(actor_report(&s.p)->open_unknown);
    assert_string_equal(actor_report(&s.p)->error.key, "manifest/00000000000000000003.manifest");
    tear_down(&s);
}

/* The way to a witness fails for a while: told as unknown, tried again, decided. */
static void a_witness_that_fails_is_tried_again(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){0});
    world_fault(&s.w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    actor_begin_publish(&s.p, 1, false);
    assert_false(actor_drive(&s.p));
    actor_open(&s.q);
    while (!world_has_manifest(&s.w, 8))
        actor_publish(&s.q, 1);
    (void)world_sweep(&s.w);
    world_fault(&s.w, FAULT_SAY, STORE_HEAD, "retired/", 0, 2, STORE_DENIED);
    assert_true(actor_release(&s.p, true, STORE_PENDING));
    ends(&s.p, COMMIT_DONE, BW_OK);
    assert_true(actor_report(&s.p)->overdue);
    assert_int_equal(commit_counted(s.p.commit)->witness_lost, 1);
    (void)world_check(&s.w);
    tear_down(&s);
}

/* CREATED, a marker, and a newest version below: no witness can exist. */
static void a_witness_that_is_too_old(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){0});
    world_fault(&s.w, FAULT_SAY, STORE_CREATE, "manifest/", 0, 1, STORE_CREATED);
    world_fault(&s.w, FAULT_SAY, STORE_GET, "retired/", 0, 1, STORE_OK);
    actor_begin_publish(&s.p, 1, false);
    assert_true(actor_drive(&s.p));
    ends(&s.p, COMMIT_FAILED, BW_STORE_UNSAFE);
    assert_true(actor_report(&s.p)->open_unknown);
    tear_down(&s);
}

/* A deadline that passes with nothing open: a definite failure, or a lost race. */
static void a_deadline_with_nothing_open(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){0});
    s.w.patience_ns = 1;
    world_fault(&s.w, FAULT_SAY, STORE_GET, "genesis", 0, 1, STORE_RETRY);
    actor_begin_open(&s.q, false);
    assert_true(actor_drive(&s.q));
    ends(&s.q, COMMIT_FAILED, BW_IO);
    s.w.patience_ns = 0;
    actor_open(&s.q);
    for (int late = 0; late < 2; late++) {
        s.w.patience_ns = NS_PER_MS;
        world_fault(&s.w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
        actor_begin_publish(&s.p, 1, false);
        assert_false(actor_drive(&s.p));
        s.w.patience_ns = 0;
        actor_publish(&s.q, 1);
        if (late == 0)
            s.w.now_ns += NS_PER_S;
        else /* it passes while the chain looks for the next base */
            world_fault(&s.w, FAULT_SAY, STORE_GET, "manifest/", 1, 1, STORE_RETRY);
        assert_true(actor_release(&s.p, true, STORE_PENDING));
        ends(&s.p, COMMIT_LOST, BW_OK);
        assert_int_equal(actor_report(&s.p)->conflicts, 1);
    }
    actor_publish(&s.p, 1);
    assert_int_equal(world_check(&s.w), 3);
    tear_down(&s);
}

/* R7: fenced for ever, and definite when nothing is open. */
static void r7_a_newer_incarnation_fences(void **state)
{
    (void)state;
    scene s;
    actor newer;
    set_up(&s, &(world_options){0});
    actor_publish(&s.p, 3);
    actor_start(&newer, &s.w, "p");
    actor_open(&newer);
    assert_int_equal(newer.epoch, 2);
    assert_int_equal(newer.seq, 3);
    assert_int_equal(newer.offset, 30);
    for (int again = 0; again < 2; again++) {
        actor_begin_publish(&s.p, 1, again == 1);
        assert_true(actor_drive(&s.p));
        ends(&s.p, COMMIT_REFUSED, BW_FENCED);
        assert_false(actor_report(&s.p)->open_unknown);
    }
    actor_publish(&newer, 1);
    assert_int_equal(world_check(&s.w), 4);
    actor_stop(&newer);
    tear_down(&s);
}

/* R10: finish, FINISHED with the offset, reopen, seal. */
static void r10_finish_and_reopen(void **state)
{
    (void)state;
    scene s;
    actor again;
    set_up(&s, &(world_options){0});
    actor_begin_publish(&s.p, 2, true);
    assert_true(actor_drive(&s.p));
    ends(&s.p, COMMIT_DONE, BW_OK);
    actor_settle(&s.p);
    actor_begin_publish(&s.p, 0, true); /* once more is harmless */
    assert_true(actor_drive(&s.p));
    ends(&s.p, COMMIT_DONE, BW_OK);
    assert_int_equal(actor_report(&s.p)->attempts, 0);
    actor_begin_publish(&s.p, 1, false);
    assert_true(actor_drive(&s.p));
    ends(&s.p, COMMIT_REFUSED, BW_FINISHED);

    actor_start(&again, &s.w, "p");
    actor_begin_open(&again, false);
    assert_true(actor_drive(&again));
    ends(&again, COMMIT_REFUSED, BW_FINISHED);
    assert_int_equal(actor_report(&again)->result.offset, 20);
    actor_begin_open(&again, true);
    assert_true(actor_drive(&again));
    ends(&again, COMMIT_DONE, BW_OK);
    actor_settle(&again);
    actor_publish(&again, 1);
    chain *c = world_chain(&s.w);
    assert_int_equal(chain_held(c)->finished_producers, 0);
    assert_false(manifest_producer(chain_held(c), view_text("p"))->finished);
    chain_free(c);
    actor_stop(&again);
    tear_down(&s);
}

static void r10_seal_waits_for_all_and_ends_it(void **state)
{
    (void)state;
    scene s;
    actor op;
    set_up(&s, &(world_options){0});
    actor_start(&op, &s.w, "op");
    actor_begin_seal(&op, false);
    assert_true(actor_drive(&op));
    ends(&op, COMMIT_REFUSED, BW_SEAL_REFUSED);
    /* The refusal stood on a stale base: it is looked at again on the newest. */
    actor_begin_publish(&s.p, 1, true);
    assert_true(actor_drive(&s.p));
    actor_begin_seal(&op, false);
    assert_true(actor_drive(&op));
    ends(&op, COMMIT_DONE, BW_OK);
    actor_begin_seal(&op, true);
    assert_true(actor_drive(&op));
    ends(&op, COMMIT_DONE, BW_OK);
    assert_int_equal(actor_report(&op)->attempts, 0);
    actor_begin_open(&s.q, false);
    assert_true(actor_drive(&s.q));
    ends(&s.q, COMMIT_REFUSED, BW_SEALED);
    actor_stop(&op);
    tear_down(&s);
}

static void r10_sealed_says_what_was_not_published(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){0});
    actor_publish(&s.p, 1);
    actor_begin_seal(&s.q, true);
    assert_true(actor_drive(&s.q));
    ends(&s.q, COMMIT_DONE, BW_OK);
    actor_begin_publish(&s.p, 3, false);
    assert_true(actor_drive(&s.p));
    ends(&s.p, COMMIT_REFUSED, BW_SEALED);
    assert_int_equal(actor_report(&s.p)->result.already, 0);
    assert_non_null(strstr(actor_report(&s.p)->error.message, "3 batches are not published"));
    assert_int_equal(world_check(&s.w), 1);
    tear_down(&s);
}

static void r10_the_last_expected_finish_seals(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){.expected = 2});
    actor_open(&s.q);
    actor_begin_publish(&s.p, 1, true);
    assert_true(actor_drive(&s.p));
    chain *c = world_chain(&s.w);
    assert_false(chain_held(c)->sealed);
    actor_begin_publish(&s.q, 1, true);
    assert_true(actor_drive(&s.q));
    assert_int_equal(world_walk(&s.w, c, CHAIN_NEWEST), BW_OK);
    assert_true(chain_held(c)->sealed);
    assert_int_equal(chain_held(c)->finished_producers, 2);
    assert_int_equal(chain_held(c)->next, 2);
    chain_free(c);
    tear_down(&s);
}

/* At most one hint for 32 versions, after the commit was told; a hint that fails is nobody's
 * concern. */
static void the_hint_is_written_now_and_then(void **state)
{
    (void)state;
    scene s;
    set_up(&s, &(world_options){.tail_cap = 8192});
    world_fault(&s.w, FAULT_SAY, STORE_PUT, "hint", 0, 1, STORE_DENIED);
    while (!world_has_manifest(&s.w, 63))
        actor_publish(&s.p, 1);
    assert_false(world_has(&s.w, "hint"));
    actor_publish(&s.p, 1);
    assert_true(world_has(&s.w, "hint"));
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(r1_two_openers_one_wins),
        cmocka_unit_test(r1_an_open_that_lost_tries_again),
        cmocka_unit_test(r3_what_is_in_is_dropped),
        cmocka_unit_test(r3_a_gap_is_refused),
        cmocka_unit_test(r4_a_commit_is_one_create_and_one_marker),
        cmocka_unit_test(r5_a_lost_reply_was_us),
        cmocka_unit_test(r5_a_lost_race_is_rebased),
        cmocka_unit_test(r5_exists_and_not_found_is_an_unsafe_store),
        cmocka_unit_test(r6_unknown_is_created_again),
        cmocka_unit_test(r6_retry_does_not_lower_unknown),
        cmocka_unit_test(r6_overdue_names_the_attempt),
        cmocka_unit_test(r6_only_retries_are_a_definite_failure),
        cmocka_unit_test(a_create_that_is_refused),
        cmocka_unit_test(reads_that_fail_leave_it_open),
        cmocka_unit_test(a_foreign_object_blocks_the_chain),
        cmocka_unit_test(a_witness_that_fails_is_tried_again),
        cmocka_unit_test(a_witness_that_is_too_old),
        cmocka_unit_test(a_deadline_with_nothing_open),
        cmocka_unit_test(r7_a_newer_incarnation_fences),
        cmocka_unit_test(r10_finish_and_reopen),
        cmocka_unit_test(r10_seal_waits_for_all_and_ends_it),
        cmocka_unit_test(r10_sealed_says_what_was_not_published),
        cmocka_unit_test(r10_the_last_expected_finish_seals),
        cmocka_unit_test(the_hint_is_written_now_and_then),
    };
    return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
