// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* One request per rank and step; the footer is read only where the lengths are too varied for the
 * descriptor. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 200u

static int64_t reads(scene *w, bw_consumer *c)
{
    static char json[8192];
    expect_ok(w, bw_consumer_stats(c, json, sizeof json, NULL, w->error));
    return json_number(json, "map") + json_number(json, "read");
}

static int64_t whole_reads(scene *w, bw_consumer *c)
{
    static char json[8192];
    expect_ok(w, bw_consumer_stats(c, json, sizeof json, NULL, w->error));
    return json_number(json, "get");
}

static void put_steps(scene *w)
{
    bw_config *config = settings("policy", "fixed:1", NULL);
    bw_producer *p = open_producer(w, "p", config);
    bw_config_free(config);
    char *memory[STEPS];
    for (uint64_t i = 0; i < STEPS; i++)
        put_batch(w, p, "p", i, i + 1, 2, &memory[i]);
    expect_ok(w, bw_producer_finish(p, 60 * SECOND, w->error));
    expect_ok(w, bw_producer_close(p, 0, w->error));
    for (uint64_t i = 0; i < STEPS; i++)
        free(memory[i]);
}

static void test_one_read_per_rank_and_step(void **state)
{
    (void)state;
    scene w;
    bw_config *more = settings("producers", "1", NULL);
    scene_open(&w, "3", "1", more);
    bw_config_free(more);
    put_steps(&w);
    bw_space *space = scene_space(&w, false);
    static const char *const places[] = {"0", "1", "2"};
    bw_consumer *c[3];
    for (int i = 0; i < 3; i++)
        c[i] = open_consumer(&w, space, places[i], "0");
    char id[8];
    uint64_t start = 0;
    for (uint64_t step = 0; step < STEPS; step++)
        for (int i = 0; i < 3; i++)
            for (int item = 0; item < 2; item++)
                assert_int_equal(take_item(&w, c[i], id, sizeof id, &start), step);
    bw_item *item = NULL;
    for (int i = 0; i < 3; i++)
        expect_status(&w, bw_consumer_next(c[i], SECOND, &item, w.error), BW_END);
    assert_int_equal(reads(&w, c[0]), 3 * STEPS);
    /* Segments are read once for all ranks, and manifests by one follower. */
    assert_true(whole_reads(&w, c[0]) < (int64_t)STEPS);
    for (int i = 0; i < 3; i++)
        bw_consumer_close(c[i]);
    bw_space_close(space);
    scene_close(&w);
}

/* 400 slices of lengths that take two bytes each do not fit into 1,024 - 56 bytes… of LEB128: 600
 * do not. */
static void test_footer_form(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "600", "1", NULL);
    bw_producer *p = open_producer(&w, "p", NULL);
    char *memory[3], id[8];
    for (uint64_t i = 0; i < 3; i++)
        put_batch(&w, p, "p", i, i + 1, 1, &memory[i]);
    expect_ok(&w, bw_producer_flush(p, BW_URGENT, 30 * SECOND, w.error));
    expect_ok(&w, bw_producer_close(p, 0, w.error));
    bw_space *space = scene_space(&w, false);
    bw_consumer *c = open_consumer(&w, space, "599", "0");
    uint64_t start = 0;
    for (uint64_t step = 0; step < 3; step++)
        assert_int_equal(take_item(&w, c, id, sizeof id, &start), step);
    assert_int_equal(reads(&w, c), 2 * 3);
    bw_consumer_close(c);
    bw_space_close(space);
    bw_config *deep = settings("deep", "true", NULL);
    expect_ok(&w, bw_space_report(w.space, "verify", deep, no_line, NULL, w.error));
    bw_config_free(deep);
    for (int i = 0; i < 3; i++)
        free(memory[i]);
    scene_close(&w);
}

/* A budget smaller than one slice: each step is read when it is wanted, and nothing hangs. */
static void test_tiny_budget(void **state)
{
    (void)state;
    scene w;
    bw_config *more = settings("producers", "1", NULL), *tiny = settings("memory", "1B", NULL);
    scene_open(&w, "2", "1", more);
    bw_config_free(more);
    put_steps(&w);
    bw_runtime *runtime = NULL;
    bw_space *space = NULL;
    expect_ok(&w, bw_runtime_open(tiny, &runtime, w.error));
    expect_ok(&w, bw_space_open(runtime, w.url, NULL, 10 * SECOND, &space, w.error));
    bw_consumer *c[2] = {open_consumer(&w, space, "0", "0"), open_consumer(&w, space, "1", "0")};
    char id[8];
    uint64_t start = 0;
    for (uint64_t step = 0; step < STEPS; step++)
        for (int i = 0; i < 4; i++)
            assert_int_equal(take_item(&w, c[i / 2], id, sizeof id, &start), step);
    char json[8192];
    expect_ok(&w, bw_consumer_stats(c[0], json, sizeof json, NULL, w.error));
    /* Each has its window, and no more than one slice, with the page that a map may take. */
    assert_true(json_number(json, "memory_used") <= 2 * (8 * 4096 + 400 + 4096));
    for (int i = 0; i < 2; i++)
        bw_consumer_close(c[i]);
    bw_space_close(space);
    bw_runtime_close(runtime);
    bw_config_free(tiny);
    scene_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_read_per_rank_and_step),
        cmocka_unit_test(test_footer_form),
        cmocka_unit_test(test_tiny_budget),
    };
    return cmocka_run_group_tests_name("reads", tests, NULL, NULL);
}
