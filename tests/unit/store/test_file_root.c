// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "file_fixture.h"
#include "syscalls.h"
#include "tests/contract/contract_ops.h"
#include "tests/contract/scratch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const store_file_options writing = {.durable = true, .writable = true};
static const store_file_options reading = {.durable = true, .writable = false};

static void assert_refused(const char *path, const store_file_options *options, bw_status status,
                           const char *says)
{
    bw_error *error = bw_error_new();
    store *s = NULL;
    assert_int_equal(store_file_open(path, options, &s, error), status);
    assert_null(s);
    assert_int_equal(bw_error_code(error), status);
    if (strstr(bw_error_message(error), says) == NULL)
        fail_msg("'%s' does not say '%s'", bw_error_message(error), says);
    bw_error_free(error);
}

static void test_writing_makes_the_directory_durably(void **state)
{
    const char *root = *state;
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/a//b/c/", root);
    store *s = open_durable(path);
    assert_non_null(strstr(syscalls_log(), "fsync:a fsync:b ")); /* the parents of b and c */
    assert_int_equal(do_create(s, "k", "x"), STORE_CREATED);
    store_close(s);
    struct stat info;
    assert_int_equal(stat(below(root, "a/b/c"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0700);
    assert_true(on_disk(root, "a/b/c/k"));
    store_close(open_durable(path)); /* again, where it is */
}

static void test_reading_makes_nothing(void **state)
{
    const char *root = *state;
    assert_refused(below(root, "absent"), &reading, BW_NO_NAMESPACE, "absent");
    assert_int_equal(entries(root, ""), 0);
    store *s = open_reader(root);
    assert_int_equal(do_get(s, "genesis", NULL, 10), STORE_NOT_FOUND);
    assert_int_equal(list_count(s, ""), 0);
    store_close(s);
    assert_int_equal(entries(root, ""), 0);
    assert_string_equal(syscalls_log(), "");
}

static void test_paths_that_cannot_be(void **state)
{
    const char *root = *state;
    write_file(root, "file", "x");
    assert_refused(below(root, "file"), &reading, BW_INVALID, "Not a directory");
    assert_refused(below(root, "file"), &writing, BW_INVALID, "Not a directory");
    assert_refused(below(root, "file/below"), &writing, BW_INVALID, "Not a directory");
    assert_refused("", &reading, BW_NO_NAMESPACE, "no directory");
    assert_refused("", &writing, BW_NO_NAMESPACE, "no directory");
    assert_refused("/proc/run7/space", &writing, BW_UNSUPPORTED, "/proc/run7/space cannot be made");
    assert_refused("/proc/run7/space", &reading, BW_NO_NAMESPACE, "no directory");
    char *long_path = malloc(6000);
    memset(long_path, 'a', 5999);
    long_path[5999] = '\0';
    assert_refused(long_path, &writing, BW_INVALID, "too long");
    free(long_path);
}

static int open_as_nobody(void *context)
{
    const char *root = context;
    store *s = NULL;
    bw_error *error = bw_error_new();
    if (chmod(root, 0500) != 0)
        return 1;
    if (store_file_open(root, &writing, &s, error) != BW_DENIED ||
        strstr(bw_error_message(error), "Permission denied") == NULL)
        return 2;
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/new", root);
    if (store_file_open(path, &writing, &s, error) != BW_DENIED)
        return 3;
    if (store_file_open(root, &reading, &s, error) != BW_OK)
        return 4;
    store_close(s);
    if (chmod(root, 0) != 0 || store_file_open(root, &reading, &s, error) != BW_DENIED)
        return 5;
    bw_error_free(error);
    return chmod(root, 0700) == 0 ? 0 : 6;
}

static void test_without_the_right_to(void **state)
{
    as_nobody(*state, open_as_nobody, *state);
}

static void test_where_absence_cannot_be_trusted_nothing_is_written(void **state)
{
    const char *root = *state;
    store *s = open_fast(root);
    assert_int_equal(do_create(s, "k", "x"), STORE_CREATED);
    store_close(s);
    static const struct {
        long magic;
        const char *name;
    } late[] = {{0x6969, "nfs"},      {(long)0xff534d42, "cifs"}, {(long)0xfe534d42, "smb2"},
                {0x65735546, "fuse"}, {0x00c36400, "ceph"},       {0x12345, "unknown"}};
    for (size_t i = 0; i < sizeof late / sizeof late[0]; i++) {
        syscalls_file_system(late[i].magic);
        assert_refused(root, &writing, BW_UNSUPPORTED, late[i].name);
        s = open_reader(root); /* reading is merely late */
        assert_int_equal(s->features & (STORE_CAN_MAP | STORE_IS_LOCAL), 0);
        assert_content(s, "k", "x");
        store_op op;
        assert_int_equal(run_read(s, &op, STORE_MAP, "k"), STORE_FATAL);
        assert_int_equal(store_op_status(&op), BW_UNSUPPORTED);
        store_close(s);
    }
    syscalls_file_system(0x47504653); /* a cluster that agrees on names: written to, not mapped */
    s = open_fast(root);
    assert_int_equal(s->features, STORE_BLOCKS);
    assert_int_equal(do_create(s, "k2", "x"), STORE_CREATED);
    store_close(s);
    syscalls_file_system(0);
    s = open_fast(root);
    assert_int_equal(s->features, STORE_BLOCKS | STORE_CAN_MAP | STORE_IS_LOCAL);
    store_close(s);
    syscalls_fail("fstatfs", 1, EIO);
    assert_refused(root, &writing, BW_IO, "what file system");
}

static void assert_gone(store *s, store_outcome outcome, const store_op *op)
{
    (void)s;
    assert_int_equal(outcome, STORE_FATAL);
    assert_int_equal(store_op_status(op), BW_IO);
    assert_non_null(strstr(op->error.message, "removed"));
}

static void test_a_root_that_vanished(void **state)
{
    const char *root = *state;
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/run7", root);
    store *s = open_durable(path);
    assert_int_equal(do_create(s, "manifest/1", "x"), STORE_CREATED);
    char *again = strdup(path);
    scratch_remove(again);
    store_op op;
    assert_gone(s, run_write(s, &op, STORE_CREATE, "manifest/2", "x"), &op);
    assert_gone(s, run_write(s, &op, STORE_CREATE, "new/2", "x"), &op);
    assert_gone(s, run_write(s, &op, STORE_PUT, "hint", "x"), &op);
    assert_gone(s, run_read(s, &op, STORE_GET, "manifest/1"), &op);
    assert_gone(s, run_read(s, &op, STORE_HEAD, "manifest/2"),
                &op); /* not "there is no such object" */
    assert_gone(s, run_read(s, &op, STORE_LIST, "manifest/"), &op);
    assert_gone(s, run_read(s, &op, STORE_LIST, ""), &op);
    const char *const keys[] = {"manifest/1"};
    store_op_init(&op, STORE_DELETE, "");
    op.keys = keys;
    op.key_count = 1;
    assert_gone(s, store_run(s, &op), &op);
    store_close(s);
    assert_false(on_disk(root, "run7"));
}

static void test_a_directory_that_vanished(void **state)
{
    const char *root = *state;
    store *s = open_durable(root);
    assert_int_equal(do_create(s, "manifest/1", "x"), STORE_CREATED);
    assert_int_equal(remove(below(root, "manifest/1")), 0);
    assert_int_equal(rmdir(below(root, "manifest")), 0);
    store_op op;
    assert_int_equal(run_write(s, &op, STORE_CREATE, "manifest/2", "x"), STORE_FATAL);
    assert_int_equal(store_op_status(&op), BW_IO);
    assert_non_null(strstr(op.error.message, "vanished"));
    store_close(s);
}

static void test_clones_and_probe(void **state)
{
    const char *root = *state;
    store *s = open_durable(root);
    store *clone = NULL;
    assert_int_equal(store_clone(s, &clone, NULL), BW_OK);
    store_close(s); /* the clone goes on */
    bw_error *error = bw_error_new();
    assert_int_equal(store_probe(clone, 42, error), BW_OK);
    assert_int_equal(entries(root, "probe"), 0);
    store_wake(clone);
    store_close(clone);
    assert_int_equal(entries(root, "tmp"), 0);
    store *reader = open_reader(root);
    assert_int_equal(store_probe(reader, 42, error), BW_READ_ONLY);
    store_close(reader);
    bw_error_free(error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_CASE(test_writing_makes_the_directory_durably),
        FILE_CASE(test_reading_makes_nothing),
        FILE_CASE(test_paths_that_cannot_be),
        FILE_CASE(test_without_the_right_to),
        FILE_CASE(test_where_absence_cannot_be_trusted_nothing_is_written),
        FILE_CASE(test_a_root_that_vanished),
        FILE_CASE(test_a_directory_that_vanished),
        FILE_CASE(test_clones_and_probe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
