// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A producer that stands at max_lag: what it asks for while it waits, and that it goes on. */
#include "stand.h"

#include "client/groups.h"
#include "store/decorators.h"
#include <stdatomic.h>
#include <string.h>

#define PATIENCE (60 * NS_PER_S)
#define LOOKS 34u /* two of them read a marker, too */

typedef struct counted {
    atomic_uint manifests, markers, others;
} counted;

static void count(void *context, const store_op *op)
{
    counted *c = context;
    if (op->outcome != STORE_PENDING)
        return;
    atomic_fetch_add(strncmp(op->key, "manifest/", 9) == 0 && op->kind == STORE_GET ? &c->manifests
                     : strncmp(op->key, "retired/", 8) == 0                         ? &c->markers
                                                                                    : &c->others,
                     1u);
}

/* A namespace of its own with a limit, and a space whose requests are counted. */
static void open_limited(stand *s, counted *c, bw_space **counted_space)
{
    const genesis g = {
        .dp = 1,
        .cp = 1,
        .items_default = 1,
        .block_size = 4,
        .tail_cap = 256,
        .part_bytes = 4096,
        .page_min = 2,
        .has_max_lag = true,
        .max_lag = 2,
        .schema = view_text(""),
    };
    const space_options writing = {.writable = true, .retry_limit_ns = 30 * NS_PER_S};
    store *plain = NULL, *traced = NULL;
    stand_open(s, 1, "", false);
    space_close(s->space);
    mem_space_free(s->contents);
    assert_int_equal(mem_space_new(&s->contents), BW_OK);
    stand_expect(s, store_mem_open(s->contents, &plain, &s->error), BW_OK);
    stand_expect(s, space_init_on(s->runtime, plain, &writing, &g, &s->error), BW_OK);
    s->space = stand_space(s, "", false);
    stand_expect(s, store_mem_open(s->contents, &plain, &s->error), BW_OK);
    stand_expect(s, store_trace_wrap(plain, count, c, &traced, &s->error), BW_OK);
    stand_expect(
        s, space_open_on(s->runtime, traced, "mem", &writing, PATIENCE, counted_space, &s->error),
        BW_OK);
}

static void launch(stand *s)
{
    uint64_t step;
    uint32_t item;
    cursor at = {.dp = 1};
    memcpy(at.uuid, s->space->genesis->uuid, UUID_BYTES);
    stand_expect(s,
                 group_launch(s->space, "train", "one", LAUNCH_EARLIEST, &at,
                              clock_deadline(clock_system(), PATIENCE), NULL, &step, &item,
                              &s->error),
                 BW_OK);
}

static void pin_at(stand *s, uint64_t step)
{
    cursor at = {.step = step, .dp = 1};
    const group_call call = {.name = "train", .launch = "one", .timeout_ns = PATIENCE};
    memcpy(at.uuid, s->space->genesis->uuid, UUID_BYTES);
    stand_expect(s, group_pin(s->space, &call, "checkpoint", &at, NULL, &s->error), BW_OK);
}

static void pause_ms(int64_t ms)
{
    gate never;
    gate_init(&never);
    gate_wait(&never, gate_ticket(&never), clock_deadline(clock_system(), ms * NS_PER_MS));
}

static void waits_with_one_request_a_look(const char *policy)
{
    stand s;
    counted c = {0};
    bw_space *space = NULL;
    char message[EVENT_MESSAGE_MAX + 1];
    open_limited(&s, &c, &space);
    launch(&s);
    bw_producer *p = stand_producer(&s, space, "p", policy);
    for (uint64_t i = 1; i <= 4; i++)
        stand_put(&s, p, "x", i);
    (void)stand_await(&s, p, BW_EVENT_BLOCKED, message);
    assert_non_null(strstr(message, "max_lag"));
    const uint32_t first = atomic_load(&c.manifests);
    const uint32_t markers = atomic_load(&c.markers);
    /* A hurry changes nothing about a limit. */
    stand_expect(&s, producer_flush(p, true, 0, &s.error), BW_BLOCKED);
    while (atomic_load(&c.manifests) - first < LOOKS)
        pause_ms(5);
    /* Every 16th look reads one: with an attempt each, there would be one for each. */
    assert_in_range(atomic_load(&c.markers) - markers, 1, LOOKS / 16 + 2);
    /* The limit moves, and it goes on by itself. */
    pin_at(&s, 2);
    stand_expect(&s, producer_flush(p, false, PATIENCE, &s.error), BW_OK);
    assert_int_equal(p->locked.stats.batches_committed, 4);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    space_close(space);
    stand_close(&s);
}

static void test_at_a_limit(void **state)
{
    (void)state;
    waits_with_one_request_a_look("naive");
    waits_with_one_request_a_look("turn");
}

/* Commits that leave the limit where it is are looked at, and it waits on. */
static void test_commits_that_do_not_move_it(void **state)
{
    (void)state;
    stand s;
    counted c = {0};
    bw_space *space = NULL;
    open_limited(&s, &c, &space);
    launch(&s);
    bw_producer *p = stand_producer(&s, space, "p", "naive");
    for (uint64_t i = 1; i <= 3; i++)
        stand_put(&s, p, "x", i);
    (void)stand_await(&s, p, BW_EVENT_BLOCKED, NULL);
    for (int i = 0; i < 3; i++) {
        bw_producer *other = stand_producer(&s, s.space, "other", "naive");
        stand_expect(&s, producer_close(other, 0, &s.error), BW_OK);
    }
    stand_expect(&s, producer_flush(p, false, 300 * NS_PER_MS, &s.error), BW_BLOCKED);
    pin_at(&s, 1);
    stand_expect(&s, producer_flush(p, false, PATIENCE, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    space_close(space);
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_a_limit),
        cmocka_unit_test(test_commits_that_do_not_move_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
