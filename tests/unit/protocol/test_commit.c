// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "world.h"

static void one_producer_publishes_and_all_is_found(void **state)
{
    (void)state;
    world w;
    actor p;
    world_open(&w, &(world_options){0});
    actor_start(&p, &w, "p0");
    actor_open(&p);
    assert_int_equal(p.epoch, 1);
    assert_int_equal(p.offset, 0);
    for (uint32_t i = 0; i < 30; i++)
        actor_publish(&p, 1 + i % 3);
    assert_int_equal(world_check(&w), 60);
    actor_stop(&p);
    world_close(&w);
}

/* The base of a producer that is alone may be hours old. The window that cadences estimate is what
 * an attempt takes, not how long the producer was idle before it. */
static void the_fragile_window_begins_with_the_commit(void **state)
{
    (void)state;
    world w;
    actor p;
    world_open(&w, &(world_options){0});
    actor_start(&p, &w, "p0");
    actor_open(&p);
    actor_publish(&p, 1);
    w.now_ns += 3600 * NS_PER_S;
    world_fault(&w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    actor_begin_publish(&p, 1, false);
    assert_false(actor_drive(&p));
    w.now_ns += 70 * NS_PER_MS;
    assert_true(actor_release(&p, true, STORE_PENDING));
    assert_int_equal(actor_report(&p)->end, COMMIT_DONE);
    assert_int_equal(actor_report(&p)->fragile_ns, 70 * NS_PER_MS);
    actor_stop(&p);
    world_close(&w);
}

/* Who has met others looks first. A base that is trusted is trusted once: a look less, and when
 * another was faster the commit finds it by its own create. */
static void a_base_is_trusted_once(void **state)
{
    (void)state;
    world w;
    actor p, q;
    world_open(&w, &(world_options){.block_size = 64});
    actor_start(&p, &w, "p");
    actor_start(&q, &w, "q");
    actor_open(&p);
    actor_open(&q);
    actor_publish(&p, 1);
    actor_publish(&q, 1);
    actor_publish(&p, 1);
    uint64_t asked = w.asked[STORE_GET], created = w.asked[STORE_CREATE];
    commit_trust_base(p.commit);
    actor_publish(&p, 1);
    assert_int_equal(w.asked[STORE_GET], asked + 1); /* its marker */
    assert_int_equal(w.asked[STORE_CREATE], created + 1);
    asked = w.asked[STORE_GET];
    actor_publish(&p, 1);
    assert_int_equal(w.asked[STORE_GET], asked + 2);
    actor_publish(&q, 1);
    created = w.asked[STORE_CREATE];
    commit_trust_base(p.commit);
    actor_publish(&p, 1);
    assert_int_equal(w.asked[STORE_CREATE], created + 2);
    assert_int_equal(actor_report(&p)->conflicts, 1);
    actor_publish(&q, 1);
    created = w.asked[STORE_CREATE];
    actor_publish(&p, 1);
    assert_int_equal(w.asked[STORE_CREATE], created + 1);
    assert_int_equal(world_check(&w), 9);
    actor_stop(&p);
    actor_stop(&q);
    world_close(&w);
}

/* A base that its owner looked for costs no race; but it tells that others are there, and so the
 * next commit looks by itself. */
static void who_saw_others_looks_first(void **state)
{
    (void)state;
    world w;
    actor p, q;
    world_open(&w, &(world_options){.block_size = 64});
    actor_start(&p, &w, "p");
    actor_start(&q, &w, "q");
    actor_open(&p);
    actor_publish(&p, 1);
    uint64_t asked = w.asked[STORE_GET];
    commit_trust_base(p.commit); /* and nobody else was there */
    actor_publish(&p, 1);
    actor_publish(&p, 1);
    assert_int_equal(w.asked[STORE_GET], asked + 2); /* the markers */
    actor_open(&q);
    assert_int_equal(world_walk(&w, p.chain, CHAIN_POLL), BW_OK);
    const uint64_t created = w.asked[STORE_CREATE];
    commit_trust_base(p.commit);
    actor_publish(&p, 1);
    assert_int_equal(w.asked[STORE_CREATE], created + 1);
    assert_int_equal(actor_report(&p)->conflicts, 0);
    asked = w.asked[STORE_GET];
    actor_publish(&p, 1);
    assert_int_equal(w.asked[STORE_GET], asked + 2);
    assert_int_equal(world_check(&w), 5);
    actor_stop(&p);
    actor_stop(&q);
    world_close(&w);
}

static void publish_in_turn(actor *a, bool takes_turns, const char *turn)
{
    a->takes_turns = takes_turns;
    actor_publish(a, 1);
    const view is = chain_held(a->chain)->turn;
    if (!view_equal(is, view_text(turn)))
        fail_msg("after %s: %.*s, not %s", a->id, (int)is.size, (const char *)is.data, turn);
}

/* Rule 3 of the turns (docs/design/cadence.md): a member's publish sets `turn`, nothing else does.
 */
static void only_members_that_publish_move_the_turn(void **state)
{
    (void)state;
    world w;
    actor p, q;
    world_open(&w, &(world_options){.block_size = 64});
    actor_start(&p, &w, "p");
    actor_start(&q, &w, "q");
    actor_open(&p); /* which makes it a member */
    assert_int_equal(chain_held(p.chain)->turn.size, 0);
    publish_in_turn(&p, true, "p");
    actor_open(&q);
    assert_true(view_equal(chain_held(q.chain)->turn, view_text("p")));
    publish_in_turn(&q, true, "q");
    publish_in_turn(&p, false, "q"); /* by another cadence */
    for (int k = 0; k < 12; k++)     /* q sleeps for so long that it is none any more */
        publish_in_turn(&p, true, "p");
    publish_in_turn(&q, true, "p");
    publish_in_turn(&q, true, "q");
    actor_begin_seal(&p, true);
    assert_true(actor_drive(&p));
    assert_int_equal(actor_report(&p)->end, COMMIT_DONE);
    assert_true(view_equal(chain_held(p.chain)->turn, view_text("q")));
    actor_stop(&p);
    actor_stop(&q);
    world_close(&w);
}

static void publish_until(actor *a, uint64_t seq)
{
    while (a->seq < seq) {
        actor_begin_publish(a, 1, false);
        (void)actor_drive(a); /* false: what is kept is still out */
        assert_int_equal(actor_report(a)->end, COMMIT_DONE);
        actor_settle(a);
    }
}

/* While a hint is on its way no second one is put, and nobody waits for it. */
static void one_hint_at_a_time(void **state)
{
    (void)state;
    world w;
    actor p;
    world_open(&w, &(world_options){.block_size = 64});
    actor_start(&p, &w, "p");
    actor_open(&p);
    world_fault(&w, FAULT_KEEP, STORE_PUT, "hint", 0, 9, STORE_PENDING);
    publish_until(&p, 100);
    assert_int_equal(w.kept_count, 1);
    world_calm(&w);
    assert_true(actor_answer(&p, "hint", true, STORE_PENDING));
    world_fault(&w, FAULT_KEEP, STORE_PUT, "hint", 0, 9, STORE_PENDING);
    publish_until(&p, 140);
    assert_int_equal(w.kept_count, 1);
    assert_true(actor_answer(&p, "hint", true, STORE_PENDING));
    assert_int_equal(world_check(&w), p.seq);
    actor_stop(&p);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_producer_publishes_and_all_is_found),
        cmocka_unit_test(the_fragile_window_begins_with_the_commit),
        cmocka_unit_test(a_base_is_trusted_once),
        cmocka_unit_test(who_saw_others_looks_first),
        cmocka_unit_test(only_members_that_publish_move_the_turn),
        cmocka_unit_test(one_hint_at_a_time),
    };
    return cmocka_run_group_tests_name("commit", tests, NULL, NULL);
}
