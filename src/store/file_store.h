// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Inside the file store. One backend for a root directory, shared by clones; a handle for each
 * thread.
 *
 *   file_root.c   opening, the handle, what kind of file system it is, poison
 *   file_dir.c    directories beneath the root: making, caching, opening without following links
 *   file_temp.c   temporary files: names, owners, clean-up of what dead processes left
 *   file_write.c  create, put, delete
 *   file_read.c   get, read, map, head
 *   file_list.c   list
 *   file_error.c  errno → outcome
 */
#ifndef STORE_FILE_STORE_H
#define STORE_FILE_STORE_H

#include "base/thread.h"
#include "store/driver.h"

#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/types.h>

/**
 * Directories kept open for writing. Enough for the parts of one producer (256, by the two hex
 * digits) and what the chain needs; a third of the usual limit of 1,024 descriptors.
 */
#define FILE_DIRS_MAX 320u
#define FILE_NAME_MAX 64u /* of a temporary file */

/** A directory beneath the root, held open. Its entry in its parent is durable where the store is.
 */
typedef struct file_dir {
    int fd;
    uint32_t references; /* by the lock of the backend */
    uint64_t rank;       /* the lowest is closed first; file_dir.c */
    char path[];
} file_dir;

typedef struct file_dir_slot {
    uint64_t hash; /* of the path: a look-up touches nothing else */
    file_dir *dir;
} file_dir_slot;

typedef struct file_backend {
    atomic_uint references;
    int root_fd;
    bool durable, writable;
    bool is_local; /* a file system of this machine: locks tell the truth, files can be mapped */
    atomic_bool use_walk; /* no openat2 here: open component by component */
    atomic_bool no_link;  /* no hard links here: renameat2 */
    atomic_bool
        poisoned; /* an fsync failed: what is on disk is unknown, nothing is written any more */
    atomic_uint_least64_t temp_counter;
    lock lock;
    struct {
        file_dir_slot dirs[FILE_DIRS_MAX];
        uint32_t dir_count;
        uint64_t tick;
        int owner_fd; /* the lock file of this backend's temporary files; -1 before the first write
                       */
        pid_t owner_pid; /* a forked child that closes its copy must leave the lock file alone */
        char owner[FILE_NAME_MAX];
    } locked;
} file_backend;

typedef struct file_store {
    store base;
    file_backend *backend;
    op_queue complete;
} file_store;

/* file_root.c */
typedef enum fs_trust {
    /* One machine: locks and directory entries are what they seem, files can be mapped. */
    FS_LOCAL,
    /* Several machines that see each other's names at once; a file may vanish under a map. */
    FS_COHERENT,
    /*
     * Names that were absent may be remembered as absent for a while (NFS: up to a minute). The
     * commit protocol reads "there is no such marker" as a fact, so nothing is written through
     * these. Reading is merely late.
     */
    FS_LATE
} fs_trust;
typedef struct file_system {
    unsigned long magic;
    fs_trust trust;
    const char *name;
} file_system;
/** What kind of file system an open file is on; FS_LATE for one that is not known. 0, or -1 with
 * errno. */
int file_system_of(int fd, file_system *out);
/** Remembers for all clones that an fsync failed. */
void file_poison(file_backend *b);
/** true when the root directory itself was removed under us. */
bool file_root_is_gone(const file_backend *b);
/** fsync of a directory, where durable: 0, or -1 with errno after poisoning. */
int file_sync_dir(file_backend *b, int fd);

/* file_dir.c */
/** Opens a file or directory by key beneath the root, following no link anywhere: descriptor, or -1
 * with errno. */
int file_open_beneath(file_backend *b, const char *path, int flags);
typedef enum file_dir_use {
    FILE_DIR_LOOK,   /* what is there; ENOENT when it is not */
    FILE_DIR_PARENT, /* made when absent, to get to another directory */
    FILE_DIR_WRITE,  /* made when absent, to write objects into */
} file_dir_use;
/** The directory at `path` ("" = root), held until file_dir_release. NULL with errno. */
file_dir *file_dir_get(file_backend *b, const char *path, file_dir_use use);
void file_dir_release(file_backend *b, file_dir *dir);
void file_dirs_close(file_backend *b);
/** The directory of `key`, and `*name`, its last segment. */
file_dir *file_dir_of_key(file_backend *b, const char *key, file_dir_use use, const char **name);

/* file_temp.c */
/** Makes a temporary file for writing: descriptor, its name, and the held directory; -1 with errno.
 */
int file_temp_open(file_backend *b, file_dir **tmp, char name[FILE_NAME_MAX]);
/** Removes what processes that are certainly gone left in tmp/. Best effort, bounded. */
void file_temp_clean(file_backend *b);
void file_temp_close(file_backend *b);

/* file_write.c, file_read.c, file_list.c: each ends the operation */
void file_write(file_backend *b, store_op *op);
void file_delete(file_backend *b, store_op *op);
void file_read(file_backend *b, store_op *op);
void file_list(file_backend *b, store_op *op);

/* file_error.c */
/** Ends `op` as `number` (an errno) says, for a failure that left nothing of it behind. */
void file_fail(file_backend *b, store_op *op, int number, const char *what);
/** Ends `op`: it may have landed. */
void file_unknown(store_op *op, int number, const char *what);

#endif
