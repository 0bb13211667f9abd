// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A broken invariant fails its handle for good, says which one it was, and leaves the process and
 * all other handles alone. The faults are planted in the memory of a handle. */
#include "stand.h"

#include "base/invariant.h"
#include "protocol/chain_walk.h"
#include <string.h>

/* ---- a machine ---- */

typedef struct faulty {
    uint32_t sent, replied, ticks;
} faulty;

static bool faulty_next(void *self, machine_request *r)
{
    faulty *f = self;
    if (f->sent == 2)
        return false;
    r->id = ++f->sent;
    r->kind = STORE_HEAD;
    key_hint(&r->key);
    return true;
}

static void faulty_reply(void *self, int64_t now_ns, machine_reply *reply)
{
    faulty *f = self;
    (void)now_ns;
    f->replied++;
    MUST(reply->outcome != STORE_NOT_FOUND);
}

static void faulty_tick(void *self, int64_t now_ns)
{
    faulty *f = self;
    (void)now_ns;
    f->ticks++;
}

static int64_t faulty_due(const void *self)
{
    const faulty *f = self;
    return f->ticks > 1000 ? TIME_NEVER : 0;
}

static bool faulty_running(const void *self)
{
    (void)self;
    return true; /* it would never end by itself */
}

static const machine_type faulty_machine = {"faulty",    faulty_next, faulty_reply,
                                            faulty_tick, faulty_due,  faulty_running};

static void test_a_machine_is_stopped(void **state)
{
    (void)state;
    mem_space *contents = NULL;
    store *s = NULL;
    drive *d = NULL;
    faulty f = {0};
    bw_error error;
    const machine m = {&faulty_machine, &f};
    invariant_observe(NULL);
    assert_int_equal(mem_space_new(&contents), BW_OK);
    assert_int_equal(store_mem_open(contents, &s, NULL), BW_OK);
    assert_int_equal(drive_new(s, &d), BW_OK);
    assert_int_equal(drive_run(d, m, TIME_NEVER, NULL), BW_BUG);
    assert_true(f.replied >= 1);
    assert_int_equal(drive_tell(d, BW_BUG, &error, "probing"), BW_BUG);
    assert_non_null(strstr(error.message, "probing: "));
    assert_non_null(strstr(error.message, "faulty_reply: reply->outcome != STORE_NOT_FOUND"));
    /* For good: the machine is not called any more. */
    const faulty before = f;
    assert_int_equal(drive_run(d, m, TIME_NEVER, NULL), BW_BUG);
    assert_memory_equal(&f, &before, sizeof f);
    drive_free(d);
    assert_false(invariant_taken(NULL));
    mem_space_free(contents);
}

/* ---- a producer ---- */

static void test_a_producer_fails_and_its_neighbour_goes_on(void **state)
{
    (void)state;
    stand s;
    invariant_observe(NULL);
    stand_open(&s, 1, "", false);
    bw_producer *broken = stand_producer(&s, s.space, "broken", "naive");
    bw_producer *sound = stand_producer(&s, s.space, "sound", "naive");
    stand_put(&s, broken, "x", 1);
    stand_expect(&s, producer_flush(broken, true, 10 * NS_PER_S, &s.error), BW_OK);
    /* The manifest that the next candidate stands on says what none can say. */
    manifest *held = chain_held(broken->worker.chain);
    held->swept = held->next + 7;
    stand_put(&s, broken, "y", 2);
    stand_expect(&s, producer_flush(broken, true, 10 * NS_PER_S, &s.error), BW_BUG);
    assert_non_null(strstr(s.error.message, "a rule inside the library was broken"));
    stand_expect(&s, producer_finish(broken, 10 * NS_PER_S, &s.error), BW_BUG);
    (void)stand_await(&s, broken, BW_EVENT_FAILED, NULL);
    stand_expect(&s, producer_close(broken, 0, &s.error), BW_BUG);
    stand_put(&s, sound, "z", 1);
    stand_expect(&s, producer_flush(sound, true, 10 * NS_PER_S, &s.error), BW_OK);
    stand_expect(&s, producer_close(sound, 0, &s.error), BW_OK);
    /* What was acknowledged is there, and the id can be opened again. */
    bw_consumer *c = stand_consumer(&s, s.space, 0);
    stand_take(&s, c, "x");
    stand_take(&s, c, "z");
    consumer_close(c);
    bw_producer *again = stand_producer(&s, s.space, "broken", "naive");
    assert_int_equal(again->epoch, 2);
    assert_int_equal(again->resume_offset, 1);
    stand_expect(&s, producer_close(again, 0, &s.error), BW_OK);
    stand_close(&s);
}

/* ---- a consumer ---- */

static void test_a_consumer_fails_and_its_neighbour_goes_on(void **state)
{
    (void)state;
    stand s;
    bw_item *item = NULL;
    bw_cursor *at = NULL;
    invariant_observe(NULL);
    stand_open(&s, 1, "", false);
    bw_producer *p = stand_producer(&s, s.space, "p", "naive");
    stand_put(&s, p, "x", 1);
    stand_put(&s, p, "y", 2);
    stand_expect(&s, producer_flush(p, true, 10 * NS_PER_S, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    bw_consumer *broken = stand_consumer(&s, s.space, 0), *sound = stand_consumer(&s, s.space, 0);
    stand_take(&s, broken, "x");
    MUST(broken == sound); /* as a function that it calls would */
    for (int i = 0; i < 2; i++) {
        stand_expect(&s, consumer_next(broken, 10 * NS_PER_S, &item, &s.error), BW_BUG);
        assert_non_null(strstr(s.error.message, "broken == sound"));
    }
    stand_expect(&s, consumer_cursor(broken, &at, &s.error), BW_BUG);
    stand_take(&s, sound, "x");
    stand_take(&s, sound, "y");
    consumer_close(broken);
    consumer_close(sound);
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_machine_is_stopped),
        cmocka_unit_test(test_a_producer_fails_and_its_neighbour_goes_on),
        cmocka_unit_test(test_a_consumer_fails_and_its_neighbour_goes_on),
    };
    return cmocka_run_group_tests_name("broken", tests, NULL, NULL);
}
