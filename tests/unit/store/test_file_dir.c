// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"
#include "file_fixture.h"
#include "syscalls.h"
#include "tests/contract/contract_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int open_descriptors(void)
{
    return entries("/proc/self", "fd");
}

static void test_more_directories_than_are_kept_open(void **state)
{
    const int before = open_descriptors();
    store *s = open_durable(*state);
    char key[64];
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < FILE_DIRS_MAX + 50; i++) {
            (void)snprintf(key, sizeof key, "data/%03x/%d", i, round);
            assert_int_equal(do_put(s, key, key), STORE_OK);
        }
    }
    assert_true(open_descriptors() - before <= (int)FILE_DIRS_MAX + 4);
    for (unsigned i = 0; i < FILE_DIRS_MAX + 50; i++) {
        (void)snprintf(key, sizeof key, "data/%03x/1", i);
        assert_content(s, key, key);
    }
    store_close(s);
    assert_int_equal(open_descriptors(), before);
}

/* The 256 directories of one producer and those of the chain fit: in steady state no parent is
 * synced again. */
static void test_one_producer_fits(void **state)
{
    store *s = open_durable(*state);
    char key[64];
    for (int round = 0; round < 2; round++) {
        syscalls_reset();
        for (unsigned i = 0; i < 256; i++) {
            (void)snprintf(key, sizeof key, "data/%02x/p/%d", i, round);
            assert_int_equal(do_put(s, key, "x"), STORE_OK);
            (void)snprintf(key, sizeof key, "manifest/%d-%u", round, i);
            assert_int_equal(do_create(s, key, "x"), STORE_CREATED);
        }
    }
    assert_null(strstr(syscalls_log(), "fsync:data"));
    store_close(s);
}

typedef struct writer {
    store *store;
    int number;
    int failed;
} writer;

static void *write_everywhere(void *context)
{
    writer *w = context;
    for (unsigned i = 0; i < 600; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "data/%03x/%d-%u", (i * 37) % (FILE_DIRS_MAX + 20),
                       w->number, i);
        w->failed += do_put(w->store, key, key) != STORE_OK;
    }
    return NULL;
}

static void test_threads_share_the_kept_directories(void **state)
{
    enum { WRITERS = 4 };
    store *s = open_fast(*state);
    writer writers[WRITERS] = {{0}};
    pthread_t threads[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        writers[i].number = i;
        assert_int_equal(store_clone(s, &writers[i].store, NULL), BW_OK);
        assert_int_equal(thread_start(&threads[i], "writer", write_everywhere, &writers[i]), BW_OK);
    }
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(writers[i].failed, 0);
        store_close(writers[i].store);
    }
    assert_int_equal(list_count(s, "data/"), WRITERS * 600);
    store_close(s);
}

/* ---- links ---- */

static void plant(const char *root, const char *path, const char *target)
{
    assert_int_equal(symlink(target, below(root, path)), 0);
}

static void assert_refused(store_outcome outcome, const store_op *op)
{
    assert_int_equal(outcome, op->kind == STORE_CREATE ? STORE_FATAL : STORE_DENIED);
    assert_int_equal(store_op_status(op), BW_DENIED);
    assert_non_null(strstr(op->error.message, "symbolic link"));
}

static void test_planted_links_are_never_followed(void **state)
{
    const char *root = *state;
    assert_int_equal(mkdir(below(root, "outside"), 0700), 0);
    write_file(root, "outside/secret", "secret");
    assert_int_equal(mkdir(below(root, "inside"), 0700), 0);
    plant(root, "inside/dir", "../outside");
    plant(root, "inside/absolute", "/etc");
    plant(root, "inside/file", "../outside/secret");
    plant(root, "inside/near", "hint");
    write_file(root, "inside/hint", "x");
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/inside", root);

    for (int walks = 0; walks < 2; walks++) {
        store *s = open_durable(path);
        atomic_store(&backend_of(s)->use_walk, walks == 1);
        store_op op;
        static const char *const keys[] = {"dir/secret", "absolute/passwd", "file", "near"};
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
            assert_refused(run_read(s, &op, STORE_GET, keys[i]), &op);
            assert_refused(run_read(s, &op, STORE_READ, keys[i]), &op);
            assert_refused(run_read(s, &op, STORE_MAP, keys[i]), &op);
            assert_refused(run_read(s, &op, STORE_HEAD, keys[i]), &op);
        }
        assert_refused(run_read(s, &op, STORE_LIST, "dir/"), &op);
        assert_refused(run_write(s, &op, STORE_CREATE, "dir/new", "x"), &op);
        assert_refused(run_write(s, &op, STORE_PUT, "dir/secret", "x"), &op);
        assert_int_equal(do_delete(s, "dir/secret"), STORE_DENIED);
        assert_int_equal(list_count(s, ""), 1); /* the hint */
        store_close(s);
    }
    assert_int_equal(entries(root, "outside"), 1);

    /* A link in the object's own place: it is what gets replaced or removed, not what it points to.
     */
    store *s = open_durable(path);
    assert_int_equal(do_create(s, "file", "x"), STORE_EXISTS);
    assert_int_equal(do_put(s, "file", "x"), STORE_OK);
    assert_content(s, "file", "x");
    assert_int_equal(do_delete(s, "near"), STORE_OK);
    assert_content(s, "hint", "x");
    store_close(s);
    struct stat info;
    assert_int_equal(stat(below(root, "outside/secret"), &info), 0);
    assert_int_equal(info.st_size, 6);
}

static void test_a_link_in_place_of_tmp(void **state)
{
    const char *root = *state;
    assert_int_equal(mkdir(below(root, "inside"), 0700), 0);
    assert_int_equal(mkdir(below(root, "outside"), 0700), 0);
    write_file(root, "outside/12-0011223344556677-0", "not ours to clean");
    plant(root, "inside/tmp", "../outside");
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/inside", root);
    store *s = open_durable(path);
    store_op op;
    assert_refused(run_write(s, &op, STORE_CREATE, "k", "x"), &op);
    store_close(s);
    assert_int_equal(entries(root, "outside"), 1);
}

static void test_paths_do_not_leave_the_root(void **state)
{
    const char *root = *state;
    write_file(root, "secret", "x");
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/run7", root);
    store *s = open_fast(path);
    file_backend *b = backend_of(s);
    assert_int_equal(file_open_beneath(b, "../secret", O_RDONLY), -1);
    assert_int_equal(errno, EXDEV);
    assert_int_equal(file_open_beneath(b, "/etc/passwd", O_RDONLY), -1);
    store_close(s);
}

static void test_a_kernel_without_openat2(void **state)
{
    const char *root = *state;
    store *s = open_fast(root);
    assert_int_equal(do_put(s, "data/ab/p/1", "x"), STORE_OK);
    syscalls_fail("openat2", 1, EAGAIN); /* disturbed by a rename: once more */
    assert_content(s, "data/ab/p/1", "x");
    assert_false(atomic_load(&backend_of(s)->use_walk));
    syscalls_fail("openat2", 0, EAGAIN);
    assert_int_equal(do_get(s, "data/ab/p/1", NULL, 10), STORE_RETRY);
    syscalls_reset();
    syscalls_fail("openat2", 0, ENOSYS);
    assert_content(s, "data/ab/p/1", "x");
    assert_true(atomic_load(&backend_of(s)->use_walk));
    assert_int_equal(do_get(s, "data/ab/p/2", NULL, 10), STORE_NOT_FOUND);
    assert_int_equal(do_get(s, "data/ab/p/1/below", NULL, 10), STORE_NOT_FOUND);
    store_close(s);
}

static void test_an_object_where_a_directory_is_needed(void **state)
{
    store *s = open_fast(*state);
    assert_int_equal(do_put(s, "data", "an object"), STORE_OK);
    store_op op;
    assert_int_equal(run_write(s, &op, STORE_CREATE, "data/1", "x"), STORE_FATAL);
    assert_int_equal(store_op_status(&op), BW_INVALID);
    assert_int_equal(do_get(s, "data/1", NULL, 10), STORE_NOT_FOUND);
    assert_int_equal(do_delete(s, "data/1"), STORE_OK);
    assert_int_equal(list_count(s, "data/"), 0);
    store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_CASE(test_more_directories_than_are_kept_open),
        FILE_CASE(test_one_producer_fits),
        FILE_CASE(test_threads_share_the_kept_directories),
        FILE_CASE(test_planted_links_are_never_followed),
        FILE_CASE(test_a_link_in_place_of_tmp),
        FILE_CASE(test_paths_do_not_leave_the_root),
        FILE_CASE(test_a_kernel_without_openat2),
        FILE_CASE(test_an_object_where_a_directory_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
