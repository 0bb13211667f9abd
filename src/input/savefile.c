// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/savefile.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/faultpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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

static bw_status write_temporary(const char *temporary, const void *bytes, size_t size,
                                 bool durable, bw_error *error)
{
    const int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail(temporary, "cannot be written", errno, error);
    int failed = 0;
    if (write_all(fd, bytes, size) != 0 || (durable && fsync(fd) != 0))
        failed = errno;
    if (close(fd) != 0 && failed == 0)
        failed = errno;
    if (failed == 0)
        return BW_OK;
    unlink(temporary);
    return fail(temporary, "cannot be written", failed, error);
}

static bw_status temporary_of(const char *path, char temporary[PATH_MAX], bw_error *error)
{
    const int length = snprintf(temporary, PATH_MAX, "%s.tmp", path);
    return length < 0 || length >= PATH_MAX ? path_too_long(path, error) : BW_OK;
}

bw_status savefile_try(const char *path, bw_error *error)
{
    char temporary[PATH_MAX];
    BW_TRY(temporary_of(path, temporary, error));
    BW_TRY(write_temporary(temporary, NULL, 0, false, error));
    unlink(temporary);
    return BW_OK;
}

bw_status savefile_write(const char *path, const void *bytes, size_t size, bool durable,
                         const char *fault_name, bw_error *error)
{
    char temporary[PATH_MAX];
    BW_TRY(temporary_of(path, temporary, error));
    BW_TRY(write_temporary(temporary, bytes, size, durable, error));
    if (fault_name != NULL)
        fault_point(fault_name);
    if (rename(temporary, path) != 0) {
        const int failed = errno;
        unlink(temporary);
        return fail(path, "cannot be replaced", failed, error);
    }
    return durable ? sync_folder_of(path, error) : BW_OK;
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
