// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Puts of segments and indexes that are still on their way when the next base needs them, or
 * another one: several requests are held, and answered in an order of the test's choice. */
#include "world.h"

#include "base/alloc.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct scene {
    world w;
    actor p, q;
} scene;

/* P has published alone for so long that it folds beside its creates. */
static void set_up(scene *s, uint32_t tail_cap)
{
    world_open(&s->w, &(world_options){.block_size = 4, .tail_cap = tail_cap});
    actor_start(&s->p, &s->w, "p");
    actor_start(&s->q, &s->w, "q");
    actor_open(&s->p);
    actor_open(&s->q);
}

static void tear_down(scene *s)
{
    actor_stop(&s->p);
    actor_stop(&s->q);
    world_close(&s->w);
}

static void keep(scene *s, store_op_kind kind, const char *prefix)
{
    world_fault(&s->w, FAULT_KEEP, kind, prefix, 0, 1, STORE_PENDING);
}

static void done(scene *s)
{
    assert_int_equal(actor_report(&s->p)->end, COMMIT_DONE);
    actor_settle(&s->p);
    assert_int_equal(s->w.kept_count, 0);
    assert_int_equal(world_check(&s->w), s->p.seq + s->q.seq);
}

/* ---- a segment ---- */

/* The segment of a candidate that lost is on its way, and the new base must fold its own tail: it
 * waits for the answer, whatever that is, and then puts the right one. */
static void a_segment_of_a_lost_candidate(void **state)
{
    (void)state;
    const store_outcome says[] = {STORE_PENDING, STORE_RETRY};
    for (uint32_t k = 0; k < 2; k++) {
        scene s;
        set_up(&s, 256);
        while (s.p.seq < 40 || chain_held(s.p.chain)->tail.records != 1)
            actor_publish(&s.p, 1);
        keep(&s, STORE_CREATE, "manifest/");
        keep(&s, STORE_PUT, "segment/");
        actor_begin_publish(&s.p, 1, false);
        assert_false(actor_drive(&s.p));
        assert_int_equal(s.w.kept_count, 2);
        do
            actor_publish(&s.q, 3);
        while (chain_held(s.q.chain)->tail.bytes.size <= 256);
        const uint64_t waits = commit_counted(s.p.commit)->fold_waits;
        const uint64_t puts = s.w.asked[STORE_PUT];
        assert_false(actor_answer(&s.p, "manifest/", true, STORE_PENDING));
        assert_int_equal(actor_report(&s.p)->end, COMMIT_RUNNING);
        assert_int_equal(commit_counted(s.p.commit)->fold_waits, waits + 1);
        assert_int_equal(s.w.asked[STORE_PUT], puts); /* one at a time */
        assert_true(actor_answer(&s.p, "segment/", k == 0, says[k]));
        assert_int_equal(commit_counted(s.p.commit)->fold_waits, waits + 2);
        assert_true(s.w.asked[STORE_PUT] > puts);
        done(&s);
        tear_down(&s);
    }
}

/* ---- an index ---- */

#define FIRST_INDEX "segment/00000000000000000000-"

static uint32_t refs_of_level(const manifest *m, uint8_t level)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->ref_count; i++)
        count += m->refs[i].level == level;
    return count;
}

/* Each publish folds. P knows INDEX_CHILDREN references; its create and its index are kept. */
static void hold_index(scene *s)
{
    set_up(s, 64);
    while (chain_held(s->p.chain)->ref_count < INDEX_CHILDREN)
        actor_publish(&s->p, 1);
    keep(s, STORE_CREATE, "manifest/");
    keep(s, STORE_PUT, FIRST_INDEX);
    actor_begin_publish(&s->p, 1, false);
    assert_false(actor_drive(&s->p));
    assert_int_equal(s->w.kept_count, 2);
}

/* Nobody else merges meanwhile, until twice as many references stand in a row: now a publish has
 * to, and waits for the index that is on its way; repeated until it is durable. */
static void an_index_that_became_necessary(void **state)
{
    (void)state;
    scene s;
    hold_index(&s);
    world_fault(&s.w, FAULT_SAY, STORE_PUT, FIRST_INDEX, 0, 1000, STORE_RETRY);
    while (refs_of_level(chain_held(s.q.chain), 0) < 2 * INDEX_CHILDREN)
        actor_publish(&s.q, 1);
    world_calm(&s.w);
    const uint64_t merges = commit_counted(s.p.commit)->merges;
    assert_false(actor_answer(&s.p, "manifest/", true, STORE_PENDING));
    assert_int_equal(commit_counted(s.p.commit)->merge_waits, 1);
    assert_true(actor_answer(&s.p, FIRST_INDEX, false, STORE_RETRY));
    assert_int_equal(commit_counted(s.p.commit)->merge_waits, 1);
    assert_int_equal(commit_counted(s.p.commit)->merges, merges + 1);
    assert_int_equal(chain_held(s.p.chain)->refs[0].level, 1);
    done(&s);
    tear_down(&s);
}

/* Others merged those, and so many followed that a publish has to merge the next: the index on its
 * way is not that one, and is not repeated. */
static void an_index_that_others_made(void **state)
{
    (void)state;
    scene s;
    char next[64];
    hold_index(&s);
    while (refs_of_level(chain_held(s.q.chain), 1) == 0)
        actor_publish(&s.q, 1);
    (void)snprintf(next, sizeof next, "segment/%020" PRIu64 "-",
                   chain_held(s.q.chain)->refs[1].first);
    world_fault(&s.w, FAULT_SAY, STORE_PUT, next, 0, 1000, STORE_RETRY);
    while (refs_of_level(chain_held(s.q.chain), 0) < 2 * INDEX_CHILDREN)
        actor_publish(&s.q, 1);
    world_calm(&s.w);
    assert_false(actor_answer(&s.p, "manifest/", true, STORE_PENDING));
    assert_int_equal(commit_counted(s.p.commit)->merge_waits, 1);
    keep(&s, STORE_PUT, FIRST_INDEX); /* would be kept again */
    assert_true(actor_answer(&s.p, FIRST_INDEX, false, STORE_RETRY));
    world_calm(&s.w);
    assert_int_equal(commit_counted(s.p.commit)->merge_waits, 2);
    assert_int_equal(refs_of_level(chain_held(s.p.chain), 1), 2);
    done(&s);
    tear_down(&s);
}

/* An index of level 1 is durable here; long after, sixteen of that level from the same step on are
 * due: that is another index. */
static void an_index_of_another_level(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 64);
    while (refs_of_level(chain_held(s.p.chain), 1) == 0)
        actor_publish(&s.p, 1);
    while (refs_of_level(chain_held(s.q.chain), 1) < INDEX_CHILDREN)
        actor_publish(&s.q, 1);
    while (refs_of_level(chain_held(s.p.chain), 2) == 0)
        actor_publish(&s.p, 1);
    const segment_ref *first = &chain_held(s.p.chain)->refs[0];
    assert_int_equal(first->level, 2);
    assert_true(first->last - first->first + 1 >= INDEX_CHILDREN * INDEX_CHILDREN);
    assert_int_equal(world_check(&s.w), s.p.seq + s.q.seq);
    tear_down(&s);
}

static segment_ref moved[4 * INDEX_CHILDREN];

static void move_a_boundary(manifest *draft, void *context)
{
    (void)context;
    assert_true(draft->ref_count > INDEX_CHILDREN && draft->ref_count <= 4 * INDEX_CHILDREN);
    memcpy(moved, draft->refs, draft->ref_count * sizeof *moved);
    moved[INDEX_CHILDREN - 1].last++;
    moved[INDEX_CHILDREN].first++;
    draft->refs = moved;
}

/* A history put back from elsewhere: the references begin alike and end elsewhere. An index of the
 * old ones is none of these. */
static void an_index_of_another_history(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 64);
    while (chain_held(s.p.chain)->ref_count < INDEX_CHILDREN + 1)
        actor_publish(&s.p, 2); /* its index is durable now, and the next commit would use it */
    world_plant(&s.w, move_a_boundary, NULL);
    const uint64_t merges = commit_counted(s.p.commit)->merges;
    actor_begin_publish(&s.p, 1, false);
    assert_true(actor_drive(&s.p));
    assert_int_equal(actor_report(&s.p)->end, COMMIT_DONE);
    assert_int_equal(commit_counted(s.p.commit)->merges, merges);
    assert_int_equal(chain_held(s.p.chain)->refs[0].level, 0);
    assert_int_equal(chain_held(s.p.chain)->refs[INDEX_CHILDREN - 1].last,
                     moved[INDEX_CHILDREN - 1].last);
    tear_down(&s);
}

/* ---- answers that nobody needs any more ---- */

/* The walk has failed while its hint was on its way: the commit ends with that answer. */
static void a_hint_that_is_still_out(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 256);
    assert_true(mem_space_remove(s.w.space, "genesis"));
    actor late;
    actor_start(&late, &s.w, "late");
    keep(&s, STORE_GET, "genesis");
    keep(&s, STORE_GET, "hint");
    actor_begin_open(&late, false);
    assert_false(actor_drive(&late));
    assert_int_equal(s.w.kept_count, 2);
    assert_false(actor_answer(&late, "genesis", true, STORE_PENDING));
    assert_int_equal(actor_report(&late)->end, COMMIT_RUNNING);
    assert_true(actor_answer(&late, "hint", false, STORE_NOT_FOUND));
    assert_false(chain_machine.running(late.chain));
    assert_int_equal(actor_report(&late)->status, BW_NO_NAMESPACE);
    actor_stop(&late);
    tear_down(&s);
}

/* ---- waking early ---- */

/* Whatever P asks for is answered; no pause passes. `denied`: heads are. */
static void by_hand(scene *s, machine_reply *reply, bool denied)
{
    machine_request request;
    commit_machine.reply(s->p.commit, s->w.now_ns, reply);
    while (commit_machine.next(s->p.commit, &request)) {
        machine_reply next = {.id = request.id, .outcome = STORE_DENIED};
        if (!denied || request.kind != STORE_HEAD)
            world_execute(&s->w, &request, &next);
        commit_machine.reply(s->p.commit, s->w.now_ns, &next);
        mem_free(next.bytes);
    }
}

static void tick_early(scene *s)
{
    machine_request request;
    const int64_t due = commit_machine.due(s->p.commit);
    assert_true(due > s->w.now_ns && due < TIME_NEVER);
    commit_machine.tick(s->p.commit, due - 1);
    assert_false(commit_machine.next(s->p.commit, &request));
    assert_int_equal(commit_machine.due(s->p.commit), due);
}

/* Who lost twice pauses; a tick before its time changes nothing. */
static void a_pause_is_kept(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 65536);
    actor_publish(&s.p, 1);
    keep(&s, STORE_CREATE, "manifest/");
    actor_begin_publish(&s.p, 1, false);
    assert_false(actor_drive(&s.p));
    actor_publish(&s.q, 1);
    keep(&s, STORE_CREATE, "manifest/");
    assert_false(actor_answer(&s.p, "manifest/", true, STORE_PENDING));
    actor_publish(&s.q, 1);
    /* By hand from here: the second loss, and the pause after it. */
    const machine_request request = s.w.kept[0];
    s.w.kept_count = 0;
    machine_reply reply;
    world_execute(&s.w, &request, &reply);
    assert_int_equal(reply.outcome, STORE_EXISTS);
    by_hand(&s, &reply, false);
    assert_int_equal(actor_report(&s.p)->conflicts, 2);
    tick_early(&s);
    assert_true(actor_drive(&s.p));
    done(&s);
    tear_down(&s);
}

/* The same for who looks for a witness on a store that refuses: it is told that the attempt is in
 * doubt, rests, and goes on. */
static void a_rest_between_two_looks_for_a_witness(void **state)
{
    (void)state;
    scene s;
    set_up(&s, 65536);
    actor_publish(&s.p, 1);
    keep(&s, STORE_CREATE, "manifest/");
    actor_begin_publish(&s.p, 1, false);
    assert_false(actor_drive(&s.p));
    for (uint32_t k = 0; k < 12; k++)
        actor_publish(&s.q, 1);
    (void)world_sweep(&s.w);
    const machine_request request = s.w.kept[0];
    s.w.kept_count = 0;
    machine_reply reply;
    world_execute(&s.w, &request, &reply);
    assert_int_equal(reply.outcome, STORE_CREATED); /* on a dead name */
    by_hand(&s, &reply, true);
    assert_true(actor_report(&s.p)->overdue);
    assert_int_equal(actor_report(&s.p)->end, COMMIT_RUNNING);
    tick_early(&s);
    assert_true(actor_drive(&s.p));
    assert_int_equal(commit_counted(s.p.commit)->witness_lost, 1);
    done(&s);
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_segment_of_a_lost_candidate),
        cmocka_unit_test(an_index_that_became_necessary),
        cmocka_unit_test(an_index_that_others_made),
        cmocka_unit_test(an_index_of_another_level),
        cmocka_unit_test(an_index_of_another_history),
        cmocka_unit_test(a_hint_that_is_still_out),
        cmocka_unit_test(a_pause_is_kept),
        cmocka_unit_test(a_rest_between_two_looks_for_a_witness),
    };
    return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
