// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Closing: no caller memory is in use afterwards, items outlive everything, and a forked child is
 * told. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGE (1u << 20)

/* The memory is taken away right after close: whoever still reads it dies. */
static void test_no_memory_in_use(void **state)
{
    (void)state;
    scene w;
    bw_config *more = settings("part_size", "64KiB", NULL);
    scene_open(&w, "4", "1", more);
    bw_config_free(more);
    for (int round = 0; round < 6; round++) {
        bw_producer *p = open_producer(&w, "p", NULL);
        uint64_t offset = 0;
        assert_int_equal(bw_producer_resume(p, &offset, NULL, NULL), BW_OK);
        void *memory =
            mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(memory != MAP_FAILED);
        memset(memory, round, LARGE);
        const struct iovec piece = {memory, LARGE};
        for (uint64_t i = 1; i <= 20; i++) {
            bw_batch *b = NULL;
            expect_ok(&w, bw_batch_new(p, 1, &b, w.error));
            for (uint32_t d = 0; d < 4; d++)
                expect_ok(&w, bw_batch_item(b, d, 0, 0, &piece, 1, w.error));
            expect_ok(&w, bw_producer_put(p, b, offset + i, NULL, 0, i, 10 * SECOND, w.error));
        }
        const int64_t timeout = round % 2 == 0 ? 0 : 2000000;
        const bw_status status = bw_producer_close(p, timeout, w.error);
        if (status != BW_OK && status != BW_TIMEOUT && status != BW_UNKNOWN)
            fail_msg("%s: %s", bw_status_name(status), bw_error_message(w.error));
        assert_int_equal(munmap(memory, LARGE), 0);
    }
    /* What was published on the way is whole. */
    static const char *const names[] = {"deep", "true"};
    bw_config *deep = settings(names[0], names[1], NULL);
    expect_ok(&w, bw_space_report(w.space, "verify", deep, no_line, NULL, w.error));
    bw_config_free(deep);
    scene_close(&w);
}

static void test_close_commits_in_time(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "1", "1", NULL);
    bw_config *config = settings("policy", "fixed:3600000", NULL);
    bw_producer *p = open_producer(&w, "p", config);
    char *memory[3];
    for (uint64_t i = 0; i < 3; i++)
        put_batch(&w, p, "p", i, i + 1, 1, &memory[i]);
    expect_ok(&w, bw_producer_close(p, 30 * SECOND, w.error));
    p = open_producer(&w, "p", config);
    uint64_t offset = 0;
    assert_int_equal(bw_producer_resume(p, &offset, NULL, NULL), BW_OK);
    assert_int_equal(offset, 3);
    bw_batch *b = NULL;
    expect_ok(&w, bw_batch_new(p, 1, &b, w.error));
    expect_ok(&w, bw_batch_pad(b, 0, 0, 0, w.error));
    bw_producer_interrupt(p, 1); /* sticky: close does not wait either */
    expect_ok(&w, bw_producer_put(p, b, 4, NULL, 0, 0, 0, w.error));
    const bw_status status = bw_producer_close(p, BW_FOREVER, w.error);
    assert_true(status == BW_OK || status == BW_TIMEOUT || status == BW_UNKNOWN);
    bw_config_free(config);
    for (int i = 0; i < 3; i++)
        free(memory[i]);
    scene_close(&w);
}

static void test_items_outlive_everything(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "1", "1", NULL);
    bw_producer *p = open_producer(&w, "p", NULL);
    char *memory = NULL, expected[128];
    put_batch(&w, p, "p", 5, 6, 2, &memory);
    expect_ok(&w, bw_producer_finish(p, 10 * SECOND, w.error));
    expect_ok(&w, bw_producer_close(p, 0, w.error));
    free(memory);
    bw_consumer *c = open_consumer(&w, w.space, "0", "0");
    bw_item *items[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++)
        expect_ok(&w, bw_consumer_next(c, 10 * SECOND, &items[i], w.error));
    bw_consumer_close(c);
    scene_close(&w);
    for (uint32_t i = 0; i < 2; i++) {
        const void *data = NULL;
        size_t size = 0;
        bw_item_view(items[i], &data, &size);
        assert_int_equal(size, item_text(expected, sizeof expected, "p", 5, 0, 0, i));
        assert_memory_equal(data, expected, size);
        assert_int_equal((uintptr_t)data % 64, 0);
        bw_item_release(items[i]);
    }
}

/* The child: every call is refused, closing frees and returns, and nothing of it disturbs the
 * parent. */
static int in_child(scene *w, bw_producer *p, bw_consumer *c)
{
    bw_item *item = NULL;
    bw_event *event = NULL;
    bw_batch *b = NULL;
    bw_space *space = NULL;
    bw_producer *q = NULL;
    bw_consumer *other = NULL;
    int wrong = 0;
    wrong += bw_consumer_next(c, BW_FOREVER, &item, w->error) != BW_FORKED;
    wrong += bw_error_code(w->error) != BW_FORKED;
    wrong += bw_producer_event(p, BW_FOREVER, &event, NULL) != BW_FORKED;
    wrong += bw_producer_flush(p, BW_URGENT, BW_FOREVER, NULL) != BW_FORKED;
    wrong += bw_producer_finish(p, BW_FOREVER, NULL) != BW_FORKED;
    wrong += bw_batch_new(p, 1, &b, NULL) != BW_FORKED;
    wrong += bw_space_open(w->runtime, w->url, NULL, 0, &space, NULL) != BW_FORKED;
    wrong += bw_producer_open(w->space, "q", NULL, 0, &q, NULL) != BW_FORKED;
    wrong += bw_consumer_open(w->space, NULL, NULL, NULL, 0, &other, NULL) != BW_FORKED;
    wrong += bw_space_report(w->space, "info", NULL, no_line, NULL, NULL) != BW_FORKED;
    wrong += bw_producer_close(p, BW_FOREVER, NULL) != BW_OK;
    bw_consumer_close(c);
    bw_space_close(w->space);
    bw_runtime_close(w->runtime);
    /* A new runtime works. */
    bw_runtime *runtime = NULL;
    wrong += bw_runtime_open(NULL, &runtime, NULL) != BW_OK;
    wrong += bw_space_open(runtime, w->url, NULL, 10 * SECOND, &space, NULL) != BW_OK;
    bw_space_close(space);
    bw_runtime_close(runtime);
    return wrong;
}

static void test_fork(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "1", "1", NULL);
    bw_producer *p = open_producer(&w, "p", NULL);
    bw_consumer *c = open_consumer(&w, w.space, "0", "0");
    char *memory = NULL, id[8];
    put_batch(&w, p, "p", 0, 1, 1, &memory);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(in_child(&w, p, c));
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    uint64_t start = 9;
    assert_int_equal(take_item(&w, c, id, sizeof id, &start), 0);
    expect_ok(&w, bw_producer_finish(p, 10 * SECOND, w.error));
    bw_consumer_close(c);
    expect_ok(&w, bw_producer_close(p, 0, w.error));
    free(memory);
    scene_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_memory_in_use),
        cmocka_unit_test(test_close_commits_in_time),
        cmocka_unit_test(test_items_outlive_everything),
        cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests_name("close", tests, NULL, NULL);
}
