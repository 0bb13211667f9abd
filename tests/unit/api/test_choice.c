// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What a job leaves out: steps of tags that it does not want, what went stale while it was down,
 * and ranges that its user names; the same on all ranks, or refused. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 2 };

/* Step k has tag k mod 5. */
static void publish(scene *w, const char *id, uint64_t from, uint64_t until)
{
    bw_producer *p = open_producer(w, id, NULL);
    for (uint64_t k = from; k < until; k++) {
        bw_batch *batch = NULL;
        char text[16];
        const int size = snprintf(text, sizeof text, "%llu", (unsigned long long)k);
        const struct iovec piece = {text, (size_t)size};
        expect_ok(w, bw_batch_new(p, 1, &batch, w->error));
        for (uint32_t d = 0; d < bw_space_dp(w->space); d++)
            expect_ok(w, bw_batch_item(batch, d, 0, 0, &piece, 1, w->error));
        expect_ok(w, bw_batch_meta(batch, k % 5, NULL, 0, w->error));
        expect_ok(w, bw_producer_put(p, batch, k + 1 - from, NULL, 0, 0, 30 * SECOND, w->error));
        expect_ok(w, bw_producer_flush(p, BW_URGENT, 30 * SECOND, w->error));
    }
    expect_ok(w, bw_producer_close(p, 0, w->error));
}

static bw_config *of_rank(unsigned rank, const char *name, const char *value)
{
    char text[12], world[12];
    (void)snprintf(text, sizeof text, "%u", rank);
    (void)snprintf(world, sizeof world, "%d", RANKS);
    bw_config *config = settings("rank", text, "world", world, "launch", "one", NULL);
    if (name != NULL)
        assert_int_equal(bw_config_set(config, name, value, NULL), BW_OK);
    return config;
}

static bw_status open_rank(scene *w, unsigned rank, const char *group, const bw_cursor *from,
                           const char *name, const char *value, bw_consumer **c)
{
    bw_config *config = of_rank(rank, name, value);
    const bw_status status =
        bw_consumer_open(w->space, group, config, from, 10 * SECOND, c, w->error);
    bw_config_free(config);
    return status;
}

static bw_cursor *cursor_of(scene *w, bw_consumer *c)
{
    bw_cursor *cursor = NULL;
    expect_ok(w, bw_consumer_cursor(c, &cursor, w->error));
    return cursor;
}

static void takes(scene *w, bw_consumer *c, uint64_t step)
{
    bw_item *item = NULL;
    expect_ok(w, bw_consumer_next(c, 10 * SECOND, &item, w->error));
    assert_int_equal(bw_item_step(item), step);
    assert_int_equal(bw_item_tag(item), step % 5);
    bw_item_release(item);
}

static void ends(scene *w, bw_consumer *c)
{
    bw_item *item = NULL;
    expect_status(w, bw_consumer_next(c, 10 * SECOND, &item, w->error), BW_END);
    assert_null(strstr(bw_error_message(w->error), "no whole training step"));
}

/* Few and far between, folded into segments, more of them than the window has room for. */
static void test_tags(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "2", "1", NULL);
    publish(&w, "p", 0, 43);
    expect_ok(&w, bw_space_seal(w.space, 1, 10 * SECOND, w.error));
    bw_consumer *ranks[RANKS];
    expect_ok(&w, open_rank(&w, 0, "g", NULL, "tags", "1,4-", &ranks[0]));
    expect_ok(&w, open_rank(&w, 1, "g", NULL, "tags", "1,4-", &ranks[1]));
    for (uint64_t step = 0; step < 43; step++) {
        if (step % 5 != 1 && step % 5 != 4)
            continue;
        takes(&w, ranks[0], step);
        takes(&w, ranks[1], step);
        /* The next step is passed or not; neither rank's cursor tells what it knows of it. */
        bw_cursor *a = cursor_of(&w, ranks[0]), *b = cursor_of(&w, ranks[1]);
        assert_true(bw_cursor_equal(a, b));
        assert_int_equal(bw_cursor_step(a), step + 1);
        bw_cursor_free(a);
        bw_cursor_free(b);
    }
    ends(&w, ranks[0]);
    ends(&w, ranks[1]);
    char json[4096];
    expect_ok(&w, bw_consumer_stats(ranks[0], json, sizeof json, NULL, w.error));
    assert_int_equal(json_number(json, "passed"), 26);
    assert_int_equal(json_number(json, "steps"), 17);
    assert_int_equal(json_number(json, "reads"), 17); /* nothing is read of what is passed */
    bw_consumer_close(ranks[0]);
    bw_consumer_close(ranks[1]);
    scene_close(&w);
}

/* A restart wants the same tags unless it says otherwise; a rank with others is found out. */
static void test_all_ranks_want_the_same(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "2", "1", NULL);
    publish(&w, "p", 0, 20);
    bw_consumer *first, *other = NULL;
    expect_ok(&w, open_rank(&w, 0, "g", NULL, "tags", "2", &first));
    expect_status(&w, open_rank(&w, 1, "g", NULL, "tags", "3", &other), BW_RANKS_DISAGREE);
    expect_status(&w, open_rank(&w, 1, "g", NULL, NULL, NULL, &other), BW_RANKS_DISAGREE);
    expect_status(&w, open_rank(&w, 1, "g", NULL, "tags", "2,4", &other), BW_RANKS_DISAGREE);
    takes(&w, first, 2);
    bw_cursor *at = cursor_of(&w, first);
    bw_consumer_close(first);
    /* Without a group nobody compares: only with one cursor for all. */
    expect_status(&w, open_rank(&w, 0, NULL, NULL, "tags", "2", &first), BW_INVALID);
    expect_status(&w, open_rank(&w, 0, NULL, at, "tags", "3", &first), BW_INVALID);
    expect_ok(&w, open_rank(&w, 0, NULL, at, "tags", "2", &first));
    bw_consumer_close(first);
    expect_ok(&w, open_rank(&w, 1, NULL, at, NULL, NULL, &other));
    takes(&w, other, 7);
    bw_consumer_close(other);
    /* Every tag again. */
    bw_config *all = settings("rank", "0", "world", "2", "launch", "two", "tags", "all", NULL);
    expect_ok(&w, bw_consumer_open(w.space, "g", all, at, 10 * SECOND, &first, w.error));
    takes(&w, first, 3);
    bw_consumer_close(first);
    bw_config_free(all);
    bw_cursor_free(at);
    bw_config *bad = settings("tags", "5,3", NULL);
    expect_status(&w, bw_consumer_open(w.space, NULL, bad, NULL, SECOND, &first, w.error),
                  BW_INVALID);
    bw_config_free(bad);
    bw_config *scaled = settings("dp", "4", "rescale", "scale_batch", "tags", "2", "rank", "0",
                                 "world", "4", "launch", "three", NULL);
    expect_status(&w, bw_consumer_open(w.space, "g", scaled, NULL, SECOND, &first, w.error),
                  BW_UNSUPPORTED);
    bw_config_free(scaled);
    scene_close(&w);
}

static void test_skip_to_tip(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "2", "1", NULL);
    publish(&w, "p", 0, 10);
    bw_consumer *ranks[RANKS];
    expect_ok(&w, open_rank(&w, 0, "g", NULL, NULL, NULL, &ranks[0]));
    takes(&w, ranks[0], 0);
    takes(&w, ranks[0], 1);
    bw_cursor *at = cursor_of(&w, ranks[0]);
    bw_consumer_close(ranks[0]);
    bw_config *tip[RANKS];
    for (unsigned i = 0; i < RANKS; i++)
        tip[i] = settings("rank", i == 0 ? "0" : "1", "world", "2", "launch", "two", "skip_to_tip",
                          "true", NULL);
    /* Rank 0 finds out where the tip is; the other comes when it has moved on, and takes it. */
    expect_ok(&w, bw_consumer_open(w.space, "g", tip[0], at, 10 * SECOND, &ranks[0], w.error));
    publish(&w, "q", 10, 15);
    expect_ok(&w, bw_consumer_open(w.space, "g", tip[1], at, 10 * SECOND, &ranks[1], w.error));
    bw_cursor *a = cursor_of(&w, ranks[0]), *b = cursor_of(&w, ranks[1]);
    assert_true(bw_cursor_equal(a, b));
    assert_int_equal(bw_cursor_step(b), 10);
    assert_non_null(strstr(bw_cursor_json(b), "\"skips\":[[2,10]]"));
    takes(&w, ranks[1], 10);
    bw_cursor_free(b);
    bw_consumer_close(ranks[1]);
    /* Who does not skip disagrees. */
    bw_config *not = settings("rank", "1", "world", "2", "launch", "two", NULL);
    expect_status(&w, bw_consumer_open(w.space, "g", not, at, 10 * SECOND, &ranks[1], w.error),
                  BW_RANKS_DISAGREE);
    bw_config_free(not );
    /* What was skipped is part of the next start: also where another skip follows at once. */
    bw_consumer_close(ranks[0]);
    bw_config *again =
        settings("rank", "0", "world", "2", "launch", "three", "skip_to_tip", "true", NULL);
    expect_ok(&w, bw_consumer_open(w.space, "g", again, a, 10 * SECOND, &ranks[0], w.error));
    b = cursor_of(&w, ranks[0]);
    assert_non_null(strstr(bw_cursor_json(b), "\"skips\":[[2,15]]"));
    bw_consumer_close(ranks[0]);
    bw_config_free(again);
    bw_cursor_free(a);
    bw_cursor_free(b);
    /* Without a group each rank would find another tip. */
    expect_status(&w, bw_consumer_open(w.space, NULL, tip[0], at, SECOND, &ranks[0], w.error),
                  BW_INVALID);
    /* Ranks that have no launch id in common, too. */
    bw_config *own = settings("rank", "1", "world", "2", "skip_to_tip", "true", NULL);
    expect_status(&w, bw_consumer_open(w.space, "g", own, at, SECOND, &ranks[1], w.error),
                  BW_INVALID);
    bw_config_free(own);
    bw_cursor_free(at);
    for (unsigned i = 0; i < RANKS; i++)
        bw_config_free(tip[i]);
    scene_close(&w);
}

/* A job without a group: its start is resolved once and given to all. */
static void test_begun_once(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "2", "1", NULL);
    publish(&w, "p", 0, 10);
    bw_cursor *at = NULL, *tip = NULL, *skipping = NULL;
    bw_config *config = settings("tags", "3", "start", "2", NULL);
    bw_config *to_tip = settings("skip_to_tip", "true", NULL);
    bw_config *latest = settings("start", "latest", NULL);
    bw_config *both = settings("start", "latest", "skip_to_tip", "true", NULL);
    expect_ok(&w, bw_cursor_begin(w.space, config, NULL, 10 * SECOND, &at, w.error));
    assert_int_equal(bw_cursor_step(at), 2);
    assert_non_null(strstr(bw_cursor_json(at), "\"tags\":[[3,3]]"));
    bw_consumer *c = NULL;
    expect_ok(&w, open_rank(&w, 1, NULL, at, NULL, NULL, &c));
    takes(&w, c, 3);
    takes(&w, c, 8);
    bw_consumer_close(c);
    expect_ok(&w, bw_cursor_begin(w.space, to_tip, at, 10 * SECOND, &tip, w.error));
    assert_int_equal(bw_cursor_step(tip), 10);
    assert_non_null(strstr(bw_cursor_json(tip), "\"skips\":[[2,10]],\"tags\":[[3,3]]"));
    bw_cursor_free(tip);
    expect_ok(&w, bw_cursor_begin(w.space, to_tip, NULL, 10 * SECOND, &tip, w.error));
    assert_int_equal(bw_cursor_step(tip), 10);
    bw_cursor_free(tip);
    expect_ok(&w, bw_cursor_begin(w.space, latest, NULL, 10 * SECOND, &tip, w.error));
    assert_int_equal(bw_cursor_step(tip), 10);
    bw_cursor_free(tip);
    expect_ok(&w, bw_cursor_begin(w.space, NULL, NULL, 10 * SECOND, &tip, w.error));
    assert_int_equal(bw_cursor_step(tip), 0);
    expect_status(&w, bw_cursor_begin(w.space, both, NULL, SECOND, &skipping, w.error), BW_INVALID);
    /* Ranges that the user names. */
    expect_ok(&w, bw_cursor_skip(tip, 0, 4, &skipping, w.error));
    expect_ok(&w, open_rank(&w, 0, NULL, skipping, NULL, NULL, &c));
    takes(&w, c, 4);
    bw_consumer_close(c);
    bw_cursor_free(skipping);
    expect_status(&w, bw_cursor_skip(tip, 4, 4, &skipping, w.error), BW_CURSOR_INVALID);
    expect_status(&w, bw_cursor_skip(NULL, 4, 5, &skipping, w.error), BW_INVALID);
    bw_cursor_free(tip);
    /* Not from within a step. */
    char json[512];
    const char *begin = bw_cursor_json(at), *item = strstr(begin, "\"item\":0");
    (void)snprintf(json, sizeof json, "%.*s\"item\":1%s", (int)(item - begin), begin, item + 8);
    bw_cursor_free(at);
    expect_ok(&w, bw_cursor_parse(json, strlen(json), &at, w.error));
    expect_status(&w, bw_cursor_begin(w.space, to_tip, at, SECOND, &tip, w.error),
                  BW_CURSOR_INVALID);
    bw_config *tip_0 =
        settings("rank", "0", "world", "2", "launch", "x", "skip_to_tip", "true", NULL);
    expect_status(&w, bw_consumer_open(w.space, "g", tip_0, at, 10 * SECOND, &c, w.error),
                  BW_CURSOR_INVALID);
    bw_config_free(tip_0);
    bw_cursor_free(at);
    bw_config_free(config);
    bw_config_free(to_tip);
    bw_config_free(latest);
    bw_config_free(both);
    scene_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_all_ranks_want_the_same),
        cmocka_unit_test(test_skip_to_tip),
        cmocka_unit_test(test_begun_once),
    };
    return cmocka_run_group_tests_name("choice", tests, NULL, NULL);
}
