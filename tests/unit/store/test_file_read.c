// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "file_fixture.h"
#include "syscalls.h"
#include "tests/contract/contract_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void test_things_that_are_no_objects(void **state)
{
    const char *root = *state;
    assert_int_equal(mkdir(below(root, "dir"), 0700), 0);
    assert_int_equal(mkfifo(below(root, "fifo"), 0600),
                     0); /* opening it must not wait for a writer */
    store *s = open_fast(root);
    static const store_op_kind kinds[] = {STORE_GET, STORE_READ, STORE_MAP, STORE_HEAD};
    for (size_t i = 0; i < 4; i++) {
        store_op op;
        assert_int_equal(run_read(s, &op, kinds[i], "dir"), STORE_FATAL);
        assert_int_equal(store_op_status(&op), BW_CORRUPT);
        assert_int_equal(run_read(s, &op, kinds[i], "fifo"), STORE_FATAL);
        assert_int_equal(store_op_status(&op), BW_CORRUPT);
    }
    store_op op;
    assert_int_equal(run_write(s, &op, STORE_CREATE, "dir", "x"), STORE_EXISTS);
    assert_int_equal(run_write(s, &op, STORE_PUT, "dir", "x"), STORE_FATAL);
    assert_int_equal(do_delete(s, "dir"), STORE_FATAL);
    store_close(s);
}

static void test_reads_in_pieces(void **state)
{
    store *s = open_fast(*state);
    assert_int_equal(do_put(s, "k", "0123456789"), STORE_OK);
    syscalls_limit(3);
    syscalls_fail("pread", 2, EINTR);
    assert_content(s, "k", "0123456789");
    char bytes[6] = "";
    assert_int_equal(do_read(s, "k", 4, 5, bytes), STORE_OK);
    assert_string_equal(bytes, "45678");
    store_close(s);
}

static void test_an_object_that_shrinks_is_damage(void **state)
{
    store *s = open_fast(*state);
    assert_int_equal(do_put(s, "k", "0123456789"), STORE_OK);
    store_op op;
    syscalls_fail("pread", 1, 0); /* end of file */
    assert_int_equal(run_read(s, &op, STORE_GET, "k"), STORE_FATAL);
    assert_int_equal(store_op_status(&op), BW_CORRUPT);
    syscalls_fail("pread", 1, 0);
    assert_int_equal(run_read(s, &op, STORE_READ, "k"), STORE_FATAL);
    assert_int_equal(store_op_status(&op), BW_CORRUPT);
    store_close(s);
}

static void test_errors_of_reading(void **state)
{
    store *s = open_fast(*state);
    assert_int_equal(do_put(s, "k", "0123456789"), STORE_OK);
    static const struct {
        const char *call;
        store_op_kind kind;
        int number;
        store_outcome outcome;
        bw_status status;
    } ways[] = {
        {"pread", STORE_GET, EIO, STORE_RETRY, BW_IO},
        {"pread", STORE_READ, EIO, STORE_RETRY, BW_IO},
        {"openat2", STORE_GET, EMFILE, STORE_RETRY, BW_IO},
        {"openat2", STORE_HEAD, EACCES, STORE_DENIED, BW_DENIED},
        {"openat2", STORE_GET, ESTALE, STORE_FATAL, BW_IO},
        {"openat2", STORE_GET, ENODEV, STORE_FATAL, BW_IO},
        {"mmap", STORE_MAP, ENOMEM, STORE_RETRY, BW_NOMEM},
        {"readdir", STORE_LIST, EIO, STORE_RETRY, BW_IO},
        {"openat2", STORE_LIST, EACCES, STORE_DENIED, BW_DENIED},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        store_op op;
        syscalls_fail(ways[i].call, 1, ways[i].number);
        assert_int_equal(run_read(s, &op, ways[i].kind, "k"), ways[i].outcome);
        assert_int_equal(store_op_status(&op), ways[i].status);
        assert_string_equal(op.error.key, "k");
    }
    assert_content(s, "k", "0123456789");
    store_close(s);
}

static void test_out_of_descriptors(void **state)
{
    store *s = open_fast(*state);
    assert_int_equal(do_put(s, "k", "x"), STORE_OK);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    store_op op;
    const store_outcome read_outcome = run_read(s, &op, STORE_GET, "k");
    const bool advised = strstr(op.error.message, "ulimit -n") != NULL;
    const store_outcome write_outcome = run_write(s, &op, STORE_CREATE, "k2", "x");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(read_outcome, STORE_RETRY);
    assert_true(advised);
    assert_int_equal(write_outcome, STORE_RETRY);
    assert_content(s, "k", "x");
    assert_int_equal(do_create(s, "k2", "x"), STORE_CREATED);
    store_close(s);
}

static void test_offsets_beyond_32_bits(void **state)
{
    const char *root = *state;
    static const off_t at = (off_t)5 << 30;
    const int fd = open(below(root, "huge"), O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, at), 0);
    assert_int_equal(pwrite(fd, "there", 5, at), 5);
    assert_int_equal(close(fd), 0);
    store *s = open_fast(root);
    char bytes[6] = "";
    assert_int_equal(do_read(s, "huge", (uint64_t)at, 5, bytes), STORE_OK);
    assert_string_equal(bytes, "there");
    assert_int_equal(head_bytes(s, "huge"), (uint64_t)at + 5);
    store_op op;
    store_op_init(&op, STORE_MAP, "huge");
    op.offset = (uint64_t)at + 1;
    op.length = 4;
    assert_int_equal(store_run(s, &op), STORE_OK);
    assert_memory_equal(op.mapping.data, "here", 4);
    store_op_clear(&op);
    assert_int_equal(do_read(s, "huge", (uint64_t)at, 6, bytes), STORE_FATAL);
    store_close(s);
}

static void test_modification_time_is_told(void **state)
{
    store *s = open_fast(*state);
    const int64_t before = (int64_t)time(NULL) * 1000 - 2000;
    assert_int_equal(do_put(s, "k", "x"), STORE_OK);
    store_op op;
    assert_int_equal(run_read(s, &op, STORE_HEAD, "k"), STORE_OK);
    assert_true(op.modified_ms >= before && op.modified_ms <= before + 60000);
    store_op_init(&op, STORE_LIST, "");
    assert_int_equal(store_run(s, &op), STORE_OK);
    assert_true(op.list.entries[0].modified_ms >= before);
    store_op_clear(&op);
    store_close(s);
}

static int read_as_nobody(void *context)
{
    store *s = open_reader(context);
    store_op op;
    const bool refused =
        run_read(s, &op, STORE_GET, "private") == STORE_DENIED &&
        store_op_status(&op) == BW_DENIED && run_read(s, &op, STORE_GET, "public") == STORE_OK &&
        run_read(s, &op, STORE_HEAD, "private") == STORE_OK && /* needs no right to read */
        run_read(s, &op, STORE_LIST, "closed/") == STORE_DENIED;
    store_close(s);
    return refused ? 0 : 1;
}

static void test_without_the_right_to_read(void **state)
{
    const char *root = *state;
    write_file(root, "private", "x");
    write_file(root, "public", "x");
    assert_int_equal(mkdir(below(root, "closed"), 0), 0);
    assert_int_equal(chmod(below(root, "private"), 0), 0);
    assert_int_equal(chmod(below(root, "public"), 0444), 0);
    as_nobody(root, read_as_nobody, *state);
    assert_int_equal(chmod(below(root, "closed"), 0700), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_CASE(test_things_that_are_no_objects),
        FILE_CASE(test_reads_in_pieces),
        FILE_CASE(test_an_object_that_shrinks_is_damage),
        FILE_CASE(test_errors_of_reading),
        FILE_CASE(test_out_of_descriptors),
        FILE_CASE(test_offsets_beyond_32_bits),
        FILE_CASE(test_modification_time_is_told),
        FILE_CASE(test_without_the_right_to_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
