// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The same seed is the same simulation; what a fault is called does not depend on other faults; a
 * seed shrinks to the faults that are asked for. */
#include "base/alloc.h"
#include "campaign.h"
#include "tape.h"
#include "trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEEDS 24u
#define FIRED_MAX FAULTS_MAX
#define PLAN_OF 16u
#define CLASS_SHIFT 56

static void a_seed_is_the_same_twice(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        sim_result a, b;
        simulate(seed, &(sim_options){.versions = 60}, &a);
        simulate(seed, &(sim_options){.versions = 60}, &b);
        assert_false(a.violated);
        assert_memory_equal(&a, &b, sizeof a);
        assert_true(a.versions >= 60 || a.virtual_ns > 0);
    }
}

static void seeds_differ(void **state)
{
    (void)state;
    sim_result a, b;
    simulate(1, &(sim_options){.versions = 30}, &a);
    simulate(2, &(sim_options){.versions = 30}, &b);
    assert_true(a.trace != b.trace);
}

static int by_id(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* All faults of a seed kept: the same run. None kept: a run without faults. */
static void kept_faults_are_the_ones_that_happen(void **state)
{
    (void)state;
    static uint64_t fired[FIRED_MAX], again[FIRED_MAX];
    size_t count = 0, count_again = 0;
    sim_result whole, kept, none;
    simulate(3,
             &(sim_options){
                 .versions = 40, .fired = fired, .fired_max = FIRED_MAX, .fired_count = &count},
             &whole);
    assert_true(count > 0);
    qsort(fired, count, sizeof *fired, by_id);
    simulate(3,
             &(sim_options){.versions = 40,
                            .kept = fired,
                            .kept_count = count,
                            .fired = again,
                            .fired_max = FIRED_MAX,
                            .fired_count = &count_again},
             &kept);
    assert_int_equal(kept.trace, whole.trace);
    assert_int_equal(count_again, count);
    simulate(3, &(sim_options){.versions = 40, .kept = fired, .kept_count = 0}, &none);
    assert_int_equal(none.faults, 0);
    assert_false(none.violated);
}

/* Other dice are another run of the same plan; the same dice are the same run, in whatever process;
 * who is absent does nothing, and fewer faults are fewer. */
static void dice_are_thrown_for_one_plan(void **state)
{
    (void)state;
    trial *own = trial_new(), *other = trial_new(), *again = trial_new();
    const setting first = {.seed = PLAN_OF, .versions = 40}, second = {PLAN_OF, 7, .versions = 40};
    trial_run(&first, NULL, 0, false, own);
    trial_run(&second, NULL, 0, false, other);
    trial_run(&second, other->fired, other->fired_count, false, again);
    assert_true(own->ended && other->ended && other->fired_count > 0);
    assert_true(own->result.trace != other->result.trace);
    assert_memory_equal(&other->result, &again->result, sizeof again->result);
    const setting alone = {.seed = PLAN_OF, .absent = UINT32_MAX, .only_faults = true};
    trial_run(&alone, NULL, 0, false, again);
    assert_true(again->ended && !again->result.violated);
    assert_int_equal(again->result.requests, 0);
    const setting thin = {.seed = PLAN_OF, .versions = 40, .thin = 31};
    trial_run(&thin, NULL, 0, false, again);
    assert_true(again->ended && !again->result.violated);
    assert_int_equal(again->fired_count, 0);
    trial_free(own);
    trial_free(other);
    trial_free(again);
}

static size_t without_slow(const trial *t, uint64_t *kept)
{
    size_t left = 0;
    for (size_t i = 0; i < t->fired_count; i++) {
        const fault_class class = (fault_class)(t->fired[i] >> CLASS_SHIFT);
        if (class != FAULT_SLOW && class != FAULT_SLOW_REPLY)
            kept[left++] = t->fired[i];
    }
    return left;
}

/* On a tape a run is what it is without; played with all its faults it is the same run, and with
 * all but the slow requests, too, since how long they took is on the tape. */
static void a_tape_keeps_the_schedule(void **state)
{
    (void)state;
    trial *own = trial_new(), *recorded = trial_new(), *played = trial_new();
    uint64_t *kept = sim_alloc(FAULTS_MAX * sizeof *kept);
    size_t slow = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        setting s = {.seed = seed, .versions = 60};
        trial_run(&s, NULL, 0, false, own);
        s.tape = trial_tape();
        trial_run(&s, NULL, 0, false, recorded);
        assert_memory_equal(&recorded->result, &own->result, sizeof own->result);
        tape_rewind(s.tape);
        trial_run(&s, own->fired, own->fired_count, false, played);
        assert_memory_equal(&played->result, &own->result, sizeof own->result);
        assert_int_equal(played->fired_count, own->fired_count);
        const size_t left = without_slow(own, kept);
        trial_run(&s, kept, left, false, played);
        assert_int_equal(played->result.trace, own->result.trace);
        assert_int_equal(played->result.virtual_ns, own->result.virtual_ns);
        slow += own->fired_count - left;
        trial_tape_free(s.tape);
    }
    assert_true(slow > SEEDS);
    mem_free(kept);
    trial_free(own);
    trial_free(recorded);
    trial_free(played);
}

/* A long wait is left out like a fault, whatever made it: played without any nobody waits for long
 * but for a fault. */
static void long_waits_are_left_out(void **state)
{
    (void)state;
    trial *recorded = trial_new(), *played = trial_new();
    uint64_t *kept = sim_alloc(FAULTS_MAX * sizeof *kept);
    size_t waits = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        setting s = {.seed = seed, .versions = 60, .tape = trial_tape()};
        trial_run(&s, NULL, 0, false, recorded);
        tape_rewind(s.tape);
        size_t left = 0;
        for (size_t i = 0; i < recorded->fired_count; i++)
            if (recorded->fired[i] >> CLASS_SHIFT != FAULT_WAIT)
                kept[left++] = recorded->fired[i];
        waits += recorded->fired_count - left;
        trial_run(&s, kept, left, false, played);
        assert_true(played->ended && !played->result.violated);
        for (size_t i = 0; i < played->fired_count; i++)
            assert_true(played->fired[i] >> CLASS_SHIFT != FAULT_WAIT);
        trial_tape_free(s.tape);
    }
    assert_true(waits > SEEDS);
    assert_int_equal(tape_moment(5, NS_PER_S, 9, false), 5 + TAPE_LONG_WAIT_NS);
    assert_int_equal(tape_moment(5, NS_PER_S, 9, true), NS_PER_S);
    assert_int_equal(tape_moment(5, 4, 9, true), 9);
    mem_free(kept);
    trial_free(recorded);
    trial_free(played);
}

static void more_versions(setting *s, const trial *best, rng *r)
{
    s->versions = best->setting.versions + (uint32_t)rng_below(r, 4);
}

/* Nothing is found where nothing fails, and what was there is left alone. */
static void a_search_in_vain(void **state)
{
    (void)state;
    trial *t = trial_new();
    uint32_t count = 0;
    const setting s = {.seed = PLAN_OF, .versions = 12, .only_faults = true};
    trial_run(&s, NULL, 0, false, t);
    const uint64_t trace = t->result.trace;
    trial_search(more_versions, "I5", 0.2, t, &count);
    assert_true(count > 0);
    assert_int_equal(t->result.trace, trace);
    assert_int_equal(t->setting.versions, 12);
    trial_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_is_the_same_twice),
        cmocka_unit_test(seeds_differ),
        cmocka_unit_test(kept_faults_are_the_ones_that_happen),
        cmocka_unit_test(dice_are_thrown_for_one_plan),
        cmocka_unit_test(a_tape_keeps_the_schedule),
        cmocka_unit_test(long_waits_are_left_out),
        cmocka_unit_test(a_search_in_vain),
    };
    return cmocka_run_group_tests_name("sim_determinism", tests, NULL, NULL);
}
