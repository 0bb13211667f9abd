// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/decorators.h"
#include "store/mem.h"
#include "tests/contract/contract_ops.h"
#include "tests/contract/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct fixture {
    mem_space *space;
    store *store;
} fixture;

static fixture open_with(const char *rules)
{
    fixture f = {0};
    store *inner = NULL;
    assert_int_equal(mem_space_new(&f.space), BW_OK);
    assert_int_equal(mem_space_set(f.space, "there", "content", 7), BW_OK);
    assert_int_equal(store_mem_open(f.space, &inner, NULL), BW_OK);
    assert_int_equal(store_fault_wrap(inner, rules, &f.store, NULL), BW_OK);
    return f;
}

static void close_all(fixture *f)
{
    store_close(f->store);
    mem_space_free(f->space);
}

static bool exists(const fixture *f, const char *key)
{
    return mem_space_count(f->space, key) == 1;
}

static void test_rules_that_make_no_sense(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "fatal",
        "fatal:get",
        "fatal:get:",
        "fatal:get::",
        "fatal:get::x",
        "fatal:get::1:2",
        "burn:get::1",
        "fatal:fetch::1",
        "flip:put::1",
        "unknown-after:put::1",
        "retry-after:create::1",
        "no-space:get::1",
        "fatal:get:UP:1",
        "fatal:get:/x:1",
        "fatal:get::-1",
        "fatal:get::1;;burn",
    };
    mem_space *space = NULL;
    store *inner = NULL;
    assert_int_equal(mem_space_new(&space), BW_OK);
    assert_int_equal(store_mem_open(space, &inner, NULL), BW_OK);
    bw_error *error = bw_error_new();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        store *s = NULL;
        assert_int_equal(store_fault_wrap(inner, bad[i], &s, error), BW_INVALID);
        assert_null(s);
        assert_int_equal(bw_error_code(error), BW_INVALID);
    }
    char many[1024] = "";
    for (int i = 0; i < 40; i++)
        memcpy(many + strlen(many), "fatal:get:x:1;", 15);
    store *s = NULL;
    assert_int_equal(store_fault_wrap(inner, many, &s, error), BW_INVALID);
    bw_error_free(error);
    store_close(inner);
    mem_space_free(space);
}

static void test_answers_without_applying(void **state)
{
    (void)state;
    fixture f = open_with("retry-before:put:a:0;denied:put:b:0;fatal:put:c:0;no-space:put:d:0;"
                          "unknown-before:create:e:0;denied:create:f:0;no-space:create:g:0;"
                          "not-found:get:there:0;retry-before:list::1;denied:delete:there:1");
    assert_int_equal(do_put(f.store, "a", "x"), STORE_RETRY);
    assert_int_equal(do_put(f.store, "b", "x"), STORE_DENIED);
    assert_int_equal(do_put(f.store, "c", "x"), STORE_FATAL);
    assert_int_equal(do_put(f.store, "d", "x"), STORE_RETRY);
    assert_int_equal(do_create(f.store, "e", "x"), STORE_UNKNOWN);
    assert_int_equal(do_create(f.store, "f", "x"), STORE_FATAL); /* a create has no DENIED */
    assert_int_equal(do_create(f.store, "g", "x"), STORE_RETRY);
    assert_int_equal(do_get(f.store, "there", NULL, 10), STORE_NOT_FOUND);
    assert_int_equal(do_delete(f.store, "there"), STORE_DENIED);
    assert_int_equal(mem_space_count(f.space, ""), 1);
    assert_int_equal(do_delete(f.store, "there"), STORE_OK);
    store_op op;
    store_op_init(&op, STORE_LIST, "");
    assert_int_equal(store_run(f.store, &op), STORE_RETRY);
    assert_int_equal(list_count(f.store, ""), 0);
    close_all(&f);
}

static void test_codes_of_injected_errors(void **state)
{
    (void)state;
    fixture f = open_with("no-space:create:a:0;denied:create:b:0;unknown-before:create:c:0");
    static const struct {
        const char *key;
        bw_status status;
    } expected[] = {{"a", BW_NO_SPACE}, {"b", BW_DENIED}, {"c", BW_IO}};
    for (size_t i = 0; i < 3; i++) {
        store_op op;
        store_op_init(&op, STORE_CREATE, expected[i].key);
        (void)store_run(f.store, &op);
        assert_int_equal(store_op_status(&op), expected[i].status);
        assert_int_equal(op.attempts, 1);
        assert_non_null(strstr(op.error.message, "injected"));
    }
    close_all(&f);
}

static void test_applies_and_loses_the_answer(void **state)
{
    (void)state;
    fixture f = open_with("unknown-after:create::1;retry-after:put::1;retry-after:delete::1");
    assert_int_equal(do_create(f.store, "a", "x"), STORE_UNKNOWN);
    assert_true(exists(&f, "a"));
    assert_int_equal(do_put(f.store, "b", "x"), STORE_RETRY);
    assert_true(exists(&f, "b"));
    assert_int_equal(do_delete(f.store, "b"), STORE_RETRY);
    assert_false(exists(&f, "b"));
    assert_int_equal(do_create(f.store, "a", "x"), STORE_EXISTS);
    close_all(&f);
}

static void test_short_reads(void **state)
{
    (void)state;
    fixture f =
        open_with("short-read:get::1;short-read:read::1;short-read:map::1;short-read:get:x:1");
    char bytes[8] = "";
    assert_int_equal(do_get(f.store, "there", NULL, 10), STORE_RETRY);
    assert_int_equal(do_read(f.store, "there", 0, 7, bytes), STORE_RETRY);
    store_op op;
    store_op_init(&op, STORE_MAP, "there");
    op.length = 7;
    assert_int_equal(store_run(f.store, &op), STORE_RETRY);
    assert_null(op.mapping.data);
    assert_int_equal(do_get(f.store, "x", NULL, 10), STORE_NOT_FOUND); /* nothing to cut */
    assert_content(f.store, "there", "content");
    close_all(&f);
}

static size_t bits_changed(const void *a, const void *b, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += (size_t)__builtin_popcount(((const uint8_t *)a)[i] ^ ((const uint8_t *)b)[i]);
    return count;
}

static void test_flips_one_bit_and_another_next_time(void **state)
{
    (void)state;
    fixture f = open_with("flip:get:there:0;flip:read::1;flip:map::0;flip:get:empty:0");
    char first[8];
    char second[8];
    assert_int_equal(do_get(f.store, "there", first, 7), STORE_OK);
    assert_int_equal(bits_changed(first, "content", 7), 1);
    assert_int_equal(do_get(f.store, "there", second, 7), STORE_OK);
    assert_int_equal(bits_changed(second, "content", 7), 1);
    assert_int_equal(bits_changed(first, second, 7), 2);
    assert_int_equal(do_read(f.store, "there", 2, 3, first), STORE_OK);
    assert_int_equal(bits_changed(first, "nte", 3), 1);
    store_op op;
    store_op_init(&op, STORE_MAP, "there");
    op.length = 7;
    assert_int_equal(store_run(f.store, &op), STORE_OK);
    assert_int_equal(bits_changed(op.mapping.data, "content", 7), 1);
    store_op_clear(&op);
    assert_int_equal(mem_space_set(f.space, "empty", "", 0), BW_OK);
    assert_int_equal(do_get(f.store, "empty", first, 7), STORE_OK);
    const uint8_t *bytes = NULL;
    size_t size = 0;
    assert_true(mem_space_get(f.space, "there", &bytes, &size)); /* what is stored is untouched */
    assert_memory_equal(bytes, "content", 7);
    close_all(&f);
}

static void test_nth_match_over_all_clones(void **state)
{
    (void)state;
    fixture f = open_with("fatal:get:the:3;denied:any:there:5");
    store *clone = NULL;
    assert_int_equal(store_clone(f.store, &clone, NULL), BW_OK);
    static const store_outcome expected[] = {STORE_OK, STORE_OK,     STORE_FATAL,
                                             STORE_OK, STORE_DENIED, STORE_OK};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(do_get(f.store, "other", NULL, 10), STORE_NOT_FOUND); /* no match */
        assert_int_equal(do_get(i % 2 == 0 ? f.store : clone, "there", NULL, 10), expected[i]);
    }
    store_close(clone);
    close_all(&f);
}

static void test_deletes_match_by_any_key(void **state)
{
    (void)state;
    fixture f = open_with("fatal:delete:the:0");
    const char *const keys[] = {"absent", "there"};
    store_op op;
    store_op_init(&op, STORE_DELETE, "");
    op.keys = keys;
    op.key_count = 2;
    assert_int_equal(store_run(f.store, &op), STORE_FATAL);
    assert_int_equal(do_delete(f.store, "absent"), STORE_OK);
    close_all(&f);
}

/** In the child: creates "a" under the rules, and says so when it was answered. */
static void create_and_say(const char *path, const char *rules, int said)
{
    const store_file_options options = {.writable = true};
    store *inner = NULL;
    store *s = NULL;
    if (store_file_open(path, &options, &inner, NULL) != BW_OK ||
        store_fault_wrap(inner, rules, &s, NULL) != BW_OK)
        _exit(9);
    (void)do_create(s, "a", "x");
    const bool written = write(said, "y", 1) == 1;
    store_close(s);
    _exit(written ? 7 : 8);
}

/** How the child ended or first stopped, whether the create was applied by then, and whether it was
 * ever answered. */
static int create_in_child(const char *rules, bool *applied, bool *answered)
{
    char *path = scratch_make();
    char object[256];
    (void)snprintf(object, sizeof object, "%s/a", path);
    int said[2];
    assert_int_equal(pipe(said), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        create_and_say(path, rules, said[1]);
    close(said[1]);
    int first = 0;
    assert_int_equal(waitpid(child, &first, WUNTRACED), child);
    *applied = access(object, F_OK) == 0;
    if (WIFSTOPPED(first)) {
        int status = 0;
        kill(child, SIGCONT);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
    char byte;
    *answered = read(said[0], &byte, 1) == 1;
    close(said[0]);
    scratch_remove(path);
    return first;
}

static void test_kill_and_stop_before_and_after(void **state)
{
    (void)state;
    bool applied = false;
    bool answered = false;
    int status = create_in_child("kill:create:a:1", &applied, &answered);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_false(applied || answered);
    status = create_in_child("kill-after:create:a:1", &applied, &answered);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(applied && !answered);
    status = create_in_child("stop:create:a:1", &applied, &answered);
    assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    assert_true(!applied && answered); /* answered after SIGCONT */
    status = create_in_child("stop-after:create:a:1", &applied, &answered);
    assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    assert_true(applied && answered);
    status = create_in_child("kill:create:a:2", &applied, &answered);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_that_make_no_sense),
        cmocka_unit_test(test_answers_without_applying),
        cmocka_unit_test(test_codes_of_injected_errors),
        cmocka_unit_test(test_applies_and_loses_the_answer),
        cmocka_unit_test(test_short_reads),
        cmocka_unit_test(test_flips_one_bit_and_another_next_time),
        cmocka_unit_test(test_nth_match_over_all_clones),
        cmocka_unit_test(test_deletes_match_by_any_key),
        cmocka_unit_test(test_kill_and_stop_before_and_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
