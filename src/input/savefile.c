// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/savefile.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/faultpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bw_status fail(const char *path, const char *what, int number, bw_error *error)
{
    char text[128];
    const bool full = number == ENOSPC || number == EDQUOT;
    const bw_status code = full ? BW_NO_SPACE : BW_IO;
    error_set(error, code, "%s: %s: %s", path, what, strerror_r(number, text, sizeof text));
    error_set_key(error, path);
    return code;
}

static bw_status path_too_long(const char *path, bw_error *error)
{
    return fail(path, "cannot be written", ENAMETOOLONG, error);
}

static int write_all(int fd, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0) {
            bytes += n;
            size -= (size_t)n;
        }
    }
    return 0;
}

/** The directory of `path`, for its sync. */
static bw_status parent_of(const char *path, char folder[PATH_MAX], bw_error *error)
{
    const char *slash = strrchr(path, '/');
    const size_t size = slash == NULL ? 1 : slash == path ? 1 : (size_t)(slash - path);
    if (size >= PATH_MAX)
        return path_too_long(path, error);
    memcpy(folder, slash == NULL ? "." : path, size);
    folder[size] = '\0';
    return BW_OK;
}

static bw_status sync_folder_of(const char *path, bw_error *error)
{
    char folder[PATH_MAX];
    BW_TRY(parent_of(path, folder, error));
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int failed = fd < 0 || fsync(fd) != 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    return failed == 0 ? BW_OK : fail(folder, "cannot be synced", failed, error);
}

/* .bw-<pid>-<16 hex digits>.tmp beside the file: no two writers, in whatever process, share one. */
#define TEMPORARY_PREFIX ".bw-"
#define TEMPORARY_SUFFIX ".tmp"
#define TEMPORARY_TRIES_MAX 16u
/* A writer that lives has its temporary locked. Where locks do not reach (another machine, a mount
 * without them), this long after the last write it has gone on as well. */
#define STALE_SECONDS 60

/** A file that only its writer knows, before it gets its name. */
typedef struct temporary {
    char path[PATH_MAX];
    int fd;
} temporary;

static void temporary_drop(temporary *t)
{
    unlink(t->path);
    close(t->fd);
}

/** Nobody swept it away between its creation and its lock. */
static bool temporary_is_ours(int fd)
{
    struct stat seen;
    return flock(fd, LOCK_EX | LOCK_NB) != 0 ? errno != EWOULDBLOCK
                                             : fstat(fd, &seen) == 0 && seen.st_nlink > 0;
}

static bw_status temporary_open(const char *path, temporary *t, bw_error *error)
{
    char folder[PATH_MAX];
    BW_TRY(parent_of(path, folder, error));
    for (unsigned i = 0; i < TEMPORARY_TRIES_MAX; i++) {
        uint64_t random;
        if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
            return fail(path, "cannot be written", errno, error);
        const int length =
            snprintf(t->path, sizeof t->path, "%s/" TEMPORARY_PREFIX "%ld-%016" PRIx64 "%s", folder,
                     (long)getpid(), random, TEMPORARY_SUFFIX);
        if (length < 0 || (size_t)length >= sizeof t->path)
            return path_too_long(path, error);
        t->fd = open(t->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (t->fd < 0 && errno != EEXIST)
            return fail(path, "cannot be written", errno, error);
        if (t->fd >= 0 && temporary_is_ours(t->fd))
            return BW_OK;
        if (t->fd >= 0)
            close(t->fd);
    }
    return fail(path, "cannot be written", EEXIST, error);
}

bw_status savefile_try(const char *path, bw_error *error)
{
    temporary t;
    BW_TRY(temporary_open(path, &t, error));
    temporary_drop(&t);
    return BW_OK;
}

bw_status savefile_write(const char *path, const void *bytes, size_t size, bool durable,
                         const char *fault_name, bw_error *error)
{
    temporary t;
    BW_TRY(temporary_open(path, &t, error));
    if (write_all(t.fd, bytes, size) != 0 || (durable && fsync(t.fd) != 0)) {
        const int failed = errno;
        temporary_drop(&t);
        return fail(path, "cannot be written", failed, error);
    }
    if (fault_name != NULL)
        fault_point(fault_name);
    if (rename(t.path, path) != 0) {
        const int failed = errno;
        temporary_drop(&t);
        return fail(path, "cannot be replaced", failed, error);
    }
    /* The lock ends here, when no temporary has this name any more. */
    if (close(t.fd) != 0)
        return fail(path, "cannot be written", errno, error);
    return durable ? sync_folder_of(path, error) : BW_OK;
}

/* The file store sweeps its own by other proofs: there an owner locks one file for all of its
 * temporaries and no age counts; here each is locked, and there is no store beneath this layer. */
static bool is_temporary(const char *name)
{
    const size_t size = strlen(name), suffix = strlen(TEMPORARY_SUFFIX);
    return strncmp(name, TEMPORARY_PREFIX, strlen(TEMPORARY_PREFIX)) == 0 && size > suffix &&
           strcmp(name + size - suffix, TEMPORARY_SUFFIX) == 0;
}

static void sweep_one(int folder, const char *name)
{
    struct stat seen;
    const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &seen) == 0 && S_ISREG(seen.st_mode) &&
        time(NULL) - seen.st_mtime >= STALE_SECONDS && flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(folder, name, 0);
    close(fd);
}

void savefile_sweep(const char *folder)
{
    DIR *all = opendir(folder);
    if (all == NULL)
        return;
    for (const struct dirent *each = readdir(all); each != NULL; each = readdir(all))
        if (is_temporary(each->d_name))
            sweep_one(dirfd(all), each->d_name);
    closedir(all);
}

void savefile_sweep_beside(const char *path)
{
    char folder[PATH_MAX];
    if (parent_of(path, folder, NULL) == BW_OK)
        savefile_sweep(folder);
}

bw_status savefile_mkdir(const char *path, bw_error *error)
{
    char made[PATH_MAX];
    const size_t size = strlen(path);
    if (size == 0 || size >= sizeof made)
        return path_too_long(path, error);
    memcpy(made, path, size + 1);
    for (size_t i = 1; i <= size; i++) {
        if (made[i] != '/' && made[i] != '\0')
            continue;
        made[i] = '\0';
        if (mkdir(made, 0777) != 0 && errno != EEXIST)
            return fail(made, "cannot be made", errno, error);
        made[i] = path[i];
    }
    struct stat seen;
    if (stat(path, &seen) != 0 || !S_ISDIR(seen.st_mode))
        return fail(path, "cannot be used", ENOTDIR, error);
    return BW_OK;
}

bw_status savefile_sync(const char *path, bw_error *error)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int failed = fd < 0 || syncfs(fd) != 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    return failed == 0 ? BW_OK : fail(path, "cannot be synced", failed, error);
}

static bw_status read_all(int fd, const char *path, size_t size_max, char **bytes, size_t *size,
                          bw_error *error)
{
    size_t capacity = 0, have = 0;
    void *memory = NULL;
    bw_status status = BW_OK;
    for (;;) {
        if (mem_grow(&memory, &capacity, have + 4096, 1) != 0) {
            status = error_set(error, BW_NOMEM, "no memory to read %s", path);
            break;
        }
        const ssize_t n = read(fd, (char *)memory + have, capacity - have - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status = fail(path, "cannot be read", errno, error);
        if (n <= 0)
            break;
        have += (size_t)n;
        if (have > size_max) {
            status = error_set(error, BW_TOO_LARGE, "%s: larger than %zu bytes", path, size_max);
            break;
        }
    }
    if (status != BW_OK) {
        mem_free(memory);
        return status;
    }
    *bytes = memory;
    (*bytes)[have] = '\0';
    *size = have;
    return BW_OK;
}

bw_status savefile_read(const char *path, size_t size_max, char **bytes, size_t *size,
                        bw_error *error)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        error_set(error, BW_NOT_FOUND, "%s: there is no such file", path);
        error_set_key(error, path);
        return BW_NOT_FOUND;
    }
    if (fd < 0)
        return fail(path, "cannot be read", errno, error);
    const bw_status status = read_all(fd, path, size_max, bytes, size, error);
    close(fd);
    return status;
}

void savefile_free(char *bytes)
{
    mem_free(bytes);
}
