// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Temporary files, and who may remove those of others.
 *
 * A temporary file is `tmp/<owner>-<counter>`, an owner (one open store of one process) `<pid>-<16
 * random hex>`. Before its first temporary file an owner makes `tmp/<owner>.lock` and holds an
 * flock on it until it is closed; the kernel lets go of the lock when the last process that has it
 * dies, however it dies, and at a reboot. So on a file system of this machine: a lock file that can
 * be locked, or a temporary file without a lock file, belongs to nobody any more. No pid is ever
 * trusted (they are reused, and mean nothing in another container), nor any age.
 *
 * Two races, both harmless. An owner that has made its lock file but not locked it yet looks dead:
 * it has no temporary file yet, and finds its lock file taken or unlinked when it comes to it, and
 * makes another. An owner that closes between our look at its file and our look for its lock has
 * removed that file itself. And if all this were wrong, a live process that loses a temporary file
 * fails to link it: nothing landed, nothing is lost.
 *
 * On a cluster file system flock may hold for one machine only, so nothing is cleaned there.
 */
#include "base/hash.h"
#include "base/rng.h"
#include "store/file_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define TMP_DIR "tmp"
#define OWNER_HEX 16u
#define NAME_TRIES_MAX 16
/* What one open does at most; the next one goes on. */
#define CLEAN_ENTRIES_MAX 20000
#define CLEAN_OWNERS_MAX 64u

/* ---- our own ---- */

/** Makes a new owner name with its lock held; 0 or -1 with errno. */
static int owner_new(const file_dir *tmp, char owner[FILE_NAME_MAX], int *lock_fd)
{
    rng random;
    if (rng_seed_system(&random) != 0) {
        errno = EAGAIN;
        return -1;
    }
    for (int i = 0; i < NAME_TRIES_MAX; i++) {
        uint8_t bytes[OWNER_HEX / 2];
        char hex[OWNER_HEX + 1];
        char name[FILE_NAME_MAX];
        rng_bytes(&random, bytes, sizeof bytes);
        hex_encode(bytes, sizeof bytes, hex);
        (void)snprintf(owner, FILE_NAME_MAX, "%ld-%s", (long)getpid(), hex);
        (void)snprintf(name, sizeof name, "%.50s.lock", owner);
        const int fd =
            openat(tmp->fd, name, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST)
            return -1;
        struct stat info;
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &info) == 0 &&
            info.st_nlink == 1) {
            *lock_fd = fd;
            return 0;
        }
        if (fd >= 0)
            close(fd); /* a cleaner came between: it removes the file */
    }
    errno = EAGAIN;
    return -1;
}

/** Sees to it that this backend has an owner name. */
static int owner_ensure(file_backend *b, const file_dir *tmp)
{
    lock_acquire(&b->lock);
    int result = 0;
    if (b->locked.owner_fd < 0) {
        result = owner_new(tmp, b->locked.owner, &b->locked.owner_fd);
        b->locked.owner_pid = getpid();
    }
    lock_release(&b->lock);
    return result;
}

int file_temp_open(file_backend *b, file_dir **tmp, char name[FILE_NAME_MAX])
{
    *tmp = file_dir_get(b, TMP_DIR, FILE_DIR_WRITE);
    if (*tmp == NULL)
        return -1;
    int fd = owner_ensure(b, *tmp);
    for (int i = 0; fd == 0 && i < NAME_TRIES_MAX; i++) {
        /* The owner never changes once it is there. A forked child counts on from the same number:
         * it meets EEXIST. */
        (void)snprintf(name, FILE_NAME_MAX, "%.40s-%" PRIuLEAST64, b->locked.owner,
                       atomic_fetch_add(&b->temp_counter, 1));
        fd = openat((*tmp)->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0)
            return fd;
        fd = errno == EEXIST ? 0 : -1;
    }
    const int number = errno;
    file_dir_release(b, *tmp);
    *tmp = NULL;
    errno = number;
    return -1;
}

void file_temp_close(file_backend *b)
{
    if (b->locked.owner_fd < 0)
        return;
    char name[FILE_NAME_MAX];
    (void)snprintf(name, sizeof name, "%.50s.lock", b->locked.owner);
    file_dir *tmp = file_dir_get(b, TMP_DIR, FILE_DIR_LOOK);
    if (tmp != NULL && b->locked.owner_pid == getpid())
        (void)unlinkat(tmp->fd, name, 0);
    if (tmp != NULL)
        file_dir_release(b, tmp);
    close(b->locked.owner_fd);
    b->locked.owner_fd = -1;
}

/* ---- what others left ---- */

typedef struct owner_state {
    char name[FILE_NAME_MAX];
    int lock_fd; /* held by us: the owner is dead; -1: it has no lock file */
    bool alive;
} owner_state;

typedef struct cleaning {
    int tmp_fd;
    uint32_t count;
    owner_state owners[CLEAN_OWNERS_MAX];
} cleaning;

static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

/**
 * Length of the owner in a name of ours, `<owner>.lock` or `<owner>-<counter>`; 0 for any other
 * name, which is left alone for ever.
 */
static size_t owner_size(const char *name)
{
    const size_t pid = digits(name);
    if (pid == 0 || pid > 10 || name[pid] != '-')
        return 0;
    const size_t size = pid + 1 + OWNER_HEX;
    if (strspn(name + pid + 1, "0123456789abcdef") != OWNER_HEX)
        return 0;
    const char *rest = name + size;
    if (strcmp(rest, ".lock") == 0)
        return size;
    const size_t counter = rest[0] == '-' ? digits(rest + 1) : 0;
    return counter > 0 && counter <= 20 && rest[1 + counter] == '\0' ? size : 0;
}

/** Whether the owner lives; when it is certainly dead we hold its lock until the end. */
static void look_at_owner(const cleaning *c, owner_state *owner)
{
    char name[FILE_NAME_MAX];
    (void)snprintf(name, sizeof name, "%.50s.lock", owner->name);
    owner->alive = true; /* until proved otherwise */
    owner->lock_fd = openat(c->tmp_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (owner->lock_fd < 0) {
        owner->alive = errno != ENOENT;
    } else if (flock(owner->lock_fd, LOCK_EX | LOCK_NB) == 0) {
        owner->alive = false;
    } else {
        close(owner->lock_fd);
        owner->lock_fd = -1;
    }
}

static const owner_state *owner_of(cleaning *c, const char *name, size_t size)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (strlen(c->owners[i].name) == size && memcmp(c->owners[i].name, name, size) == 0)
            return &c->owners[i];
    }
    if (c->count == CLEAN_OWNERS_MAX)
        return NULL;
    owner_state *owner = &c->owners[c->count++];
    memcpy(owner->name, name, size);
    owner->name[size] = '\0';
    look_at_owner(c, owner);
    return owner;
}

void file_temp_clean(file_backend *b)
{
    file_dir *tmp = b->is_local ? file_dir_get(b, TMP_DIR, FILE_DIR_LOOK) : NULL;
    if (tmp == NULL)
        return;
    const int fd = openat(tmp->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    if (listing == NULL) {
        if (fd >= 0)
            close(fd);
        file_dir_release(b, tmp);
        return;
    }
    cleaning c = {.tmp_fd = tmp->fd};
    const struct dirent *entry = readdir(listing);
    for (int i = 0; entry != NULL && i < CLEAN_ENTRIES_MAX; i++, entry = readdir(listing)) {
        const size_t size = owner_size(entry->d_name);
        const owner_state *owner = size == 0 ? NULL : owner_of(&c, entry->d_name, size);
        if (owner != NULL && !owner->alive && entry->d_name[size] == '-')
            (void)unlinkat(c.tmp_fd, entry->d_name, 0);
    }
    /* Lock files last. A temporary file that the listing missed is then one without a lock file:
     * the next open's. */
    for (uint32_t i = 0; i < c.count; i++) {
        if (c.owners[i].lock_fd < 0)
            continue;
        char name[FILE_NAME_MAX];
        (void)snprintf(name, sizeof name, "%.50s.lock", c.owners[i].name);
        (void)unlinkat(c.tmp_fd, name, 0);
        close(c.owners[i].lock_fd);
    }
    closedir(listing);
    file_dir_release(b, tmp);
}
