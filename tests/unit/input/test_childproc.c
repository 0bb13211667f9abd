// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/childproc.h"

#include "base/error.h"
#include "scratch.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

static void read_all(int fd, char *out, size_t cap)
{
    size_t have = 0;
    ssize_t n;
    while ((n = read(fd, out + have, cap - have - 1)) > 0)
        have += (size_t)n;
    out[have] = '\0';
}

static int stop_at_once(void *context)
{
    (void)context;
    return 1;
}

static void test_environment_and_output(void **state)
{
    (void)state;
    childproc child;
    char out[256];
    setenv("BATCHWEAVE_OFFSET", "stale", 1);
    setenv("BATCHWEAVE_OTHER", "kept", 1);
    assert_int_equal(
        childproc_start(&child,
                        "echo \"$BATCHWEAVE_OFFSET $BATCHWEAVE_SHARD $BATCHWEAVE_OTHER\"; "
                        "cat; env | grep -c BATCHWEAVE_OFFSET",
                        1234567890123, 3, 8, NULL),
        BW_OK);
    read_all(child.out, out, sizeof out);
    assert_string_equal(out, "1234567890123 3/8 kept\n1\n");
    assert_int_equal(childproc_wait(&child, NULL, NULL, NULL), BW_OK);
    childproc_stop(&child);
    unsetenv("BATCHWEAVE_OFFSET");
}

static void assert_fails(const char *command, const char *needle)
{
    childproc child;
    bw_error *error = bw_error_new();
    assert_int_equal(childproc_start(&child, command, 0, 0, 1, error), BW_OK);
    assert_int_equal(childproc_wait(&child, NULL, NULL, error), BW_CHILD_FAILED);
    assert_non_null(strstr(bw_error_message(error), needle));
    childproc_stop(&child);
    bw_error_free(error);
}

static void test_failures_are_told(void **state)
{
    (void)state;
    assert_fails("exit 3", "status 3");
    assert_fails("kill -9 $$", "signal 9");
    assert_fails("exec /nonexistent/program 2>/dev/null", "status 127");
}

static void test_stop_ends_the_whole_group(void **state)
{
    (void)state;
    childproc child;
    bw_error *error = bw_error_new();
    assert_int_equal(childproc_start(&child, "sleep 100 & echo $!; wait", 0, 0, 1, error), BW_OK);
    char out[32] = "";
    assert_true(read(child.out, out, sizeof out - 1) > 0);
    const pid_t grandchild = (pid_t)strtol(out, NULL, 10);
    assert_true(grandchild > 1);
    assert_int_equal(kill(grandchild, 0), 0);
    assert_int_equal(childproc_wait(&child, stop_at_once, NULL, error), BW_INTERRUPTED);
    childproc_stop(&child);
    /* The orphan is gone once init, or a subreaper, has reaped it. */
    for (int i = 0; i < 500 && kill(grandchild, 0) == 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    char status_path[64], line[256] = "";
    snprintf(status_path, sizeof status_path, "/proc/%d/stat", (int)grandchild);
    FILE *file = fopen(status_path, "r");
    if (file != NULL) { /* not reaped yet: it must at least be dead */
        assert_non_null(fgets(line, sizeof line, file));
        fclose(file);
        assert_non_null(strstr(line, ") Z"));
    }
    bw_error_free(error);
}

static void test_stubborn_children_are_killed(void **state)
{
    (void)state;
    childproc child;
    assert_int_equal(
        childproc_start(&child, "trap '' TERM; echo x; while :; do sleep 0.1; done", 0, 0, 1, NULL),
        BW_OK);
    char byte;
    assert_int_equal(read(child.out, &byte, 1), 1);
    const pid_t pid = child.pid;
    childproc_stop(&child);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment_and_output),
        cmocka_unit_test(test_failures_are_told),
        cmocka_unit_test(test_stop_ends_the_whole_group),
        cmocka_unit_test(test_stubborn_children_are_killed),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
