// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A file store whose fsync fails takes no write any more: every handle on it fails, cleanly,
 * without a time limit, and one on a namespace opened again goes on. */
#include "stand.h"

#include "tests/contract/scratch.h"
#include "tests/unit/store/syscalls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The stand's runtime, with a namespace in a directory of its own. */
typedef struct lost_stand {
    stand s;
    char url[256];
    char *root;
} lost_stand;

static const space_options durable = {
    .writable = true, .durable = true, .retry_limit_ns = 100 * NS_PER_MS};

static bw_space *open_again(lost_stand *l)
{
    bw_space *space = NULL;
    stand_expect(&l->s,
                 stand_open_at(l->s.runtime, l->url, &durable, 10 * NS_PER_S, &space, &l->s.error),
                 BW_OK);
    return space;
}

static bw_space *set_up(lost_stand *l)
{
    syscalls_reset();
    stand_open(&l->s, 1, "", true);
    l->root = scratch_make();
    (void)snprintf(l->url, sizeof l->url, "file://%s", l->root);
    genesis g = *l->s.space->genesis;
    stand_expect(&l->s, stand_init_at(l->s.runtime, l->url, &durable, &g, &l->s.error), BW_OK);
    return open_again(l);
}

static void tear_down(lost_stand *l, bw_space *space)
{
    syscalls_reset();
    space_close(space);
    scratch_remove(l->root);
    stand_close(&l->s);
}

/* Which fsync fails, and whether what is in doubt is on the chain in the end. */
static void try_flush(const char *call, int n)
{
    lost_stand l;
    char message[EVENT_MESSAGE_MAX + 1];
    bw_space *space = set_up(&l);
    bw_producer *p = stand_producer(&l.s, space, "p", "naive");
    stand_put(&l.s, p, "one", 1);
    stand_expect(&l.s, producer_flush(p, true, TIME_NEVER, &l.s.error), BW_OK);
    syscalls_fail(call, n, EIO);
    stand_put(&l.s, p, "two", 2);
    stand_expect(&l.s, producer_flush(p, true, TIME_NEVER, &l.s.error), BW_IO);
    assert_non_null(strstr(l.s.error.message, "fsync failed"));
    (void)stand_await(&l.s, p, BW_EVENT_FAILED, message);
    assert_non_null(strstr(message, "fsync failed"));
    syscalls_reset(); /* the machine works again: the handle does not */
    stand_expect(&l.s, stand_try_put(&l.s, p, "three", 3, TIME_NEVER), BW_IO);
    stand_expect(&l.s, producer_flush(p, false, TIME_NEVER, &l.s.error), BW_IO);
    stand_expect(&l.s, producer_finish(p, TIME_NEVER, &l.s.error), BW_IO);
    stand_expect(&l.s, producer_close(p, TIME_NEVER, &l.s.error), BW_IO);
    assert_non_null(strstr(l.s.error.message, "beyond offset 1 are not acknowledged"));
    space_close(space);

    space = open_again(&l);
    p = stand_producer(&l.s, space, "p", "naive");
    assert_in_range(p->resume_offset, 1, 2);
    if (p->resume_offset == 1)
        stand_put(&l.s, p, "two", 2);
    stand_expect(&l.s, producer_finish(p, TIME_NEVER, &l.s.error), BW_OK);
    stand_expect(&l.s, producer_close(p, 0, &l.s.error), BW_OK);
    bw_consumer *c = stand_consumer(&l.s, space, 0);
    stand_take(&l.s, c, "one");
    stand_take(&l.s, c, "two");
    consumer_close(c);
    tear_down(&l, space);
}

/* The failure is known long before: it is no doubt, and no time-out. */
static void test_flush_with_a_limit_behind_a_failed_fsync(void **state)
{
    (void)state;
    for (int n = 1; n <= 2; n++) {
        lost_stand l;
        bw_space *space = set_up(&l);
        bw_producer *p = stand_producer(&l.s, space, "p", "naive");
        syscalls_fail("fdatasync", n, EIO);
        stand_put(&l.s, p, "one", 1);
        const int64_t limit_ns = 60 * NS_PER_S, began_ns = clock_now(clock_system());
        stand_expect(&l.s, producer_flush(p, true, limit_ns, &l.s.error), BW_IO);
        assert_true(clock_now(clock_system()) - began_ns < limit_ns / 2);
        stand_expect(&l.s, producer_close(p, limit_ns, &l.s.error), BW_IO);
        tear_down(&l, space);
    }
}

static void test_flush_for_ever_behind_a_failed_fsync_of_a_part(void **state)
{
    (void)state;
    try_flush("fdatasync", 1);
}

static void test_flush_for_ever_behind_a_failed_fsync_of_the_manifest(void **state)
{
    (void)state;
    try_flush("fdatasync", 2);
}

/* The part's directory, then the manifest's: its name is there, durable or not. */
static void test_flush_for_ever_behind_a_failed_fsync_of_a_directory(void **state)
{
    (void)state;
    try_flush("fsync", 1);
    try_flush("fsync", 2);
}

/* A commit in doubt is told as such too, before the handle fails. */
static void test_doubt_is_told_first(void **state)
{
    (void)state;
    lost_stand l;
    char message[EVENT_MESSAGE_MAX + 1];
    bw_space *space = set_up(&l);
    bw_producer *p = stand_producer(&l.s, space, "p", "naive");
    stand_put(&l.s, p, "one", 1);
    stand_expect(&l.s, producer_flush(p, true, TIME_NEVER, &l.s.error), BW_OK);
    syscalls_fail("fdatasync", 2, EIO);
    stand_put(&l.s, p, "two", 2);
    stand_expect(&l.s, producer_flush(p, true, TIME_NEVER, &l.s.error), BW_IO);
    assert_non_null(strstr(l.s.error.message, "may be on the chain"));
    (void)stand_await(&l.s, p, BW_EVENT_UNKNOWN, message);
    (void)stand_await(&l.s, p, BW_EVENT_FAILED, message);
    stand_expect(&l.s, producer_close(p, 0, &l.s.error), BW_IO);
    tear_down(&l, space);
}

static void test_open_for_ever_behind_a_failed_fsync(void **state)
{
    (void)state;
    lost_stand l;
    bw_space *space = set_up(&l);
    producer_options options = {.kind = ITEM_RAW,
                                .commit_timeout_ns = NS_PER_S,
                                .staged_bytes_max = 1u << 20,
                                .staged_batches_max = 4};
    stand_expect(&l.s, cadence_parse("naive", &options.cadence, &l.s.error), BW_OK);
    bw_producer *p = NULL;
    syscalls_fail("fdatasync", 1, EIO);
    stand_expect(&l.s, producer_open(space, "p", &options, TIME_NEVER, &p, &l.s.error), BW_UNKNOWN);
    assert_non_null(strstr(l.s.error.message, "version 2 "));
    tear_down(&l, space);
}

static void test_seal_for_ever_behind_a_failed_fsync(void **state)
{
    (void)state;
    lost_stand l;
    bw_space *space = set_up(&l);
    syscalls_fail("fdatasync", 1, EIO);
    stand_expect(&l.s, space_seal(space, false, TIME_NEVER, &l.s.error), BW_UNKNOWN);
    assert_non_null(strstr(l.s.error.message, "version 2 "));
    space_close(space);
    space = open_again(&l);
    stand_expect(&l.s, space_seal(space, false, TIME_NEVER, &l.s.error), BW_OK);
    tear_down(&l, space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flush_for_ever_behind_a_failed_fsync_of_a_part),
        cmocka_unit_test(test_flush_for_ever_behind_a_failed_fsync_of_the_manifest),
        cmocka_unit_test(test_flush_for_ever_behind_a_failed_fsync_of_a_directory),
        cmocka_unit_test(test_flush_with_a_limit_behind_a_failed_fsync),
        cmocka_unit_test(test_doubt_is_told_first),
        cmocka_unit_test(test_open_for_ever_behind_a_failed_fsync),
        cmocka_unit_test(test_seal_for_ever_behind_a_failed_fsync),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
