// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A ring of the caller's, as users lend it. */
#include "scene.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BATCHES 40u
#define ITEMS 2u
#define BUFFER 4096u
#define BUFFERS 8u
#define RING_BYTES ((size_t)BUFFERS * BUFFER)

static uint8_t *ring_new(void)
{
    void *memory =
        mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

static void fill(scene *w, const char *compress)
{
    bw_config *config = settings("compress", compress, NULL);
    bw_producer *p = open_producer(w, "p", config);
    char *memory[BATCHES];
    for (uint32_t i = 0; i < BATCHES; i++)
        put_batch(w, p, "p", i, i + 1, ITEMS, &memory[i]);
    expect_ok(w, bw_producer_finish(p, 10 * SECOND, w->error));
    expect_ok(w, bw_producer_close(p, 0, w->error));
    for (uint32_t i = 0; i < BATCHES; i++)
        free(memory[i]);
    bw_config_free(config);
}

static bw_consumer *open_with_ring(scene *w, uint8_t *ring)
{
    bw_config *config = settings("d", "1", "lend", "true", "prefetch", "4", NULL);
    bw_consumer *c = NULL;
    expect_ok(w, bw_consumer_open(w->space, NULL, config, NULL, 10 * SECOND, &c, w->error));
    for (uint32_t i = 0; i < BUFFERS; i++)
        expect_ok(w, bw_consumer_lend(c, ring + (size_t)i * BUFFER, BUFFER, 100 + i, w->error));
    bw_config_free(config);
    return c;
}

static bw_item *take(scene *w, bw_consumer *c, uint64_t step, uint32_t index)
{
    char expected[128];
    bw_item *item = NULL;
    const void *data = NULL;
    size_t size = 0;
    expect_ok(w, bw_consumer_next(c, 10 * SECOND, &item, w->error));
    assert_true(bw_item_step(item) == step && bw_item_index(item) == index);
    bw_item_view(item, &data, &size);
    assert_int_equal(size, item_text(expected, sizeof expected, "p", step, 1, 0, index));
    assert_memory_equal(data, expected, size);
    assert_int_equal((uintptr_t)data % 64, 0);
    return item;
}

/* In the buffer whose token it tells. */
static void expect_lent(const bw_item *item, const uint8_t *ring)
{
    uint64_t token = 0;
    const void *data = NULL;
    bw_item_view(item, &data, NULL);
    assert_int_equal(bw_item_lent(item, &token), 1);
    assert_in_range(token, 100, 100 + BUFFERS - 1);
    const ptrdiff_t at = (const uint8_t *)data - ring;
    assert_int_equal((uint64_t)at / BUFFER, token - 100);
    assert_int_equal(bw_item_lent(item, NULL), 1);
}

static void test_items_lie_in_the_ring(void **state)
{
    (void)state;
    static const char *const compress[] = {"none", "zstd:3"};
    for (size_t k = 0; k < 2; k++) {
        scene w;
        char json[4096];
        uint8_t *ring = ring_new();
        scene_open(&w, "2", "1", NULL);
        fill(&w, compress[k]);
        bw_consumer *c = open_with_ring(&w, ring);
        for (uint64_t step = 0; step < BATCHES; step++)
            for (uint32_t i = 0; i < ITEMS; i++) {
                bw_item *item = take(&w, c, step, i);
                expect_lent(item, ring);
                bw_item_release(item);
            }
        bw_item *item = NULL;
        expect_status(&w, bw_consumer_next(c, 0, &item, w.error), BW_STARVED);
        expect_ok(&w, bw_consumer_stats(c, json, sizeof json, NULL, w.error));
        assert_int_equal(json_number(json, "lent"), BUFFERS);
        assert_int_equal(json_number(json, "lent_free"), BUFFERS);
        assert_int_equal(json_number(json, "lent_reads"), BATCHES);
        assert_int_equal(json_number(json, "lent_missed"), 0);
        assert_true(json_number(json, "lent_bytes") > 0);
        bw_consumer_close(c);
        assert_int_equal(munmap(ring, RING_BYTES), 0);
        scene_close(&w);
    }
}

/* Taken away right after close, with reads under way: whoever still writes there dies. Items that
 * are held are released later all the same. */
static void test_close_leaves_the_ring_alone(void **state)
{
    (void)state;
    scene w;
    scene_open(&w, "2", "1", NULL);
    fill(&w, "none");
    for (uint32_t round = 0; round < 20; round++) {
        uint8_t *ring = ring_new();
        bw_consumer *c = open_with_ring(&w, ring);
        bw_item *held[2] = {NULL, NULL};
        for (uint32_t i = 0; i < round % 3; i++)
            held[i] = take(&w, c, 0, i);
        bw_consumer_close(c);
        assert_int_equal(munmap(ring, RING_BYTES), 0);
        bw_item_release(held[0]);
        bw_item_release(held[1]);
    }
    scene_close(&w);
}

/* The caller holds all it has lent: the next one comes all the same, from elsewhere. */
static void test_next_never_waits_for_a_buffer(void **state)
{
    (void)state;
    scene w;
    bw_item *held[BUFFERS + 2];
    uint8_t *ring = ring_new();
    scene_open(&w, "2", "1", NULL);
    fill(&w, "none");
    bw_consumer *c = open_with_ring(&w, ring);
    for (uint32_t step = 0; step < BUFFERS + 2; step++) {
        held[step] = take(&w, c, step, 0);
        bw_item_release(take(&w, c, step, 1));
        assert_int_equal(bw_item_lent(held[step], NULL), step < BUFFERS);
    }
    for (uint32_t i = 0; i < BUFFERS + 2; i++)
        bw_item_release(held[i]);
    bw_item_release(take(&w, c, BUFFERS + 2, 0));
    bw_item *item = take(&w, c, BUFFERS + 2, 1);
    /* It was to be read when all were free again. */
    expect_lent(item, ring);
    bw_item_release(item);
    bw_consumer_close(c);
    assert_int_equal(munmap(ring, RING_BYTES), 0);
    scene_close(&w);
}

static void test_refused(void **state)
{
    (void)state;
    scene w;
    uint8_t *ring = ring_new();
    scene_open(&w, "2", "1", NULL);
    bw_consumer *plain = open_consumer(&w, w.space, "0", "0");
    expect_status(&w, bw_consumer_lend(plain, ring, BUFFER, 1, w.error), BW_INVALID);
    assert_non_null(strstr(bw_error_message(w.error), "lend=true"));
    bw_consumer_close(plain);
    bw_consumer *c = open_with_ring(&w, ring);
    expect_status(&w, bw_consumer_lend(NULL, ring, BUFFER, 1, w.error), BW_INVALID);
    expect_status(&w, bw_consumer_lend(c, NULL, BUFFER, 1, w.error), BW_INVALID);
    expect_status(&w, bw_consumer_lend(c, ring + BUFFER, BUFFER, 1, w.error), BW_INVALID);
    uint8_t *more = ring_new();
    expect_status(&w, bw_consumer_lend(c, more + 8, BUFFER, 1, w.error), BW_INVALID);
    expect_status(&w, bw_consumer_lend(c, more, 0, 1, w.error), BW_INVALID);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(bw_consumer_lend(c, more, BUFFER, 1, NULL) != BW_FORKED);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    bw_consumer_close(c);
    assert_int_equal(munmap(more, RING_BYTES), 0);
    assert_int_equal(munmap(ring, RING_BYTES), 0);
    scene_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_items_lie_in_the_ring),
        cmocka_unit_test(test_close_leaves_the_ring_alone),
        cmocka_unit_test(test_next_never_waits_for_a_buffer),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("lend", tests, NULL, NULL);
}
