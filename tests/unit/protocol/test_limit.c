// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* max_lag and max_bytes (docs/protocol.md, Limits): how much room there is, who gets which share of
 * it, and what is said to whom there is none for. */
#include "intent_bases.h"
#include "world.h"

#include "base/rng.h"
#include "protocol/limit.h"
#include <stdio.h>
#include <string.h>

#define PRODUCERS_MAX 8u
#define BATCHES_MAX 64u

typedef struct limits {
    genesis genesis;
    producer_entry producers[PRODUCERS_MAX];
    char ids[PRODUCERS_MAX][8];
    pin pins[2];
    group group;
    descriptor batches[BATCHES_MAX];
    manifest base;
} limits;

/* So many active producers; a group g whose hold is at step 0, and no limit. */
static void set_up(limits *s, uint32_t producers)
{
    memset(s, 0, sizeof *s);
    for (uint32_t k = 0; k < producers; k++) {
        (void)snprintf(s->ids[k], sizeof s->ids[k], "p%u", k);
        s->producers[k] = entry_of(s->ids[k], 1, &mine);
        s->producers[k].last_commit = 9;
    }
    s->base = base_of(s->producers, producers);
    s->group = (group){.name = view_text("train"),
                       .launch = view_text("one"),
                       .launch_number = 1,
                       .last_version = 7,
                       .pins = s->pins};
    s->base.groups = &s->group;
    s->base.group_count = 1;
    for (uint32_t k = 0; k < BATCHES_MAX; k++)
        s->batches[k] = batch_of("p0", k + 1, 100);
}

static uint32_t room(const limits *s, uint32_t count)
{
    return limit_room(&s->genesis, &s->base, s->batches, count);
}

static void max_lag(limits *s, uint64_t steps)
{
    s->genesis.has_max_lag = true;
    s->genesis.max_lag = steps;
}

static void max_bytes(limits *s, uint64_t bytes)
{
    s->genesis.has_max_bytes = true;
    s->genesis.max_bytes = bytes;
}

static void pins_at(limits *s, uint64_t older, uint64_t newer)
{
    s->group.pinned = true;
    s->group.hold = newer;
    s->group.pin_count = 2;
    s->pins[0] = (pin){.id = view_text("c1"), .nonce = 1, .step = older};
    s->pins[1] = (pin){.id = view_text("c2"), .nonce = 2, .step = newer};
}

static void room_for_steps(void **state)
{
    (void)state;
    static const struct {
        uint64_t max_lag, next, older, newer;
        uint32_t producers, wanted, taken;
    } rows[] = {
        {10, 0, 0, 0, 1, 5, 5},      {10, 0, 0, 0, 1, 10, 10},    {10, 0, 0, 0, 1, 11, 10},
        {10, 9, 0, 0, 1, 5, 1},      {10, 10, 0, 0, 1, 5, 0},     {10, 12, 0, 0, 1, 5, 0},
        {10, 12, 0, 4, 1, 5, 2},     {10, 12, 4, 4, 1, 5, 2},     {10, 12, 0, 12, 1, 20, 10},
        {10, 0, 0, 0, 2, 10, 5},     {10, 0, 0, 0, 3, 10, 4},     {10, 1, 0, 0, 3, 10, 3},
        {10, 8, 0, 0, 3, 10, 1},     {10, 9, 0, 0, 3, 10, 1},     {10, 10, 0, 0, 3, 10, 0},
        {1, 0, 0, 0, 8, 10, 1},      {1, 1, 0, 0, 8, 10, 0},      {1, 5, 3, 5, 8, 10, 1},
        {100, 50, 0, 50, 4, 64, 25}, {100, 50, 0, 50, 4, 24, 24}, {100, 50, 0, 50, 4, 0, 0},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        limits s;
        set_up(&s, rows[k].producers);
        max_lag(&s, rows[k].max_lag);
        s.base.next = rows[k].next;
        pins_at(&s, rows[k].older, rows[k].newer);
        if (room(&s, rows[k].wanted) != rows[k].taken)
            fail_msg("row %zu: %u instead of %u", k, room(&s, rows[k].wanted), rows[k].taken);
    }
}

static void room_for_bytes(void **state)
{
    (void)state;
    /* Batches of 100 bytes each. */
    static const struct {
        uint64_t max_bytes, committed, swept;
        uint32_t producers, wanted, taken;
    } rows[] = {
        {1000, 0, 0, 1, 5, 5},     {1000, 0, 0, 1, 10, 10},     {1000, 0, 0, 1, 11, 10},
        {1000, 900, 0, 1, 11, 1},  {1000, 901, 0, 1, 11, 0},    {1000, 1000, 0, 1, 11, 0},
        {1000, 1700, 0, 1, 11, 0}, {1000, 1700, 900, 1, 11, 2}, {1000, 9000, 9000, 1, 11, 10},
        {1000, 0, 0, 2, 11, 5},    {1000, 0, 0, 3, 11, 3},      {1000, 0, 0, 8, 11, 1},
        {1000, 890, 0, 8, 11, 1},  {1000, 901, 0, 8, 11, 0},    {99, 0, 0, 1, 1, 0},
        {100, 0, 0, 1, 1, 1},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        limits s;
        set_up(&s, rows[k].producers);
        max_bytes(&s, rows[k].max_bytes);
        s.base.committed_bytes = rows[k].committed;
        s.base.swept_bytes = rows[k].swept;
        if (room(&s, rows[k].wanted) != rows[k].taken)
            fail_msg("row %zu: %u instead of %u", k, room(&s, rows[k].wanted), rows[k].taken);
    }
}

/* Without a group nothing is reclaimed, and nobody could ever move on. */
static void no_group_no_limit(void **state)
{
    (void)state;
    limits s;
    set_up(&s, 2);
    s.base.group_count = 0;
    max_lag(&s, 1);
    max_bytes(&s, 1);
    s.base.next = 50;
    s.base.committed_bytes = 5000;
    keeper k;
    assert_int_equal(room(&s, 64), 64);
    assert_int_equal(limit_reached(&s.genesis, &s.base, 100, &k), LIMIT_NONE);
}

/* The frontier is the slowest group's newest pin, however old its oldest. */
static void the_slowest_group_counts(void **state)
{
    (void)state;
    limits s;
    set_up(&s, 1);
    max_lag(&s, 10);
    s.base.next = 20;
    pin others[] = {{.id = view_text("x"), .nonce = 3, .step = 15}};
    pins_at(&s, 2, 20);
    const group two[] = {s.group,
                         {.name = view_text("two"),
                          .launch = view_text("l"),
                          .launch_number = 1,
                          .last_version = 3,
                          .pin_count = 1,
                          .pins = others}};
    group both[] = {two[0], two[1]};
    s.base.groups = both;
    s.base.group_count = 2;
    assert_int_equal(room(&s, 64), 5);
    others[0].step = 10;
    assert_int_equal(room(&s, 64), 0);
    keeper k;
    char text[LIMIT_TEXT_BYTES];
    assert_int_equal(limit_reached(&s.genesis, &s.base, 1, &k), LIMIT_LAG);
    assert_ptr_equal(k.group, &both[1]);
    assert_string_equal(limit_tell(&s.genesis, &s.base, LIMIT_LAG, &k, text),
                        "max_lag, 10: group two has pin x at step 10, and last committed version "
                        "3");
}

/* Those share who publish: not the finished, the forgotten, or who has been silent for 8 rounds. */
static void only_the_active_share(void **state)
{
    (void)state;
    limits s;
    set_up(&s, 4);
    max_lag(&s, 12);
    assert_int_equal(room(&s, 64), 3);
    s.producers[1].finished = true;
    assert_int_equal(room(&s, 64), 4);
    s.producers[2].forgotten = true;
    assert_int_equal(room(&s, 64), 6);
    s.base.version = 9 + 8 * 4;
    assert_int_equal(room(&s, 64), 6);
    s.producers[0].last_commit = s.base.version;
    s.base.version++;
    assert_int_equal(room(&s, 64), 12);
    /* Nobody active: whoever asks is the first. */
    s.base.version += 100;
    assert_int_equal(room(&s, 64), 12);
}

static void the_reasons_and_their_texts(void **state)
{
    (void)state;
    limits s;
    keeper k;
    char text[LIMIT_TEXT_BYTES];
    set_up(&s, 1);
    max_lag(&s, 10);
    max_bytes(&s, 1000);
    s.base.next = 9;
    s.base.committed_bytes = 900;
    assert_int_equal(limit_reached(&s.genesis, &s.base, 100, &k), LIMIT_NONE);
    assert_int_equal(limit_reached(&s.genesis, &s.base, 101, &k), LIMIT_BYTES);
    assert_string_equal(limit_tell(&s.genesis, &s.base, LIMIT_BYTES, &k, text),
                        "max_bytes, 1000: group train holds at step 0, and last committed version "
                        "7");
    s.base.next = 10;
    assert_int_equal(limit_reached(&s.genesis, &s.base, 1, &k), LIMIT_LAG);
    assert_string_equal(limit_tell(&s.genesis, &s.base, LIMIT_LAG, &k, text),
                        "max_lag, 10: group train holds at step 0, and last committed version 7");
    /* max_lag counts from the newest pin, max_bytes stands behind the oldest. */
    pins_at(&s, 2, 10);
    s.base.trim = 2;
    s.base.swept = 2;
    s.base.committed_bytes = 1000;
    assert_int_equal(limit_reached(&s.genesis, &s.base, 1, &k), LIMIT_BYTES);
    assert_string_equal(limit_tell(&s.genesis, &s.base, LIMIT_BYTES, &k, text),
                        "max_bytes, 1000: group train has pin c1 at step 2, and last committed "
                        "version 7");
    /* What no group keeps is a sweep's to give back. */
    s.base.swept = 0;
    assert_int_equal(limit_reached(&s.genesis, &s.base, 1, &k), LIMIT_SWEEP);
    assert_string_equal(limit_tell(&s.genesis, &s.base, LIMIT_SWEEP, &k, text),
                        "max_bytes, 1000: 2 steps wait for a sweep (batchweave gc --apply)");
}

/* Whatever the sizes and whoever comes first: a commit takes at least one TGB of what fits, at most
 * its share and the one that passes it, never more than the room, and together they fill it. */
static void shares_add_up_to_the_room(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        rng r;
        rng_seed(&r, seed);
        limits s;
        const uint32_t producers = 1 + (uint32_t)rng_below(&r, PRODUCERS_MAX);
        set_up(&s, producers);
        max_lag(&s, 1 + rng_below(&r, 40));
        max_bytes(&s, 100 + rng_below(&r, 4000));
        uint32_t commits = 0, taken;
        do {
            for (uint32_t k = 0; k < BATCHES_MAX; k++)
                s.batches[k].shape.total_bytes = 1 + rng_below(&r, 100);
            const uint64_t steps = s.genesis.max_lag - s.base.next;
            const uint64_t bytes = s.genesis.max_bytes - s.base.committed_bytes;
            taken = room(&s, BATCHES_MAX);
            uint64_t size = 0;
            for (uint32_t k = 0; k < taken; k++)
                size += s.batches[k].shape.total_bytes;
            assert_true(taken <= (steps + producers - 1) / producers);
            assert_true(size <= bytes);
            assert_true(taken < 2 || size - s.batches[taken - 1].shape.total_bytes <=
                                         (bytes + producers - 1) / producers);
            s.base.next += taken;
            s.base.committed_bytes += size;
            commits++;
        } while (taken > 0);
        keeper k;
        const limit_kind kind =
            limit_reached(&s.genesis, &s.base, s.batches[0].shape.total_bytes, &k);
        assert_true(kind == LIMIT_LAG || kind == LIMIT_BYTES);
        assert_true(kind != LIMIT_LAG || s.base.next == s.genesis.max_lag);
        assert_true(kind != LIMIT_BYTES || s.base.committed_bytes > s.genesis.max_bytes - 100);
        assert_true(commits > 1);
    }
}

/* ---- by the commit machine ---- */

static void launch(world *w, actor *a)
{
    const cursor c = {.dp = 1};
    const intent i = {.kind = INTENT_LAUNCH,
                      .launch = {.name = view_text("g"),
                                 .launch = view_text("l"),
                                 .start = LAUNCH_EARLIEST,
                                 .cursor = &c}};
    (void)w;
    actor_commit(a, &i);
}

/* Who loses the race for the last room is judged anew on the winner's base: the limit is exact. */
static void exact_when_two_race(void **state)
{
    (void)state;
    world w;
    actor p, q;
    world_open(&w, &(world_options){.block_size = 64, .has_max_lag = true, .max_lag = 4});
    actor_start(&p, &w, "p");
    actor_start(&q, &w, "q");
    actor_open(&p);
    actor_open(&q);
    launch(&w, &q);
    actor_begin_publish(&p, 10, false);
    world_fault(&w, FAULT_HOLD, STORE_CREATE, "manifest/", 0, 1, STORE_PENDING);
    assert_false(actor_drive(&p)); /* 2 of 4: its half */
    const machine_request held = w.held;
    w.is_held = false;
    for (uint32_t k = 0; k < 3; k++) {
        actor_begin_publish(&q, 10, false);
        assert_true(actor_drive(&q));
        assert_int_equal(actor_report(&q)->end, COMMIT_DONE);
        assert_int_equal(actor_report(&q)->result.published, k == 0 ? 2 : 1);
        actor_settle(&q);
        if (k < 2)
            continue;
        actor_begin_publish(&q, 1, false);
        assert_true(actor_drive(&q));
        assert_int_equal(actor_report(&q)->end, COMMIT_REFUSED);
        assert_int_equal(actor_report(&q)->status, BW_BLOCKED);
    }
    w.held = held;
    w.is_held = true;
    assert_true(actor_release(&p, true, STORE_PENDING));
    const commit_report *r = actor_report(&p);
    assert_int_equal(r->end, COMMIT_REFUSED);
    assert_int_equal(r->status, BW_BLOCKED);
    assert_string_equal(r->error.message, "p stands at max_lag, 4: group g holds at step 0, and "
                                          "last committed version 4");
    chain *c = world_chain(&w);
    assert_int_equal(chain_held(c)->next, 4);
    chain_free(c);
    actor_stop(&p);
    actor_stop(&q);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(room_for_steps),
        cmocka_unit_test(room_for_bytes),
        cmocka_unit_test(no_group_no_limit),
        cmocka_unit_test(the_slowest_group_counts),
        cmocka_unit_test(only_the_active_share),
        cmocka_unit_test(the_reasons_and_their_texts),
        cmocka_unit_test(shares_add_up_to_the_room),
        cmocka_unit_test(exact_when_two_race),
    };
    return cmocka_run_group_tests(tests, bases_begin, bases_end);
}
