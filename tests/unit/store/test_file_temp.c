// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "file_fixture.h"
#include "syscalls.h"
#include "tests/contract/contract_ops.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/** A temporary file in the making, as a create leaves it when it is killed. */
static int leave_temp(store *s)
{
    file_dir *tmp = NULL;
    char name[FILE_NAME_MAX];
    const int fd = file_temp_open(backend_of(s), &tmp, name);
    assert_true(fd >= 0);
    file_dir_release(backend_of(s), tmp);
    return fd;
}

/** A child that holds `count` temporary files open until it is killed. */
static pid_t child_with_temps(const char *root, int count)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        store *s = open_fast(root);
        for (int i = 0; i < count; i++)
            (void)leave_temp(s);
        (void)!write(ready[1], "r", 1);
        for (;;)
            pause();
    }
    close(ready[1]);
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static void kill_child(pid_t child)
{
    int status = 0;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
}

static void open_and_close(const char *root)
{
    store_close(open_fast(root));
}

static void test_the_living_keep_theirs_the_dead_do_not(void **state)
{
    const char *root = *state;
    const pid_t doomed = child_with_temps(root, 3);
    const pid_t living = child_with_temps(root, 2);
    open_and_close(root);
    assert_int_equal(entries(root, "tmp"), 4 + 3); /* each with its lock */
    kill_child(doomed);
    open_and_close(root);
    assert_int_equal(entries(root, "tmp"), 3);
    assert_int_equal(kill(living, SIGSTOP), 0); /* frozen is not dead */
    open_and_close(root);
    assert_int_equal(entries(root, "tmp"), 3);
    kill_child(living);
    open_and_close(root);
    assert_int_equal(entries(root, "tmp"), 0);
}

static void test_two_stores_of_one_process(void **state)
{
    const char *root = *state;
    store *first = open_fast(root);
    const int fd = leave_temp(first);
    store *second = open_fast(root); /* another owner: its look at the lock must fail */
    assert_int_equal(entries(root, "tmp"), 2);
    store_close(first);
    close(fd);
    assert_int_equal(entries(root, "tmp"), 1); /* the file that was never finished */
    open_and_close(root);
    assert_int_equal(entries(root, "tmp"), 0);
    store_close(second);
}

static void test_names_of_others_are_left_alone(void **state)
{
    const char *root = *state;
    open_and_close(root);
    static const char *const foreign[] = {"notes.txt",
                                          "12-00112233445566",
                                          "12-0011223344556677",
                                          "x-0011223344556677-1",
                                          "12-0011223344556677-",
                                          "12-0011223344556677-1x",
                                          "12-001122334455667G-1",
                                          "12-0011223344556677.locks",
                                          "-0011223344556677-1",
                                          "12345678901-0011223344556677-1"};
    assert_int_equal(mkdir(below(root, "tmp"), 0700), 0);
    char path[64];
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        (void)snprintf(path, sizeof path, "tmp/%s", foreign[i]);
        write_file(root, path, "mine");
    }
    write_file(root, "tmp/12-0011223344556677-0", "ours, and without a lock file: nobody's");
    write_file(root, "tmp/12-0011223344556677-18446744073709551615", "so is this one");
    open_and_close(root);
    assert_int_equal(entries(root, "tmp"), sizeof foreign / sizeof foreign[0]);
}

static void test_many_dead_owners_take_several_opens(void **state)
{
    const char *root = *state;
    assert_int_equal(mkdir(below(root, "tmp"), 0700), 0);
    char path[64];
    for (int i = 0; i < 150; i++) {
        (void)snprintf(path, sizeof path, "tmp/%d-%016x-7", i, (unsigned)i);
        write_file(root, path, "");
        (void)snprintf(path, sizeof path, "tmp/%d-%016x.lock", i, (unsigned)i);
        write_file(root, path, "");
    }
    int left = 300;
    for (int opens = 0; left > 0; opens++) {
        assert_true(opens < 6);
        open_and_close(root);
        const int now_left = entries(root, "tmp");
        assert_true(now_left < left);
        left = now_left;
    }
}

static void test_readers_clean_nothing(void **state)
{
    const char *root = *state;
    assert_int_equal(mkdir(below(root, "tmp"), 0700), 0);
    write_file(root, "tmp/12-0011223344556677-0", "");
    store_close(open_reader(root));
    assert_int_equal(entries(root, "tmp"), 1);
}

/* flock may hold for one machine only there. */
static void test_nothing_is_cleaned_on_a_cluster(void **state)
{
    const char *root = *state;
    assert_int_equal(mkdir(below(root, "tmp"), 0700), 0);
    write_file(root, "tmp/12-0011223344556677-0", "");
    syscalls_file_system(0x0bd00bd0);
    open_and_close(root);
    assert_int_equal(entries(root, "tmp"), 1);
    syscalls_file_system(0);
    open_and_close(root);
    assert_int_equal(entries(root, "tmp"), 0);
}

/* A cleaner may look at a lock file between its making and its locking. */
static void test_a_lock_that_a_cleaner_took_is_replaced(void **state)
{
    const char *root = *state;
    store *s = open_fast(root);
    syscalls_fail("flock", 1, EWOULDBLOCK);
    assert_int_equal(do_create(s, "k", "x"), STORE_CREATED);
    assert_int_equal(entries(root, "tmp"),
                     2); /* its second lock file, and the first until somebody cleans */
    store *other = open_fast(root);
    assert_int_equal(entries(root, "tmp"), 1);
    store_close(other);
    store_close(s);
    assert_int_equal(entries(root, "tmp"), 0);
}

static void test_without_any_lock_it_gives_up(void **state)
{
    store *s = open_fast(*state);
    syscalls_fail("flock", 0, EWOULDBLOCK);
    assert_int_equal(do_create(s, "k", "x"), STORE_RETRY);
    syscalls_reset();
    assert_int_equal(do_create(s, "k", "x"), STORE_CREATED);
    store_close(s);
}

static void test_a_forked_child_that_closes_leaves_the_lock(void **state)
{
    const char *root = *state;
    store *s = open_fast(root);
    assert_int_equal(do_create(s, "k", "x"), STORE_CREATED);
    const int fd = leave_temp(s);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        store_close(s);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    open_and_close(root);
    assert_int_equal(entries(root, "tmp"), 2); /* still taken for alive */
    close(fd);
    store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_CASE(test_the_living_keep_theirs_the_dead_do_not),
        FILE_CASE(test_two_stores_of_one_process),
        FILE_CASE(test_names_of_others_are_left_alone),
        FILE_CASE(test_many_dead_owners_take_several_opens),
        FILE_CASE(test_readers_clean_nothing),
        FILE_CASE(test_nothing_is_cleaned_on_a_cluster),
        FILE_CASE(test_a_lock_that_a_cleaner_took_is_replaced),
        FILE_CASE(test_without_any_lock_it_gives_up),
        FILE_CASE(test_a_forked_child_that_closes_leaves_the_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
