// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/driver.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A driver that completes an operation only at its third poll, and can do no more than it must. */
typedef struct slow {
    store store;
    store_op *held;
    uint32_t polls, closed;
} slow;

static void slow_submit(store *s, store_op *op)
{
    slow *self = (slow *)(void *)s;
    assert_int_equal(op->outcome, STORE_PENDING);
    self->held = op;
}

static size_t slow_poll(store *s, store_op **done, size_t max, int64_t timeout_ns)
{
    slow *self = (slow *)(void *)s;
    assert_true(max == 1 && timeout_ns == TIME_NEVER);
    if (++self->polls < 3)
        return 0;
    self->held->outcome = STORE_NOT_FOUND;
    *done = self->held;
    return 1;
}

static void slow_close(store *s)
{
    ((slow *)(void *)s)->closed++;
}

static const store_driver slow_driver = {
    .name = "slow", .submit = slow_submit, .poll = slow_poll, .close = slow_close};

static void test_run_waits_for_its_operation(void **state)
{
    (void)state;
    slow s = {.store = {.driver = &slow_driver}};
    store_op op;
    store_op_init(&op, STORE_HEAD, "k");
    op.outcome = STORE_OK; /* of an earlier use */
    assert_int_equal(store_run(&s.store, &op), STORE_NOT_FOUND);
    assert_int_equal(s.polls, 3);
    store_op_clear(&op);
    store_close(&s.store);
    assert_int_equal(s.closed, 1);
    store_close(NULL);
}

static void test_optional_functions(void **state)
{
    (void)state;
    slow s = {.store = {.driver = &slow_driver}};
    assert_int_equal(store_probe(&s.store, 1, NULL), BW_OK);
    store_wake(&s.store); /* nothing to wake: returns */
    assert_int_equal(s.polls, 0);
}

static void test_keys_of_operations(void **state)
{
    (void)state;
    char key[STORE_KEY_MAX + 2];
    store_op op;
    memset(key, 'k', sizeof key);
    for (size_t i = 1; i < STORE_KEY_MAX - 1; i += 2)
        key[i] = '/';
    key[STORE_KEY_MAX] = '\0';
    memset(&op, 0xff, sizeof op);
    store_op_init(&op, STORE_GET, key);
    assert_string_equal(op.key, key);
    assert_true(store_key_is_valid(op.key));
    assert_int_equal(op.kind, STORE_GET);
    assert_true(op.outcome == STORE_PENDING && op.attempts == 0 && op.list.count == 0);
    key[STORE_KEY_MAX] = 'k';
    key[STORE_KEY_MAX + 1] = '\0';
    store_op_init(&op, STORE_GET, key); /* one too long is not cut to another object's name */
    assert_false(store_key_is_valid(op.key));
    assert_int_equal(op.key[STORE_KEY_MAX], '\0');
}

static void test_lists_own_their_keys(void **state)
{
    (void)state;
    store_list list = {.more = true};
    char key[] = "a/0";
    for (int i = 0; i < 9; i++) {
        key[2] = (char)('0' + i);
        assert_int_equal(store_list_add(&list, key, (uint64_t)i, -i), BW_OK);
    }
    assert_int_equal(list.count, 9);
    for (size_t i = 0; i < list.count; i++) {
        key[2] = (char)('0' + i);
        assert_string_equal(list.entries[i].key, key);
        assert_int_equal(list.entries[i].bytes, i);
        assert_int_equal(list.entries[i].modified_ms, -(int64_t)i);
    }
    store_list_free(&list);
    assert_true(list.entries == NULL && list.count == 0 && list.capacity == 0 && !list.more);
    store_list_free(&list);
}

static int released;

static void count_release(store_mapping *mapping)
{
    assert_int_equal(mapping->size, 3);
    released++;
}

static void test_mappings_are_released_once(void **state)
{
    (void)state;
    store_op op;
    store_op_init(&op, STORE_MAP, "k");
    op.mapping = (store_mapping){.size = 3, .release = count_release};
    released = 0;
    store_op_clear(&op);
    store_op_clear(&op);
    assert_int_equal(released, 1);
    assert_null(op.mapping.release);
}

static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < STORE_OP_KINDS; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(store_op_name((store_op_kind)i),
                                    store_op_name((store_op_kind)k));
    for (int i = 0; i < STORE_OUTCOMES; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(store_outcome_name((store_outcome)i),
                                    store_outcome_name((store_outcome)k));
    assert_string_equal(store_op_name(STORE_CREATE), "create");
    assert_string_equal(store_op_name(STORE_OP_KINDS), "?");
    assert_string_equal(store_outcome_name(STORE_UNKNOWN), "UNKNOWN");
    assert_string_equal(store_outcome_name(STORE_OUTCOMES), "?");
}

static void test_status_of_outcomes(void **state)
{
    (void)state;
    /* Without a code, and with one: success and absence are never turned into something else. */
    static const struct {
        store_outcome outcome;
        bw_status plain, coded;
    } cases[] = {
        {STORE_OK, BW_OK, BW_OK},
        {STORE_CREATED, BW_OK, BW_OK},
        {STORE_EXISTS, BW_OK, BW_OK},
        {STORE_NOT_FOUND, BW_NOT_FOUND, BW_NOT_FOUND},
        {STORE_PENDING, BW_BUG, BW_BUG},
        {STORE_RETRY, BW_IO, BW_NO_SPACE},
        {STORE_FATAL, BW_IO, BW_NO_SPACE},
        {STORE_DENIED, BW_DENIED, BW_NO_SPACE},
        {STORE_UNKNOWN, BW_UNKNOWN, BW_NO_SPACE},
        {STORE_UNSUPPORTED, BW_UNSUPPORTED, BW_NO_SPACE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        store_op op;
        store_op_init(&op, STORE_GET, "k");
        op.outcome = cases[i].outcome;
        assert_int_equal(store_op_status(&op), cases[i].plain);
        op.error.code = BW_NO_SPACE;
        assert_int_equal(store_op_status(&op), cases[i].coded);
    }
}

static void test_end_says_everything(void **state)
{
    (void)state;
    store_op op;
    store_op_init(&op, STORE_PUT, "some/key");
    op.attempts = 4;
    store_op_end(&op, STORE_FATAL, BW_NO_SPACE, "only %d bytes left", 3);
    assert_int_equal(op.outcome, STORE_FATAL);
    assert_int_equal(op.error.code, BW_NO_SPACE);
    assert_string_equal(op.error.message, "only 3 bytes left");
    assert_string_equal(op.error.key, "some/key");
    assert_int_equal(op.error.attempts, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_waits_for_its_operation),
        cmocka_unit_test(test_optional_functions),
        cmocka_unit_test(test_keys_of_operations),
        cmocka_unit_test(test_lists_own_their_keys),
        cmocka_unit_test(test_mappings_are_released_once),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_status_of_outcomes),
        cmocka_unit_test(test_end_says_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
