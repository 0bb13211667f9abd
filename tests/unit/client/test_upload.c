// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Uploads that fail: what may pass holds the producer up and says so, anything else finishes it;
 * nothing is acknowledged before. */
#include "stand.h"

#include "base/rng.h"

#include <string.h>

static void test_no_space_then_room(void **state)
{
    (void)state;
    stand s;
    char message[EVENT_MESSAGE_MAX + 1];
    stand_open(&s, 2, "no-space:put:data/:2;no-space:put:data/:3", true);
    bw_producer *p = stand_producer(&s, s.space, "p", "fixed:1");
    stand_put(&s, p, "one", 1);
    stand_expect(&s, producer_flush(p, true, 10 * NS_PER_S, &s.error), BW_OK);
    stand_put(&s, p, "two", 2);
    (void)stand_await(&s, p, BW_EVENT_BLOCKED, message);
    assert_non_null(strstr(message, "NO_SPACE"));
    /* While it lasts, waiting calls name the cause. */
    stand_expect(&s, producer_flush(p, true, 10 * NS_PER_MS, &s.error), BW_NO_SPACE);
    assert_non_null(strstr(s.error.message, "1 batches beyond offset 1"));
    assert_int_equal(stand_await(&s, p, BW_EVENT_COMMITTED, NULL), 2);
    stand_expect(&s, producer_flush(p, true, 10 * NS_PER_S, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    bw_consumer *c = stand_consumer(&s, s.space, 1);
    stand_take(&s, c, "one");
    stand_take(&s, c, "two");
    consumer_close(c);
    stand_close(&s);
}

static void test_never_any_room(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 1, "no-space:put:data/:0", true);
    bw_producer *p = stand_producer(&s, s.space, "p", "fixed:1");
    stand_put(&s, p, "one", 1);
    (void)stand_await(&s, p, BW_EVENT_BLOCKED, NULL);
    stand_expect(&s, producer_close(p, 30 * NS_PER_MS, &s.error), BW_NO_SPACE);
    assert_int_equal(mem_space_count(s.contents, "data/"), 0);
    stand_close(&s);
}

static void test_denied_finishes(void **state)
{
    (void)state;
    stand s;
    char message[EVENT_MESSAGE_MAX + 1];
    stand_open(&s, 1, "denied:put:data/:2", true);
    bw_producer *p = stand_producer(&s, s.space, "p", "fixed:1");
    stand_put(&s, p, "one", 1);
    stand_expect(&s, producer_flush(p, true, 10 * NS_PER_S, &s.error), BW_OK);
    stand_put(&s, p, "two", 2);
    (void)stand_await(&s, p, BW_EVENT_FAILED, message);
    assert_non_null(strstr(message, "DENIED"));
    stand_expect(&s, producer_flush(p, true, 10 * NS_PER_S, &s.error), BW_DENIED);
    stand_expect(&s, stand_try_put(&s, p, "three", 3, 0), BW_DENIED);
    stand_expect(&s, producer_close(p, NS_PER_S, &s.error), BW_DENIED);
    assert_non_null(strstr(s.error.message, "beyond offset 1"));
    /* The id goes on from what was acknowledged. */
    p = stand_producer(&s, s.space, "p", "fixed:1");
    assert_int_equal(p->resume_offset, 1);
    stand_put(&s, p, "two", 2);
    stand_expect(&s, producer_finish(p, 10 * NS_PER_S, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    stand_close(&s);
}

/* A later batch may be up before an earlier one; only the contiguous prefix is published. */
static void test_order_is_kept(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 1, "retry-before:put:data/:2;retry-before:put:data/:3;retry-after:put:data/:5",
               true);
    bw_producer *p = stand_producer(&s, s.space, "p", "naive");
    static const char *const texts[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (uint64_t i = 0; i < 8; i++)
        stand_put(&s, p, texts[i], i + 1);
    stand_expect(&s, producer_finish(p, 20 * NS_PER_S, &s.error), BW_OK);
    uint64_t last = 0, committed = 0;
    bw_event *e = NULL;
    while (producer_event(p, 0, &e, NULL) == BW_OK) {
        if (e->kind == BW_EVENT_COMMITTED) {
            assert_int_equal(e->token, ++committed);
            assert_true(e->step == last);
            last++;
        }
        event_free(e);
    }
    assert_int_equal(committed, 8);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    bw_consumer *c = stand_consumer(&s, s.space, 0);
    for (int i = 0; i < 8; i++)
        stand_take(&s, c, texts[i]);
    consumer_close(c);
    stand_close(&s);
}

/* Parts carry their checksum, which the store holds against the bytes; those of large items are
 * joined, those of small ones are read: sizes around the border, and in pieces. */
static void test_parts_carry_their_checksum(void **state)
{
    (void)state;
    static const size_t sizes[] = {100000, 16384, 16383, 0, 5, 40000};
    enum { ITEMS = sizeof sizes / sizeof sizes[0] };
    static uint8_t bytes[100000];
    rng random;
    stand s;
    bw_batch *b = NULL;
    rng_seed(&random, 3);
    rng_bytes(&random, bytes, sizeof bytes);
    stand_open(&s, 2, "", true);
    bw_producer *p = stand_producer(&s, s.space, "p", "fixed:1");
    stand_expect(&s, batch_new(p, ITEMS, &b, &s.error), BW_OK);
    for (uint32_t d = 0; d < 2; d++) {
        for (uint32_t i = 0; i < ITEMS; i++) {
            const size_t cut = sizes[i] / 3;
            const struct iovec pieces[] = {{bytes, cut}, {bytes + cut, sizes[i] - cut}};
            stand_expect(&s, batch_set_item(b, d, 0, i, pieces, 2, &s.error), BW_OK);
        }
    }
    stand_expect(&s, producer_put(p, b, 1, view_text("at"), 1, 10 * NS_PER_S, &s.error), BW_OK);
    stand_expect(&s, producer_finish(p, 10 * NS_PER_S, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_space_then_room),
        cmocka_unit_test(test_never_any_room),
        cmocka_unit_test(test_denied_finishes),
        cmocka_unit_test(test_order_is_kept),
        cmocka_unit_test(test_parts_carry_their_checksum),
    };
    return cmocka_run_group_tests_name("upload", tests, NULL, NULL);
}
