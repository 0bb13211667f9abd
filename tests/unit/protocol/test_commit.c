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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_producer_publishes_and_all_is_found),
    };
    return cmocka_run_group_tests_name("commit", tests, NULL, NULL);
}
