// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/faultpoint.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/** Passes "here" `here` times and "there" once in a child under `rules`; the raw wait status. */
static int run_child(const char *rules, int here, int wait_flags)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (rules == NULL)
            unsetenv("BATCHWEAVE_FAULT");
        else
            setenv("BATCHWEAVE_FAULT", rules, 1);
        for (int i = 0; i < here; i++)
            fault_point("here");
        fault_point("there");
        _exit(7);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, wait_flags), child);
    if (WIFSTOPPED(status)) {
        const int stopped = status;
        kill(child, SIGCONT);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7); /* goes on after SIGCONT */
        return stopped;
    }
    return status;
}

static void assert_survived(const char *rules, int here)
{
    const int status = run_child(rules, here, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void assert_killed(const char *rules, int here)
{
    const int status = run_child(rules, here, 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void test_without_rules_nothing_happens(void **state)
{
    (void)state;
    assert_survived(NULL, 3);
    assert_survived("", 3);
}

static void test_kills_at_the_named_point(void **state)
{
    (void)state;
    assert_killed("kill:here", 1);
    assert_survived("kill:here", 0);
    assert_survived("kill:elsewhere", 3);
    assert_killed("kill:elsewhere;kill:there", 0);
}

static void test_counts_passages(void **state)
{
    (void)state;
    assert_killed("kill:here:3", 3);
    assert_survived("kill:here:3", 2);
}

static void test_stops_once_and_goes_on(void **state)
{
    (void)state;
    const int status = run_child("stop:here:2", 4, WUNTRACED);
    assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
}

static void test_unreadable_rules_do_nothing(void **state)
{
    (void)state;
    static const char *const bad[] = {"kill",       "kill:",       "burn:here",     "kill:here:0",
                                      "kill:here:", "kill:here:x", "kill:here:1:2", ";;"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_survived(bad[i], 3);
    assert_killed("burn:here;kill:here", 1); /* a bad rule does not take others with it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_rules_nothing_happens),
        cmocka_unit_test(test_kills_at_the_named_point),
        cmocka_unit_test(test_counts_passages),
        cmocka_unit_test(test_stops_once_and_goes_on),
        cmocka_unit_test(test_unreadable_rules_do_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
