// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* max_lag and max_bytes as a job meets them: producers block and say behind whom; the trainer's
 * side says when job and producers wait for each other. Nothing is dropped. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 8 };

typedef struct job {
    scene w;
    bw_producer *producer;
    bw_consumer *consumer;
    char *memory[BATCHES];
} job;

static bw_consumer *join(scene *w, const char *group, const char *launch)
{
    bw_config *config = settings("rank", "0", "world", "1", "launch", launch, NULL);
    bw_consumer *c = NULL;
    expect_ok(w, bw_consumer_open(w->space, group, config, NULL, 30 * SECOND, &c, w->error));
    bw_config_free(config);
    return c;
}

/* A job, and a producer that has staged more than it may publish. */
static void begin(job *j, const char *limit, const char *value)
{
    bw_config *more = settings(limit, value, NULL);
    memset(j, 0, sizeof *j);
    scene_open(&j->w, "1", "1", more);
    bw_config_free(more);
    j->consumer = join(&j->w, "train", "one");
    j->producer = open_producer(&j->w, "p", NULL);
    for (uint64_t k = 0; k < BATCHES; k++)
        put_batch(&j->w, j->producer, "p", k, k + 1, 1, &j->memory[k]);
}

static void end(job *j)
{
    bw_consumer_close(j->consumer);
    expect_ok(&j->w, bw_producer_close(j->producer, 0, j->w.error));
    for (uint64_t k = 0; k < BATCHES; k++)
        free(j->memory[k]);
    scene_close(&j->w);
}

static void train(job *j, uint64_t first, uint64_t count)
{
    for (uint64_t k = first; k < first + count; k++) {
        char id[8];
        uint64_t start;
        assert_int_equal(take_item(&j->w, j->consumer, id, sizeof id, &start), k);
        assert_int_equal(start, k);
    }
}

static void pin(job *j, const char *id, const char *release)
{
    bw_cursor *cursor;
    expect_ok(&j->w, bw_consumer_cursor(j->consumer, &cursor, j->w.error));
    expect_ok(&j->w, bw_consumer_pin(j->consumer, id, cursor, &release, release != NULL,
                                     30 * SECOND, j->w.error));
    bw_cursor_free(cursor);
}

static void told(const job *j, const char *text)
{
    if (strstr(bw_error_message(j->w.error), text) == NULL)
        fail_msg("not \"%s\": %s", text, bw_error_message(j->w.error));
}

static void not_told(const job *j, const char *text)
{
    if (strstr(bw_error_message(j->w.error), text) != NULL)
        fail_msg("\"%s\": %s", text, bw_error_message(j->w.error));
}

static void starve(job *j)
{
    bw_item *item = NULL;
    expect_status(&j->w, bw_consumer_next(j->consumer, SECOND, &item, j->w.error), BW_STARVED);
}

/* What the producer's last event of this kind says; those of other kinds are dropped. */
static void blocked_behind(job *j, const char *text)
{
    const time_t give_up = time(NULL) + 30;
    bool found = false;
    while (!found && time(NULL) < give_up) {
        bw_event *event = NULL;
        if (bw_producer_event(j->producer, SECOND, &event, NULL) != BW_OK)
            continue;
        found = bw_event_what(event) == BW_EVENT_BLOCKED &&
                strstr(bw_event_message(event), text) != NULL;
        bw_event_free(event);
    }
    if (!found)
        fail_msg("no event says: %s", text);
}

/* The limit is smaller than what the job reads between two checkpoints: within the first second
 * without a batch it is told that it waits for itself, and how to go on. */
static void a_job_that_waits_for_itself_is_told(void **state)
{
    (void)state;
    job j;
    char json[4096];
    size_t length;
    begin(&j, "max_lag", "4");
    train(&j, 0, 4);
    starve(&j);
    told(&j, "producers stand at max_lag, 4: group train holds at step 0");
    told(&j, "this job and its producers wait for each other until it pins a later step");
    expect_ok(&j.w, bw_consumer_wait_reason(j.consumer, json, sizeof json, &length, j.w.error));
    assert_non_null(strstr(json, "\"limit\":\"producers stand at max_lag, 4: group train holds at "
                                 "step 0"));
    blocked_behind(&j, "p stands at max_lag, 4: group train holds at step 0");
    expect_status(&j.w, bw_producer_flush(j.producer, BW_URGENT, SECOND, j.w.error), BW_BLOCKED);
    told(&j, "p stands at max_lag, 4: group train holds at step 0");
    /* Nothing was dropped: a checkpoint, and the rest comes. */
    pin(&j, "c4", NULL);
    train(&j, 4, 4);
    starve(&j);
    told(&j, "max_lag, 4: group train has pin c4 at step 4");
    expect_ok(&j.w, bw_producer_flush(j.producer, BW_URGENT, 30 * SECOND, j.w.error));
    end(&j);
}

/* Another group is behind: it is named, and this job is not said to wait for itself. */
static void who_is_behind_is_named(void **state)
{
    (void)state;
    job j;
    char json[4096];
    size_t length;
    begin(&j, "max_lag", "4");
    bw_consumer *slow = join(&j.w, "slow", "s1");
    bw_consumer_close(slow);
    train(&j, 0, 4);
    pin(&j, "c4", NULL);
    blocked_behind(&j, "p stands at max_lag, 4: group slow holds at step 0");
    starve(&j);
    told(&j, "producers stand at max_lag, 4: group slow holds at step 0");
    not_told(&j, "wait for each other");
    expect_ok(&j.w, bw_consumer_wait_reason(j.consumer, json, sizeof json, &length, j.w.error));
    assert_non_null(strstr(json, "group slow holds at step 0"));
    expect_ok(&j.w, bw_space_group_rm(j.w.space, "slow", NULL, 30 * SECOND, j.w.error));
    train(&j, 4, 4);
    expect_ok(&j.w, bw_producer_flush(j.producer, BW_URGENT, 30 * SECOND, j.w.error));
    end(&j);
}

static void sweep(job *j)
{
    bw_config *config = settings("apply", "true", NULL);
    expect_ok(&j->w, bw_space_report(j->w.space, "gc", config, no_line, NULL, j->w.error));
    bw_config_free(config);
}

/* What a pin has freed counts until a sweep has deleted it. */
static void bytes_wait_for_a_sweep(void **state)
{
    (void)state;
    job j;
    bw_item *item = NULL;
    begin(&j, "max_bytes", "1KiB"); /* of TGBs of about 300 bytes */
    train(&j, 0, 2);
    unsigned seen = 2;
    while (bw_consumer_next(j.consumer, 5 * SECOND, &item, j.w.error) == BW_OK) {
        bw_item_release(item);
        seen++;
    }
    assert_true(seen < BATCHES);
    told(&j, "max_bytes, 1024: group train holds at step 0");
    told(&j, "wait for each other");
    pin(&j, "c", NULL);
    const time_t give_up = time(NULL) + 30;
    do
        starve(&j);
    while (strstr(bw_error_message(j.w.error), "wait for a sweep") == NULL && time(NULL) < give_up);
    told(&j, "steps wait for a sweep (batchweave gc --apply)");
    not_told(&j, "wait for each other");
    assert_int_equal(seen, 3);
    sweep(&j);
    train(&j, 3, 3);
    pin(&j, "d", "c");
    sweep(&j);
    train(&j, 6, 2);
    expect_ok(&j.w, bw_producer_flush(j.producer, BW_URGENT, 30 * SECOND, j.w.error));
    end(&j);
}

/* It could never be published. */
static void a_batch_above_max_bytes_is_refused_at_put(void **state)
{
    (void)state;
    scene w;
    bw_batch *batch;
    static char large[2048];
    bw_config *more = settings("max_bytes", "1KiB", NULL);
    scene_open(&w, "1", "1", more);
    bw_config_free(more);
    bw_producer *p = open_producer(&w, "p", NULL);
    expect_ok(&w, bw_batch_new(p, 1, &batch, w.error));
    const struct iovec piece = {large, sizeof large};
    expect_ok(&w, bw_batch_item(batch, 0, 0, 0, &piece, 1, w.error));
    expect_status(&w, bw_producer_put(p, batch, 1, "", 0, 0, 30 * SECOND, w.error), BW_TOO_LARGE);
    assert_non_null(strstr(bw_error_message(w.error), "max_bytes"));
    bw_batch_free(batch);
    /* The producer goes on. */
    char *memory;
    put_batch(&w, p, "p", 0, 1, 1, &memory);
    expect_ok(&w, bw_producer_flush(p, BW_URGENT, 30 * SECOND, w.error));
    expect_ok(&w, bw_producer_close(p, 0, w.error));
    free(memory);
    scene_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_waits_for_itself_is_told),
        cmocka_unit_test(who_is_behind_is_named),
        cmocka_unit_test(bytes_wait_for_a_sweep),
        cmocka_unit_test(a_batch_above_max_bytes_is_refused_at_put),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
