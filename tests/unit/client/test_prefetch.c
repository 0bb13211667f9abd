// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Reads that fail are masked by a second look, or told by key and step; never handed out. */
#include "stand.h"

#include "base/alloc.h"
#include <stdio.h>
#include <string.h>

#define STEPS 12u

static void fill(stand *s)
{
    bw_producer *p = stand_producer(s, s->space, "p", "naive");
    for (uint64_t i = 1; i <= STEPS; i++) {
        stand_put(s, p, "item", i);
        stand_expect(s, producer_flush(p, true, 10 * NS_PER_S, &s->error), BW_OK);
    }
    stand_expect(s, producer_finish(p, 10 * NS_PER_S, &s->error), BW_OK);
    stand_expect(s, producer_close(p, 0, &s->error), BW_OK);
}

static uint64_t refetches(bw_consumer *c)
{
    lock_acquire(&c->lock);
    const uint64_t count = c->locked.stats.refetches;
    lock_release(&c->lock);
    return count;
}

/* One bad answer of each sort is masked. */
static void test_masked(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 2, "", false);
    fill(&s);
    static const char *const rules[] = {
        "flip:map:data/:3",         "not-found:map:data/:5", "short-read:map:data/:2",
        "retry-before:map:data/:1", "flip:get:segment/:1",   "not-found:get:segment/:1",
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        bw_space *space = stand_space(&s, rules[i], false);
        bw_consumer *c = stand_consumer(&s, space, 1);
        for (uint32_t step = 0; step < STEPS; step++)
            stand_take(&s, c, "item");
        if (i < 2)
            assert_int_equal(refetches(c), 1);
        consumer_close(c);
        space_close(space);
    }
    stand_close(&s);
}

/* Each object has its second look: what was wrong with the segment does not count against the slice
 * that it leads to. */
static void test_each_object_is_masked(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 2, "", false);
    fill(&s);
    static const char *const rules[] = {
        "flip:get:segment/:1;flip:read:data/:1",
        "flip:get:segment/:1;not-found:read:data/:1",
        "flip:get:segment/:1;flip:map:data/:1",
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        bw_space *space = stand_space(&s, rules[i], false);
        bw_consumer *c = stand_consumer(&s, space, 1);
        for (uint32_t step = 0; step < STEPS; step++)
            stand_take(&s, c, "item");
        consumer_close(c);
        space_close(space);
    }
    stand_close(&s);
}

/* Twice the same: a verdict, with the facts. */
static void test_verdicts(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 2, "", false);
    fill(&s);
    static const struct {
        const char *rules;
        bw_status status;
        const char *key;
    } cases[] = {
        {"flip:map:data/:0;flip:read:data/:0", BW_CORRUPT, "data/"},
        {"not-found:map:data/:0;not-found:read:data/:0", BW_CORRUPT, "data/"},
        {"denied:map:data/:0", BW_DENIED, "data/"},
        {"flip:get:segment/:0", BW_CORRUPT, "segment/"},
        {"not-found:get:segment/:0", BW_CORRUPT, "segment/"},
        {"denied:get:segment/:0", BW_DENIED, "segment/"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bw_space *space = stand_space(&s, cases[i].rules, false);
        bw_consumer *c = stand_consumer(&s, space, 0);
        bw_item *item = NULL;
        for (int k = 0; k < 2; k++) {
            stand_expect(&s, consumer_next(c, 10 * NS_PER_S, &item, &s.error), cases[i].status);
            assert_int_equal(bw_error_step(&s.error), 0);
            assert_int_equal(strncmp(s.error.key, cases[i].key, strlen(cases[i].key)), 0);
        }
        consumer_close(c);
        space_close(space);
    }
    stand_close(&s);
}

/* A store that answers nothing but "later": the wait ends in time, with the store's own reason. */
static void test_store_fails_for_long(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 1, "", false);
    fill(&s);
    bw_space *space = stand_space(&s, "retry-before:map:data/:0;retry-before:read:data/:0", false);
    bw_consumer *c = stand_consumer(&s, space, 0);
    bw_item *item = NULL;
    char json[4096];
    stand_expect(&s, consumer_next(c, 1500 * NS_PER_MS, &item, &s.error), BW_IO);
    stand_expect(&s, consumer_wait_reason(c, json, sizeof json, NULL, &s.error), BW_OK);
    assert_non_null(strstr(json, "\"reason\":\"reading\""));
    assert_non_null(strstr(json, "\"error\":\"IO\""));
    consumer_close(c); /* with the read still being repeated */
    space_close(space);
    stand_close(&s);
}

/* The follower meets a store that fails: consumers hear of it, and of its end. */
static void test_follower_fails(void **state)
{
    (void)state;
    stand s;
    char rules[2048] = "";
    stand_open(&s, 1, "", true);
    bw_producer *p = stand_producer(&s, s.space, "p", "naive");
    /* The open of space and consumer read manifests too; what follows them fails for a while. */
    for (int i = 6; i < 16; i++)
        (void)snprintf(rules + strlen(rules), sizeof rules - strlen(rules),
                       "%sretry-before:get:manifest/:%d", i == 6 ? "" : ";", i);
    bw_space *space = stand_space(&s, rules, true);
    bw_consumer *c = stand_consumer(&s, space, 0);
    bw_item *item = NULL;
    bw_status status = BW_STARVED;
    for (int i = 0; i < 40 && status == BW_STARVED; i++)
        status = consumer_next(c, 100 * NS_PER_MS, &item, &s.error);
    stand_expect(&s, status, BW_IO);
    stand_put(&s, p, "item", 1);
    stand_expect(&s, producer_flush(p, true, 10 * NS_PER_S, &s.error), BW_OK);
    stand_take(&s, c, "item");
    consumer_close(c);
    space_close(space);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    stand_close(&s);
}

/* A version behind the newest, by hand: everything below `trim` is given up, and a sweep was quick
 * about it. */
static void trim_and_sweep(stand *s, uint64_t trim)
{
    object_key key;
    const uint8_t *bytes = NULL;
    size_t size = 0;
    manifest *m = NULL;
    buf out;
    const uint64_t version = mem_space_count(s->contents, "manifest/");
    key_manifest(&key, version);
    assert_true(mem_space_get(s->contents, key.text, &bytes, &size));
    uint8_t *copy = mem_dup(bytes, size);
    stand_expect(s, manifest_decode(copy, size, s->space->genesis->dp, &m, &s->error), BW_OK);
    m->version++;
    m->previous = m->hash;
    m->nonce.bytes[0] ^= 1;
    m->trim = trim;
    buf_init(&out, object_bytes_max(OBJECT_MANIFEST));
    assert_int_equal(manifest_encode(m, &out), BW_OK);
    key_manifest(&key, version + 1);
    assert_int_equal(mem_space_set(s->contents, key.text, out.data, out.size), BW_OK);
    buf_free(&out);
    manifest_unref(m);
}

static int keep_key(void *context, const char *key, const uint8_t *bytes, size_t size)
{
    (void)bytes;
    (void)size;
    (void)snprintf(context, KEY_BYTES, "%s", key);
    return 1;
}

/* What a rank wants is trimmed and gone under way: TRIMMED with the facts, and never CORRUPT. */
static void test_trimmed_under_way(void **state)
{
    (void)state;
    stand s;
    char key[KEY_BYTES];
    stand_open(&s, 2, "", false);
    fill(&s);
    bw_consumer *c = stand_consumer(&s, s.space, 0);
    stand_take(&s, c, "item");
    trim_and_sweep(&s, STEPS - 1);
    while (mem_space_each(s.contents, "data/", keep_key, key) == 1)
        assert_true(mem_space_remove(s.contents, key));
    bw_item *item = NULL;
    bw_status status = BW_OK;
    uint64_t step = 1;
    for (; status == BW_OK; step++) {
        status = consumer_next(c, 10 * NS_PER_S, &item, &s.error);
        if (status == BW_OK)
            item_release(item); /* was in the window before */
    }
    stand_expect(&s, status, BW_TRIMMED);
    assert_true(step - 1 <= 5);
    assert_int_equal(bw_error_step(&s.error), step - 1);
    assert_non_null(strstr(s.error.message, "the trim step is 11"));
    stand_expect(&s, consumer_next(c, 10 * NS_PER_S, &item, &s.error), BW_TRIMMED);
    consumer_close(c);
    /* A cursor or a step below it does not even open; a retained one that is gone is damage. */
    const consumer_options low = {.has_position = true,
                                  .tp = 1,
                                  .pp = 1,
                                  .start = START_STEP,
                                  .start_step = 3,
                                  .prefetch = 2};
    stand_expect(&s, consumer_open(s.space, &low, NULL, 10 * NS_PER_S, &c, &s.error), BW_TRIMMED);
    c = stand_consumer(&s, s.space, 0);
    stand_expect(&s, consumer_next(c, 10 * NS_PER_S, &item, &s.error), BW_CORRUPT);
    assert_int_equal(bw_error_step(&s.error), STEPS - 1);
    consumer_close(c);
    stand_close(&s);
}

/* The window itself is memory of the rank, too, and with many ranks not a little. */
static void test_the_window_is_counted(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 1, "", false);
    bw_consumer *c = stand_consumer(&s, s.space, 0);
    assert_int_equal(budget_used(s.runtime->budget), 4 * sizeof(fetch)); /* nothing is there yet */
    fill(&s);
    for (uint32_t step = 0; step < STEPS; step++)
        stand_take(&s, c, "item");
    assert_int_equal(budget_used(s.runtime->budget), 4 * sizeof(fetch));
    consumer_close(c);
    assert_int_equal(budget_used(s.runtime->budget), 0);
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_masked),
        cmocka_unit_test(test_each_object_is_masked),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_store_fails_for_long),
        cmocka_unit_test(test_follower_fails),
        cmocka_unit_test(test_trimmed_under_way),
        cmocka_unit_test(test_the_window_is_counted),
    };
    return cmocka_run_group_tests_name("prefetch", tests, NULL, NULL);
}
