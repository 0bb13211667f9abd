// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * A machine that does not keep its promises, to be loaded before `batchweave doctor` (LD_PRELOAD);
 * DOCTOR_SHIM says which.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define NFS_MAGIC 0x6969
#define EXT_MAGIC 0xef53

static bool is(const char *what)
{
    const char *mode = getenv("DOCTOR_SHIM");
    return mode != NULL && strcmp(mode, what) == 0;
}

static void *next(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    if (symbol == NULL)
        abort();
    return symbol;
}

/* ISO C has no conversion from an object's pointer to a function's. */
#define NEXT(function, name)                                                                       \
    do {                                                                                           \
        void *symbol = next(name);                                                                 \
        memcpy(&(function), &symbol, sizeof symbol);                                               \
    } while (0)

int fstatfs(int fd, struct statfs *info)
{
    int (*real)(int, struct statfs *);
    NEXT(real, "fstatfs64");
    const int result = real(fd, info);
    if (result == 0 && is("nfs"))
        info->f_type = NFS_MAGIC;
    if (result == 0 && is("dropped-syncs"))
        info->f_type = EXT_MAGIC;
    return result;
}

int statvfs(const char *path, struct statvfs *info)
{
    int (*real)(const char *, struct statvfs *);
    NEXT(real, "statvfs64");
    const int result = real(path, info);
    if (result == 0 && is("full"))
        info->f_bavail = 1;
    if (result == 0 && is("no-inodes")) {
        info->f_files = 1000;
        info->f_favail = 0;
    }
    return result;
}

int fdatasync(int fd)
{
    int (*real)(int);
    if (is("failing-syncs")) {
        errno = EIO;
        return -1;
    }
    if (is("dropped-syncs"))
        return 0;
    NEXT(real, "fdatasync");
    return real(fd);
}

int fsync(int fd)
{
    struct stat info;
    int (*real)(int);
    if (is("no-directory-syncs") && fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
        errno = EINVAL;
        return -1;
    }
    if (is("dropped-syncs"))
        return 0;
    NEXT(real, "fsync");
    return real(fd);
}

/* By looking first: right when one does it, and wrong when several do. */
static int link_by_look(int from, const char *name, int to, const char *other)
{
    const struct timespec nap = {.tv_sec = 0, .tv_nsec = 50000};
    if (faccessat(to, other, F_OK, 0) == 0) {
        errno = EEXIST;
        return -1;
    }
    nanosleep(&nap, NULL);
    return renameat(from, name, to, other);
}

int linkat(int from, const char *name, int to, const char *other, int flags)
{
    int (*real)(int, const char *, int, const char *, int);
    if (is("overwriting"))
        return renameat(from, name, to, other);
    if (is("looking"))
        return link_by_look(from, name, to, other);
    if (is("dying") && strcmp(other, "000050") == 0)
        _exit(9);
    if (is("hanging") && strcmp(other, "000050") == 0)
        raise(SIGSTOP);
    NEXT(real, "linkat");
    return real(from, name, to, other, flags);
}

int mkdirat(int dir, const char *name, mode_t mode)
{
    int (*real)(int, const char *, mode_t);
    if (is("short-names") && strlen(name) > 143) {
        errno = ENAMETOOLONG;
        return -1;
    }
    NEXT(real, "mkdirat");
    return real(dir, name, mode);
}

int clock_gettime(clockid_t which, struct timespec *now)
{
    int (*real)(clockid_t, struct timespec *);
    NEXT(real, "clock_gettime");
    const int result = real(which, now);
    if (result == 0 && which == CLOCK_REALTIME && is("unset-clock"))
        now->tv_sec -= 20L * 365 * 86400;
    if (result == 0 && which == CLOCK_REALTIME && is("late-clock"))
        now->tv_sec -= 100;
    return result;
}
