// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * A write is a temporary file that is complete and durable before it gets its name, in one step:
 * link(2) fails when the name is taken, which makes it the conditional create; rename(2) replaces.
 * A reader sees nothing or everything, and so does a power loss.
 *
 * Durable: fdatasync of the file before the step (for a new file it covers size and extents, all
 * that reading it back needs), fsync of the directory after it, and of each parent once
 * (file_dir.c). After a failed fsync the kernel forgets which pages or entries were lost, so
 * nothing that this backend wrote may be believed or built upon: it is poisoned.
 */
#include "base/faultpoint.h"
#include "base/mutant.h"
#include "store/file_store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1u
#endif

#define WRITE_PIECES_MAX 64 /* of one call */
#define DELETE_DIRS_MAX 64u /* held before their fsync */

/* Where one write stands; everything it holds is released in one place. */
typedef struct file_writing {
    file_dir *dir; /* of the object */
    const char *name;
    file_dir *tmp;
    int fd;
    char temp_name[FILE_NAME_MAX];
} file_writing;

/** true when nothing may be written; `op` is ended then. */
static bool refuse_write(const file_backend *b, store_op *op)
{
    if (!b->writable) {
        store_op_end(op, op->kind == STORE_CREATE ? STORE_FATAL : STORE_DENIED, BW_READ_ONLY,
                     "%s: the store was opened for reading", store_op_name(op->kind));
        return true;
    }
    if (atomic_load(&b->poisoned)) {
        op->lost = true;
        store_op_end(op, STORE_FATAL, BW_IO,
                     "%s: an earlier fsync failed; what reached the disk is unknown, so nothing is "
                     "written any more: look at the device, then open again",
                     store_op_name(op->kind));
        return true;
    }
    return false;
}

/** All pieces into `fd`; 0 or -1 with errno. */
static int write_pieces(int fd, const struct iovec *pieces, uint32_t count)
{
    uint32_t at = 0;
    size_t skip = 0; /* bytes of pieces[at] that are written */
    while (at < count) {
        struct iovec window[WRITE_PIECES_MAX];
        int used = 1;
        window[0].iov_base = (uint8_t *)pieces[at].iov_base + skip;
        window[0].iov_len = pieces[at].iov_len - skip;
        for (uint32_t i = at + 1; i < count && used < WRITE_PIECES_MAX; i++)
            window[used++] = pieces[i];
        const ssize_t written = writev(fd, window, used);
        if (written < 0 && errno == EINTR)
            continue;
        if (written == 0 && window[0].iov_len > 0)
            errno = EIO;
        if (written < 0 || (written == 0 && window[0].iov_len > 0))
            return -1;
        skip += (size_t)written;
        while (at < count && skip >= pieces[at].iov_len)
            skip -= pieces[at++].iov_len;
    }
    return 0;
}

/** Ends a create or put of which nothing landed. */
static void fail_before(file_backend *b, store_op *op, int number, const char *what)
{
    if (!refuse_write(b, op)) /* poisoned meanwhile: retrying would be in vain */
        file_fail(b, op, number, what);
}

/** Writes the temporary file; false after ending `op`. */
static bool write_temp(file_backend *b, store_op *op, file_writing *w)
{
    w->dir = file_dir_of_key(b, op->key, FILE_DIR_WRITE, &w->name);
    if (w->dir == NULL) {
        fail_before(b, op, errno, "cannot open or make the directory of the object");
        return false;
    }
    w->fd = file_temp_open(b, &w->tmp, w->temp_name);
    if (w->fd < 0) {
        fail_before(b, op, errno, "cannot make a temporary file in tmp/");
        return false;
    }
    if (write_pieces(w->fd, op->pieces, op->piece_count) != 0) {
        fail_before(b, op, errno, "cannot write the temporary file");
        return false;
    }
    if (!b->durable || fdatasync(w->fd) == 0)
        return true;
    if (errno == ENOSPC || errno == EDQUOT) { /* late allocation; the whole file is thrown away */
        fail_before(b, op, errno, "no room for the temporary file");
        return false;
    }
    const int number = errno;
    file_poison(b);
    if (op->kind == STORE_CREATE)
        file_unknown(op, number, "fsync of the temporary file failed");
    else
        (void)refuse_write(b, op);
    return false;
}

/** Gives the temporary file its name if that is free: 0, or an errno; EXDEV stands for "not
 * possible here". */
static int link_new(file_backend *b, const file_writing *w)
{
    if (MUTANT(create_overwrites))
        return renameat(w->tmp->fd, w->temp_name, w->dir->fd, w->name) == 0 ? 0 : errno;
    if (!atomic_load_explicit(&b->no_link, memory_order_relaxed)) {
        if (linkat(w->tmp->fd, w->temp_name, w->dir->fd, w->name, 0) == 0)
            return 0;
        /* A file system without hard links says EPERM; so does one that forbids this link. */
        if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS)
            return errno;
    }
    if (syscall(SYS_renameat2, w->tmp->fd, w->temp_name, w->dir->fd, w->name, RENAME_NOREPLACE) ==
        0) {
        atomic_store_explicit(&b->no_link, true, memory_order_relaxed);
        return 0;
    }
    return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ? EXDEV : errno;
}

/** What a failed link or rename says for certain: the name was not taken by us. Anything else may
 * have landed. */
static bool is_definite(int number)
{
    static const int definite[] = {EACCES, EPERM,  EROFS,  ENOSPC, EDQUOT, ENOENT,      ENOTDIR,
                                   EISDIR, ENOMEM, EMLINK, EBUSY,  ELOOP,  ENAMETOOLONG};
    for (size_t i = 0; i < sizeof definite / sizeof definite[0]; i++) {
        if (definite[i] == number)
            return true;
    }
    return false;
}

/** Ends an operation whose naming step failed with `number`. */
static void fail_naming(file_backend *b, store_op *op, const file_writing *w, int number)
{
    struct stat info;
    if (number == EXDEV)
        store_op_end(op, op->kind == STORE_CREATE ? STORE_UNSUPPORTED : STORE_FATAL, BW_UNSUPPORTED,
                     "this file system has neither hard links nor renameat2 without replacing, so "
                     "there is no create-if-absent");
    else if (number == ENOENT && fstat(w->dir->fd, &info) == 0 && info.st_nlink > 0)
        store_op_end(op, STORE_RETRY, BW_IO, "somebody removed our temporary file %s",
                     w->temp_name);
    else if (op->kind == STORE_PUT || is_definite(number))
        file_fail(b, op, number, "cannot give the object its name");
    else
        file_unknown(op, number, "cannot give the object its name");
}

static void finish_create(file_backend *b, store_op *op, const file_writing *w)
{
    /* EXISTS, too, is answered only when it is durable: the caller builds on what is there, and it
     * may be the name that our own lost attempt took, or that another process took and died before
     * its fsync. */
    const int number = link_new(b, w);
    if (number != 0 && number != EEXIST)
        fail_naming(b, op, w, number);
    else if (!MUTANT(dir_fsync_dropped) && file_sync_dir(b, w->dir->fd) != 0)
        file_unknown(op, errno, "fsync of the directory failed");
    else
        op->outcome = number == 0 ? STORE_CREATED : STORE_EXISTS;
}

static void finish_put(file_backend *b, store_op *op, const file_writing *w)
{
    if (renameat(w->tmp->fd, w->temp_name, w->dir->fd, w->name) != 0)
        fail_naming(b, op, w, errno);
    else if (file_sync_dir(b, w->dir->fd) != 0)
        (void)refuse_write(b, op);
    else
        op->outcome = STORE_OK;
}

void file_write(file_backend *b, store_op *op)
{
    if (refuse_write(b, op))
        return;
    file_writing w = {.fd = -1};
    if (write_temp(b, op, &w)) {
        if (op->kind == STORE_PUT) {
            finish_put(b, op, &w);
        } else {
            if (store_has_prefix(op->key, "manifest/"))
                fault_point("create-in-flight");
            finish_create(b, op, &w);
        }
    }
    if (w.fd >= 0) {
        /* After a rename it is gone already. What cannot be removed is left to the next opener's
         * clean-up. */
        if (op->outcome != STORE_OK)
            (void)unlinkat(w.tmp->fd, w.temp_name, 0);
        close(w.fd);
    }
    if (w.tmp != NULL)
        file_dir_release(b, w.tmp);
    if (w.dir != NULL)
        file_dir_release(b, w.dir);
}

/* ---- delete ---- */

/* Directories from which something was removed since their last fsync. */
typedef struct touched_dirs {
    file_dir *dirs[DELETE_DIRS_MAX];
    uint32_t count;
} touched_dirs;

/** fsyncs and releases them; 0 or -1 with errno. */
static int settle_touched(file_backend *b, touched_dirs *touched)
{
    int number = 0;
    for (uint32_t i = 0; i < touched->count; i++) {
        if (number == 0 && file_sync_dir(b, touched->dirs[i]->fd) != 0)
            number = errno;
        file_dir_release(b, touched->dirs[i]);
    }
    touched->count = 0;
    errno = number;
    return number == 0 ? 0 : -1;
}

static int delete_one(file_backend *b, const char *key, touched_dirs *touched)
{
    const char *slash = strrchr(key, '/');
    const size_t size = slash == NULL ? 0 : (size_t)(slash - key);
    file_dir *dir = NULL;
    for (uint32_t i = 0; i < touched->count && dir == NULL; i++) {
        if (strlen(touched->dirs[i]->path) == size &&
            memcmp(touched->dirs[i]->path, key, size) == 0)
            dir = touched->dirs[i];
    }
    const char *name = slash == NULL ? key : slash + 1;
    if (dir == NULL) {
        if (touched->count == DELETE_DIRS_MAX && settle_touched(b, touched) != 0)
            return -1;
        dir = file_dir_of_key(b, key, FILE_DIR_LOOK, &name);
        if (dir == NULL)
            return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
        touched->dirs[touched->count++] = dir;
    }
    return unlinkat(dir->fd, name, 0) == 0 || errno == ENOENT ? 0 : -1;
}

void file_delete(file_backend *b, store_op *op)
{
    if (refuse_write(b, op))
        return;
    touched_dirs touched = {.count = 0};
    const char *failed_key = "";
    int number = 0;
    for (uint32_t i = 0; number == 0 && i < op->key_count; i++) {
        if (delete_one(b, op->keys[i], &touched) == 0)
            continue;
        number = errno;
        failed_key = op->keys[i];
    }
    /* Also what was found absent: the process that removed it may not have come to its fsync. */
    if (settle_touched(b, &touched) != 0 && number == 0)
        number = errno;
    if (number != 0)
        fail_before(b, op, number, "cannot delete");
    else if (file_root_is_gone(b))
        file_fail(b, op, ENOENT, "cannot delete");
    else
        op->outcome = STORE_OK;
    error_set_key(&op->error, failed_key);
}
