// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/savefile.h"

#include "base/error.h"
#include "scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>

static void assert_content(const char *path, const char *expected)
{
    char *bytes;
    size_t size;
    assert_int_equal(savefile_read(path, 100, &bytes, &size, NULL), BW_OK);
    assert_int_equal(size, strlen(expected));
    assert_string_equal(bytes, expected);
    savefile_free(bytes);
}

/** Temporary files in the directory; all of them are made an hour old. */
static unsigned count_temporaries(void)
{
    const struct timespec hour_ago = {.tv_sec = time(NULL) - 3600}, times[2] = {hour_ago, hour_ago};
    unsigned count = 0;
    DIR *all = opendir(scratch_path("."));
    assert_non_null(all);
    for (const struct dirent *each = readdir(all); each != NULL; each = readdir(all))
        if (strstr(each->d_name, ".tmp") != NULL) {
            count++;
            assert_int_equal(utimensat(dirfd(all), each->d_name, times, 0), 0);
        }
    closedir(all);
    return count;
}

static void test_write_and_replace(void **state)
{
    (void)state;
    const char *const path = scratch_path("file");
    assert_int_equal(savefile_write(path, "one", 3, true, NULL, NULL), BW_OK);
    assert_content(path, "one");
    assert_int_equal(savefile_write(path, "", 0, false, NULL, NULL), BW_OK);
    assert_content(path, "");
    assert_int_equal(count_temporaries(), 0);
}

/**
 * Killed between the temporary file and its rename: the old content stands, and the next write
 * succeeds.
 */
static void test_killed_before_the_rename(void **state)
{
    (void)state;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", scratch_path("cursor"));
    assert_int_equal(savefile_write(path, "old", 3, true, NULL, NULL), BW_OK);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("BATCHWEAVE_FAULT", "kill:other;kill:cursor-save:2", 1);
        savefile_write(path, "mid", 3, true, "cursor-save", NULL);
        savefile_write(path, "new", 3, true, "cursor-save", NULL);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_content(path, "mid");
    assert_int_equal(savefile_write(path, "next", 4, true, NULL, NULL), BW_OK);
    assert_content(path, "next");
    /* What the killed writer left is swept, once it is old, unless somebody has it locked. */
    savefile_sweep_beside(path);
    assert_int_equal(count_temporaries(), 1);
    savefile_sweep_beside(path);
    assert_int_equal(count_temporaries(), 0);
    const int fd = open(scratch_path(".bw-1-0123456789abcdef.tmp"), O_WRONLY | O_CREAT, 0600);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(count_temporaries(), 1);
    savefile_sweep_beside(path);
    assert_int_equal(count_temporaries(), 1);
    close(fd);
    savefile_sweep_beside(path);
    assert_int_equal(count_temporaries(), 0);
    assert_content(path, "next");
}

/** Two processes write one path again and again: a reader finds the whole of one or the other. */
static void test_two_writers_of_one_path(void **state)
{
    (void)state;
    enum { BYTES = 64 * 1024, ROUNDS = 200, WRITERS = 2 };
    static char mine[BYTES];
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", scratch_path("shared"));
    pid_t writers[WRITERS];
    for (int w = 0; w < WRITERS; w++) {
        writers[w] = fork();
        assert_true(writers[w] >= 0);
        if (writers[w] != 0)
            continue;
        memset(mine, 'a' + w, sizeof mine);
        for (int i = 0; i < ROUNDS; i++)
            if (savefile_write(path, mine, sizeof mine - (size_t)w, false, NULL, NULL) != BW_OK)
                _exit(1);
        _exit(0);
    }
    for (int alive = WRITERS; alive > 0;) {
        char *bytes;
        size_t size;
        int status;
        if (savefile_read(path, BYTES, &bytes, &size, NULL) == BW_OK) {
            const char first = bytes[0];
            assert_int_equal(size, BYTES - (size_t)(first - 'a'));
            for (size_t i = 0; i < size; i++)
                assert_int_equal(bytes[i], first);
            savefile_free(bytes);
        }
        const pid_t done = waitpid(-1, &status, WNOHANG);
        assert_true(done >= 0);
        if (done > 0) {
            assert_int_equal(status, 0);
            alive--;
        }
    }
    assert_int_equal(count_temporaries(), 0);
}

static void test_failures_are_typed(void **state)
{
    (void)state;
    bw_error *error = bw_error_new();
    assert_int_equal(savefile_write(scratch_path("none/file"), "x", 1, true, NULL, error), BW_IO);
    assert_non_null(strstr(bw_error_key(error), "none/file"));
    scratch_folder("folder");
    assert_int_equal(savefile_write(scratch_path("folder"), "x", 1, false, NULL, error), BW_IO);
    assert_int_equal(count_temporaries(), 0);
    char *bytes;
    size_t size;
    assert_int_equal(savefile_read(scratch_path("absent"), 10, &bytes, &size, error), BW_NOT_FOUND);
    assert_int_equal(savefile_read(scratch_path("folder"), 10, &bytes, &size, error), BW_IO);
    scratch_file("eleven", "12345678901", 11);
    assert_int_equal(savefile_read(scratch_path("eleven"), 10, &bytes, &size, error), BW_TOO_LARGE);
    char longest[PATH_MAX + 10];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(savefile_write(longest, "x", 1, false, NULL, error), BW_IO);
    assert_int_equal(savefile_mkdir(longest, error), BW_IO);
    bw_error_free(error);
}

static void test_try_writes_nothing(void **state)
{
    (void)state;
    bw_error *error = bw_error_new();
    assert_int_equal(savefile_try(scratch_path("none/file"), error), BW_IO);
    assert_non_null(strstr(bw_error_key(error), "none/file"));
    assert_int_equal(savefile_try(scratch_path("tried"), error), BW_OK);
    assert_int_equal(access(scratch_path("tried"), F_OK), -1);
    assert_int_equal(count_temporaries(), 0);
    scratch_file("there", "old", 3);
    assert_int_equal(savefile_try(scratch_path("there"), error), BW_OK);
    assert_content(scratch_path("there"), "old");
    bw_error_free(error);
}

static void test_mkdir_and_sync(void **state)
{
    (void)state;
    const char *const path = scratch_path("m/a/b");
    assert_int_equal(savefile_mkdir(path, NULL), BW_OK);
    assert_int_equal(savefile_mkdir(path, NULL), BW_OK);
    assert_int_equal(savefile_sync(path, NULL), BW_OK);
    assert_int_equal(savefile_sync(scratch_path("m/none"), NULL), BW_IO);
    scratch_file("m/file", "x", 1);
    assert_int_equal(savefile_mkdir(scratch_path("m/file"), NULL), BW_IO);
    assert_int_equal(savefile_mkdir(scratch_path("m/file/x"), NULL), BW_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_and_replace),  cmocka_unit_test(test_killed_before_the_rename),
        cmocka_unit_test(test_failures_are_typed), cmocka_unit_test(test_try_writes_nothing),
        cmocka_unit_test(test_mkdir_and_sync),     cmocka_unit_test(test_two_writers_of_one_path),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
