// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Waits: they end in time, on an interrupt, and say why. */
#include "scene.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MS 1000000ll

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

static void nap(int64_t ns)
{
    const struct timespec t = {ns / SECOND, ns % SECOND};
    nanosleep(&t, NULL);
}

/* Waits until a reader that starves says `text`: how soon its follower hears of a commit is the
 * machine's affair. */
static void starve_until(scene *w, bw_consumer *c, const char *text)
{
    const int64_t end = now_ns() + 60 * SECOND;
    bw_item *item = NULL;
    do {
        expect_status(w, bw_consumer_next(c, 120 * MS, &item, w->error), BW_STARVED);
    } while (strstr(bw_error_message(w->error), text) == NULL && now_ns() < end);
    assert_non_null(strstr(bw_error_message(w->error), text));
}

static void test_starved_says_why(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "1", "1", NULL);
    bw_producer *p = open_producer(&w, "p", NULL);
    bw_consumer *c = open_consumer(&w, w.space, "0", "0");
    bw_item *item = NULL;
    char json[4096];
    expect_status(&w, bw_consumer_next(c, 0, &item, w.error), BW_STARVED);
    const int64_t began = now_ns();
    expect_status(&w, bw_consumer_next(c, 120 * MS, &item, w.error), BW_STARVED);
    assert_true(now_ns() - began >= 120 * MS);
    starve_until(&w, c, "1 of 1 producers");
    assert_non_null(strstr(bw_error_message(w.error), "step 0 is not committed"));
    assert_int_equal(bw_error_step(w.error), 0);
    size_t length = 0;
    expect_ok(&w, bw_consumer_wait_reason(c, json, sizeof json, &length, w.error));
    assert_int_equal(length, strlen(json));
    assert_non_null(strstr(json, "\"reason\":\"no batch\""));
    assert_int_equal(json_number(json, "producers_alive"), 1);
    assert_int_equal(json_number(json, "next_step"), 0);
    assert_true(json_number(json, "last_commit_age_ms") >= 0);
    expect_status(&w, bw_consumer_wait_reason(c, json, 10, &length, w.error), BW_TOO_LARGE);
    /* Then it comes. */
    char *memory = NULL;
    put_batch(&w, p, "p", 0, 1, 1, &memory);
    char id[8];
    uint64_t start = 9;
    assert_int_equal(take_item(&w, c, id, sizeof id, &start), 0);
    expect_ok(&w, bw_producer_finish(p, 10 * SECOND, w.error));
    free(memory);
    starve_until(&w, c, "its producer has finished");
    bw_consumer_close(c);
    expect_ok(&w, bw_producer_close(p, 0, w.error));
    scene_close(&w);
}

typedef struct waiting {
    bw_consumer *consumer;
    bw_producer *producer;
    bw_status status;
} waiting;

static void *wait_next(void *context)
{
    waiting *x = context;
    bw_item *item = NULL;
    x->status = bw_consumer_next(x->consumer, BW_FOREVER, &item, NULL);
    return NULL;
}

static void *wait_event(void *context)
{
    waiting *x = context;
    bw_event *event = NULL;
    x->status = bw_producer_event(x->producer, BW_FOREVER, &event, NULL);
    return NULL;
}

static void test_interrupt(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "1", "1", NULL);
    waiting x = {.consumer = open_consumer(&w, w.space, "0", "0"),
                 .producer = open_producer(&w, "p", NULL)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wait_next, &x), 0);
    nap(30 * MS);
    bw_consumer_interrupt(x.consumer, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(x.status, BW_INTERRUPTED);
    /* Sticky until it is taken back. */
    bw_item *item = NULL;
    expect_status(&w, bw_consumer_next(x.consumer, BW_FOREVER, &item, w.error), BW_INTERRUPTED);
    bw_consumer_interrupt(x.consumer, 0);
    expect_status(&w, bw_consumer_next(x.consumer, 10 * MS, &item, w.error), BW_STARVED);

    assert_int_equal(pthread_create(&thread, NULL, wait_event, &x), 0);
    nap(30 * MS);
    bw_producer_interrupt(x.producer, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(x.status, BW_INTERRUPTED);
    char *memory = NULL;
    put_batch(&w, x.producer, "p", 0, 1, 1, &memory); /* what needs no wait goes on */
    expect_status(&w, bw_producer_flush(x.producer, 0, BW_FOREVER, w.error), BW_INTERRUPTED);
    expect_status(&w, bw_producer_finish(x.producer, BW_FOREVER, w.error), BW_INTERRUPTED);
    bw_producer_interrupt(x.producer, 0);
    expect_ok(&w, bw_producer_finish(x.producer, 10 * SECOND, w.error));
    free(memory);
    bw_consumer_close(x.consumer);
    expect_ok(&w, bw_producer_close(x.producer, 0, w.error));
    scene_close(&w);
}

static void test_full_stage_waits(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "1", "1", NULL);
    /* Nothing is committed by itself in an hour. */
    bw_config *config =
        settings("policy", "fixed:3600000", "staged_batches", "3", "events", "4", NULL);
    bw_producer *p = open_producer(&w, "p", config);
    bw_config_free(config);
    char *memory[5];
    put_batch(&w, p, "p", 0, 1, 1, &memory[0]);
    expect_ok(&w,
              bw_producer_flush(p, BW_URGENT, 10 * SECOND, w.error)); /* the first is due at once */
    bw_event *event = NULL;
    for (int i = 0; i < 2; i++) {
        expect_ok(&w, bw_producer_event(p, SECOND, &event, w.error));
        bw_event_free(event);
    }
    for (uint64_t i = 1; i < 4; i++)
        put_batch(&w, p, "p", i, i + 1, 1, &memory[i]);
    bw_batch *b = NULL;
    expect_ok(&w, bw_batch_new(p, 1, &b, w.error));
    expect_ok(&w, bw_batch_pad(b, 0, 0, 0, w.error));
    expect_status(&w, bw_producer_put(p, b, 5, NULL, 0, 0, 0, w.error), BW_TIMEOUT);
    expect_status(&w, bw_producer_put(p, b, 5, NULL, 0, 0, 50 * MS, w.error), BW_TIMEOUT);
    assert_non_null(strstr(bw_error_message(w.error), "3 batches"));
    char json[4096];
    expect_ok(&w, bw_producer_stats(p, json, sizeof json, NULL, w.error));
    assert_int_equal(json_number(json, "staged_batches"), 3);
    assert_int_equal(json_number(json, "offset_committed"), 1);
    assert_int_equal(json_number(json, "offset_staged"), 4);
    expect_status(&w, bw_producer_flush(p, 0, 50 * MS, w.error), BW_TIMEOUT);
    assert_non_null(strstr(bw_error_message(w.error), "3 batches beyond offset 1"));
    /* The hurry of one call makes room; then the events must be taken. */
    expect_ok(&w, bw_producer_flush(p, BW_URGENT, 10 * SECOND, w.error));
    expect_status(&w, bw_producer_put(p, b, 5, NULL, 0, 0, 50 * MS, w.error), BW_TIMEOUT);
    assert_non_null(strstr(bw_error_message(w.error), "events were not taken"));
    struct pollfd readable = {.fd = bw_producer_event_fd(p), .events = POLLIN};
    assert_int_equal(poll(&readable, 1, 0), 1);
    int released = 0, committed = 0;
    while (bw_producer_event(p, 0, &event, w.error) == BW_OK) {
        released += bw_event_what(event) == BW_EVENT_RELEASED;
        committed += bw_event_what(event) == BW_EVENT_COMMITTED;
        bw_event_free(event);
    }
    assert_int_equal(released, 3);
    assert_int_equal(committed, 3);
    assert_int_equal(poll(&readable, 1, 0), 0);
    expect_status(&w, bw_producer_event(p, 20 * MS, &event, w.error), BW_TIMEOUT);
    expect_ok(&w, bw_producer_put(p, b, 5, NULL, 0, 0, SECOND, w.error));
    expect_ok(&w, bw_producer_close(p, 10 * SECOND, w.error)); /* commits what is staged */
    bw_consumer *c = open_consumer(&w, w.space, "0", "0");
    char id[8];
    uint64_t start = 0;
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(take_item(&w, c, id, sizeof id, &start), i);
    bw_item *item = NULL;
    expect_ok(&w, bw_consumer_next(c, 10 * SECOND, &item, w.error));
    assert_true(bw_item_pad(item));
    bw_item_release(item);
    bw_consumer_close(c);
    for (int i = 0; i < 4; i++)
        free(memory[i]);
    scene_close(&w);
}

/* With a pause between commits a waiting reader sleeps, and is told all the same. */
static void test_follower_polls_seldom(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "1", "1", NULL);
    bw_producer *p = open_producer(&w, "p", NULL);
    bw_consumer *c = open_consumer(&w, w.space, "0", "0");
    char *memory[3], json[4096], id[8];
    const int64_t opened = now_ns();
    for (uint64_t i = 0; i < 3; i++) {
        put_batch(&w, p, "p", i, i + 1, 1, &memory[i]);
        expect_ok(&w, bw_producer_flush(p, BW_URGENT, 10 * SECOND, w.error));
        uint64_t start = 0;
        assert_int_equal(take_item(&w, c, id, sizeof id, &start), i);
        nap(200 * MS);
    }
    expect_ok(&w, bw_consumer_stats(c, json, sizeof json, NULL, w.error));
    /* 2 ms apart at the least, however long the machine took over the 600. */
    assert_true(json_number(json, "polls") < (now_ns() - opened) / (2 * MS));
    assert_int_equal(json_number(json, "items"), 3);
    expect_ok(&w, bw_producer_finish(p, 10 * SECOND, w.error));
    expect_ok(&w, bw_space_seal(w.space, 0, 10 * SECOND, w.error));
    bw_item *item = NULL;
    expect_status(&w, bw_consumer_next(c, 10 * SECOND, &item, w.error), BW_END);
    expect_ok(&w, bw_consumer_stats(c, json, sizeof json, NULL, w.error));
    const int64_t polls = json_number(json, "polls");
    nap(300 * MS);
    expect_ok(&w, bw_consumer_stats(c, json, sizeof json, NULL, w.error));
    assert_int_equal(json_number(json, "polls"), polls); /* nothing can come any more */
    for (int i = 0; i < 3; i++)
        free(memory[i]);
    bw_consumer_close(c);
    expect_ok(&w, bw_producer_close(p, 0, w.error));
    scene_close(&w);
}

/* Every call that takes settings ends by them, and begins again once they are taken back. */
static void test_settings_that_interrupt(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "2", "1", NULL);
    bw_config *config = settings("mode", "write", "dp", "2", "d", "0", "launch", "1", NULL);
    bw_space *space = NULL;
    bw_producer *p = NULL;
    bw_consumer *c = NULL;
    bw_cursor *cursor = NULL;
    bw_config_interrupt(NULL, 1);
    bw_config_interrupt(config, 1);
    const bw_status ended = BW_INTERRUPTED;
    expect_status(&w, bw_space_init(w.runtime, w.url, config, w.error), ended);
    expect_status(&w, bw_space_open(w.runtime, w.url, config, 0, &space, w.error), ended);
    expect_status(&w, bw_producer_open(w.space, "p", config, BW_FOREVER, &p, w.error), ended);
    expect_status(&w, bw_consumer_open(w.space, "job", config, NULL, BW_FOREVER, &c, w.error),
                  ended);
    expect_status(&w, bw_cursor_begin(w.space, config, NULL, BW_FOREVER, &cursor, w.error), ended);
    expect_status(&w, bw_space_report(w.space, "info", config, no_line, NULL, w.error), ended);
    bw_config_interrupt(config, 0);
    expect_ok(&w, bw_space_open(w.runtime, w.url, config, BW_FOREVER, &space, w.error));
    expect_ok(&w, bw_producer_open(space, "p", config, BW_FOREVER, &p, w.error));
    expect_ok(&w, bw_consumer_open(space, "job", config, NULL, BW_FOREVER, &c, w.error));
    /* What is open does not look at them any more. */
    bw_config_interrupt(config, 1);
    expect_ok(&w, bw_producer_finish(p, BW_FOREVER, w.error));
    expect_ok(&w, bw_producer_close(p, 0, w.error));
    bw_consumer_close(c);
    bw_space_close(space);
    bw_config_free(config);
    scene_close(&w);
}

typedef struct opening {
    scene *w;
    bw_config *config;
    bw_status status;
} opening;

static void *open_other_rank(void *context)
{
    opening *o = context;
    bw_consumer *c = NULL;
    o->status = bw_consumer_open(o->w->space, "job", o->config, NULL, BW_FOREVER, &c, o->w->error);
    return NULL;
}

/* Rank 1 waits for a launch that never comes. */
static void test_an_open_is_interrupted(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "2", "1", NULL);
    opening o = {.w = &w, .config = settings("d", "1", "launch", "1", NULL)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, open_other_rank, &o), 0);
    nap(30 * MS);
    bw_config_interrupt(o.config, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(o.status, BW_INTERRUPTED);
    bw_config_free(o.config);
    scene_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_starved_says_why),
        cmocka_unit_test(test_interrupt),
        cmocka_unit_test(test_settings_that_interrupt),
        cmocka_unit_test(test_an_open_is_interrupted),
        cmocka_unit_test(test_full_stage_waits),
        cmocka_unit_test(test_follower_polls_seldom),
    };
    return cmocka_run_group_tests_name("wait", tests, NULL, NULL);
}
