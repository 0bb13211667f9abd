// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "stand.h"

#include <string.h>

#define STEPS 12u

static void fill(stand *s)
{
    stand_open(s, 1, "", false);
    bw_producer *p = stand_producer(s, s->space, "p", "naive");
    for (uint64_t i = 1; i <= STEPS; i++) {
        stand_put(s, p, "item", i);
        stand_expect(s, producer_flush(p, true, 20 * NS_PER_S, &s->error), BW_OK);
    }
    stand_expect(s, producer_finish(p, 20 * NS_PER_S, &s->error), BW_OK);
    stand_expect(s, producer_close(p, 0, &s->error), BW_OK);
}

static void test_the_newest(void **state)
{
    (void)state;
    stand s;
    reader r;
    step_entry entry;
    fill(&s);
    stand_expect(&s, reader_open(s.space, TIME_NEVER, NULL, &r, &s.error), BW_OK);
    assert_int_equal(chain_held(r.chain)->next, STEPS);
    assert_true(chain_is_newest(r.chain));
    for (uint64_t step = 0; step < STEPS; step++) {
        stand_expect(&s, reader_step(s.space, &r, step, TIME_NEVER, &entry, &s.error), BW_OK);
        assert_int_equal(entry.descriptor.record.end, step + 1);
    }
    stand_expect(&s, reader_step(s.space, &r, STEPS, TIME_NEVER, &entry, &s.error), BW_BEYOND_END);
    assert_int_equal(bw_error_step(&s.error), STEPS);
    reader_close(&r);
    reader_close(&r); /* zeroed */
    assert_null(r.chain);
    stand_close(&s);
}

/* What is trimmed is refused, though its descriptor is still there to be read. */
static void test_trimmed(void **state)
{
    (void)state;
    stand s;
    reader r;
    step_entry entry;
    fill(&s);
    stand_expect(&s, reader_open(s.space, TIME_NEVER, NULL, &r, &s.error), BW_OK);
    manifest *whole = manifest_ref(chain_held(r.chain)); /* what the copy views into */
    manifest trimmed = *whole;
    trimmed.version++;
    trimmed.trim = 3;
    atomic_init(&trimmed.references, 2);
    chain_adopt(r.chain, &trimmed);
    assert_ptr_equal(chain_held(r.chain), &trimmed);
    stand_expect(&s, reader_step(s.space, &r, 2, TIME_NEVER, &entry, &s.error), BW_TRIMMED);
    assert_int_equal(bw_error_step(&s.error), 2);
    stand_expect(&s, reader_step(s.space, &r, STEPS - 1, TIME_NEVER, &entry, &s.error), BW_OK);
    reader_close(&r);
    manifest_unref(whole);
    stand_close(&s);
}

/* One miss may be a sweep that passed; only a second one behind a newest manifest is damage. */
static void test_missing_segment(void **state)
{
    (void)state;
    stand s;
    reader r;
    step_entry entry;
    fill(&s);
    bw_space *space = stand_space(&s, "not-found:get:segment/:1", false);
    stand_expect(&s, reader_open(space, TIME_NEVER, NULL, &r, &s.error), BW_OK);
    stand_expect(&s, reader_step(space, &r, 0, TIME_NEVER, &entry, &s.error), BW_OK);
    reader_close(&r);
    space_close(space);
    space = stand_space(&s, "not-found:get:segment/:0", false);
    stand_expect(&s, reader_open(space, TIME_NEVER, NULL, &r, &s.error), BW_OK);
    error_clear(&s.error);
    stand_expect(&s, reader_step(space, &r, 0, TIME_NEVER, &entry, &s.error), BW_CORRUPT);
    assert_int_equal(s.error.code, BW_CORRUPT);
    assert_int_equal(strncmp(bw_error_key(&s.error), "segment/", 8), 0);
    reader_close(&r);
    space_close(space);
    stand_close(&s);
}

static void test_no_chain_to_read(void **state)
{
    (void)state;
    stand s;
    reader r;
    object_key key;
    fill(&s);
    key_genesis(&key);
    assert_true(mem_space_remove(s.contents, key.text));
    memset(&r, 0xff, sizeof r);
    stand_expect(&s, reader_open(s.space, TIME_NEVER, NULL, &r, &s.error), BW_NO_NAMESPACE);
    assert_true(r.chain == NULL && r.drive == NULL);
    reader_close(&r);
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_newest),
        cmocka_unit_test(test_trimmed),
        cmocka_unit_test(test_missing_segment),
        cmocka_unit_test(test_no_chain_to_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
