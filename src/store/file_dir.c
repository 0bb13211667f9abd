// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Whoever may write to a directory can plant a symbolic link in it, so nothing beneath the root is
 * ever reached through one: reads use openat2 with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS, or walk
 * where the kernel has none; writes work on directories that were opened one component at a time
 * with O_NOFOLLOW.
 */
#include "base/alloc.h"
#include "store/file_store.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define OPEN_TRIES_MAX 16

/** openat of a directory; a symbolic link is ELOOP, which the kernel calls ENOTDIR like any other
 * file. */
static int open_dir_at(int dir, const char *name, int flags)
{
    const int fd = openat(dir, name, DIR_FLAGS | flags);
    if (fd >= 0 || errno != ENOTDIR)
        return fd;
    struct stat info;
    const bool is_link =
        fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode);
    errno = is_link ? ELOOP : ENOTDIR;
    return -1;
}

/** Opens component by component. */
static int open_by_walk(int root_fd, const char *path, int flags)
{
    int dir = root_fd;
    for (;;) {
        const char *slash = strchr(path, '/');
        char segment[STORE_SEGMENT_MAX + 1];
        const size_t size = slash == NULL ? strlen(path) : (size_t)(slash - path);
        int fd = -1;
        errno = ENAMETOOLONG;
        if (size <= STORE_SEGMENT_MAX) {
            memcpy(segment, path, size);
            segment[size] = '\0';
            if (slash != NULL)
                fd = open_dir_at(dir, segment, O_PATH);
            else if ((flags & O_DIRECTORY) != 0)
                fd = open_dir_at(dir, segment, flags);
            else
                fd = openat(dir, segment, flags | O_NOFOLLOW);
        }
        const int number = errno;
        if (dir != root_fd)
            close(dir);
        errno = number;
        if (fd < 0 || slash == NULL)
            return fd;
        dir = fd;
        path = slash + 1;
    }
}

int file_open_beneath(file_backend *b, const char *path, int flags)
{
    if (path[0] == '\0')
        path = ".";
    flags |= O_CLOEXEC;
    for (int i = 0; i < OPEN_TRIES_MAX; i++) {
        if (atomic_load_explicit(&b->use_walk, memory_order_relaxed))
            return open_by_walk(b->root_fd, path, flags);
        struct open_how how = {.flags = (unsigned)flags,
                               .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
        const int fd = (int)syscall(SYS_openat2, b->root_fd, path, &how, sizeof how);
        if (fd >= 0 || (errno != ENOSYS && errno != EAGAIN && errno != EINTR))
            return fd;
        /* EAGAIN: a rename elsewhere disturbed the look-up; ENOSYS: a kernel before 5.6, or an
         * emulator. */
        if (errno == ENOSYS)
            atomic_store(&b->use_walk, true);
    }
    errno = EAGAIN;
    return -1;
}

/* ---- the cache ---- */

/* Directories that hold objects outrank those that only lead to others (data/ab of data/ab/p):
 * these are needed again only when one below them was closed. */
#define HOLDS_OBJECTS (UINT64_C(1) << 63)

static uint64_t path_hash(const char *path)
{
    uint64_t hash =
        UINT64_C(0xcbf29ce484222325); /* FNV-1a: only saves most of the comparisons below */
    for (; *path != '\0'; path++)
        hash = (hash ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
    return hash;
}

static void dir_unref_locked(file_dir *dir)
{
    if (--dir->references > 0)
        return;
    close(dir->fd);
    mem_free(dir);
}

static void touch_locked(file_backend *b, file_dir *dir, file_dir_use use)
{
    const uint64_t holds = use == FILE_DIR_WRITE ? HOLDS_OBJECTS : dir->rank & HOLDS_OBJECTS;
    dir->rank = ++b->locked.tick | holds;
}

/** The cached directory with one more reference; NULL when it is not there. */
static file_dir *find_locked(file_backend *b, const char *path, uint64_t hash, file_dir_use use)
{
    for (uint32_t i = 0; i < b->locked.dir_count; i++) {
        file_dir *dir = b->locked.dirs[i].dir;
        if (b->locked.dirs[i].hash != hash || strcmp(dir->path, path) != 0)
            continue;
        touch_locked(b, dir, use);
        dir->references++;
        return dir;
    }
    return NULL;
}

/** Puts `dir` into the cache, in place of the one of the lowest rank when it is full. */
static void insert_locked(file_backend *b, file_dir *dir, uint64_t hash, file_dir_use use)
{
    uint32_t at = b->locked.dir_count;
    if (at < FILE_DIRS_MAX) {
        b->locked.dir_count++;
    } else {
        at = 0;
        for (uint32_t i = 1; i < FILE_DIRS_MAX; i++) {
            if (b->locked.dirs[i].dir->rank < b->locked.dirs[at].dir->rank)
                at = i;
        }
        dir_unref_locked(b->locked.dirs[at].dir);
    }
    dir->references++;
    touch_locked(b, dir, use);
    b->locked.dirs[at] = (file_dir_slot){.hash = hash, .dir = dir};
}

/** Opens, and makes when asked, the directory `name` in `parent`. */
static int open_in(file_backend *b, const file_dir *parent, const char *name, bool make)
{
    int fd = open_dir_at(parent->fd, name, 0);
    if (fd < 0 && errno == ENOENT && make) {
        if (mkdirat(parent->fd, name, 0700) != 0 && errno != EEXIST)
            return -1;
        fd = open_dir_at(parent->fd, name, 0);
    }
    /* Also when it was there: the process that made it may not have come to its own fsync, and what
     * we are about to acknowledge must not hang on a directory that a power loss takes away. Once
     * per directory and backend. */
    if (fd >= 0 && make && file_sync_dir(b, parent->fd) != 0) {
        const int number = errno;
        close(fd);
        errno = number;
        return -1;
    }
    return fd;
}

static file_dir *dir_new(int fd, const char *path)
{
    const size_t size = strlen(path) + 1;
    file_dir *dir = mem_zalloc(sizeof *dir + size);
    if (dir == NULL) {
        close(fd);
        errno = ENOMEM;
        return NULL;
    }
    dir->fd = fd;
    dir->references = 1;
    memcpy(dir->path, path, size);
    return dir;
}

/** Opens a directory that is not in the cache, through its parent; without the lock, since it may
 * fsync. */
static int open_uncached(file_backend *b, const char *path, file_dir_use use)
{
    if (path[0] == '\0')
        return open_dir_at(b->root_fd, ".", 0);
    const char *name = NULL;
    file_dir *parent =
        file_dir_of_key(b, path, use == FILE_DIR_LOOK ? use : FILE_DIR_PARENT, &name);
    if (parent == NULL)
        return -1;
    const int fd = open_in(b, parent, name, use != FILE_DIR_LOOK);
    const int number = errno;
    file_dir_release(b, parent);
    errno = number;
    return fd;
}

file_dir *file_dir_get(file_backend *b, const char *path, file_dir_use use)
{
    const uint64_t hash = path_hash(path);
    lock_acquire(&b->lock);
    file_dir *dir = find_locked(b, path, hash, use);
    lock_release(&b->lock);
    if (dir != NULL)
        return dir;

    const int fd = open_uncached(b, path, use);
    if (fd < 0)
        return NULL;
    dir = dir_new(fd, path);
    if (dir == NULL || use == FILE_DIR_LOOK)
        return dir; /* only what was proved durable is cached */

    lock_acquire(&b->lock);
    file_dir *rival = find_locked(b, path, hash, use);
    if (rival == NULL) {
        insert_locked(b, dir, hash, use);
    } else {
        dir_unref_locked(dir);
        dir = rival;
    }
    lock_release(&b->lock);
    return dir;
}

file_dir *file_dir_of_key(file_backend *b, const char *key, file_dir_use use, const char **name)
{
    char path[STORE_KEY_MAX + 1] = "";
    const char *slash = strrchr(key, '/');
    if (slash != NULL) {
        memcpy(path, key, (size_t)(slash - key));
        path[slash - key] = '\0';
    }
    *name = slash == NULL ? key : slash + 1;
    return file_dir_get(b, path, use);
}

void file_dir_release(file_backend *b, file_dir *dir)
{
    lock_acquire(&b->lock);
    dir_unref_locked(dir);
    lock_release(&b->lock);
}

void file_dirs_close(file_backend *b)
{
    for (uint32_t i = 0; i < b->locked.dir_count; i++)
        dir_unref_locked(b->locked.dirs[i].dir);
    b->locked.dir_count = 0;
}
