// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* One line from end to end: producers in threads, all ranks, one order, the end. */
#include "scene.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCHES 60u
#define ITEMS 2u

typedef struct producing {
    scene *w;
    const char *id;
} producing;

static void *produce(void *context)
{
    const producing *p = context;
    scene own = *p->w;
    own.error = bw_error_new();
    bw_config *config = settings("policy", "fixed:3", NULL);
    bw_producer *producer = open_producer(&own, p->id, config);
    char *memory[BATCHES];
    uint64_t released = 0, committed = 0;
    for (uint64_t i = 0; i < BATCHES; i++)
        put_batch(&own, producer, p->id, i * 10, i * 10 + 10, ITEMS, &memory[i]);
    expect_ok(&own, bw_producer_finish(producer, 60 * SECOND, own.error));
    bw_event *event = NULL;
    uint64_t last_step = 0;
    while (bw_producer_event(producer, 0, &event, own.error) == BW_OK) {
        if (bw_event_what(event) == BW_EVENT_RELEASED)
            released++;
        if (bw_event_what(event) == BW_EVENT_COMMITTED) {
            assert_int_equal(bw_event_token(event), committed * 10);
            assert_true(committed == 0 || bw_event_step(event) > last_step);
            last_step = bw_event_step(event);
            committed++;
        }
        bw_event_free(event);
    }
    assert_int_equal(released, BATCHES);
    assert_int_equal(committed, BATCHES);
    expect_ok(&own, bw_producer_close(producer, 0, own.error));
    for (uint64_t i = 0; i < BATCHES; i++)
        free(memory[i]);
    bw_config_free(config);
    bw_error_free(own.error);
    return NULL;
}

typedef struct consuming {
    scene *w;
    const char *d, *c;
    uint64_t order[BATCHES * 2]; /* producer and start of each step, folded into a number */
} consuming;

static void *consume(void *context)
{
    consuming *c = context;
    scene own = *c->w;
    own.error = bw_error_new();
    bw_consumer *consumer = open_consumer(&own, own.space, c->d, c->c);
    for (uint64_t step = 0; step < BATCHES * 2; step++)
        for (uint32_t item = 0; item < ITEMS; item++) {
            char id[16];
            uint64_t start = 0;
            assert_int_equal(take_item(&own, consumer, id, sizeof id, &start), step);
            c->order[step] = start * 2 + (strcmp(id, "p0") == 0);
        }
    bw_item *item = NULL;
    expect_status(&own, bw_consumer_next(consumer, 10 * SECOND, &item, own.error), BW_END);
    char json[4096];
    expect_ok(&own, bw_consumer_wait_reason(consumer, json, sizeof json, NULL, own.error));
    assert_non_null(strstr(json, "\"reason\":\"end\""));
    bw_consumer_close(consumer);
    bw_error_free(own.error);
    return NULL;
}

static void test_producers_and_all_ranks(void **state)
{
    (void)state;
    scene w;
    bw_config *more = settings("producers", "2", NULL);
    scene_open(&w, "2", "2", more);
    bw_config_free(more);
    producing producers[2] = {{&w, "p0"}, {&w, "p1"}};
    consuming *ranks = calloc(4, sizeof *ranks);
    assert_non_null(ranks);
    pthread_t threads[6];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    static const char *const places[4][2] = {{"0", "0"}, {"0", "1"}, {"1", "0"}, {"1", "1"}};
    for (int i = 0; i < 4; i++) {
        ranks[i].w = &w;
        ranks[i].d = places[i][0];
        ranks[i].c = places[i][1];
        assert_int_equal(pthread_create(&threads[2 + i], NULL, consume, &ranks[i]), 0);
    }
    for (int i = 0; i < 6; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 1; i < 4; i++)
        assert_memory_equal(ranks[i].order, ranks[0].order, sizeof ranks[0].order);
    free(ranks);
    scene_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_producers_and_all_ranks),
    };
    return cmocka_run_group_tests_name("line", tests, NULL, NULL);
}
