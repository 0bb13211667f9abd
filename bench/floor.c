// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "floor.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static bw_status open_directory(const char *parent, const char *name, int *fd, bw_error *error)
{
    char path[BENCH_PATH_MAX];
    BW_TRY(bench_make_dir(parent, name, path, error));
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *fd < 0 ? bench_failed(error, path) : BW_OK;
}

bw_status floor_open(const char *parent, const char *name, bool durable, floor_dir *floor,
                     bw_error *error)
{
    *floor = (floor_dir){.target = -1, .temporary = -1, .durable = durable};
    char path[BENCH_PATH_MAX];
    BW_TRY(bench_make_dir(parent, name, path, error));
    bw_status status = open_directory(path, "manifest", &floor->target, error);
    if (status == BW_OK)
        status = open_directory(path, "tmp", &floor->temporary, error);
    if (status != BW_OK)
        floor_close(floor);
    return status;
}

void floor_close(floor_dir *floor)
{
    if (floor->target >= 0)
        close(floor->target);
    if (floor->temporary >= 0)
        close(floor->temporary);
    floor->target = floor->temporary = -1;
}

bw_status floor_publish(floor_dir *floor, const void *bytes, size_t size, bw_error *error)
{
    char name[64];
    const uint64_t number = ++floor->published;
    snprintf(name, sizeof name, "%020" PRIu64 ".manifest", number);
    const int fd =
        openat(floor->temporary, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return bench_failed(error, "floor: create");
    const bool written = write(fd, bytes, size) == (ssize_t)size;
    const bool synced = written && (!floor->durable || fdatasync(fd) == 0);
    const bool closed = close(fd) == 0;
    if (!synced || !closed)
        return bench_failed(error, "floor: write");
    if (linkat(floor->temporary, name, floor->target, name, 0) != 0)
        return bench_failed(error, "floor: link");
    if (unlinkat(floor->temporary, name, 0) != 0)
        return bench_failed(error, "floor: unlink");
    if (floor->durable && fsync(floor->target) != 0)
        return bench_failed(error, "floor: fsync");
    return BW_OK;
}
