// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/producer.h"
#include <poll.h>
#include <string.h>

static bool readable(const event_queue *q)
{
    struct pollfd at = {.fd = q->fd, .events = POLLIN};
    assert_in_range(poll(&at, 1, 0), 0, 1);
    return (at.revents & POLLIN) != 0;
}

static void push(event_queue *q, uint64_t token)
{
    bw_event *e = event_new(BW_EVENT_RELEASED, false);
    assert_non_null(e);
    e->token = token;
    events_push(q, e);
}

static void pop(event_queue *q, uint64_t token)
{
    bw_event *e = events_pop(q);
    assert_non_null(e);
    assert_int_equal(e->token, token);
    event_free(e);
}

static void test_order_and_count(void **state)
{
    (void)state;
    event_queue q;
    assert_int_equal(events_init(&q, NULL), BW_OK);
    assert_null(events_pop(&q));
    push(&q, 1);
    push(&q, 2);
    pop(&q, 1);
    push(&q, 3); /* behind what is left */
    assert_int_equal(q.count, 2);
    pop(&q, 2);
    pop(&q, 3);
    assert_int_equal(q.count, 0);
    assert_null(events_pop(&q));
    push(&q, 4); /* emptied and used again */
    pop(&q, 4);
    events_destroy(&q);
}

static void test_readable_while_not_empty(void **state)
{
    (void)state;
    event_queue q;
    assert_int_equal(events_init(&q, NULL), BW_OK);
    for (int round = 0; round < 3; round++) {
        assert_false(readable(&q));
        push(&q, 1);
        assert_true(readable(&q));
        push(&q, 2);
        pop(&q, 1);
        assert_true(readable(&q));
        pop(&q, 2);
    }
    assert_false(readable(&q));
    assert_null(events_pop(&q));
    assert_false(readable(&q));
    events_destroy(&q);
}

static void test_an_event_is_blank(void **state)
{
    (void)state;
    bw_event *e = event_new(BW_EVENT_FAILED, true);
    assert_non_null(e);
    assert_int_equal(e->kind, BW_EVENT_FAILED);
    assert_int_equal(e->token + e->step + e->version, 0);
    assert_string_equal(e->message, "");
    memset(e->message, 'm', EVENT_MESSAGE_MAX); /* all of it is there */
    assert_int_equal(strlen(e->message), EVENT_MESSAGE_MAX);
    event_free(e);
    e = event_new(BW_EVENT_COMMITTED, false);
    assert_string_equal(e->message, "");
    event_free(e);
}

/* What is queued or spare when a producer closes goes with it: the leak checker watches. */
static void test_destroy_takes_the_rest(void **state)
{
    (void)state;
    event_queue q;
    assert_int_equal(events_init(&q, NULL), BW_OK);
    push(&q, 1);
    push(&q, 2);
    for (int i = 0; i < 2; i++) {
        bw_event *e = event_new(BW_EVENT_COMMITTED, false);
        e->next = q.spare;
        q.spare = e;
    }
    const int fd = q.fd;
    events_destroy(&q);
    assert_null(q.first);
    assert_null(q.spare);
    struct pollfd at = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&at, 1, 0), 1);
    assert_true((at.revents & POLLNVAL) != 0); /* closed */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_count),
        cmocka_unit_test(test_readable_while_not_empty),
        cmocka_unit_test(test_an_event_is_blank),
        cmocka_unit_test(test_destroy_takes_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
