// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Making a namespace, once, whatever the store does; and finishing what another began. */
#include "world.h"

#include <string.h>

static const token128 nonce = {{5}};

static bw_status make(world *w, const genesis *g, int64_t patience_ns)
{
    create *c;
    bw_error error;
    assert_int_equal(create_new(g, 1, &nonce, &c), BW_OK);
    create_start(c, w->now_ns, w->now_ns + patience_ns);
    assert_true(world_run(w, &create_machine, c));
    const bw_status status = create_result(c, &error);
    assert_true(status == BW_OK || error.code == status);
    create_free(c);
    return status;
}

static void empty(world *w)
{
    world_open(w, &(world_options){0});
    assert_true(mem_space_remove(w->space, "genesis"));
    assert_true(mem_space_remove(w->space, "manifest/00000000000000000001.manifest"));
}

static void a_namespace_is_made_once(void **state)
{
    (void)state;
    world w;
    world_open(&w, &(world_options){0});
    genesis another = w.genesis;
    another.uuid[0] = 1;
    assert_int_equal(make(&w, &another, NS_PER_S), BW_NOT_EMPTY);
    /* The same one again is what a lost reply looks like. */
    assert_int_equal(make(&w, &w.genesis, NS_PER_S), BW_OK);
    another.block_size = 1;
    create *c;
    assert_int_equal(create_new(&another, 1, &nonce, &c), BW_INVALID);
    world_close(&w);
}

static void what_another_began_is_finished(void **state)
{
    (void)state;
    world w;
    empty(&w);
    assert_int_equal(make(&w, NULL, NS_PER_S), BW_NO_NAMESPACE);
    world_fault(&w, FAULT_SAY, STORE_CREATE, "manifest/", 0, 1, STORE_FATAL);
    assert_int_equal(make(&w, &w.genesis, NS_PER_S), BW_IO);
    world_fault(&w, FAULT_FLIP, STORE_GET, "genesis", 0, 1, STORE_PENDING);
    assert_int_equal(make(&w, NULL, NS_PER_S), BW_OK);
    assert_int_equal(make(&w, NULL, NS_PER_S), BW_OK);
    assert_int_equal(world_check(&w), 0);
    world_fault(&w, FAULT_FLIP, STORE_GET, "genesis", 0, 2, STORE_PENDING);
    assert_int_equal(make(&w, NULL, NS_PER_S), BW_CORRUPT);
    world_close(&w);
}

/* Found by the simulator: our own genesis, damaged on its way back, was taken for another's. */
static void a_damaged_genesis_is_no_other_namespace(void **state)
{
    (void)state;
    world w;
    world_open(&w, &(world_options){0});
    world_fault(&w, FAULT_FLIP, STORE_GET, "genesis", 0, 1, STORE_PENDING);
    assert_int_equal(make(&w, &w.genesis, NS_PER_S), BW_OK);
    world_fault(&w, FAULT_FLIP, STORE_GET, "genesis", 0, 2, STORE_PENDING);
    assert_int_equal(make(&w, &w.genesis, NS_PER_S), BW_CORRUPT);
    world_fault(&w, FAULT_SAY, STORE_GET, "genesis", 0, 1, STORE_FATAL);
    w.faults[0].code = BW_TOO_LARGE;
    assert_int_equal(make(&w, &w.genesis, NS_PER_S), BW_OK);
    world_fault(&w, FAULT_SAY, STORE_GET, "genesis", 0, 2, STORE_FATAL);
    w.faults[0].code = BW_TOO_LARGE;
    assert_int_equal(make(&w, &w.genesis, NS_PER_S), BW_CORRUPT);
    world_close(&w);
}

static void a_create_in_doubt_is_repeated(void **state)
{
    (void)state;
    world w;
    empty(&w);
    world_fault(&w, FAULT_APPLY_SAY, STORE_CREATE, "genesis", 0, 1, STORE_UNKNOWN);
    world_fault(&w, FAULT_SAY, STORE_CREATE, "manifest/", 0, 3, STORE_RETRY);
    assert_int_equal(make(&w, &w.genesis, NS_PER_S), BW_OK);
    assert_int_equal(world_check(&w), 0);
    world_close(&w);
}

static void a_create_ends_at_its_deadline(void **state)
{
    (void)state;
    world w;
    empty(&w);
    world_fault(&w, FAULT_SAY, STORE_CREATE, "genesis", 0, 1000, STORE_RETRY);
    assert_int_equal(make(&w, &w.genesis, NS_PER_S), BW_IO);
    world_calm(&w);
    world_fault(&w, FAULT_SAY, STORE_CREATE, "genesis", 0, 1000, STORE_UNKNOWN);
    assert_int_equal(make(&w, &w.genesis, NS_PER_S), BW_UNKNOWN);
    world_calm(&w);
    world_fault(&w, FAULT_SAY, STORE_CREATE, "genesis", 0, 1, STORE_UNKNOWN);
    world_fault(&w, FAULT_SAY, STORE_CREATE, "genesis", 0, 1, STORE_FATAL);
    assert_int_equal(make(&w, &w.genesis, NS_PER_S), BW_UNKNOWN);
    world_fault(&w, FAULT_SAY, STORE_CREATE, "genesis", 0, 1, STORE_EXISTS);
    assert_int_equal(make(&w, &w.genesis, NS_PER_S), BW_STORE_UNSAFE);
    world_fault(&w, FAULT_SAY, STORE_CREATE, "genesis", 0, 1, STORE_UNSUPPORTED);
    assert_int_equal(make(&w, &w.genesis, NS_PER_S), BW_UNSUPPORTED);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_namespace_is_made_once),
        cmocka_unit_test(what_another_began_is_finished),
        cmocka_unit_test(a_damaged_genesis_is_no_other_namespace),
        cmocka_unit_test(a_create_in_doubt_is_repeated),
        cmocka_unit_test(a_create_ends_at_its_deadline),
    };
    return cmocka_run_group_tests_name("create", tests, NULL, NULL);
}
