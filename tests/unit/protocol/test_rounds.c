// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Round trips, counted: all that a machine asks is asked at once, then all of it is answered. */
#include "world.h"

/* `version`: what must be held in the end. */
static uint32_t rounds_to_open(world *w, uint64_t version, bool backwards)
{
    chain *c;
    bw_error error;
    assert_int_equal(chain_new(++w->seed, NULL, &c), BW_OK);
    chain_start(c, CHAIN_OPEN, w->now_ns);
    const uint32_t rounds = world_rounds(w, &chain_machine, c, backwards);
    assert_int_equal(chain_result(c, &error), BW_OK);
    assert_true(chain_is_newest(c));
    assert_int_equal(chain_held(c)->version, version);
    chain_free(c);
    return rounds;
}

static void grow(actor *a, uint64_t version)
{
    while (!world_has_manifest(a->world, version))
        actor_publish(a, 1);
}

/* Genesis and hint; the hinted version and what lies behind it; the marker. Where the next version
 * falls into the next block, that one's marker as well. */
static void a_cold_open_by_the_newest_takes_three(void **state)
{
    (void)state;
    world w;
    actor p;
    world_open(&w, &(world_options){.block_size = 64});
    actor_start(&p, &w, "p");
    actor_open(&p);
    for (uint64_t version = 3; version <= 130; version++) {
        grow(&p, version);
        world_hint(&w, version);
        const uint32_t rounds = version % 64 == 63 ? 4 : 3;
        assert_int_equal(rounds_to_open(&w, version, false), rounds);
        assert_int_equal(rounds_to_open(&w, version, true), rounds);
    }
    actor_stop(&p);
    world_close(&w);
}

/* A hint is at most 32 versions old in normal work: one more round finds how far it goes, or two,
 * then the newest, the one behind it, the marker. */
static void an_old_hint_costs_a_few_more(void **state)
{
    (void)state;
    world w;
    actor p;
    world_open(&w, &(world_options){.block_size = 1024});
    actor_start(&p, &w, "p");
    actor_open(&p);
    grow(&p, 100);
    for (uint64_t version = 60; version <= 99; version++) {
        world_hint(&w, version);
        const uint32_t rounds = rounds_to_open(&w, 100, version % 2 == 0);
        assert_int_equal(rounds_to_open(&w, 100, version % 2 == 1), rounds);
        /* The next of it, or what lies a power of two ahead with nothing between to look for. */
        assert_in_range(rounds, 5, 6);
    }
    actor_stop(&p);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cold_open_by_the_newest_takes_three),
        cmocka_unit_test(an_old_hint_costs_a_few_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
