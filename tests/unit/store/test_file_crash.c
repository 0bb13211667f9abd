// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* A program of its own: the rules are read once in a process, so only children may come to a fault
 * point. */
#include "file_fixture.h"
#include "tests/contract/contract_ops.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static pid_t create_under(const char *root, const char *rules, const char *key)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("BATCHWEAVE_FAULT", rules, 1);
        store *s = open_fast(root);
        _exit(do_create(s, key, "x") == STORE_CREATED ? 7 : 8);
    }
    return child;
}

static void test_killed_between_writing_and_linking(void **state)
{
    const char *root = *state;
    int status = 0;
    pid_t child = create_under(root, "kill:create-in-flight", "manifest/1");
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_false(on_disk(root, "manifest/1"));
    assert_int_equal(entries(root, "tmp"), 2); /* its file and its lock */

    child = create_under(root, "kill:create-in-flight", "data/1"); /* only manifests count */
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);

    child = create_under(root, "stop:create-in-flight", "manifest/1");
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    assert_false(on_disk(root, "manifest/1"));
    store *s = open_fast(root); /* cleans up, but not what belongs to the one that is frozen */
    kill(child, SIGCONT);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_true(on_disk(root, "manifest/1"));
    store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {FILE_CASE(test_killed_between_writing_and_linking)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
