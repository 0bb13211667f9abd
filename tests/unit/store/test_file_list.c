// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "file_fixture.h"
#include "syscalls.h"
#include "tests/contract/contract_ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void test_temporary_files_only_when_asked_for(void **state)
{
    const char *root = *state;
    store *s = open_fast(root);
    assert_int_equal(do_put(s, "data/1", "x"), STORE_OK);
    assert_int_equal(do_put(s, "tmpx/1", "x"), STORE_OK);
    assert_int_equal(do_put(s, "a/tmp/1", "x"), STORE_OK); /* only the root's is special */
    write_file(root, "tmp/left-over", "x");
    assert_int_equal(list_count(s, ""), 3);
    assert_int_equal(list_count(s, "tmp"), 1);
    assert_int_equal(list_count(s, "tmp/"), 2); /* and the lock file */
    assert_true(is_listed(s, "tmp/left-over"));
    store_close(s);
}

static void test_what_no_store_made_is_not_listed(void **state)
{
    const char *root = *state;
    store *s = open_fast(root);
    assert_int_equal(do_put(s, "data/1", "x"), STORE_OK);
    write_file(root, "UPPER", "x");
    write_file(root, "data/with space", "x");
    assert_int_equal(symlink("1", below(root, "data/link")), 0);
    assert_int_equal(mkfifo(below(root, "data/fifo"), 0600), 0);
    assert_int_equal(mkdir(below(root, "Dir"), 0700), 0);
    write_file(root, "Dir/1", "x");
    assert_int_equal(mkdir(below(root, "empty"), 0700), 0);
    assert_int_equal(list_count(s, ""), 1);
    syscalls_hide_types();
    assert_int_equal(list_count(s, ""), 1);
    store_close(s);
}

static void test_file_systems_that_tell_no_types(void **state)
{
    store *s = open_fast(*state);
    assert_int_equal(do_put(s, "a/b/c", "x"), STORE_OK);
    assert_int_equal(do_put(s, "a/d", "x"), STORE_OK);
    syscalls_hide_types();
    assert_int_equal(list_count(s, ""), 2);
    assert_true(is_listed(s, "a/b/c"));
    store_close(s);
}

/* A path on disk may be deeper than any key. */
static void test_depth_is_bounded_by_the_key(void **state)
{
    const char *root = *state;
    store *s = open_fast(root);
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/d", root);
    const size_t start = strlen(path) - 1;
    for (size_t size = strlen(path); size - start < STORE_KEY_MAX + 40; size = strlen(path)) {
        assert_int_equal(mkdir(path, 0700), 0);
        memcpy(path + size, "/d", 3);
    }
    assert_int_equal(list_count(s, ""), 0);
    store_close(s);
}

static void test_only_what_lies_beneath_is_read(void **state)
{
    const char *root = *state;
    store *s = open_fast(root);
    assert_int_equal(do_put(s, "data/ab/1", "x"), STORE_OK);
    assert_int_equal(do_put(s, "data/cd/1", "x"), STORE_OK);
    assert_int_equal(do_put(s, "manifest/1", "x"), STORE_OK);
    assert_int_equal(do_put(s, "manifest/2", "x"), STORE_OK);
    /* A directory that cannot be read stands for one that is not entered. */
    syscalls_fail("readdir", 6, 5);
    assert_int_equal(list_count(s, "manifest/"), 2); /* two names, two dots, the end: five calls */
    syscalls_reset();
    store_op op;
    store_op_init(&op, STORE_LIST, "");
    memcpy(op.after, "data/cd/1", 10);
    op.list_max = 1;
    assert_int_equal(store_run(s, &op), STORE_OK);
    assert_string_equal(op.list.entries[0].key, "manifest/1");
    assert_true(op.list.more);
    store_op_clear(&op);
    store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_CASE(test_temporary_files_only_when_asked_for),
        FILE_CASE(test_what_no_store_made_is_not_listed),
        FILE_CASE(test_file_systems_that_tell_no_types),
        FILE_CASE(test_depth_is_bounded_by_the_key),
        FILE_CASE(test_only_what_lies_beneath_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
