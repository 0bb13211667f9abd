// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* System calls: fail as planned, else done; changes are told to the recorder. */
#include "wrap_real.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

void (*wrap_recorder)(const wrap_event *event);

static pthread_mutex_t record_lock = PTHREAD_MUTEX_INITIALIZER;

/** true: the call must not be made; errno is set. LATE calls are made, and fail afterwards. */
static bool refused(wrap_call call, bool *late)
{
    *late = false;
    if (!wrap_fails(call))
        return false;
    if (wrap_way_now() == WRAP_LATE) {
        *late = true;
        return false;
    }
    errno = wrap_error(call);
    return true;
}

/** The answer of a call that was made: `result`, or an error when it is late. */
static int answer(wrap_call call, bool late, int result)
{
    if (result < 0 || !late)
        return result;
    errno = wrap_error(call);
    return -1;
}

#define SIMPLE(call, expression)                                                                   \
    if (wrap_fails(WRAP_##call)) {                                                                 \
        errno = wrap_error(WRAP_##call);                                                           \
        return -1;                                                                                 \
    }                                                                                              \
    return expression

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *context)
{
    if (wrap_fails(WRAP_pthread_create))
        return wrap_error(WRAP_pthread_create);
    return __real_pthread_create(thread, attributes, run, context);
}

int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
    if (wrap_fails(WRAP_pthread_mutex_init))
        return wrap_error(WRAP_pthread_mutex_init);
    return __real_pthread_mutex_init(mutex, attributes);
}

int __wrap_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes)
{
    if (wrap_fails(WRAP_pthread_cond_init))
        return wrap_error(WRAP_pthread_cond_init);
    return __real_pthread_cond_init(condition, attributes);
}

ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned flags)
{
    SIMPLE(getrandom, __real_getrandom(bytes, size, flags));
}

int __wrap_eventfd(unsigned value, int flags)
{
    SIMPLE(eventfd, __real_eventfd(value, flags));
}

ssize_t __wrap_read(int fd, void *to, size_t size)
{
    SIMPLE(read, __real_read(fd, to, size));
}

ssize_t __wrap_write(int fd, const void *from, size_t size)
{
    SIMPLE(write, __real_write(fd, from, size));
}

int __wrap_access(const char *path, int mode)
{
    SIMPLE(access, __real_access(path, mode));
}

int __wrap_faccessat(int dir, const char *name, int mode, int flags)
{
    SIMPLE(faccessat, __real_faccessat(dir, name, mode, flags));
}

int __wrap_fstat64(int fd, struct stat *info)
{
    SIMPLE(fstat, __real_fstat64(fd, info));
}

int __wrap_fstatat64(int dir, const char *name, struct stat *info, int flags)
{
    SIMPLE(fstatat, __real_fstatat64(dir, name, info, flags));
}

int __wrap_fstatfs64(int fd, struct statfs *info)
{
    SIMPLE(fstatfs, __real_fstatfs64(fd, info));
}

int __wrap_flock(int fd, int operation)
{
    SIMPLE(flock, __real_flock(fd, operation));
}

DIR *__wrap_fdopendir(int fd)
{
    if (wrap_fails(WRAP_fdopendir)) {
        errno = wrap_error(WRAP_fdopendir);
        return NULL;
    }
    return __real_fdopendir(fd);
}

struct dirent *__wrap_readdir64(DIR *directory)
{
    if (wrap_fails(WRAP_readdir)) {
        errno = wrap_error(WRAP_readdir);
        return NULL;
    }
    return __real_readdir64(directory);
}

ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t offset)
{
    if (wrap_fails(WRAP_pread)) {
        if (wrap_way_now() == WRAP_SHORT && size > 1)
            return __real_pread64(fd, to, 1, offset);
        errno = wrap_error(WRAP_pread);
        return -1;
    }
    return __real_pread64(fd, to, size, offset);
}

/* ---- changes ---- */

static uint64_t inode_at(int dir, const char *name)
{
    struct stat info;
    return __real_fstatat64(dir, name, &info, AT_SYMLINK_NOFOLLOW) == 0 ? info.st_ino : 0;
}

static uint64_t inode_of(int fd)
{
    struct stat info;
    return __real_fstat64(fd, &info) == 0 ? info.st_ino : 0;
}

static void begin_change(void)
{
    if (wrap_recorder != NULL)
        pthread_mutex_lock(&record_lock);
}

/** Tells the recorder of a change that was made, and lets the next one come. */
static void end_change(bool made, const wrap_event *event)
{
    if (wrap_recorder == NULL)
        return;
    const int number = errno;
    if (made)
        wrap_recorder(event);
    pthread_mutex_unlock(&record_lock);
    errno = number;
}

int __wrap_open64(const char *path, int flags, ...)
{
    SIMPLE(open, __real_open64(path, flags));
}

int __wrap_openat64(int dir, const char *name, int flags, ...)
{
    mode_t mode = 0;
    if ((flags & O_CREAT) != 0) {
        va_list args;
        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
    }
    if (wrap_fails(WRAP_openat)) {
        errno = wrap_error(WRAP_openat);
        return -1;
    }
    if ((flags & O_CREAT) == 0)
        return __real_openat64(dir, name, flags);
    begin_change();
    const int fd = __real_openat64(dir, name, flags, mode);
    const wrap_event event = {.what = WRAP_MADE_FILE,
                              .dir = inode_of(dir),
                              .name = name,
                              .file = fd < 0 ? 0 : inode_of(fd)};
    end_change(fd >= 0, &event);
    return fd;
}

ssize_t __wrap_writev(int fd, const struct iovec *pieces, int count)
{
    struct iovec first = pieces[0];
    const struct iovec *all = pieces;
    if (wrap_fails(WRAP_writev)) {
        if (wrap_way_now() != WRAP_SHORT || first.iov_len < 2) {
            errno = wrap_error(WRAP_writev);
            return -1;
        }
        first.iov_len = 1;
        all = &first;
        count = 1;
    }
    begin_change();
    const ssize_t done = __real_writev(fd, all, count);
    const uint64_t inode = wrap_recorder == NULL ? 0 : inode_of(fd);
    ssize_t left = done;
    for (int i = 0; wrap_recorder != NULL && i < count && left > 0; i++) {
        const size_t size = all[i].iov_len < (size_t)left ? all[i].iov_len : (size_t)left;
        const wrap_event event = {
            .what = WRAP_WROTE, .file = inode, .bytes = all[i].iov_base, .size = size};
        wrap_recorder(&event);
        left -= (ssize_t)size;
    }
    end_change(false, NULL);
    return done;
}

static int sync_call(wrap_call call, int fd, int (*sync)(int fd))
{
    bool late = false;
    if (refused(call, &late))
        return -1;
    begin_change();
    const int result = sync(fd);
    const wrap_event event = {.what = WRAP_SYNCED, .file = inode_of(fd)};
    end_change(result == 0, &event);
    return answer(call, late, result);
}

int __wrap_fdatasync(int fd)
{
    return sync_call(WRAP_fdatasync, fd, __real_fdatasync);
}

int __wrap_fsync(int fd)
{
    return sync_call(WRAP_fsync, fd, __real_fsync);
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    bool late = false;
    if (refused(WRAP_mkdir, &late))
        return -1;
    return answer(WRAP_mkdir, late, __real_mkdir(path, mode));
}

int __wrap_mkdirat(int dir, const char *name, mode_t mode)
{
    bool late = false;
    if (refused(WRAP_mkdirat, &late))
        return -1;
    begin_change();
    const int result = __real_mkdirat(dir, name, mode);
    const wrap_event event = {
        .what = WRAP_MADE_DIR, .dir = inode_of(dir), .name = name, .file = inode_at(dir, name)};
    end_change(result == 0, &event);
    return answer(WRAP_mkdirat, late, result);
}

int __wrap_linkat(int from, const char *from_name, int dir, const char *name, int flags)
{
    bool late = false;
    if (refused(WRAP_linkat, &late))
        return -1;
    begin_change();
    const int result = __real_linkat(from, from_name, dir, name, flags);
    const wrap_event event = {
        .what = WRAP_LINKED, .dir = inode_of(dir), .name = name, .file = inode_at(from, from_name)};
    end_change(result == 0, &event);
    return answer(WRAP_linkat, late, result);
}

int __wrap_renameat(int from, const char *from_name, int dir, const char *name)
{
    bool late = false;
    if (refused(WRAP_renameat, &late))
        return -1;
    begin_change();
    const uint64_t inode = inode_at(from, from_name);
    const int result = __real_renameat(from, from_name, dir, name);
    const wrap_event event = {.what = WRAP_RENAMED,
                              .from = inode_of(from),
                              .from_name = from_name,
                              .dir = inode_of(dir),
                              .name = name,
                              .file = inode};
    end_change(result == 0, &event);
    return answer(WRAP_renameat, late, result);
}

int __wrap_unlinkat(int dir, const char *name, int flags)
{
    bool late = false;
    if (refused(WRAP_unlinkat, &late))
        return -1;
    begin_change();
    const int result = __real_unlinkat(dir, name, flags);
    const wrap_event event = {.what = WRAP_REMOVED, .dir = inode_of(dir), .name = name};
    end_change(result == 0, &event);
    return answer(WRAP_unlinkat, late, result);
}

/** openat2 and renameat2 (used only where there are no hard links) may fail; a futex's deadline is
 * told in the layers' fast time. */
long __wrap_syscall(long number, ...)
{
    va_list args;
    va_start(args, number);
    const long a = va_arg(args, long), b = va_arg(args, long), c = va_arg(args, long);
    long d = va_arg(args, long);
    const long e = va_arg(args, long), f = va_arg(args, long);
    va_end(args);
    if (number == SYS_openat2 || number == SYS_renameat2) {
        const wrap_call call = number == SYS_openat2 ? WRAP_openat2 : WRAP_renameat2;
        if (wrap_fails(call)) {
            errno = wrap_error(call);
            return -1;
        }
    }
    struct timespec until;
    if (number == SYS_futex && (int)b == FUTEX_WAIT_BITSET_PRIVATE && d != 0) {
        until = wrap_real_time((const struct timespec *)d);
        d = (long)&until;
    }
    return __real_syscall(number, a, b, c, d, e, f);
}
