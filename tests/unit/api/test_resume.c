// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Going on where one stood: producers by offset and state, ranks by cursor; and who may not. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_some(scene *w, bw_producer *p, const char *id, uint64_t first, uint64_t count)
{
    char *memory[64];
    assert_true(count <= 64);
    for (uint64_t i = 0; i < count; i++)
        put_batch(w, p, id, first + i, first + i + 1, 2, &memory[i]);
    expect_ok(w, bw_producer_flush(p, BW_URGENT, 30 * SECOND, w->error));
    for (uint64_t i = 0; i < count; i++)
        free(memory[i]);
}

static void test_producer_goes_on(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "1", "1", NULL);
    bw_producer *p = open_producer(&w, "p", NULL);
    uint64_t offset = 9;
    const void *bytes = NULL;
    size_t size = 9;
    assert_int_equal(bw_producer_resume(p, &offset, &bytes, &size), BW_OK);
    assert_int_equal(offset, 0);
    assert_int_equal(size, 0);
    put_some(&w, p, "p", 0, 5);
    expect_ok(&w, bw_producer_close(p, 0, w.error));

    p = open_producer(&w, "p", NULL);
    assert_int_equal(bw_producer_resume(p, &offset, &bytes, &size), BW_OK);
    assert_int_equal(offset, 5);
    assert_int_equal(size, strlen("p at 5"));
    assert_memory_equal(bytes, "p at 5", size);
    /* A state that does not fit into the manifest. */
    bw_batch *b = NULL;
    char *large = malloc(100000);
    assert_non_null(large);
    memset(large, 's', 100000);
    expect_ok(&w, bw_batch_new(p, 1, &b, w.error));
    expect_ok(&w, bw_batch_pad(b, 0, 0, 0, w.error));
    expect_ok(&w, bw_producer_put(p, b, 6, large, 100000, 0, SECOND, w.error));
    memset(large, 't', 100000); /* it was copied */
    expect_ok(&w, bw_producer_flush(p, 0, 30 * SECOND, w.error));
    expect_ok(&w, bw_producer_close(p, 0, w.error));

    p = open_producer(&w, "p", NULL);
    assert_int_equal(bw_producer_resume(p, &offset, &bytes, &size), BW_OK);
    assert_int_equal(offset, 6);
    assert_int_equal(size, 100000);
    memset(large, 's', 100000);
    assert_memory_equal(bytes, large, size);
    free(large);
    expect_ok(&w, bw_producer_close(p, 0, w.error));
    scene_close(&w);
}

static void test_newer_incarnation_fences(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "1", "1", NULL);
    bw_producer *old = open_producer(&w, "p", NULL);
    put_some(&w, old, "p", 0, 3);
    bw_producer *new = open_producer(&w, "p", NULL);
    uint64_t offset = 0;
    assert_int_equal(bw_producer_resume(new, &offset, NULL, NULL), BW_OK);
    assert_int_equal(offset, 3);
    char *memory = NULL;
    put_batch(&w, old, "p", 3, 4, 1, &memory);
    expect_status(&w, bw_producer_flush(old, BW_URGENT, 30 * SECOND, w.error), BW_FENCED);
    bw_event *event = NULL;
    bool fenced = false;
    while (bw_producer_event(old, 0, &event, w.error) == BW_OK) {
        fenced |= bw_event_what(event) == BW_EVENT_FENCED;
        bw_event_free(event);
    }
    assert_true(fenced);
    /* Sticky, whatever is called. */
    expect_status(&w, bw_producer_event(old, SECOND, &event, w.error), BW_FENCED);
    expect_status(&w, bw_producer_finish(old, SECOND, w.error), BW_FENCED);
    bw_batch *b = NULL;
    expect_ok(&w, bw_batch_new(old, 1, &b, w.error));
    expect_ok(&w, bw_batch_pad(b, 0, 0, 0, w.error));
    expect_status(&w, bw_producer_put(old, b, 9, NULL, 0, 0, SECOND, w.error), BW_FENCED);
    bw_batch_free(b);
    expect_status(&w, bw_producer_close(old, SECOND, w.error), BW_FENCED);
    free(memory);
    put_some(&w, new, "p", 3, 2);
    expect_ok(&w, bw_producer_close(new, 0, w.error));
    bw_consumer *c = open_consumer(&w, w.space, "0", "0");
    for (uint64_t step = 0; step < 5; step++)
        for (int item = 0; item < 2; item++) {
            char id[8];
            uint64_t start = 0;
            assert_int_equal(take_item(&w, c, id, sizeof id, &start), step);
            assert_int_equal(start, step);
        }
    bw_consumer_close(c);
    scene_close(&w);
}

static void test_finish_seal_reopen(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "1", "1", NULL);
    bw_config *reopen = settings("reopen", "true", NULL);
    bw_producer *p = open_producer(&w, "p", NULL), *q = NULL;
    put_some(&w, p, "p", 0, 3);
    expect_status(&w, bw_space_seal(w.space, 0, 10 * SECOND, w.error), BW_SEAL_REFUSED);
    assert_non_null(strstr(bw_error_message(w.error), "p"));
    expect_ok(&w, bw_producer_finish(p, 10 * SECOND, w.error));
    expect_ok(&w, bw_producer_close(p, 0, w.error));
    expect_status(&w, bw_producer_open(w.space, "p", NULL, SECOND, &p, w.error), BW_FINISHED);
    assert_non_null(strstr(bw_error_message(w.error), "3"));
    expect_ok(&w, bw_producer_open(w.space, "p", reopen, 10 * SECOND, &p, w.error));
    put_some(&w, p, "p", 3, 1);
    expect_status(&w, bw_space_seal(w.space, 0, 10 * SECOND, w.error), BW_SEAL_REFUSED);
    expect_ok(&w, bw_space_seal(w.space, BW_SEAL_FORCE, 10 * SECOND, w.error));
    expect_ok(&w, bw_space_seal(w.space, 0, 10 * SECOND, w.error)); /* twice is success */
    char *memory = NULL;
    put_batch(&w, p, "p", 4, 5, 1, &memory);
    expect_status(&w, bw_producer_flush(p, BW_URGENT, 10 * SECOND, w.error), BW_SEALED);
    expect_status(&w, bw_producer_close(p, 0, w.error), BW_SEALED);
    free(memory);
    expect_status(&w, bw_producer_open(w.space, "q", NULL, SECOND, &q, w.error), BW_SEALED);
    bw_consumer *c = open_consumer(&w, w.space, "0", "0");
    char id[8];
    uint64_t start = 0;
    for (int i = 0; i < 8; i++)
        (void)take_item(&w, c, id, sizeof id, &start);
    bw_item *item = NULL;
    expect_status(&w, bw_consumer_next(c, SECOND, &item, w.error), BW_END);
    expect_status(&w, bw_consumer_next(c, 0, &item, w.error), BW_END);
    bw_consumer_close(c);
    bw_config_free(reopen);
    scene_close(&w);
}

static bw_cursor *cursor_of(scene *w, bw_consumer *c)
{
    bw_cursor *cursor = NULL;
    expect_ok(w, bw_consumer_cursor(c, &cursor, w->error));
    return cursor;
}

static void test_cursor(void **state)
{
    (void)state;
    scene w, foreign;
    scene_open(&w, "2", "1", NULL);
    scene_open(&foreign, "2", "1", NULL);
    bw_producer *p = open_producer(&w, "p", NULL);
    put_some(&w, p, "p", 0, 40);
    bw_consumer *ranks[2] = {open_consumer(&w, w.space, "0", "0"),
                             open_consumer(&w, w.space, "1", "0")};
    char id[8];
    uint64_t start = 0;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 13; k++)
            (void)take_item(&w, ranks[i], id, sizeof id, &start);
    bw_cursor *a = cursor_of(&w, ranks[0]), *b = cursor_of(&w, ranks[1]), *again = NULL;
    assert_true(bw_cursor_equal(a, b));
    assert_int_equal(bw_cursor_step(a), 6);
    assert_int_equal(bw_cursor_item(a), 1);
    const char *json = bw_cursor_json(a);
    expect_ok(&w, bw_cursor_parse(json, strlen(json), &again, w.error));
    assert_true(bw_cursor_equal(a, again));
    assert_string_equal(bw_cursor_json(again), json);
    bw_consumer_close(ranks[0]);
    bw_consumer_close(ranks[1]);

    bw_config *rank1 = settings("d", "1", NULL);
    bw_consumer *c = NULL;
    expect_ok(&w, bw_consumer_open(w.space, NULL, rank1, again, 10 * SECOND, &c, w.error));
    assert_int_equal(take_item(&w, c, id, sizeof id, &start), 6);
    assert_int_equal(take_item(&w, c, id, sizeof id, &start), 7);
    bw_consumer_close(c);
    expect_status(&foreign,
                  bw_consumer_open(foreign.space, NULL, rank1, again, SECOND, &c, foreign.error),
                  BW_CURSOR_FOREIGN);
    /* The same place in another history. */
    char text[512];
    snprintf(text, sizeof text, "%s", json);
    char *nonce = strstr(text, "\"nonce\":\"");
    assert_non_null(nonce);
    nonce[9] = nonce[9] == '0' ? '1' : '0';
    bw_cursor *rewritten = NULL, *beyond = NULL;
    expect_ok(&w, bw_cursor_parse(text, strlen(text), &rewritten, w.error));
    expect_status(&w, bw_consumer_open(w.space, NULL, rank1, rewritten, SECOND, &c, w.error),
                  BW_CURSOR_REWRITTEN);
    char *step = strstr(text, "\"step\":6");
    assert_non_null(step);
    char far[600];
    snprintf(far, sizeof far, "%.*s\"step\":600%s", (int)(step - text), text, step + 8);
    expect_ok(&w, bw_cursor_parse(far, strlen(far), &beyond, w.error));
    expect_status(&w, bw_consumer_open(w.space, NULL, rank1, beyond, SECOND, &c, w.error),
                  BW_BEYOND_END);
    bw_cursor_free(a);
    bw_cursor_free(b);
    bw_cursor_free(again);
    bw_cursor_free(rewritten);
    bw_cursor_free(beyond);
    bw_config_free(rank1);
    expect_ok(&w, bw_producer_close(p, 0, w.error));
    scene_close(&foreign);
    scene_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_producer_goes_on),
        cmocka_unit_test(test_newer_incarnation_fences),
        cmocka_unit_test(test_finish_seal_reopen),
        cmocka_unit_test(test_cursor),
    };
    return cmocka_run_group_tests_name("resume", tests, NULL, NULL);
}
