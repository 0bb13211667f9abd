// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* Small real file systems in a mount namespace of this process: full, read-only, taken away. */
#include "file_fixture.h"
#include "tests/contract/contract_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmocka.h>

static bool write_line(const char *path, const char *line)
{
    const int fd = open(path, O_WRONLY);
    const bool written = fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line);
    if (fd >= 0)
        close(fd);
    return written;
}

/** A mount namespace of our own; with a user namespace around it when we are not root. False where
 * the kernel refuses both, as in most containers. */
static bool enter_namespace(void)
{
    const uid_t uid = getuid();
    const gid_t gid = getgid();
    if (unshare(CLONE_NEWNS) != 0) {
        char uid_line[64], gid_line[64];
        (void)snprintf(uid_line, sizeof uid_line, "0 %u 1", (unsigned)uid);
        (void)snprintf(gid_line, sizeof gid_line, "0 %u 1", (unsigned)gid);
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
            !write_line("/proc/self/setgroups", "deny") ||
            !write_line("/proc/self/uid_map", uid_line) ||
            !write_line("/proc/self/gid_map", gid_line))
            return false;
    }
    /* Where "/" is no mount point (a chroot) this is EINVAL; what is mounted below is unmounted. */
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 || errno == EINVAL;
}

static int mount_set_up(void **state)
{
    return file_set_up(state) != 0 ||
                   mount("tmpfs", *state, "tmpfs", 0, "size=1m,nr_inodes=64,mode=700") != 0
               ? -1
               : 0;
}

static int mount_tear_down(void **state)
{
    (void)umount2(*state, MNT_DETACH);
    return file_tear_down(state);
}

static store_outcome put_big(store *s, store_op *op, store_op_kind kind, const char *key,
                             size_t size)
{
    uint8_t *bytes = calloc(1, size);
    const struct iovec piece = {.iov_base = bytes, .iov_len = size};
    store_op_init(op, kind, key);
    op->pieces = &piece;
    op->piece_count = 1;
    const store_outcome outcome = store_run(s, op);
    op->pieces = NULL;
    free(bytes);
    return outcome;
}

static void test_a_full_file_system(void **state)
{
    const char *root = *state;
    store *s = open_durable(root);
    store_op op;
    assert_int_equal(put_big(s, &op, STORE_CREATE, "data/1", 700000), STORE_CREATED);
    static const store_op_kind kinds[] = {STORE_CREATE, STORE_PUT};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(put_big(s, &op, kinds[i], "data/2", 700000), STORE_RETRY);
        assert_int_equal(store_op_status(&op), BW_NO_SPACE);
        assert_int_equal(head_bytes(s, "data/2"), UINT64_MAX);
        assert_int_equal(entries(root, "tmp"), 1); /* what was written of it is gone */
    }
    assert_int_equal(do_create(s, "manifest/1", "small ones still fit"), STORE_CREATED);
    assert_int_equal(do_delete(s, "data/1"), STORE_OK);
    assert_int_equal(put_big(s, &op, STORE_CREATE, "data/2", 700000), STORE_CREATED);
    store_close(s);
}

static void test_a_file_system_without_inodes(void **state)
{
    const char *root = *state;
    store *s = open_durable(root);
    store_op op;
    char key[32];
    int made = 0;
    store_outcome outcome = STORE_CREATED;
    while (outcome == STORE_CREATED && made < 100) {
        (void)snprintf(key, sizeof key, "manifest/%d", made++);
        outcome = run_write(s, &op, STORE_CREATE, key, "x");
    }
    assert_int_equal(outcome, STORE_RETRY);
    assert_int_equal(store_op_status(&op), BW_NO_SPACE);
    assert_int_equal(do_delete(s, "manifest/0"), STORE_OK);
    assert_int_equal(do_create(s, key, "x"), STORE_CREATED);
    store_close(s);
    /* Who comes to make room must get in, and write nothing before he has. */
    s = open_durable(root);
    assert_int_equal(do_delete(s, key), STORE_OK);
    store_close(s);
}

static void test_a_file_system_that_became_read_only(void **state)
{
    const char *root = *state;
    store *s = open_durable(root);
    assert_int_equal(do_create(s, "manifest/1", "content"), STORE_CREATED);
    assert_int_equal(mount(NULL, root, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    store_op op;
    assert_int_equal(run_write(s, &op, STORE_CREATE, "manifest/2", "x"), STORE_FATAL);
    assert_int_equal(store_op_status(&op), BW_DENIED);
    assert_int_equal(run_write(s, &op, STORE_PUT, "hint", "x"), STORE_DENIED);
    assert_int_equal(store_op_status(&op), BW_DENIED);
    assert_int_equal(do_delete(s, "manifest/1"), STORE_DENIED);
    assert_content(s, "manifest/1", "content");
    const store_file_options writing = {.durable = true, .writable = true};
    store *other = NULL;
    bw_error *error = bw_error_new();
    assert_int_equal(store_file_open(root, &writing, &other, error), BW_DENIED);
    bw_error_free(error);
    store *reader = open_reader(root);
    assert_content(reader, "manifest/1", "content");
    store_close(reader);
    assert_int_equal(mount(NULL, root, NULL, MS_REMOUNT, NULL), 0);
    assert_int_equal(do_create(s, "manifest/2", "x"), STORE_CREATED); /* the handle goes on */
    store_close(s);
}

/* Another file system mounted over a directory inside is a different place: nothing is linked
 * across. */
static void test_a_mount_inside_the_root(void **state)
{
    const char *root = *state;
    assert_int_equal(mkdir(below(root, "manifest"), 0700), 0);
    assert_int_equal(mount("tmpfs", below(root, "manifest"), "tmpfs", 0, "size=1m"), 0);
    store *s = open_durable(root);
    store_op op;
    assert_int_equal(run_write(s, &op, STORE_CREATE, "manifest/1", "x"), STORE_UNSUPPORTED);
    assert_int_equal(entries(root, "tmp"), 1);
    assert_int_equal(entries(root, "manifest"), 0);
    store_close(s);
    assert_int_equal(umount(below(root, "manifest")), 0);
}

#define MOUNT_CASE(name) cmocka_unit_test_setup_teardown(name, mount_set_up, mount_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MOUNT_CASE(test_a_full_file_system),
        MOUNT_CASE(test_a_file_system_without_inodes),
        MOUNT_CASE(test_a_file_system_that_became_read_only),
        MOUNT_CASE(test_a_mount_inside_the_root),
    };
    if (!enter_namespace()) {
        printf("%zu skipped: this machine refuses mount namespaces (errno %d)\n",
               sizeof tests / sizeof tests[0], errno);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
