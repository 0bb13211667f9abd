// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/decorators.h"
#include "store/mem.h"
#include "tests/contract/contract_ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void append(void *context, const store_op *op)
{
    char *line = context;
    const size_t size = strlen(line);
    (void)snprintf(line + size, 512 - size, "%s %s %s;", store_op_name(op->kind), op->key,
                   store_outcome_name(op->outcome));
}

static void test_sees_what_is_sent_and_what_is_answered(void **state)
{
    (void)state;
    mem_space *space = NULL;
    store *s = NULL;
    store *traced = NULL;
    char line[512] = "";
    assert_int_equal(mem_space_new(&space), BW_OK);
    assert_int_equal(store_mem_open(space, &s, NULL), BW_OK);
    assert_int_equal(store_trace_wrap(s, append, line, &traced, NULL), BW_OK);
    store *clone = NULL;
    assert_int_equal(store_clone(traced, &clone, NULL), BW_OK);
    assert_int_equal(do_create(traced, "k", "x"), STORE_CREATED);
    assert_int_equal(do_create(clone, "k", "x"), STORE_EXISTS);
    store_op op;
    store_op_init(&op, STORE_HEAD, "absent");
    op.outcome = STORE_FATAL; /* of an earlier use */
    assert_int_equal(store_run(clone, &op), STORE_NOT_FOUND);
    assert_string_equal(line, "create k PENDING;create k CREATED;"
                              "create k PENDING;create k EXISTS;"
                              "head absent PENDING;head absent NOT_FOUND;");
    store_wake(traced);
    store_close(clone);
    store_close(traced);
    mem_space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sees_what_is_sent_and_what_is_answered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
