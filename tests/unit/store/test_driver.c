// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_names_of_kinds_and_outcomes(void **state)
{
    (void)state;
    for (int i = 0; i < STORE_OP_KINDS; i++) {
        assert_true(strlen(store_op_name((store_op_kind)i)) > 2);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(store_op_name((store_op_kind)i),
                                    store_op_name((store_op_kind)k));
    }
    for (int i = 0; i < STORE_OUTCOMES; i++)
        assert_true(strlen(store_outcome_name((store_outcome)i)) >= 2);
    assert_string_equal(store_op_name(STORE_CREATE), "create");
    assert_string_equal(store_outcome_name(STORE_UNKNOWN), "UNKNOWN");
    assert_string_equal(store_op_name(STORE_OP_KINDS), "?");
    assert_string_equal(store_outcome_name(STORE_OUTCOMES), "?");
}

static void test_status_of_outcomes(void **state)
{
    (void)state;
    static const struct {
        store_outcome outcome;
        bw_status status;
    } expected[] = {
        {STORE_OK, BW_OK},       {STORE_CREATED, BW_OK},
        {STORE_EXISTS, BW_OK},   {STORE_NOT_FOUND, BW_NOT_FOUND},
        {STORE_RETRY, BW_IO},    {STORE_DENIED, BW_DENIED},
        {STORE_FATAL, BW_IO},    {STORE_UNKNOWN, BW_UNKNOWN},
        {STORE_PENDING, BW_BUG}, {STORE_UNSUPPORTED, BW_UNSUPPORTED},
    };
    store_op op;
    store_op_init(&op, STORE_CREATE, "k");
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        op.outcome = expected[i].outcome;
        assert_int_equal(store_op_status(&op), expected[i].status);
    }
    store_op_end(&op, STORE_RETRY, BW_NO_SPACE, "%d bytes", 5);
    assert_int_equal(store_op_status(&op), BW_NO_SPACE); /* a driver's code says more */
    assert_string_equal(op.error.message, "5 bytes");
    assert_string_equal(op.error.key, "k");
}

static void test_valid_prefixes(void **state)
{
    (void)state;
    static const char *const good[] = {"",  "a",  "a/",  "a/b", "manifest/000",
                                       ".", "..", "a/.", "-",   "a/b/"};
    static const char *const bad[] = {"/", "/a", "a//", "../", "./a", "a/../b", "A", "a b", "a/./"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(store_prefix_is_valid(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(store_prefix_is_valid(bad[i]));
    char full[STORE_KEY_MAX + 2];
    memset(full, 'a', sizeof full);
    for (size_t i = 200; i < sizeof full; i += 200)
        full[i] = '/';
    full[STORE_KEY_MAX + 1] = '\0';
    assert_false(store_prefix_is_valid(full));
    assert_false(store_key_is_valid(full));
    full[STORE_KEY_MAX] = '\0';
    assert_true(store_prefix_is_valid(full));
    assert_true(store_key_is_valid(full));
    full[200] = 'a'; /* a segment of 399 */
    assert_false(store_prefix_is_valid(full));
    assert_false(store_key_is_valid(full));
}

static void test_queue_keeps_order(void **state)
{
    (void)state;
    store_op *ops = calloc(5, sizeof *ops);
    op_queue queue = {.count = 0};
    assert_null(op_queue_pop(&queue));
    for (int i = 0; i < 5; i++)
        op_queue_push(&queue, &ops[i]);
    assert_true(op_queue_remove(&queue, &ops[2]));
    assert_false(op_queue_remove(&queue, &ops[2]));
    assert_true(op_queue_remove(&queue, &ops[0])); /* first */
    assert_true(op_queue_remove(&queue, &ops[4])); /* last */
    op_queue_push(&queue, &ops[0]);
    assert_int_equal(queue.count, 3);
    store_op *done[8] = {NULL};
    assert_int_equal(op_queue_drain(&queue, done, 2), 2);
    assert_ptr_equal(done[0], &ops[1]);
    assert_ptr_equal(done[1], &ops[3]);
    assert_int_equal(op_queue_drain(&queue, done, 8), 1);
    assert_ptr_equal(done[0], &ops[0]);
    assert_int_equal(queue.count, 0);
    assert_false(op_queue_remove(&queue, &ops[1]));
    free(ops);
}

/* ---- the probe against stores that break their promises ---- */

typedef enum lie {
    LIE_NONE,
    LIE_OVERWRITES,
    LIE_READS_WRONG,
    LIE_LOSES,
    LIE_DENIES,
    LIE_CLAIMS,
    LIE_BUSY,      /* every other create: nothing landed */
    LIE_BUSY_EVER, /* all of them */
    LIE_MUTE,      /* every other create: done, but the answer is lost */
    LIE_MUTE_EVER, /* all of them */
    LIE_MUTE_OVERWRITES,
} lie;

typedef struct liar {
    store base;
    lie lie;
    char content[16];
    size_t size;
    bool exists;
    int creates, deletes;
    op_queue complete;
} liar;

static void liar_create(liar *l, store_op *op)
{
    const bool odd = l->creates++ % 2 == 0;
    const bool overwrites = l->lie == LIE_OVERWRITES || (l->lie == LIE_MUTE_OVERWRITES && odd);
    if (l->lie == LIE_BUSY_EVER || (l->lie == LIE_BUSY && odd)) {
        store_op_end(op, STORE_RETRY, BW_IO, "not now");
    } else if (l->lie == LIE_DENIES) {
        store_op_end(op, STORE_FATAL, BW_DENIED, "no right to create");
    } else if (l->exists && !overwrites) {
        op->outcome = STORE_EXISTS;
    } else if (!l->exists && l->lie == LIE_CLAIMS) {
        op->outcome = STORE_EXISTS;
    } else {
        l->size = op->pieces[0].iov_len;
        memcpy(l->content, op->pieces[0].iov_base, l->size);
        l->exists = true;
        op->outcome = STORE_CREATED;
    }
    if (l->lie == LIE_MUTE_EVER || (l->lie >= LIE_MUTE && odd))
        store_op_end(op, STORE_UNKNOWN, BW_UNKNOWN, "no answer");
}

static void liar_submit(store *s, store_op *op)
{
    liar *l = (liar *)s;
    store_op_restart(op);
    if (op->kind == STORE_CREATE) {
        liar_create(l, op);
    } else if (op->kind == STORE_GET && l->lie == LIE_LOSES) {
        op->outcome = STORE_NOT_FOUND;
    } else if (op->kind == STORE_GET) {
        buf_put(&op->out, l->lie == LIE_READS_WRONG ? "wrong" : l->content, l->size);
        op->outcome = STORE_OK;
    } else {
        l->deletes++;
        op->outcome = STORE_OK;
    }
    op_queue_push(&l->complete, op);
}

static size_t liar_poll(store *s, store_op **done, size_t max, int64_t timeout_ns)
{
    (void)timeout_ns;
    return op_queue_drain(&((liar *)s)->complete, done, max);
}

static void test_probe_refuses_liars(void **state)
{
    (void)state;
    static const store_driver driver = {
        .name = "liar", .submit = liar_submit, .poll = liar_poll, .probe = store_probe_by_ops};
    static const struct {
        lie lie;
        bw_status status;
        const char *says;
        int deletes;
    } expected[] = {
        {LIE_NONE, BW_OK, "", 1},
        {LIE_OVERWRITES, BW_STORE_UNSAFE, "overwrites", 1},
        {LIE_READS_WRONG, BW_STORE_UNSAFE, "other bytes", 1},
        {LIE_LOSES, BW_STORE_UNSAFE, "NOT_FOUND", 1},
        {LIE_CLAIMS, BW_STORE_UNSAFE, "EXISTS", 0},
        {LIE_DENIES, BW_DENIED, "no right", 0},
        {LIE_BUSY, BW_OK, "", 1},
        {LIE_BUSY_EVER, BW_IO, "not now", 0},
        {LIE_MUTE, BW_OK, "", 1},
        {LIE_MUTE_EVER, BW_UNKNOWN, "no answer", 0},
        {LIE_MUTE_OVERWRITES, BW_STORE_UNSAFE, "other bytes", 1},
    };
    bw_error *error = bw_error_new();
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        liar l = {.base = {.driver = &driver}, .lie = expected[i].lie};
        assert_int_equal(store_probe(&l.base, 7, error), expected[i].status);
        assert_int_equal(l.deletes, expected[i].deletes);
        if (expected[i].status != BW_OK) {
            assert_int_equal(bw_error_code(error), expected[i].status);
            assert_non_null(strstr(bw_error_message(error), expected[i].says));
        }
    }
    static const store_driver silent = {.name = "no probe, no wake"};
    store plain = {.driver = &silent};
    assert_int_equal(store_probe(&plain, 7, error), BW_OK);
    store_wake(&plain);
    store_close(NULL);
    bw_error_free(error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_kinds_and_outcomes),
        cmocka_unit_test(test_status_of_outcomes),
        cmocka_unit_test(test_valid_prefixes),
        cmocka_unit_test(test_queue_keeps_order),
        cmocka_unit_test(test_probe_refuses_liars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
