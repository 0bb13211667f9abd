// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Each wrong call is told by its own code, and breaks nothing. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_null_arguments(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "1", "1", NULL);
    bw_space *space = NULL;
    bw_producer *p = NULL;
    bw_consumer *c = NULL;
    bw_batch *b = NULL;
    bw_item *item = NULL;
    bw_event *event = NULL;
    bw_cursor *cursor = NULL;
    char *text = NULL;
    const bw_status all[] = {
        bw_runtime_open(NULL, NULL, w.error),
        bw_space_init(NULL, w.url, NULL, w.error),
        bw_space_init(w.runtime, NULL, NULL, w.error),
        bw_space_open(NULL, w.url, NULL, 0, &space, w.error),
        bw_space_open(w.runtime, NULL, NULL, 0, &space, w.error),
        bw_space_open(w.runtime, w.url, NULL, 0, NULL, w.error),
        bw_space_seal(NULL, 0, 0, w.error),
        bw_space_seal(w.space, 8, 0, w.error),
        bw_space_report(NULL, "info", NULL, NULL, NULL, w.error),
        bw_space_report(w.space, "info", NULL, NULL, NULL, w.error),
        bw_space_item(w.space, 0, 0, 0, 0, 0, NULL, w.error),
        bw_space_item(NULL, 0, 0, 0, 0, 0, &item, w.error),
        bw_space_step_meta(NULL, 0, 0, &text, w.error),
        bw_producer_open(NULL, "p", NULL, 0, &p, w.error),
        bw_producer_open(w.space, NULL, NULL, 0, &p, w.error),
        bw_producer_open(w.space, "p", NULL, 0, NULL, w.error),
        bw_producer_resume(NULL, NULL, NULL, NULL),
        bw_batch_new(NULL, 1, &b, w.error),
        bw_batch_item(NULL, 0, 0, 0, NULL, 0, w.error),
        bw_batch_pad(NULL, 0, 0, 0, w.error),
        bw_batch_samples(NULL, 0, 0, NULL, 0, 0, w.error),
        bw_batch_meta(NULL, 0, NULL, 0, w.error),
        bw_producer_put(NULL, NULL, 0, NULL, 0, 0, 0, w.error),
        bw_producer_event(NULL, 0, &event, w.error),
        bw_producer_flush(NULL, 0, 0, w.error),
        bw_producer_finish(NULL, 0, w.error),
        bw_producer_stats(NULL, NULL, 0, NULL, w.error),
        bw_consumer_open(NULL, NULL, NULL, NULL, 0, &c, w.error),
        bw_consumer_open(w.space, NULL, NULL, NULL, 0, NULL, w.error),
        bw_consumer_next(NULL, 0, &item, w.error),
        bw_consumer_cursor(NULL, &cursor, w.error),
        bw_cursor_parse(NULL, 0, &cursor, w.error),
        bw_consumer_pin(NULL, "a", NULL, NULL, 0, 0, w.error),
        bw_consumer_release(NULL, NULL, 0, 0, w.error),
        bw_consumer_reconcile(NULL, NULL, 0, NULL, 0, w.error),
        bw_space_pin(w.space, NULL, NULL, "a", NULL, 0, w.error),
        bw_space_pin(w.space, "g", NULL, "a", NULL, 0, w.error),
        bw_space_release(w.space, NULL, NULL, NULL, 0, 0, w.error),
        bw_space_release(w.space, "g", NULL, NULL, 1, 0, w.error),
        bw_space_group_rm(w.space, NULL, NULL, 0, w.error),
        bw_space_forget(w.space, NULL, 0, 0, w.error),
        bw_consumer_wait_reason(NULL, NULL, 0, NULL, w.error),
        bw_consumer_stats(NULL, NULL, 0, NULL, w.error),
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] != BW_INVALID)
            fail_msg("call %zu: %s", i, bw_status_name(all[i]));
    /* Without an error object the same. */
    assert_int_equal(bw_space_open(NULL, NULL, NULL, 0, NULL, NULL), BW_INVALID);
    bw_runtime_close(NULL);
    bw_space_close(NULL);
    bw_consumer_close(NULL);
    bw_item_release(NULL);
    bw_batch_free(NULL);
    bw_event_free(NULL);
    bw_cursor_free(NULL);
    bw_text_free(NULL);
    bw_producer_interrupt(NULL, 1);
    bw_consumer_interrupt(NULL, 1);
    assert_int_equal(bw_producer_close(NULL, 0, NULL), BW_OK);
    assert_int_equal(bw_producer_event_fd(NULL), -1);
    scene_close(&w);
}

static void test_places(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "1", "1", NULL);
    bw_config *init = settings("dp", "2", NULL), *none = settings(NULL, NULL);
    bw_config *write = settings("mode", "write", NULL);
    bw_space *space = NULL;
    char url[200];
    expect_status(&w, bw_space_init(w.runtime, w.url, init, w.error), BW_NOT_EMPTY);
    snprintf(url, sizeof url, "%s-other", w.url);
    expect_status(&w, bw_space_init(w.runtime, url, none, w.error), BW_INVALID);
    assert_non_null(strstr(bw_error_message(w.error), "dp"));
    expect_status(&w, bw_space_open(w.runtime, url, NULL, SECOND, &space, w.error),
                  BW_NO_NAMESPACE);
    expect_status(&w, bw_space_open(w.runtime, "ftp://x/y", NULL, SECOND, &space, w.error),
                  BW_UNSUPPORTED);
    expect_status(&w, bw_space_init(w.runtime, "ftp://x/y", init, w.error), BW_UNSUPPORTED);
    /* A directory with something else in it. */
    snprintf(url, sizeof url, "%s/full", w.directory);
    assert_int_equal(mkdir(url, 0700), 0);
    snprintf(url, sizeof url, "%s/full/file", w.directory);
    FILE *file = fopen(url, "w");
    assert_non_null(file);
    fclose(file);
    snprintf(url, sizeof url, "file://%s/full", w.directory);
    expect_status(&w, bw_space_init(w.runtime, url, init, w.error), BW_NOT_EMPTY);
    expect_status(&w, bw_space_open(w.runtime, url, write, SECOND, &space, w.error),
                  BW_NO_NAMESPACE);
    bw_config_free(init);
    bw_config_free(none);
    bw_config_free(write);
    scene_close(&w);
}

static void test_reader_cannot_write(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "1", "1", NULL);
    bw_space *reader = scene_space(&w, false);
    bw_producer *p = NULL;
    bw_config *apply = settings("apply", "true", NULL);
    expect_status(&w, bw_producer_open(reader, "p", NULL, SECOND, &p, w.error), BW_READ_ONLY);
    expect_status(&w, bw_space_seal(reader, 0, SECOND, w.error), BW_READ_ONLY);
    expect_status(&w, bw_space_report(reader, "gc", apply, (bw_line_fn)abort, NULL, w.error),
                  BW_READ_ONLY);
    expect_status(&w, bw_space_report(reader, "gossip", NULL, (bw_line_fn)abort, NULL, w.error),
                  BW_INVALID);
    bw_config_free(apply);
    bw_space_close(reader);
    scene_close(&w);
}

static void test_batches(void **state)
{
    (void)state;
    scene w;
    bw_config *more = settings("max_bytes", "8KiB", NULL);
    scene_open(&w, "2", "1", more);
    bw_config_free(more);
    bw_producer *p = NULL, *other = NULL;
    expect_status(&w, bw_producer_open(w.space, "No", NULL, SECOND, &p, w.error), BW_INVALID);
    expect_status(&w, bw_producer_open(w.space, "", NULL, SECOND, &p, w.error), BW_INVALID);
    expect_status(&w, bw_producer_open(w.space, "a..b", NULL, SECOND, &p, w.error), BW_INVALID);
    bw_config *policy = settings("policy", "sometimes", NULL);
    expect_status(&w, bw_producer_open(w.space, "p", policy, SECOND, &p, w.error), BW_INVALID);
    bw_config_free(policy);
    p = open_producer(&w, "p", NULL);
    other = open_producer(&w, "q", NULL);
    bw_batch *b = NULL;
    char big[9000] = {0};
    const struct iovec piece = {big, 10}, null_piece = {NULL, 1}, large = {big, sizeof big};
    const char *const ids[] = {"s1", NULL};
    expect_status(&w, bw_batch_new(p, 0, &b, w.error), BW_INVALID);
    expect_status(&w, bw_batch_new(p, (1u << 20) + 1, &b, w.error), BW_INVALID);
    expect_ok(&w, bw_batch_new(p, 2, &b, w.error));
    expect_status(&w, bw_batch_item(b, 2, 0, 0, &piece, 1, w.error), BW_INVALID);
    expect_status(&w, bw_batch_item(b, 0, 1, 0, &piece, 1, w.error), BW_INVALID);
    expect_status(&w, bw_batch_item(b, 0, 0, 2, &piece, 1, w.error), BW_INVALID);
    expect_status(&w, bw_batch_item(b, 0, 0, 0, NULL, 1, w.error), BW_INVALID);
    expect_status(&w, bw_batch_item(b, 0, 0, 0, &piece, -1, w.error), BW_INVALID);
    expect_status(&w, bw_batch_item(b, 0, 0, 0, &null_piece, 1, w.error), BW_INVALID);
    expect_ok(&w, bw_batch_item(b, 0, 0, 0, &piece, 1, w.error));
    expect_status(&w, bw_batch_item(b, 0, 0, 0, &piece, 1, w.error), BW_INVALID);
    expect_status(&w, bw_batch_pad(b, 0, 0, 0, w.error), BW_INVALID);
    expect_ok(&w, bw_batch_pad(b, 0, 0, 1, w.error));
    expect_status(&w, bw_batch_samples(b, 9, 0, ids, 1, 0, w.error), BW_INVALID);
    expect_status(&w, bw_batch_samples(b, 0, 0, ids, 2, 0, w.error), BW_INVALID);
    expect_status(&w, bw_batch_meta(b, 0, NULL, 1, w.error), BW_INVALID);
    expect_status(&w, bw_batch_meta(b, 0, big, (1 << 20) + 1, w.error), BW_TOO_LARGE);
    expect_status(&w, bw_producer_put(p, b, 1, NULL, 0, 0, SECOND, w.error), BW_UNSET_ITEM);
    assert_non_null(strstr(bw_error_message(w.error), "item 0 of slice (1, 0)"));
    expect_ok(&w, bw_batch_pad(b, 1, 0, 0, w.error));
    expect_ok(&w, bw_batch_item(b, 1, 0, 1, NULL, 0, w.error)); /* empty is no pad */
    expect_status(&w, bw_producer_put(other, b, 1, NULL, 0, 0, SECOND, w.error), BW_INVALID);
    expect_status(&w, bw_producer_put(p, b, 1, NULL, 5, 0, SECOND, w.error), BW_INVALID);
    expect_status(&w, bw_producer_put(p, b, 1, big, (1 << 20) + 1, 0, SECOND, w.error),
                  BW_TOO_LARGE);
    expect_ok(&w, bw_producer_put(p, b, 7, NULL, 0, 0, SECOND, w.error));
    /* Offsets never go back, and a batch that could never be published is refused. */
    expect_ok(&w, bw_batch_new(p, 1, &b, w.error));
    expect_ok(&w, bw_batch_pad(b, 0, 0, 0, w.error));
    expect_ok(&w, bw_batch_item(b, 1, 0, 0, &large, 1, w.error));
    expect_status(&w, bw_producer_put(p, b, 8, NULL, 0, 0, SECOND, w.error), BW_TOO_LARGE);
    bw_batch_free(b);
    expect_ok(&w, bw_batch_new(p, 1, &b, w.error));
    expect_ok(&w, bw_batch_pad(b, 0, 0, 0, w.error));
    expect_ok(&w, bw_batch_pad(b, 1, 0, 0, w.error));
    expect_status(&w, bw_producer_put(p, b, 6, NULL, 0, 0, SECOND, w.error), BW_INVALID);
    bw_batch_free(b);
    expect_status(&w, bw_producer_flush(p, 2, SECOND, w.error), BW_INVALID);
    expect_ok(&w, bw_producer_finish(p, 10 * SECOND, w.error));
    expect_ok(&w, bw_batch_new(p, 1, &b, w.error));
    expect_ok(&w, bw_batch_pad(b, 0, 0, 0, w.error));
    expect_ok(&w, bw_batch_pad(b, 1, 0, 0, w.error));
    expect_status(&w, bw_producer_put(p, b, 9, NULL, 0, 0, SECOND, w.error), BW_FINISHED);
    bw_batch_free(b);
    expect_ok(&w, bw_producer_finish(p, 10 * SECOND, w.error)); /* twice is once */
    char small[8];
    size_t length = 0;
    expect_status(&w, bw_producer_stats(p, small, sizeof small, &length, w.error), BW_TOO_LARGE);
    assert_true(length > sizeof small);
    expect_ok(&w, bw_producer_close(p, 0, w.error));
    expect_ok(&w, bw_producer_close(other, 0, w.error));
    scene_close(&w);
}

static void refuse_consumer(scene *w, bw_status expected, const char *name, const char *value,
                            const char *name2, const char *value2)
{
    bw_config *config = settings(name, value, name2, value2, NULL);
    bw_consumer *c = NULL;
    expect_status(w, bw_consumer_open(w->space, NULL, config, NULL, SECOND, &c, w->error),
                  expected);
    bw_config_free(config);
}

static void test_consumers(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "2", "2", NULL);
    bw_consumer *c = NULL;
    bw_cursor *cursor = NULL;
    unsetenv("RANK");
    unsetenv("WORLD_SIZE");
    expect_status(&w, bw_consumer_open(w.space, "g", NULL, NULL, SECOND, &c, w.error), BW_INVALID);
    expect_status(&w, bw_consumer_open(w.space, NULL, NULL, NULL, SECOND, &c, w.error), BW_INVALID);
    refuse_consumer(&w, BW_MESH_MISMATCH, "d", "2", "c", "0");
    refuse_consumer(&w, BW_MESH_MISMATCH, "rank", "0", "world", "3");
    refuse_consumer(&w, BW_INVALID, "rank", "4", "world", "4");
    refuse_consumer(&w, BW_INVALID, "rank", "0", NULL, NULL);
    refuse_consumer(&w, BW_INVALID, "world", "4", NULL, NULL);
    refuse_consumer(&w, BW_INVALID, "d", "0", "rank", "0");
    refuse_consumer(&w, BW_INVALID, "c", "0", NULL, NULL);
    refuse_consumer(&w, BW_MESH_MISMATCH, "d", "0", "dp", "3");
    refuse_consumer(&w, BW_INVALID, "d", "0", "start", "soon");
    refuse_consumer(&w, BW_INVALID, "d", "0", "start", "99999999999999999999");
    refuse_consumer(&w, BW_INVALID, "d", "0", "start", "latest");
    refuse_consumer(&w, BW_BEYOND_END, "d", "0", "start", "1");
    setenv("RANK", "5", 1);
    expect_status(&w, bw_consumer_open(w.space, NULL, NULL, NULL, SECOND, &c, w.error), BW_INVALID);
    setenv("WORLD_SIZE", "8x", 1);
    expect_status(&w, bw_consumer_open(w.space, NULL, NULL, NULL, SECOND, &c, w.error), BW_INVALID);
    setenv("WORLD_SIZE", "8", 1);
    bw_config *tp = settings("tp", "2", NULL);
    expect_ok(&w, bw_consumer_open(w.space, NULL, tp, NULL, 10 * SECOND, &c, w.error));
    assert_int_equal(bw_consumer_d(c), 1);
    assert_int_equal(bw_consumer_c(c), 0);
    bw_consumer_close(c);
    bw_config_free(tp);
    unsetenv("RANK");
    unsetenv("WORLD_SIZE");
    expect_status(&w, bw_cursor_parse("{}", 2, &cursor, w.error), BW_CURSOR_INVALID);
    scene_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null_arguments),      cmocka_unit_test(test_places),
        cmocka_unit_test(test_reader_cannot_write), cmocka_unit_test(test_batches),
        cmocka_unit_test(test_consumers),
    };
    return cmocka_run_group_tests_name("misuse", tests, NULL, NULL);
}
