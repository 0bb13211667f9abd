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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_producer_publishes_and_all_is_found),
        cmocka_unit_test(the_fragile_window_begins_with_the_commit),
        cmocka_unit_test(a_base_is_trusted_once),
    };
    return cmocka_run_group_tests_name("commit", tests, NULL, NULL);
}
