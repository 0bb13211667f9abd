// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "stand.h"

#include "client/space.h"
#include <string.h>

#define PATIENCE (20 * NS_PER_S)

static const space_options writing = {.writable = true, .retry_limit_ns = PATIENCE};
static const space_options reading = {.retry_limit_ns = PATIENCE};
static const space_options raw = {.raw = true, .retry_limit_ns = PATIENCE};

static bw_status try_open(stand *s, const space_options *options, bw_space **out)
{
    store *plain = NULL;
    stand_expect(s, store_mem_open(s->contents, &plain, &s->error), BW_OK);
    return space_open_on(s->runtime, plain, "mem", options, PATIENCE, out, &s->error);
}

static bw_status try_init(stand *s, const genesis *g)
{
    store *plain = NULL;
    stand_expect(s, store_mem_open(s->contents, &plain, &s->error), BW_OK);
    return space_init_on(s->runtime, plain, &writing, g, &s->error);
}

/* A copy of what stand_open was given, for a second init. */
static genesis again(const stand *s)
{
    genesis g = *s->space->genesis;
    memset(g.uuid, 0, sizeof g.uuid);
    return g;
}

static void test_init_wants_an_empty_place(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 2, "", false);
    const genesis g = again(&s);
    object_key key;
    key_genesis(&key);
    stand_expect(&s, try_init(&s, &g), BW_NOT_EMPTY);
    assert_non_null(strstr(s.error.message, "a namespace is here"));
    assert_string_equal(bw_error_key(&s.error), key.text);

    mem_space *other = NULL, *first = s.contents;
    assert_int_equal(mem_space_new(&other), BW_OK);
    s.contents = other;
    assert_int_equal(mem_space_set(other, "readme", "x", 1), BW_OK);
    stand_expect(&s, try_init(&s, &g), BW_NOT_EMPTY);
    assert_string_equal(bw_error_key(&s.error), "readme");
    assert_int_equal(mem_space_count(other, ""), 1); /* nothing was written */
    assert_true(mem_space_remove(other, "readme"));
    genesis bad = g;
    bad.dp = 0;
    stand_expect(&s, try_init(&s, &bad), BW_INVALID);
    assert_int_equal(mem_space_count(other, ""), 0);
    key_probe(&key, 7); /* what an opener that died leaves does not count */
    assert_int_equal(mem_space_set(other, key.text, "x", 1), BW_OK);
    stand_expect(&s, try_init(&s, &g), BW_OK);
    s.contents = first;
    mem_space_free(other);
    stand_close(&s);
}

static void test_reading_writes_nothing(void **state)
{
    (void)state;
    stand s;
    bw_space *space = NULL;
    stand_open(&s, 2, "", false);
    const uint64_t created = mem_space_applied(s.contents, STORE_CREATE);
    const uint64_t put = mem_space_applied(s.contents, STORE_PUT);
    stand_expect(&s, try_open(&s, &reading, &space), BW_OK);
    assert_int_equal(space->genesis->dp, 2);
    assert_string_equal(space->uuid, s.space->uuid);
    assert_true(hash_equal(&space->genesis_hash, &s.space->genesis_hash));
    assert_int_equal(mem_space_applied(s.contents, STORE_CREATE), created);
    assert_int_equal(mem_space_applied(s.contents, STORE_PUT), put);
    space_close(space);
    stand_expect(&s, try_open(&s, &writing, &space), BW_OK); /* the probe proves the store */
    assert_true(mem_space_applied(s.contents, STORE_CREATE) > created);
    space_close(space);
    space_close(NULL);
    stand_close(&s);
}

/* Died between genesis and version 1: a writer goes on, a reader says that it is not ready. */
static void test_init_that_was_interrupted(void **state)
{
    (void)state;
    stand s;
    bw_space *space = NULL;
    object_key key;
    stand_open(&s, 1, "", false);
    key_manifest(&key, 1);
    assert_true(mem_space_remove(s.contents, key.text));
    key_hint(&key);
    (void)mem_space_remove(s.contents, key.text);
    stand_expect(&s, try_open(&s, &reading, &space), BW_NOT_READY);
    stand_expect(&s, try_open(&s, &writing, &space), BW_OK);
    space_close(space);
    stand_expect(&s, try_open(&s, &reading, &space), BW_OK);
    space_close(space);
    stand_close(&s);
}

/* But where something was made behind it, the chain was lost: it must not begin anew. */
static void test_a_lost_chain(void **state)
{
    (void)state;
    stand s;
    bw_space *space = NULL;
    object_key key;
    stand_open(&s, 1, "", false);
    bw_producer *p = stand_producer(&s, s.space, "p", "naive");
    stand_put(&s, p, "item", 1);
    stand_expect(&s, producer_finish(p, PATIENCE, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    for (uint64_t version = 1; version < 16; version++) {
        key_manifest(&key, version);
        (void)mem_space_remove(s.contents, key.text);
    }
    key_hint(&key);
    (void)mem_space_remove(s.contents, key.text);
    assert_true(mem_space_count(s.contents, "data/") > 0);
    stand_expect(&s, try_open(&s, &writing, &space), BW_CORRUPT);
    assert_int_equal(strncmp(bw_error_key(&s.error), "data/", 5), 0);
    assert_int_equal(mem_space_count(s.contents, "manifest/"), 0);
    stand_close(&s);
}

static void test_raw_looks_at_anything(void **state)
{
    (void)state;
    stand s;
    bw_space *space = NULL;
    object_key key;
    stand_open(&s, 3, "", false);
    assert_int_equal(space_check_chain(s.space, &s.error), BW_OK);
    key_manifest(&key, 1);
    assert_int_equal(mem_space_set(s.contents, key.text, "junk", 4), BW_OK);
    stand_expect(&s, try_open(&s, &raw, &space), BW_OK);
    assert_int_equal(space->genesis->dp, 3);
    assert_int_equal(space_check_chain(space, &s.error), BW_INVALID);
    space_close(space);
    key_genesis(&key);
    assert_int_equal(mem_space_set(s.contents, key.text, "junk", 4), BW_OK);
    stand_expect(&s, try_open(&s, &raw, &space), BW_OK);
    assert_null(space->genesis); /* damaged: opened without it */
    space_close(space);
    assert_true(mem_space_remove(s.contents, key.text));
    stand_expect(&s, try_open(&s, &raw, &space), BW_NOT_FOUND);
    stand_close(&s);
}

static void test_handles(void **state)
{
    (void)state;
    stand s;
    store *first = NULL, *second = NULL, *mine = NULL;
    stand_open(&s, 1, "", false);
    stand_expect(&s, space_worker_store(s.space, 1, &first, &s.error), BW_OK);
    stand_expect(&s, space_worker_store(s.space, 1, &second, &s.error), BW_OK);
    assert_ptr_equal(first, second); /* made once a thread */
    stand_expect(&s, space_worker_store(s.space, 2, &second, &s.error), BW_OK);
    assert_ptr_not_equal(first, second);
    stand_expect(&s, space_store(s.space, &mine, &s.error), BW_OK);
    const uint64_t before = atomic_load(&s.space->meter.ops[STORE_HEAD]);
    store_op op;
    store_op_init(&op, STORE_HEAD, "none");
    assert_int_equal(store_run(mine, &op), STORE_NOT_FOUND);
    assert_int_equal(store_run(first, &op), STORE_NOT_FOUND);
    assert_int_equal(atomic_load(&s.space->meter.ops[STORE_HEAD]), before + 2); /* all counted */
    store_close(mine);
    stand_close(&s);
}

/* With a producer or consumer open nothing may be freed under their threads. */
static void test_users_keep_it(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 1, "", false);
    bw_producer *p = stand_producer(&s, s.space, "p", "naive");
    assert_int_equal(atomic_load(&s.space->users), 1);
    space_close(s.space); /* says so */
    stand_put(&s, p, "item", 1);
    stand_expect(&s, producer_finish(p, PATIENCE, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    assert_int_equal(atomic_load(&s.space->users), 0);
    stand_close(&s);
}

/* What opened the store says how it is to be asked, and all handles of the space keep to it. */
static void test_a_paced_store(void **state)
{
    (void)state;
    stand s;
    store *plain = NULL;
    bw_space *paced = NULL;
    stand_open(&s, 1, "", false);
    assert_string_equal(s.space->base->driver->name, "meter");
    assert_null(s.space->purse);
    stand_expect(&s, store_mem_open(s.contents, &plain, &s.error), BW_OK);
    plain->pacing = (store_pacing){.requests_max = 1, .retry_percent = 10, .hedge = true};
    stand_expect(&s, space_open_on(s.runtime, plain, "mem", &writing, PATIENCE, &paced, &s.error),
                 BW_OK);
    assert_string_equal(paced->base->driver->name, "admit");
    assert_non_null(paced->purse);
    bw_producer *p = stand_producer(&s, paced, "p", "naive");
    bw_consumer *c = stand_consumer(&s, paced, 0);
    for (uint64_t i = 1; i <= 20; i++)
        stand_put(&s, p, "x", i);
    stand_expect(&s, producer_flush(p, true, 10 * NS_PER_S, &s.error), BW_OK);
    for (int i = 0; i < 20; i++)
        stand_take(&s, c, "x");
    consumer_close(c);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    space_close(paced);
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_init_wants_an_empty_place),
        cmocka_unit_test(test_reading_writes_nothing),
        cmocka_unit_test(test_init_that_was_interrupted),
        cmocka_unit_test(test_a_lost_chain),
        cmocka_unit_test(test_raw_looks_at_anything),
        cmocka_unit_test(test_handles),
        cmocka_unit_test(test_users_keep_it),
        cmocka_unit_test(test_a_paced_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
