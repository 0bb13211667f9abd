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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_producer_publishes_and_all_is_found),
        cmocka_unit_test(the_fragile_window_begins_with_the_commit),
    };
    return cmocka_run_group_tests_name("commit", tests, NULL, NULL);
}
