// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The two names that -Wl,--wrap gives to each call: __wrap_x, where the product's call of x ends
 * up, and __real_x, the call itself. */
#ifndef TESTS_INJECT_WRAP_REAL_H
#define TESTS_INJECT_WRAP_REAL_H

#include "wrap.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>

/** Counts the call; true when it must fail. */
bool wrap_fails(wrap_call call);
wrap_way wrap_way_now(void);
/** The errno with which it fails. */
int wrap_error(wrap_call call);

/** A deadline of the layers' fast clock as one of the real clock. */
struct timespec wrap_real_time(const struct timespec *fast);

#define WRAPPED(result, name, ...)                                                                 \
    result __real_##name(__VA_ARGS__);                                                             \
    result __wrap_##name(__VA_ARGS__)

WRAPPED(void *, malloc, size_t size);
WRAPPED(void *, calloc, size_t count, size_t size);
WRAPPED(void *, realloc, void *memory, size_t size);
WRAPPED(int, posix_memalign, void **memory, size_t alignment, size_t size);
WRAPPED(void, free, void *memory);
WRAPPED(int, pthread_create, pthread_t *thread, const pthread_attr_t *attributes,
        void *(*run)(void *), void *context);
WRAPPED(int, pthread_mutex_init, pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
WRAPPED(int, pthread_cond_init, pthread_cond_t *condition, const pthread_condattr_t *attributes);
WRAPPED(int, pthread_cond_timedwait, pthread_cond_t *condition, pthread_mutex_t *mutex,
        const struct timespec *until);
WRAPPED(int, clock_gettime, clockid_t id, struct timespec *now);
WRAPPED(ssize_t, getrandom, void *bytes, size_t size, unsigned flags);
WRAPPED(int, eventfd, unsigned value, int flags);
WRAPPED(ssize_t, read, int fd, void *to, size_t size);
WRAPPED(ssize_t, write, int fd, const void *from, size_t size);
WRAPPED(void *, mmap64, void *address, size_t size, int protection, int flags, int fd,
        off_t offset);
WRAPPED(int, munmap, void *memory, size_t size);
WRAPPED(int, open64, const char *path, int flags, ...);
WRAPPED(int, openat64, int dir, const char *name, int flags, ...);
WRAPPED(long, syscall, long number, ...);
WRAPPED(int, access, const char *path, int mode);
WRAPPED(int, faccessat, int dir, const char *name, int mode, int flags);
WRAPPED(int, fstat64, int fd, struct stat *info);
WRAPPED(int, fstatat64, int dir, const char *name, struct stat *info, int flags);
WRAPPED(int, fstatfs64, int fd, struct statfs *info);
WRAPPED(int, flock, int fd, int operation);
WRAPPED(DIR *, fdopendir, int fd);
WRAPPED(struct dirent *, readdir64, DIR *directory);
WRAPPED(ssize_t, pread64, int fd, void *to, size_t size, off_t offset);
WRAPPED(ssize_t, writev, int fd, const struct iovec *pieces, int count);
WRAPPED(int, fdatasync, int fd);
WRAPPED(int, fsync, int fd);
WRAPPED(int, mkdir, const char *path, mode_t mode);
WRAPPED(int, mkdirat, int dir, const char *name, mode_t mode);
WRAPPED(int, linkat, int from, const char *from_name, int dir, const char *name, int flags);
WRAPPED(int, renameat, int from, const char *from_name, int dir, const char *name);
WRAPPED(int, unlinkat, int dir, const char *name, int flags);

#endif
