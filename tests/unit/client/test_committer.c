// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Commits whose replies are lost, late or refusals. The first create below manifest/ behind the
 * rules is the producer's open. */
#include "stand.h"

#include "client/reports.h"
#include <stdio.h>
#include <string.h>

static void test_lost_reply_of_a_commit(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 1, "unknown-after:create:manifest/:2;unknown-before:create:manifest/:4", false);
    bw_producer *p = stand_producer(&s, s.space, "p", "naive");
    for (uint64_t i = 1; i <= 4; i++) {
        stand_put(&s, p, "x", i);
        stand_expect(&s, producer_flush(p, true, 10 * NS_PER_S, &s.error), BW_OK);
    }
    assert_int_equal(stand_await(&s, p, BW_EVENT_COMMITTED, NULL), 1);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    bw_consumer *c = stand_consumer(&s, s.space, 0);
    for (int i = 0; i < 4; i++)
        stand_take(&s, c, "x");
    bw_item *item = NULL;
    stand_expect(&s, consumer_next(c, 20 * NS_PER_MS, &item, &s.error), BW_STARVED); /* not twice */
    consumer_close(c);
    stand_close(&s);
}

/* A store that is asked too much refuses manifests as well. Nobody else commits: no race was lost,
 * and the cadence hears of none. */
static void test_throttling_is_no_conflict(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 1,
               "slow-down:create:manifest/:2;slow-down:create:manifest/:3;"
               "slow-down:create:manifest/:5;slow-down:get:manifest/:9",
               false);
    bw_producer *p = stand_producer(&s, s.space, "p", "aimd:rate");
    const int64_t gap_ns = p->worker.cadence.gap_ns;
    for (uint64_t i = 1; i <= 4; i++) {
        stand_put(&s, p, "x", i);
        stand_expect(&s, producer_flush(p, true, 10 * NS_PER_S, &s.error), BW_OK);
    }
    assert_int_equal(p->locked.stats.commits, 4);
    assert_int_equal(p->locked.stats.conflicts, 0);
    assert_true(p->worker.cadence.gap_ns < gap_ns); /* a conflict doubles it */
    assert_true(atomic_load(&s.space->meter.throttled) >= 3);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    stand_close(&s);
}

static void test_lost_reply_of_the_open(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 1, "unknown-after:create:manifest/:1", false);
    bw_producer *p = stand_producer(&s, s.space, "p", "naive");
    assert_int_equal(p->epoch, 1);
    stand_put(&s, p, "x", 1);
    stand_expect(&s, producer_flush(p, true, 10 * NS_PER_S, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    stand_close(&s);
}

/* A commit that stays open beyond its deadline is UNKNOWN: told once by an event, by flush and by
 * close. */
static void test_unknown_for_good(void **state)
{
    (void)state;
    stand s;
    char message[EVENT_MESSAGE_MAX + 1];
    stand_open(&s, 1, "", false);
    bw_producer *open = stand_producer(&s, s.space, "p", "naive");
    stand_expect(&s, producer_close(open, 0, &s.error), BW_OK);
    /* The open's own create is the first. */
    char rules[1024] = "unknown-before:create:manifest/:2";
    for (int i = 3; i < 30; i++)
        (void)snprintf(rules + strlen(rules), sizeof rules - strlen(rules),
                       ";unknown-before:create:manifest/:%d", i);
    bw_space *faulty = stand_space(&s, rules, false);
    bw_producer *p = stand_producer(&s, faulty, "p", "naive");
    stand_put(&s, p, "x", 1);
    (void)stand_await(&s, p, BW_EVENT_UNKNOWN, message);
    assert_non_null(strstr(message, "version 4"));
    stand_expect(&s, producer_flush(p, true, 10 * NS_PER_MS, &s.error), BW_UNKNOWN);
    stand_expect(&s, producer_close(p, 10 * NS_PER_MS, &s.error), BW_UNKNOWN);
    space_close(faulty);
    stand_close(&s);
}

/* The handle goes on asking, and the commit that was UNKNOWN is acknowledged in the end, once. */
static void test_unknown_then_known(void **state)
{
    (void)state;
    stand s;
    char rules[1024] = "unknown-after:create:manifest/:2";
    for (int i = 3; i < 14; i++)
        (void)snprintf(rules + strlen(rules), sizeof rules - strlen(rules),
                       ";unknown-before:create:manifest/:%d", i);
    stand_open(&s, 1, rules, false);
    s.commit_timeout_ns = NS_PER_MS;
    bw_producer *p = stand_producer(&s, s.space, "p", "naive");
    stand_put(&s, p, "x", 1);
    (void)stand_await(&s, p, BW_EVENT_UNKNOWN, NULL);
    assert_int_equal(stand_await(&s, p, BW_EVENT_COMMITTED, NULL), 1);
    stand_expect(&s, producer_finish(p, 20 * NS_PER_S, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    stand_expect(&s, space_seal(s.space, false, 10 * NS_PER_S, &s.error), BW_OK);
    bw_consumer *c = stand_consumer(&s, s.space, 0);
    bw_item *item = NULL;
    stand_take(&s, c, "x");
    stand_expect(&s, consumer_next(c, 10 * NS_PER_S, &item, &s.error), BW_END);
    consumer_close(c);
    stand_close(&s);
}

/* A seal past its deadline with an attempt open: UNKNOWN, of the version that may still land. */
static void test_unknown_seal_names_its_version(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 1, "", false);
    bw_space *faulty = stand_space(&s, "unknown-before:create:manifest/:0", false);
    stand_expect(&s, space_seal(faulty, false, 50 * NS_PER_MS, &s.error), BW_UNKNOWN);
    assert_non_null(strstr(s.error.message, "version 2 "));
    space_close(faulty);
    stand_close(&s);
}

static int no_line(void *context, const char *json)
{
    (void)context;
    (void)json;
    return 0;
}

/* The reply is lost, and before it is asked for again others have gone on, the tail was folded and
 * the block of the name was retired: the batch is found on the chain, at its step. */
static void test_found_behind_a_retired_block(void **state)
{
    (void)state;
    stand s;
    char rules[1024] = "unknown-after:create:manifest/:2";
    for (int i = 3; i < 14; i++)
        (void)snprintf(rules + strlen(rules), sizeof rules - strlen(rules),
                       ";unknown-before:create:manifest/:%d", i);
    stand_open(&s, 1, rules, false);
    s.commit_timeout_ns = NS_PER_MS;
    bw_producer *p = stand_producer(&s, s.space, "p", "naive");
    s.commit_timeout_ns = 10 * NS_PER_S;
    stand_put(&s, p, "lost", 1);
    (void)stand_await(&s, p, BW_EVENT_UNKNOWN, NULL);
    bw_space *other = stand_space(&s, "", false);
    bw_producer *q = stand_producer(&s, other, "q", "naive");
    for (uint64_t i = 1; i <= 20; i++) {
        stand_put(&s, q, "q", i);
        stand_expect(&s, producer_flush(q, true, 10 * NS_PER_S, &s.error), BW_OK);
    }
    const report_options apply = {.prefix = "", .apply = true, .timeout_ns = 10 * NS_PER_S};
    stand_expect(&s, report_run(other, "gc", &apply, no_line, NULL, &s.error), BW_OK);
    assert_true(mem_space_count(s.contents, "retired/") >= 2);
    bw_event *e = NULL;
    do {
        event_free(e);
        stand_expect(&s, producer_event(p, 20 * NS_PER_S, &e, &s.error), BW_OK);
    } while (e->kind != BW_EVENT_COMMITTED);
    assert_int_equal(e->token, 1);
    assert_int_equal(e->step, 0);
    event_free(e);
    stand_put(&s, p, "after", 2);
    stand_expect(&s, producer_finish(p, 10 * NS_PER_S, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    stand_expect(&s, producer_close(q, 0, &s.error), BW_OK);
    bw_consumer *c = stand_consumer(&s, other, 0);
    stand_take(&s, c, "lost");
    for (int i = 0; i < 20; i++)
        stand_take(&s, c, "q");
    stand_take(&s, c, "after");
    consumer_close(c);
    space_close(other);
    stand_close(&s);
}

static void test_store_refuses(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 1, "denied:create:manifest/:2", false);
    bw_producer *p = stand_producer(&s, s.space, "p", "naive");
    stand_put(&s, p, "x", 1);
    (void)stand_await(&s, p, BW_EVENT_FAILED, NULL);
    stand_expect(&s, producer_flush(p, true, NS_PER_S, &s.error), BW_DENIED);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_DENIED);
    stand_close(&s);
}

static void test_no_room_for_a_manifest(void **state)
{
    (void)state;
    stand s;
    char message[EVENT_MESSAGE_MAX + 1];
    stand_open(&s, 1,
               "no-space:create:manifest/:2;no-space:create:manifest/:3;"
               "no-space:create:manifest/:4",
               false);
    bw_producer *p = stand_producer(&s, s.space, "p", "naive");
    stand_put(&s, p, "x", 1);
    stand_expect(&s, producer_flush(p, true, 20 * NS_PER_S, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    (void)message;
    stand_close(&s);
}

/* Two producers at once lose races to each other and nothing else. */
static void test_rivals(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 1, "", false);
    bw_producer *p[2] = {stand_producer(&s, s.space, "p", "naive"),
                         stand_producer(&s, s.space, "q", "naive")};
    for (uint64_t i = 1; i <= 40; i++)
        for (int k = 0; k < 2; k++)
            stand_put(&s, p[k], k == 0 ? "p" : "q", i);
    for (int k = 0; k < 2; k++)
        stand_expect(&s, producer_finish(p[k], 20 * NS_PER_S, &s.error), BW_OK);
    stand_expect(&s, space_seal(s.space, false, 10 * NS_PER_S, &s.error), BW_OK);
    uint32_t seen[2] = {0, 0};
    bw_consumer *c = stand_consumer(&s, s.space, 0);
    for (int i = 0; i < 80; i++) {
        bw_item *item = NULL;
        stand_expect(&s, consumer_next(c, 10 * NS_PER_S, &item, &s.error), BW_OK);
        seen[item->owner->data[item->owner->frames[0].offset] == 'q']++;
        item_release(item);
    }
    assert_int_equal(seen[0], 40);
    assert_int_equal(seen[1], 40);
    bw_item *item = NULL;
    stand_expect(&s, consumer_next(c, 10 * NS_PER_S, &item, &s.error), BW_END);
    consumer_close(c);
    for (int k = 0; k < 2; k++)
        stand_expect(&s, producer_close(p[k], 0, &s.error), BW_OK);
    stand_close(&s);
}

/* Two that take turns: all is published, and nothing twice. */
static void test_turns(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 1, "", false);
    bw_space *other = stand_space(&s, "", false);
    bw_producer *p = stand_producer(&s, s.space, "p", "turn");
    bw_producer *q = stand_producer(&s, other, "q", "turn");
    const uint64_t each = 40;
    for (uint64_t i = 1; i <= each; i++) {
        stand_put(&s, p, "x", i);
        stand_put(&s, q, "x", i);
        if (i % 8 == 0)
            stand_expect(&s, producer_flush(i % 16 == 0 ? p : q, false, 10 * NS_PER_S, &s.error),
                         BW_OK);
    }
    stand_expect(&s, producer_flush(p, false, 10 * NS_PER_S, &s.error), BW_OK);
    stand_expect(&s, producer_flush(q, false, 10 * NS_PER_S, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    stand_expect(&s, producer_close(q, 0, &s.error), BW_OK);
    bw_consumer *c = stand_consumer(&s, s.space, 0);
    for (uint64_t i = 0; i < 2 * each; i++)
        stand_take(&s, c, "x");
    bw_item *item = NULL;
    stand_expect(&s, consumer_next(c, 20 * NS_PER_MS, &item, &s.error), BW_STARVED);
    consumer_close(c);
    space_close(other);
    stand_close(&s);
}

/* The fifth GET of a manifest is the first look after the opens: it fails, and the commit is made.
 */
static void test_a_look_that_fails(void **state)
{
    (void)state;
    static const char *const rules[] = {"denied:get:manifest/:5", "fatal:get:manifest/:5",
                                        "flip:get:manifest/:5", "denied:get:manifest/:6"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        stand s;
        stand_open(&s, 1, rules[i], false);
        bw_producer *p = stand_producer(&s, s.space, "p", "turn");
        for (uint64_t k = 1; k <= 3; k++) {
            stand_put(&s, p, "x", k);
            stand_expect(&s, producer_flush(p, false, 10 * NS_PER_S, &s.error), BW_OK);
        }
        stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
        stand_close(&s);
    }
}

/* The hint is advisory: while the store does not take it, commits go on. */
static void test_a_hint_that_finds_no_space(void **state)
{
    (void)state;
    static const char *const policies[] = {"naive", "turn"};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        stand s;
        stand_open(&s, 1, "no-space:put:hint:0", false);
        bw_producer *p = stand_producer(&s, s.space, "p", policies[i]);
        for (uint64_t k = 1; k <= 70; k++) {
            stand_put(&s, p, "x", k);
            stand_expect(&s, producer_flush(p, false, 5 * NS_PER_S, &s.error), BW_OK);
        }
        stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
        stand_close(&s);
    }
}

/* Nor does a segment that no commit needs yet: the tail may grow to twice the size at which it is
 * put early. */
static void test_a_segment_that_finds_no_space(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 1, "no-space:put:segment/:0", false);
    bw_producer *p = stand_producer(&s, s.space, "p", "naive");
    for (uint64_t k = 1; k <= 5; k++) {
        stand_put(&s, p, "x", k);
        stand_expect(&s, producer_flush(p, false, 5 * NS_PER_S, &s.error), BW_OK);
    }
    stand_put(&s, p, "x", 6);
    stand_expect(&s, producer_flush(p, false, NS_PER_S, &s.error), BW_TIMEOUT);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_UNKNOWN);
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost_reply_of_a_commit),
        cmocka_unit_test(test_throttling_is_no_conflict),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_a_look_that_fails),
        cmocka_unit_test(test_a_hint_that_finds_no_space),
        cmocka_unit_test(test_a_segment_that_finds_no_space),
        cmocka_unit_test(test_lost_reply_of_the_open),
        cmocka_unit_test(test_unknown_for_good),
        cmocka_unit_test(test_unknown_then_known),
        cmocka_unit_test(test_unknown_seal_names_its_version),
        cmocka_unit_test(test_found_behind_a_retired_block),
        cmocka_unit_test(test_store_refuses),
        cmocka_unit_test(test_no_room_for_a_manifest),
        cmocka_unit_test(test_rivals),
    };
    return cmocka_run_group_tests_name("committer", tests, NULL, NULL);
}
