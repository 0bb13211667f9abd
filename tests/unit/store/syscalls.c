// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "syscalls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NOBODY 65534u
#define FAULTS_MAX 8

typedef struct {
    unsigned limit;
    long magic;
    bool hide_types;
} settings;

/* A test changes them while threads of what it tests still run. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct {
        const char *name;
        int left; /* calls until it fails; 0: always */
        int number;
    } faults[FAULTS_MAX];
    settings set;
    char log[1 << 17];
} now;

int __real_fsync(int fd);
int __real_fdatasync(int fd);
int __real_linkat(int from, const char *old, int to, const char *new, int flags);
int __real_renameat(int from, const char *old, int to, const char *new);
int __real_unlinkat(int dir, const char *name, int flags);
int __real_mkdirat(int dir, const char *name, mode_t mode);
int __real_flock(int fd, int operation);
int __real_fstatfs64(int fd, struct statfs *info);
ssize_t __real_writev(int fd, const struct iovec *pieces, int count);
ssize_t __real_pread64(int fd, void *to, size_t size, off_t offset);
void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset);
long __real_syscall(long number, ...);
struct dirent *__real_readdir64(DIR *listing);
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_linkat(int from, const char *old, int to, const char *new, int flags);
int __wrap_renameat(int from, const char *old, int to, const char *new);
int __wrap_unlinkat(int dir, const char *name, int flags);
int __wrap_mkdirat(int dir, const char *name, mode_t mode);
int __wrap_flock(int fd, int operation);
int __wrap_fstatfs64(int fd, struct statfs *info);
ssize_t __wrap_writev(int fd, const struct iovec *pieces, int count);
ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset);
long __wrap_syscall(long number, ...);
struct dirent *__wrap_readdir64(DIR *listing);

void syscalls_reset(void)
{
    pthread_mutex_lock(&mutex);
    memset(&now, 0, sizeof now);
    pthread_mutex_unlock(&mutex);
}

void syscalls_fail(const char *name, int n, int number)
{
    int at = 0;
    pthread_mutex_lock(&mutex);
    while (at < FAULTS_MAX && now.faults[at].name != NULL)
        at++;
    if (at < FAULTS_MAX) {
        now.faults[at].name = name;
        now.faults[at].left = n;
        now.faults[at].number = number;
    }
    pthread_mutex_unlock(&mutex);
    if (at == FAULTS_MAX)
        fail_msg("too many faults at once");
}

static void change(settings set)
{
    pthread_mutex_lock(&mutex);
    now.set = set;
    pthread_mutex_unlock(&mutex);
}

static settings current(void)
{
    pthread_mutex_lock(&mutex);
    const settings set = now.set;
    pthread_mutex_unlock(&mutex);
    return set;
}

void syscalls_limit(unsigned bytes)
{
    settings set = current();
    set.limit = bytes;
    change(set);
}

void syscalls_file_system(long magic)
{
    settings set = current();
    set.magic = magic;
    change(set);
}

void syscalls_hide_types(void)
{
    settings set = current();
    set.hide_types = true;
    change(set);
}

const char *syscalls_log(void)
{
    return now.log;
}

static void write_down(const char *name, const char *what)
{
    pthread_mutex_lock(&mutex);
    const size_t size = strlen(now.log);
    if (size + strlen(name) + strlen(what) + 3 < sizeof now.log)
        (void)snprintf(now.log + size, sizeof now.log - size, "%s:%s ", name, what);
    pthread_mutex_unlock(&mutex);
}

/** The last segment of what `fd` is open on. */
static const char *fd_name(int fd, char path[4096])
{
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t size = readlink(link, path, 4095);
    path[size < 0 ? 0 : size] = '\0';
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/** true, with errno, when this call is to fail. */
static bool fails(const char *name)
{
    int number = -1;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < FAULTS_MAX; i++) {
        if (now.faults[i].name == NULL || strcmp(now.faults[i].name, name) != 0)
            continue;
        if (now.faults[i].left > 1) {
            now.faults[i].left--;
            continue;
        }
        if (now.faults[i].left == 1)
            now.faults[i].name = NULL;
        number = now.faults[i].number;
    }
    pthread_mutex_unlock(&mutex);
    if (number >= 0)
        errno = number;
    return number >= 0;
}

int __wrap_fsync(int fd)
{
    char path[4096];
    write_down("fsync", fd_name(fd, path));
    return fails("fsync") ? -1 : __real_fsync(fd);
}

int __wrap_fdatasync(int fd)
{
    write_down("fdatasync", "");
    return fails("fdatasync") ? -1 : __real_fdatasync(fd);
}

int __wrap_linkat(int from, const char *old, int to, const char *new, int flags)
{
    write_down("linkat", new);
    return fails("linkat") ? -1 : __real_linkat(from, old, to, new, flags);
}

int __wrap_renameat(int from, const char *old, int to, const char *new)
{
    write_down("renameat", new);
    return fails("renameat") ? -1 : __real_renameat(from, old, to, new);
}

int __wrap_unlinkat(int dir, const char *name, int flags)
{
    char path[4096];
    const char *where = fd_name(dir, path);
    write_down("unlinkat", strcmp(where, "tmp") == 0 ? where : name);
    return fails("unlinkat") ? -1 : __real_unlinkat(dir, name, flags);
}

int __wrap_mkdirat(int dir, const char *name, mode_t mode)
{
    write_down("mkdirat", name);
    return fails("mkdirat") ? -1 : __real_mkdirat(dir, name, mode);
}

int __wrap_flock(int fd, int operation)
{
    return fails("flock") ? -1 : __real_flock(fd, operation);
}

int __wrap_fstatfs64(int fd, struct statfs *info)
{
    if (fails("fstatfs"))
        return -1;
    const int result = __real_fstatfs64(fd, info);
    const long magic = current().magic;
    if (magic != 0)
        info->f_type = magic;
    return result;
}

ssize_t __wrap_writev(int fd, const struct iovec *pieces, int count)
{
    write_down("writev", "");
    if (fails("writev"))
        return -1;
    const unsigned limit = current().limit;
    if (limit == 0)
        return __real_writev(fd, pieces, count);
    for (int i = 0; i < count; i++) {
        const size_t size = pieces[i].iov_len < limit ? pieces[i].iov_len : limit;
        if (size > 0)
            return write(fd, pieces[i].iov_base, size);
    }
    return 0;
}

ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t offset)
{
    if (fails("pread"))
        return errno == 0 ? 0 : -1; /* the errno 0 stands for an end of file */
    const unsigned limit = current().limit;
    return __real_pread64(fd, to, limit != 0 && size > limit ? limit : size, offset);
}

void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    return fails("mmap") ? MAP_FAILED : __real_mmap64(at, size, protection, flags, fd, offset);
}

long __wrap_syscall(long number, ...)
{
    va_list args;
    va_start(args, number);
    long a[5];
    for (int i = 0; i < 5; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if ((number == SYS_openat2 && fails("openat2")) ||
        (number == SYS_renameat2 && fails("renameat2")))
        return -1;
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4]);
}

struct dirent *__wrap_readdir64(DIR *listing)
{
    if (fails("readdir"))
        return NULL;
    struct dirent *entry = __real_readdir64(listing);
    if (entry != NULL && current().hide_types)
        entry->d_type = DT_UNKNOWN;
    return entry;
}

void as_nobody(const char *path, int (*run)(void *), void *context)
{
    /* Somebody else's test program may run without root: then it is nobody in particular already.
     */
    const bool is_root = geteuid() == 0;
    if (is_root)
        assert_int_equal(chown(path, NOBODY, NOBODY), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (is_root && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
            _exit(99);
        _exit(run(context));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    if (is_root)
        assert_int_equal(chown(path, 0, 0), 0);
}
