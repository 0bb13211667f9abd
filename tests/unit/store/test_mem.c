// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"
#include "store/driver.h"
#include "store/mem.h"
#include "tests/contract/contract_ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    mem_space *space;
    store *store;
    struct iovec piece;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    assert_int_equal(mem_space_new(&f->space), BW_OK);
    assert_int_equal(store_mem_open(f->space, &f->store, NULL), BW_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    store_close(f->store);
    mem_space_free(f->space);
    free(f);
    return 0;
}

/** Sends a create of one byte in stepped mode. */
static void send_create(fixture *f, store_op *op, const char *key)
{
    static char byte[] = "c";
    f->piece = (struct iovec){.iov_base = byte, .iov_len = 1};
    store_op_init(op, STORE_CREATE, key);
    op->pieces = &f->piece;
    op->piece_count = 1;
    store_submit(f->store, op);
}

static store_op *poll_one(store *s)
{
    store_op *done = NULL;
    return store_poll(s, &done, 1, 0) == 1 ? done : NULL;
}

static void test_direct_access(void **state)
{
    fixture *f = *state;
    const uint8_t *bytes = NULL;
    size_t size = 0;
    assert_false(mem_space_get(f->space, "b", &bytes, &size));
    assert_int_equal(mem_space_set(f->space, "b", "bytes", 5), BW_OK);
    assert_int_equal(mem_space_set(f->space, "a", "", 0), BW_OK);
    assert_int_equal(mem_space_set(f->space, "b", "again", 5), BW_OK);
    assert_true(mem_space_get(f->space, "b", &bytes, &size));
    assert_int_equal(size, 5);
    assert_memory_equal(bytes, "again", 5);
    assert_int_equal(mem_space_count(f->space, ""), 2);
    assert_int_equal(mem_space_count(f->space, "b"), 1);
    assert_true(mem_space_remove(f->space, "b"));
    assert_false(mem_space_remove(f->space, "b"));
    assert_int_equal(mem_space_count(f->space, ""), 1);
}

static int join_keys(void *context, const char *key, const uint8_t *bytes, size_t size)
{
    (void)bytes;
    (void)size;
    char *joined = context;
    strncat(joined, key, 3);
    return strlen(joined) >= 4;
}

static void test_each_goes_in_order_until_told_to_stop(void **state)
{
    fixture *f = *state;
    static const char *const keys[] = {"c", "a", "d", "b", "e"};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(mem_space_set(f->space, keys[i], keys[i], 1), BW_OK);
    char joined[16] = "";
    assert_int_equal(mem_space_each(f->space, "", join_keys, joined), 1);
    assert_string_equal(joined, "abcd");
}

static void test_counts_what_was_applied(void **state)
{
    fixture *f = *state;
    assert_int_equal(do_create(f->store, "k", "x"), STORE_CREATED);
    assert_int_equal(do_create(f->store, "k", "y"), STORE_EXISTS);
    assert_content(f->store, "k", "x");
    assert_int_equal(mem_space_applied(f->space, STORE_CREATE), 2);
    assert_int_equal(mem_space_applied(f->space, STORE_GET), 1);
    assert_int_equal(mem_space_applied(f->space, STORE_PUT), 0);
}

static void test_stepped_does_nothing_by_itself(void **state)
{
    fixture *f = *state;
    store_mem_set_stepped(f->store, true);
    store_op op;
    send_create(f, &op, "k");
    assert_null(poll_one(f->store));
    assert_int_equal(mem_space_count(f->space, ""), 0);
    store_op *sent[4];
    assert_int_equal(store_mem_sent(f->store, sent, 4), 1);
    assert_ptr_equal(sent[0], &op);

    assert_int_equal(store_mem_apply(f->store, &op), STORE_CREATED);
    assert_int_equal(mem_space_count(f->space, ""), 1);
    assert_null(poll_one(f->store)); /* applied, not answered */
    store_mem_answer(f->store, &op, STORE_PENDING);
    assert_int_equal(store_mem_sent(f->store, sent, 4), 0);
    assert_ptr_equal(poll_one(f->store), &op);
    assert_int_equal(op.outcome, STORE_CREATED);
}

static void test_stepped_answers_out_of_order(void **state)
{
    fixture *f = *state;
    store_mem_set_stepped(f->store, true);
    store_op ops[3];
    store_op *sent[2];
    send_create(f, &ops[0], "a");
    send_create(f, &ops[1], "b");
    send_create(f, &ops[2], "a");
    assert_int_equal(store_mem_sent(f->store, sent, 2), 2); /* oldest first, as many as asked for */
    assert_ptr_equal(sent[0], &ops[0]);
    assert_ptr_equal(sent[1], &ops[1]);
    assert_int_equal(store_mem_apply(f->store, &ops[2]), STORE_CREATED);
    assert_int_equal(store_mem_apply(f->store, &ops[0]), STORE_EXISTS);
    store_mem_answer(f->store, &ops[2], STORE_PENDING);
    store_mem_answer(f->store, &ops[0], STORE_PENDING);
    assert_ptr_equal(poll_one(f->store), &ops[2]);
    assert_ptr_equal(poll_one(f->store), &ops[0]);
    assert_null(poll_one(f->store)); /* b is never answered */
}

static void test_stepped_applies_twice(void **state)
{
    fixture *f = *state;
    store_mem_set_stepped(f->store, true);
    store_op op;
    send_create(f, &op, "k");
    assert_int_equal(store_mem_apply(f->store, &op), STORE_CREATED);
    assert_int_equal(store_mem_apply(f->store, &op), STORE_EXISTS); /* its own write */
    store_mem_answer(f->store, &op, STORE_PENDING);
    assert_ptr_equal(poll_one(f->store), &op);
    assert_int_equal(op.outcome, STORE_EXISTS);
    assert_int_equal(op.attempts, 2);
}

static void test_stepped_answers_falsely(void **state)
{
    fixture *f = *state;
    store_mem_set_stepped(f->store, true);
    store_op op;
    send_create(f, &op, "k");
    assert_int_equal(store_mem_apply(f->store, &op), STORE_CREATED);
    store_mem_answer(f->store, &op, STORE_UNKNOWN);
    assert_ptr_equal(poll_one(f->store), &op);
    assert_int_equal(op.outcome, STORE_UNKNOWN);
    assert_int_equal(store_op_status(&op), BW_UNKNOWN);
    assert_int_equal(mem_space_count(f->space, ""), 1);

    send_create(f, &op, "never");
    store_mem_answer(f->store, &op, STORE_CREATED);
    assert_ptr_equal(poll_one(f->store), &op);
    assert_int_equal(op.outcome, STORE_CREATED);
    assert_int_equal(mem_space_count(f->space, "never"), 0);

    send_create(f, &op, "never"); /* the truth about what was never applied */
    store_mem_answer(f->store, &op, STORE_PENDING);
    assert_ptr_equal(poll_one(f->store), &op);
    assert_int_equal(op.outcome, STORE_RETRY);
}

static void test_late_copy_outlives_its_original(void **state)
{
    fixture *f = *state;
    store_mem_set_stepped(f->store, true);
    store_op *op = calloc(1, sizeof *op);
    send_create(f, op, "k");
    mem_late *late = store_mem_keep(f->store, op);
    store_mem_answer(f->store, op, STORE_UNKNOWN);
    assert_ptr_equal(poll_one(f->store), op);
    memset(op, 0xee, sizeof *op);
    free(op);
    assert_int_equal(store_mem_apply_late(f->store, late), STORE_CREATED);
    assert_int_equal(store_mem_apply_late(f->store, late), STORE_EXISTS);
    store_mem_drop(late);
    store_mem_drop(NULL);
    store_mem_set_stepped(f->store, false);
    assert_content(f->store, "k", "c");

    char key[] = "k";
    const char *keys[] = {key};
    store_op gone;
    store_op_init(&gone, STORE_DELETE, "");
    gone.keys = keys;
    gone.key_count = 1;
    late = store_mem_keep(f->store, &gone);
    key[0] = 'x';
    assert_int_equal(store_mem_apply_late(f->store, late), STORE_OK);
    store_mem_drop(late);
    assert_int_equal(mem_space_count(f->space, ""), 0);
}

static void test_reads_take_what_is_there_when_applied(void **state)
{
    fixture *f = *state;
    assert_int_equal(do_put(f->store, "k", "old"), STORE_OK);
    store_mem_set_stepped(f->store, true);
    store_op op;
    store_op_init(&op, STORE_GET, "k");
    buf_init(&op.out, 10);
    store_submit(f->store, &op);
    assert_int_equal(store_mem_apply(f->store, &op), STORE_OK);
    assert_int_equal(mem_space_set(f->space, "k", "new", 3), BW_OK);
    store_mem_answer(f->store, &op, STORE_PENDING);
    assert_ptr_equal(poll_one(f->store), &op);
    assert_memory_equal(op.out.data, "old", 3);
    store_op_clear(&op);
}

static void test_clone_starts_in_the_same_mode(void **state)
{
    fixture *f = *state;
    store_mem_set_stepped(f->store, true);
    store *clone = NULL;
    assert_int_equal(store_clone(f->store, &clone, NULL), BW_OK);
    store_op op;
    store_op_init(&op, STORE_HEAD, "k");
    store_submit(clone, &op);
    assert_null(poll_one(clone));
    store_op *sent[1];
    assert_int_equal(store_mem_sent(f->store, sent, 1), 0);
    assert_int_equal(store_mem_sent(clone, sent, 1), 1);
    store_close(clone); /* what was in flight comes back in no poll */
}

static void *answer_soon(void *context)
{
    fixture *f = context;
    store_op *sent[1];
    while (store_mem_sent(f->store, sent, 1) == 0)
        continue;
    (void)store_mem_apply(f->store, sent[0]);
    store_mem_answer(f->store, sent[0], STORE_PENDING);
    return NULL;
}

static void *wake_soon(void *context)
{
    store_wake(context);
    return NULL;
}

static void test_poll_waits_for_an_answer_or_a_wake(void **state)
{
    fixture *f = *state;
    store_mem_set_stepped(f->store, true);
    pthread_t thread;
    assert_int_equal(thread_start(&thread, "answer", answer_soon, f), BW_OK);
    assert_int_equal(do_put(f->store, "k", "x"), STORE_OK); /* polls without end */
    assert_int_equal(pthread_join(thread, NULL), 0);

    store_op op;
    send_create(f, &op, "never-answered");
    assert_int_equal(thread_start(&thread, "wake", wake_soon, f->store), BW_OK);
    store_op *done = NULL;
    assert_int_equal(store_poll(f->store, &done, 1, TIME_NEVER), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(store_poll(f->store, &done, 1, NS_PER_MS),
                     0); /* the wake was used up: times out */
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_direct_access),
        CASE(test_each_goes_in_order_until_told_to_stop),
        CASE(test_counts_what_was_applied),
        CASE(test_stepped_does_nothing_by_itself),
        CASE(test_stepped_answers_out_of_order),
        CASE(test_stepped_applies_twice),
        CASE(test_stepped_answers_falsely),
        CASE(test_late_copy_outlives_its_original),
        CASE(test_reads_take_what_is_there_when_applied),
        CASE(test_clone_starts_in_the_same_mode),
        CASE(test_poll_waits_for_an_answer_or_a_wake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
