// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "stand.h"

#include "client/follower.h"
#include <stdio.h>
#include <string.h>

#define PATIENCE (20 * NS_PER_S)

static int64_t soon(void)
{
    return clock_deadline(clock_system(), PATIENCE);
}

static void pause_ms(int64_t ms)
{
    gate never;
    gate_init(&never);
    gate_wait(&never, gate_ticket(&never), clock_deadline(clock_system(), ms * NS_PER_MS));
}

static void publish(stand *s, bw_producer *p, uint64_t offset)
{
    stand_put(s, p, "item", offset);
    stand_expect(s, producer_flush(p, true, PATIENCE, &s->error), BW_OK);
}

static uint64_t newest_next(stand *s, follower *f)
{
    manifest *m = NULL;
    stand_expect(s, follower_answer(f, follower_ask(f), soon(), NULL, &m, &s->error), BW_OK);
    const uint64_t next = m->next;
    manifest_unref(m);
    return next;
}

static void test_answers_are_newest(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 1, "", false);
    bw_space *other = stand_space(&s, "", false);
    bw_producer *p = stand_producer(&s, other, "p", "naive");
    stand_expect(&s, follower_start(s.space, &s.error), BW_OK);
    follower *f = s.space->follower;
    assert_non_null(f);
    stand_expect(&s, follower_start(s.space, &s.error), BW_OK);
    assert_ptr_equal(s.space->follower, f); /* one a space */
    for (uint64_t i = 1; i <= 5; i++) {
        publish(&s, p, i); /* by another handle: only the store tells */
        assert_int_equal(newest_next(&s, f), i);
    }
    /* A ticket stays answered. */
    const uint64_t ticket = follower_ask(f);
    manifest *m = NULL;
    stand_expect(&s, follower_answer(f, ticket, soon(), NULL, &m, &s.error), BW_OK);
    manifest_unref(m);
    stand_expect(&s, follower_answer(f, ticket, 0, NULL, &m, &s.error), BW_OK);
    manifest_unref(m);
    /* One that was never given out is waited for until the deadline. */
    stand_expect(&s,
                 follower_answer(f, ticket + 1, clock_deadline(clock_system(), 20 * NS_PER_MS),
                                 NULL, &m, &s.error),
                 BW_TIMEOUT);
    stand_expect(&s, producer_finish(p, PATIENCE, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    space_close(other);
    stand_close(&s);
}

/* Does the store see a third of a second without a request, more than any interval of polls? */
static bool falls_silent(stand *s)
{
    for (int try = 0; try < 10; try++) {
        const uint64_t before = mem_space_applied(s->contents, STORE_GET);
        pause_ms(333);
        if (mem_space_applied(s->contents, STORE_GET) == before)
            return true;
    }
    return false;
}

/* It polls while somebody wants more, and not otherwise. */
static void test_polls_while_wanted(void **state)
{
    (void)state;
    stand s;
    follower_counts before, after;
    stand_open(&s, 1, "", false);
    bw_space *other = stand_space(&s, "", false);
    bw_producer *p = stand_producer(&s, other, "p", "naive");
    bw_consumer *c = stand_consumer(&s, s.space, 0);
    follower *f = s.space->follower;
    follower_counted(f, &before);
    publish(&s, p, 1);
    stand_take(&s, c, "item"); /* found without being asked */
    publish(&s, p, 2);
    stand_take(&s, c, "item");
    follower_counted(f, &after);
    assert_true(after.chain.polls > before.chain.polls);
    assert_in_range(after.interval_ns, NS_PER_MS, 1250 * NS_PER_MS);
    consumer_close(c);
    (void)newest_next(&s, f); /* the last poll is over */
    assert_true(falls_silent(&s));
    stand_expect(&s, producer_finish(p, PATIENCE, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    space_close(other);
    stand_close(&s);
}

/* A consumer that looks far enough ahead costs no polls, until it has come near the end. */
static void test_rests_while_ahead(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 1, "", false);
    bw_space *other = stand_space(&s, "", false);
    bw_producer *p = stand_producer(&s, other, "p", "naive");
    for (uint64_t i = 1; i <= 10; i++)
        publish(&s, p, i);
    bw_consumer *c = stand_consumer(&s, s.space, 0); /* looks 4 steps ahead */
    stand_take(&s, c, "item");
    assert_true(falls_silent(&s));
    publish(&s, p, 11);
    for (uint64_t i = 2; i <= 11; i++)
        stand_take(&s, c, "item");
    consumer_close(c);
    stand_expect(&s, producer_finish(p, PATIENCE, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    space_close(other);
    stand_close(&s);
}

/* What blocks the chain is told with its key, and forgotten when it is gone. */
static void test_failure_and_its_end(void **state)
{
    (void)state;
    stand s;
    object_key key;
    manifest *m = NULL;
    stand_open(&s, 1, "", false);
    bw_producer *p = stand_producer(&s, s.space, "p", "naive");
    publish(&s, p, 1);
    stand_expect(&s, producer_finish(p, PATIENCE, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    stand_expect(&s, follower_start(s.space, &s.error), BW_OK);
    follower *f = s.space->follower;
    stand_expect(&s, follower_answer(f, follower_ask(f), soon(), NULL, &m, &s.error), BW_OK);
    key_manifest(&key, m->version + 1);
    manifest_unref(m);
    assert_int_equal(mem_space_set(s.contents, key.text, "no manifest", 11), BW_OK);
    m = NULL;
    stand_expect(&s, follower_answer(f, follower_ask(f), soon(), NULL, &m, &s.error),
                 BW_CHAIN_BLOCKED);
    assert_null(m);
    assert_string_equal(bw_error_key(&s.error), key.text);
    assert_true(mem_space_remove(s.contents, key.text));
    assert_int_equal(newest_next(&s, f), 1);
    stand_close(&s);
}

/* Who stops waiting for an answer is told what the store fails with, while it is asked again. */
static void test_late_answers_tell_why(void **state)
{
    (void)state;
    stand s;
    object_key key;
    char rule[STORE_KEY_MAX + 64];
    stand_open(&s, 1, "", false);
    key_manifest(&key, chain_held(s.space->chain)->version + 2);
    (void)snprintf(rule, sizeof rule, "retry-before:get:%s:0", key.text);
    bw_space *faulty = stand_space(&s, rule, false);
    stand_expect(&s, follower_start(faulty, &s.error), BW_OK);
    follower *f = faulty->follower;
    bw_producer *p = stand_producer(&s, s.space, "p", "naive"); /* the version before that */
    manifest *m = NULL;
    const int64_t end_ns = soon();
    do {
        const int64_t deadline_ns = clock_deadline(clock_system(), 50 * NS_PER_MS);
        stand_expect(&s, follower_answer(f, follower_ask(f), deadline_ns, NULL, &m, &s.error),
                     BW_TIMEOUT);
        assert_true(clock_now(clock_system()) < end_ns);
    } while (strstr(bw_error_message(&s.error), "injected") == NULL);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    space_close(faulty);
    stand_close(&s);
}

/* A rank that waits for rank 0's launch looks again and again; when the store fails it meanwhile,
 * it says so beside what it waits for. */
static void test_a_launch_not_seen_tells_why(void **state)
{
    (void)state;
    stand s;
    object_key key;
    char rules[30 * (STORE_KEY_MAX / 8)] = "";
    stand_open(&s, 2, "", false);
    key_manifest(&key, chain_held(s.space->chain)->version + 1);
    /* The first ones open the space and begin to wait. */
    for (int n = 4; n < 30; n++)
        (void)snprintf(rules + strlen(rules), sizeof rules - strlen(rules),
                       "%sretry-before:get:%s:%d", n > 4 ? ";" : "", key.text, n);
    bw_space *faulty = stand_space(&s, rules, false);
    const consumer_options options = {.has_rank = true,
                                      .rank = 1,
                                      .world = 2,
                                      .tp = 1,
                                      .pp = 1,
                                      .group = "train",
                                      .launch = "one",
                                      .prefetch = 4,
                                      .verify = true};
    bw_consumer *c = NULL;
    stand_expect(&s, consumer_open(faulty, &options, NULL, 3 * NS_PER_S, &c, &s.error), BW_TIMEOUT);
    assert_non_null(strstr(bw_error_message(&s.error), "rank 0 has not begun launch one"));
    assert_non_null(strstr(bw_error_message(&s.error), "injected"));
    space_close(faulty);
    stand_close(&s);
}

/* After follower_leave nothing touches the consumer any more; joined again, it is told at once. */
static void test_leave_and_join(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 1, "", false);
    bw_producer *p = stand_producer(&s, s.space, "p", "naive");
    bw_consumer *c = stand_consumer(&s, s.space, 0);
    follower *f = s.space->follower;
    follower_leave(f, c);
    publish(&s, p, 1);
    assert_int_equal(newest_next(&s, f), 1);
    lock_acquire(&c->lock);
    assert_int_equal(c->locked.manifest->next, 0);
    lock_release(&c->lock);
    follower_leave(f, c); /* twice is harmless */
    follower_join(f, c);
    lock_acquire(&c->lock);
    assert_int_equal(c->locked.manifest->next, 1);
    lock_release(&c->lock);
    stand_take(&s, c, "item");
    consumer_close(c);
    stand_expect(&s, producer_finish(p, PATIENCE, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    stand_close(&s);
}

static void test_nothing_to_free(void **state)
{
    (void)state;
    stand s;
    follower_free(NULL);
    stand_open(&s, 1, "", false);
    assert_null(s.space->follower); /* no thread before somebody reads */
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_are_newest),
        cmocka_unit_test(test_polls_while_wanted),
        cmocka_unit_test(test_failure_and_its_end),
        cmocka_unit_test(test_leave_and_join),
        cmocka_unit_test(test_rests_while_ahead),
        cmocka_unit_test(test_late_answers_tell_why),
        cmocka_unit_test(test_a_launch_not_seen_tells_why),
        cmocka_unit_test(test_nothing_to_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
