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

static void test_counts_requests_answers_and_bytes(void **state)
{
    (void)state;
    mem_space *space = NULL;
    store *s = NULL;
    store *metered = NULL;
    store_meter meter = {0};
    assert_int_equal(mem_space_new(&space), BW_OK);
    assert_int_equal(store_mem_open(space, &s, NULL), BW_OK);
    assert_int_equal(store_meter_wrap(s, &meter, &metered, NULL), BW_OK);
    store *clone = NULL;
    assert_int_equal(store_clone(metered, &clone, NULL), BW_OK);

    char bytes[8];
    assert_int_equal(do_create(metered, "k", "1234567"), STORE_CREATED);
    assert_int_equal(do_create(clone, "k", "123"), STORE_EXISTS);
    assert_int_equal(do_put(metered, "p", "12345"), STORE_OK);
    assert_int_equal(do_get(clone, "k", NULL, 10), STORE_OK);
    assert_int_equal(do_get(metered, "absent", NULL, 10), STORE_NOT_FOUND);
    assert_int_equal(do_read(metered, "k", 2, 3, bytes), STORE_OK);
    store_op op;
    store_op_init(&op, STORE_MAP, "k");
    op.length = 2;
    assert_int_equal(store_run(metered, &op), STORE_OK);
    store_op_clear(&op);
    assert_int_equal(do_delete(metered, "p"), STORE_OK);

    assert_int_equal(atomic_load(&meter.ops[STORE_CREATE]), 2);
    assert_int_equal(atomic_load(&meter.ops[STORE_PUT]), 1);
    assert_int_equal(atomic_load(&meter.ops[STORE_GET]), 2);
    assert_int_equal(atomic_load(&meter.ops[STORE_READ]), 1);
    assert_int_equal(atomic_load(&meter.ops[STORE_MAP]), 1);
    assert_int_equal(atomic_load(&meter.ops[STORE_DELETE]), 1);
    assert_int_equal(atomic_load(&meter.outcomes[STORE_CREATED]), 1);
    assert_int_equal(atomic_load(&meter.outcomes[STORE_EXISTS]), 1);
    assert_int_equal(atomic_load(&meter.outcomes[STORE_NOT_FOUND]), 1);
    assert_int_equal(atomic_load(&meter.outcomes[STORE_OK]), 5);
    assert_int_equal(atomic_load(&meter.bytes_written), 7 + 3 + 5);
    assert_int_equal(atomic_load(&meter.bytes_read), 7 + 3 + 2);
    store_wake(metered);
    store_close(clone);
    store_close(metered);
    mem_space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts_requests_answers_and_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
