// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "file_fixture.h"
#include "syscalls.h"
#include "tests/contract/contract_ops.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- what happens before an answer ---- */

static const char *root_name(const char *root)
{
    return strrchr(root, '/') + 1;
}

/** The log since the last reset, with the scratch directory's name as ROOT. */
static void assert_log(const char *root, const char *expected)
{
    char log[1 << 13];
    size_t size = 0;
    const char *name = root_name(root);
    for (const char *at = syscalls_log(); *at != '\0' && size < sizeof log - 8;) {
        const bool is_root = strncmp(at, name, strlen(name)) == 0;
        if (is_root)
            memcpy(log + size, "ROOT", 4);
        else
            log[size] = *at;
        size += is_root ? 4 : 1;
        at += is_root ? strlen(name) : 1;
    }
    log[size] = '\0';
    assert_string_equal(log, expected);
    syscalls_reset();
}

static void test_create_is_durable_before_it_is_answered(void **state)
{
    const char *root = *state;
    store *s = open_durable(root);
    syscalls_reset();
    assert_int_equal(do_create(s, "manifest/1", "x"), STORE_CREATED);
    assert_log(root, "mkdirat:manifest fsync:ROOT mkdirat:tmp fsync:ROOT "
                     "writev: fdatasync: linkat:1 fsync:manifest unlinkat:tmp ");
    assert_int_equal(do_create(s, "manifest/2", "x"), STORE_CREATED);
    assert_log(root, "writev: fdatasync: linkat:2 fsync:manifest unlinkat:tmp ");
    store_close(s);
}

/* Also the directories that another process made, and may not have made durable. */
static void test_every_directory_on_the_way_is_durable_once(void **state)
{
    const char *root = *state;
    store *first = open_fast(root);
    assert_int_equal(do_put(first, "data/ab/p/1", "x"), STORE_OK);
    store *s = open_durable(root);
    syscalls_reset();
    assert_int_equal(do_put(s, "data/ab/p/2", "x"), STORE_OK);
    assert_log(root, "fsync:ROOT fsync:data fsync:ab fsync:ROOT "
                     "writev: fdatasync: renameat:2 fsync:p ");
    assert_int_equal(do_put(s, "data/cd/p/3", "x"), STORE_OK);
    assert_log(root, "mkdirat:cd fsync:data mkdirat:p fsync:cd "
                     "writev: fdatasync: renameat:3 fsync:p ");
    assert_int_equal(do_put(s, "data/ab/p/2", "again"), STORE_OK);
    assert_log(root, "writev: fdatasync: renameat:2 fsync:p ");
    store_close(first);
    store_close(s);
}

static void test_exists_is_durable_before_it_is_answered(void **state)
{
    const char *root = *state;
    store *first = open_fast(root);
    assert_int_equal(do_create(first, "retired/1", "x"), STORE_CREATED);
    store *s = open_durable(root);
    assert_int_equal(do_create(s, "retired/2", "x"), STORE_CREATED);
    syscalls_reset();
    assert_int_equal(do_create(s, "retired/1", "x"), STORE_EXISTS);
    assert_log(root, "writev: fdatasync: linkat:1 fsync:retired unlinkat:tmp ");
    syscalls_fail("fsync", 1, EIO);
    assert_int_equal(do_create(s, "retired/1", "x"), STORE_UNKNOWN);
    store_close(first);
    store_close(s);
}

static void test_deletes_are_durable_before_they_are_answered(void **state)
{
    const char *root = *state;
    store *s = open_durable(root);
    static const char *const keys[] = {"manifest/1", "data/a/1", "manifest/2",
                                       "top",        "data/a/2", "manifest/9"};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(do_put(s, keys[i], "x"), STORE_OK);
    syscalls_reset();
    store_op op;
    store_op_init(&op, STORE_DELETE, "");
    op.keys = keys;
    op.key_count = 6;
    assert_int_equal(store_run(s, &op), STORE_OK);
    assert_log(root, "unlinkat:1 unlinkat:1 unlinkat:2 unlinkat:top unlinkat:2 unlinkat:9 "
                     "fsync:manifest fsync:a fsync:ROOT ");
    store_close(s);
}

static void test_not_durable_means_no_fsync(void **state)
{
    const char *root = *state;
    store *s = open_fast(root);
    assert_int_equal(do_create(s, "manifest/1", "x"), STORE_CREATED);
    assert_int_equal(do_create(s, "manifest/1", "x"), STORE_EXISTS);
    assert_int_equal(do_put(s, "data/ab/1", "x"), STORE_OK);
    assert_int_equal(do_delete(s, "data/ab/1"), STORE_OK);
    assert_null(strstr(syscalls_log(), "sync"));
    assert_non_null(strstr(syscalls_log(), "linkat:1"));
    store_close(s);
}

static void test_what_is_written_is_private(void **state)
{
    const char *root = *state;
    store *s = open_durable(root);
    const mode_t before = umask(0);
    assert_int_equal(do_create(s, "data/ab/1", "x"), STORE_CREATED);
    umask(before);
    static const struct {
        const char *path;
        mode_t mode;
    } expected[] = {{"data", 0700}, {"data/ab", 0700}, {"data/ab/1", 0600}, {"tmp", 0700}};
    for (size_t i = 0; i < 4; i++) {
        struct stat info;
        assert_int_equal(stat(below(root, expected[i].path), &info), 0);
        assert_int_equal(info.st_mode & 07777, expected[i].mode);
    }
    store_close(s);
    assert_int_equal(entries(root, "tmp"), 0);
}

/* ---- failed fsyncs ---- */

static void assert_poisoned(store *s)
{
    store_op op;
    assert_int_equal(run_write(s, &op, STORE_CREATE, "manifest/9", "x"), STORE_FATAL);
    assert_int_equal(store_op_status(&op), BW_IO);
    assert_non_null(strstr(op.error.message, "earlier fsync failed"));
    assert_int_equal(run_write(s, &op, STORE_PUT, "data/9", "x"), STORE_FATAL);
    assert_int_equal(store_op_status(&op), BW_IO);
    assert_int_equal(do_delete(s, "there"), STORE_FATAL);
    assert_content(s, "there", "content"); /* reads go on */
}

static void test_failed_fsync_of_the_file_poisons(void **state)
{
    const char *root = *state;
    store *s = open_durable(root);
    store *clone = NULL;
    assert_int_equal(store_clone(s, &clone, NULL), BW_OK);
    assert_int_equal(do_put(s, "there", "content"), STORE_OK);
    syscalls_fail("fdatasync", 1, EIO);
    store_op op;
    assert_int_equal(run_write(s, &op, STORE_CREATE, "manifest/1", "x"), STORE_UNKNOWN);
    assert_non_null(strstr(op.error.message, "may have landed"));
    assert_false(on_disk(root, "manifest/1"));
    assert_int_equal(entries(root, "tmp"), 1); /* the lock file */
    assert_poisoned(s);
    assert_poisoned(clone);
    store_close(clone);
    store_close(s);
    s = open_durable(root); /* a new one knows nothing of it */
    assert_int_equal(do_create(s, "manifest/1", "x"), STORE_CREATED);
    store_close(s);
}

static void test_failed_fsync_of_the_directory_poisons(void **state)
{
    const char *root = *state;
    store *s = open_durable(root);
    assert_int_equal(do_put(s, "there", "content"), STORE_OK);
    assert_int_equal(do_create(s, "manifest/1", "x"), STORE_CREATED);
    syscalls_fail("fsync", 1, EIO);
    assert_int_equal(do_create(s, "manifest/2", "x"), STORE_UNKNOWN);
    assert_true(on_disk(root, "manifest/2")); /* it did land */
    assert_poisoned(s);
    store_close(s);
}

static void test_failed_fsync_of_a_new_parent_poisons(void **state)
{
    store *s = open_durable(*state);
    assert_int_equal(do_put(s, "there", "content"), STORE_OK);
    syscalls_fail("fsync", 2, EIO); /* root, then data */
    assert_int_equal(do_create(s, "data/ab/1", "x"), STORE_FATAL);
    assert_poisoned(s);
    store_close(s);
}

static void test_failed_fsync_of_a_put_or_delete_poisons(void **state)
{
    static const struct {
        const char *call;
        bool deletes;
    } ways[] = {{"fdatasync", false}, {"fsync", false}, {"fsync", true}};
    for (size_t i = 0; i < 3; i++) {
        store *s = open_durable(*state);
        assert_int_equal(do_put(s, "there", "content"), STORE_OK);
        assert_int_equal(do_put(s, "other", "x"), STORE_OK);
        syscalls_fail(ways[i].call, 1, EIO);
        assert_int_equal(ways[i].deletes ? do_delete(s, "other") : do_put(s, "other", "y"),
                         STORE_FATAL);
        assert_poisoned(s);
        store_close(s);
    }
}

/* ---- no room ---- */

static void test_no_room_is_a_definite_retry(void **state)
{
    const char *root = *state;
    static const struct {
        const char *call;
        int number;
    } ways[] = {{"writev", ENOSPC},    {"writev", EDQUOT}, {"fdatasync", ENOSPC},
                {"fdatasync", EDQUOT}, {"linkat", ENOSPC}, {"linkat", EDQUOT}};
    store *s = open_durable(root);
    assert_int_equal(do_create(s, "manifest/0", "x"), STORE_CREATED);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        store_op op;
        syscalls_fail(ways[i].call, 1, ways[i].number);
        assert_int_equal(run_write(s, &op, STORE_CREATE, "manifest/1", "x"), STORE_RETRY);
        assert_int_equal(store_op_status(&op), BW_NO_SPACE);
        assert_false(on_disk(root, "manifest/1"));
        if (strcmp(ways[i].call, "linkat") != 0) {
            syscalls_fail(ways[i].call, 1, ways[i].number);
            assert_int_equal(run_write(s, &op, STORE_PUT, "manifest/1", "x"), STORE_RETRY);
            assert_int_equal(store_op_status(&op), BW_NO_SPACE);
        }
        assert_int_equal(entries(root, "tmp"), 1);
    }
    syscalls_fail("mkdirat", 1, ENOSPC);
    assert_int_equal(do_create(s, "new/1", "x"), STORE_RETRY);
    assert_int_equal(do_create(s, "manifest/1", "x"), STORE_CREATED); /* nothing is broken */
    store_close(s);
}

/* ---- the naming step ---- */

static void test_link_that_fails_without_saying_is_unknown(void **state)
{
    const char *root = *state;
    store *s = open_durable(root);
    assert_int_equal(do_create(s, "manifest/0", "x"), STORE_CREATED);
    static const struct {
        int number;
        store_outcome outcome;
        bw_status status;
    } ways[] = {
        {EIO, STORE_UNKNOWN, BW_IO},      {ETIMEDOUT, STORE_UNKNOWN, BW_IO},
        {EACCES, STORE_FATAL, BW_DENIED}, {EROFS, STORE_FATAL, BW_DENIED},
        {ENOENT, STORE_RETRY, BW_IO},     {ENOMEM, STORE_RETRY, BW_NOMEM},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        store_op op;
        syscalls_fail("linkat", 1, ways[i].number);
        assert_int_equal(run_write(s, &op, STORE_CREATE, "manifest/1", "x"), ways[i].outcome);
        assert_int_equal(store_op_status(&op), ways[i].status);
        assert_string_equal(op.error.key, "manifest/1");
        assert_false(on_disk(root, "manifest/1"));
        assert_int_equal(entries(root, "tmp"), 1);
    }
    syscalls_fail("renameat", 1, EIO);
    assert_int_equal(do_put(s, "hint", "x"), STORE_RETRY); /* a put may be repeated */
    syscalls_fail("renameat", 1, EACCES);
    assert_int_equal(do_put(s, "hint", "x"), STORE_DENIED);
    store_close(s);
}

static void test_without_links_a_rename_that_never_replaces(void **state)
{
    const char *root = *state;
    store *s = open_durable(root);
    syscalls_fail("linkat", 0, EPERM);
    assert_int_equal(do_create(s, "manifest/1", "first"), STORE_CREATED);
    assert_int_equal(do_create(s, "manifest/1", "second"), STORE_EXISTS);
    assert_content(s, "manifest/1", "first");
    assert_int_equal(entries(root, "tmp"), 1);
    syscalls_reset();
    assert_int_equal(do_create(s, "manifest/2", "x"), STORE_CREATED);
    assert_null(strstr(syscalls_log(), " linkat")); /* learnt */
    store_close(s);
}

static void test_without_either_it_is_unsupported(void **state)
{
    const char *root = *state;
    store *s = open_durable(root);
    syscalls_fail("linkat", 0, EOPNOTSUPP);
    syscalls_fail("renameat2", 0, EINVAL);
    store_op op;
    assert_int_equal(run_write(s, &op, STORE_CREATE, "manifest/1", "x"), STORE_UNSUPPORTED);
    assert_int_equal(store_op_status(&op), BW_UNSUPPORTED);
    assert_false(on_disk(root, "manifest/1"));
    bw_error *error = bw_error_new();
    assert_int_equal(store_probe(s, 1, error), BW_UNSUPPORTED);
    bw_error_free(error);
    store_close(s);
}

/* ---- the calls themselves ---- */

static void test_short_and_interrupted_writes(void **state)
{
    store *s = open_durable(*state);
    syscalls_limit(3);
    syscalls_fail("writev", 2, EINTR);
    assert_int_equal(do_create(s, "k", "a content longer than three bytes"), STORE_CREATED);
    syscalls_limit(0);
    assert_content(s, "k", "a content longer than three bytes");
    store_close(s);
}

static void test_write_errors_leave_nothing(void **state)
{
    const char *root = *state;
    store *s = open_durable(root);
    assert_int_equal(do_create(s, "manifest/0", "x"), STORE_CREATED);
    store_op op;
    syscalls_fail("writev", 1, EIO);
    assert_int_equal(run_write(s, &op, STORE_CREATE, "manifest/1", "x"), STORE_RETRY);
    syscalls_fail("writev", 1, EFBIG);
    assert_int_equal(run_write(s, &op, STORE_CREATE, "manifest/1", "x"), STORE_FATAL);
    assert_int_equal(store_op_status(&op), BW_TOO_LARGE);
    assert_int_equal(entries(root, "tmp"), 1);
    assert_false(on_disk(root, "manifest/1"));
    store_close(s);
}

static void test_opened_for_reading_writes_nothing(void **state)
{
    const char *root = *state;
    store *s = open_reader(root);
    store_op op;
    assert_int_equal(run_write(s, &op, STORE_CREATE, "k", "x"), STORE_FATAL);
    assert_int_equal(store_op_status(&op), BW_READ_ONLY);
    assert_int_equal(run_write(s, &op, STORE_PUT, "k", "x"), STORE_DENIED);
    assert_int_equal(store_op_status(&op), BW_READ_ONLY);
    assert_int_equal(do_delete(s, "k"), STORE_DENIED);
    store_close(s);
    assert_int_equal(entries(root, ""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_CASE(test_create_is_durable_before_it_is_answered),
        FILE_CASE(test_every_directory_on_the_way_is_durable_once),
        FILE_CASE(test_exists_is_durable_before_it_is_answered),
        FILE_CASE(test_deletes_are_durable_before_they_are_answered),
        FILE_CASE(test_not_durable_means_no_fsync),
        FILE_CASE(test_what_is_written_is_private),
        FILE_CASE(test_failed_fsync_of_the_file_poisons),
        FILE_CASE(test_failed_fsync_of_the_directory_poisons),
        FILE_CASE(test_failed_fsync_of_a_new_parent_poisons),
        FILE_CASE(test_failed_fsync_of_a_put_or_delete_poisons),
        FILE_CASE(test_no_room_is_a_definite_retry),
        FILE_CASE(test_link_that_fails_without_saying_is_unknown),
        FILE_CASE(test_without_links_a_rename_that_never_replaces),
        FILE_CASE(test_without_either_it_is_unsupported),
        FILE_CASE(test_short_and_interrupted_writes),
        FILE_CASE(test_write_errors_leave_nothing),
        FILE_CASE(test_opened_for_reading_writes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
