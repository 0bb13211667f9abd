// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "stand.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const runtime_options options = {.threads = 2, .memory_bytes = 1000, .log = LOG_LEVEL_ERROR};

static void test_what_all_handles_share(void **state)
{
    (void)state;
    bw_runtime *r = NULL;
    assert_int_equal(runtime_open(&options, &r, NULL), BW_OK);
    assert_non_null(r->executor);
    assert_true(
        budget_take(r->budget, 875, false)); /* the memory that was set, but for an eighth */
    assert_false(budget_take(r->budget, 1, false));
    budget_give(r->budget, 875);
    assert_true(runtime_is_ours(r));
    assert_int_equal(runtime_check_process(r, NULL), BW_OK);
    runtime_close(r);
    runtime_close(NULL);
}

/* Two runtimes, or two calls, never draw the same: tokens name incarnations. */
static void test_randomness(void **state)
{
    (void)state;
    bw_runtime *r[2] = {NULL, NULL};
    token128 tokens[4];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(runtime_open(&options, &r[i], NULL), BW_OK);
        runtime_token(r[i], &tokens[2 * i]);
        runtime_token(r[i], &tokens[2 * i + 1]);
    }
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++)
            assert_false(token_equal(&tokens[i], &tokens[k]));
    assert_true(runtime_random(r[0]) != runtime_random(r[0]));
    assert_true(runtime_random(r[0]) != runtime_random(r[1]));
    runtime_close(r[0]);
    runtime_close(r[1]);
}

/* How a child that inherited `r` finds it; 0: as it should. */
static int in_a_child(bw_runtime *r)
{
    bw_error error;
    error_clear(&error);
    if (runtime_is_ours(r))
        return 1;
    if (runtime_check_process(r, &error) != BW_FORKED || strstr(error.message, "fork") == NULL)
        return 2;
    runtime_close(r); /* returns, though its threads are not here */
    bw_runtime *own = NULL;
    if (runtime_open(&options, &own, &error) != BW_OK || !runtime_is_ours(own))
        return 3;
    runtime_close(own);
    return 0;
}

static void test_forked(void **state)
{
    (void)state;
    for (int wiped = 0; wiped < 2; wiped++) {
        bw_runtime *r = NULL;
        assert_int_equal(runtime_open(&options, &r, NULL), BW_OK);
        if (wiped == 0)
            r->mark_wiped = false; /* as on a kernel that cannot */
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(in_a_child(r));
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_true(runtime_is_ours(r)); /* the parent's is as it was */
        runtime_close(r);
    }
}

static void test_spaces_keep_it(void **state)
{
    (void)state;
    stand s;
    stand_open(&s, 1, "", false);
    assert_int_equal(atomic_load(&s.runtime->spaces), 1);
    runtime_close(s.runtime); /* says so, and frees nothing */
    bw_producer *p = stand_producer(&s, s.space, "p", "naive");
    stand_put(&s, p, "item", 1);
    stand_expect(&s, producer_finish(p, 20 * NS_PER_S, &s.error), BW_OK);
    stand_expect(&s, producer_close(p, 0, &s.error), BW_OK);
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_all_handles_share),
        cmocka_unit_test(test_randomness),
        cmocka_unit_test(test_forked),
        cmocka_unit_test(test_spaces_keep_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
