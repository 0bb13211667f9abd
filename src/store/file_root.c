// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/alloc.h"
#include "store/file_store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

static file_store *handle_of(store *s)
{
    return (file_store *)s;
}

/* ---- kinds of file systems ---- */

static const file_system file_systems[] = {
    {0x0000ef53, FS_LOCAL, "ext2/3/4"},  {0x58465342, FS_LOCAL, "xfs"},
    {0x9123683e, FS_LOCAL, "btrfs"},     {0x01021994, FS_LOCAL, "tmpfs"},
    {0x2fc12fc1, FS_LOCAL, "zfs"},       {0xf2f52010, FS_LOCAL, "f2fs"},
    {0x794c7630, FS_LOCAL, "overlay"},   {0xca451a4e, FS_LOCAL, "bcachefs"},
    {0x858458f6, FS_LOCAL, "ramfs"},     {0x3153464a, FS_LOCAL, "jfs"},
    {0x0bd00bd0, FS_COHERENT, "lustre"}, {0x47504653, FS_COHERENT, "gpfs"},
    {0x00006969, FS_LATE, "nfs"},        {0xfe534d42, FS_LATE, "smb2"},
    {0xff534d42, FS_LATE, "cifs"},       {0x0000517b, FS_LATE, "smb"},
    {0x65735546, FS_LATE, "fuse"},       {0x01021997, FS_LATE, "9p"},
    {0x00c36400, FS_LATE, "ceph"},
};

int file_system_of(int fd, file_system *out)
{
    struct statfs info;
    if (fstatfs(fd, &info) != 0)
        return -1;
    *out = (file_system){(unsigned long)info.f_type & 0xffffffffu, FS_LATE, "an unknown kind"};
    for (size_t i = 0; i < sizeof file_systems / sizeof file_systems[0]; i++) {
        if (file_systems[i].magic == out->magic)
            *out = file_systems[i];
    }
    return 0;
}

/** What may be done on the root's file system; refuses to write where absence cannot be trusted. */
static bw_status judge_file_system(file_backend *b, const char *path, bw_error *error)
{
    file_system kind;
    if (file_system_of(b->root_fd, &kind) != 0)
        return error_set(error, BW_IO, "cannot tell what file system %.200s is on", path);
    b->is_local = kind.trust == FS_LOCAL;
    if (kind.trust == FS_LATE && b->writable)
        return error_set(
            error, BW_UNSUPPORTED,
            "%.200s is on %s (type 0x%lx): such a file system may answer for a while that a "
            "new object is absent, and a commit rests on that answer; write to a local "
            "file system or to an object store",
            path, kind.name, kind.magic);
    return BW_OK;
}

/* ---- the root ---- */

static bw_status open_failed(const char *path, int number, bw_error *error)
{
    char text[128];
    const char *reason = strerror_r(number, text, sizeof text);
    switch (number) {
    case ENOENT:
        return error_set(error, BW_NO_NAMESPACE, "there is no directory %.500s", path);
    case EACCES:
    case EPERM:
    case EROFS:
        return error_set(error, BW_DENIED, "%.500s: %s", path, reason);
    case ENOSPC:
    case EDQUOT:
        return error_set(error, BW_NO_SPACE, "%.500s: %s", path, reason);
    case ENOTDIR:
    case ENAMETOOLONG:
        return error_set(error, BW_INVALID, "%.500s: %s", path, reason);
    case ENOMEM:
        return error_set(error, BW_NOMEM, "%.500s: %s", path, reason);
    default:
        return error_set(error, BW_IO, "%.500s: %s", path, reason);
    }
}

static bw_status make_failed(const char *path, int number, bw_error *error)
{
    /* mkdir says so although all before it was there or made: of a kernel's own file system. */
    if (number == ENOENT && path[0] != '\0')
        return error_set(error, BW_UNSUPPORTED,
                         "%.500s cannot be made: the file system there takes no new directories; "
                         "choose a path on another one",
                         path);
    return open_failed(path, number, error);
}

/** fsyncs the directory that holds `path`. */
static int sync_parent(const char *path)
{
    char parent[PATH_MAX];
    size_t size = strlen(path);
    while (size > 0 && path[size - 1] != '/')
        size--;
    memcpy(parent, path, size);
    parent[size] = '\0';
    const int fd = open(size == 0 ? "." : parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    const int result = fsync(fd);
    const int number = errno;
    close(fd);
    errno = number;
    return result;
}

/** mkdir -p; what it makes is private and, when asked, durable. 0 or -1 with errno. */
static int make_directories(const char *path, bool durable)
{
    char part[PATH_MAX];
    const size_t size = strlen(path);
    if (size == 0 || size >= sizeof part) {
        errno = size == 0 ? ENOENT : ENAMETOOLONG;
        return -1;
    }
    for (size_t i = 1; i <= size; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        if (path[i - 1] == '/')
            continue; /* "//", or one at the end */
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0700) == 0) {
            if (durable && sync_parent(part) != 0)
                return -1;
            continue;
        }
        const int number = errno;
        if (number != EEXIST && access(part, F_OK) != 0) {
            errno = number; /* for what exists up the path, mkdir may be refused as well */
            return -1;
        }
    }
    return 0;
}

void file_poison(file_backend *b)
{
    atomic_store(&b->poisoned, true);
}

bool file_root_is_gone(const file_backend *b)
{
    struct stat info;
    return fstat(b->root_fd, &info) == 0 && info.st_nlink == 0;
}

int file_sync_dir(file_backend *b, int fd)
{
    if (!b->durable || fsync(fd) == 0)
        return 0;
    file_poison(b);
    return -1;
}

/* ---- the driver ---- */

static void file_submit(store *s, store_op *op)
{
    file_store *h = handle_of(s);
    store_op_restart(op);
    if (store_op_check(op)) {
        switch (op->kind) {
        case STORE_PUT:
        case STORE_CREATE:
            file_write(h->backend, op);
            break;
        case STORE_DELETE:
            file_delete(h->backend, op);
            break;
        case STORE_LIST:
            file_list(h->backend, op);
            break;
        default:
            file_read(h->backend, op);
        }
    }
    op_queue_push(&h->complete, op);
}

static size_t file_poll(store *s, store_op **done, size_t max, int64_t timeout_ns)
{
    (void)timeout_ns; /* submit has run everything: there is nothing to wait for */
    return op_queue_drain(&handle_of(s)->complete, done, max);
}

static void backend_release(file_backend *b)
{
    if (atomic_fetch_sub(&b->references, 1) != 1)
        return;
    file_temp_close(b);
    file_dirs_close(b);
    if (b->root_fd >= 0)
        close(b->root_fd);
    lock_destroy(&b->lock);
    mem_free(b);
}

static void file_close(store *s)
{
    backend_release(handle_of(s)->backend);
    mem_free(s);
}

static const store_driver file_driver;

static bw_status handle_new(file_backend *b, store **out, bw_error *error)
{
    file_store *h = mem_zalloc(sizeof *h);
    if (h == NULL)
        return error_set(error, BW_NOMEM, "no memory for a store");
    h->base = (store){.driver = &file_driver,
                      .features = STORE_BLOCKS | (b->is_local ? STORE_CAN_MAP | STORE_IS_LOCAL : 0),
                      .inflight_max = 1};
    h->backend = b;
    atomic_fetch_add(&b->references, 1);
    *out = &h->base;
    return BW_OK;
}

static bw_status file_clone(store *s, store **out, bw_error *error)
{
    return handle_new(handle_of(s)->backend, out, error);
}

static const store_driver file_driver = {
    .name = "file",
    .submit = file_submit,
    .poll = file_poll,
    .clone = file_clone,
    .close = file_close,
    .probe = store_probe_by_ops,
};

/** Opens the root into `b` and decides what may be done there. */
static bw_status open_root(file_backend *b, const char *path, bw_error *error)
{
    if (b->writable && make_directories(path, b->durable) != 0)
        return make_failed(path, errno, error);
    b->root_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (b->root_fd < 0)
        return open_failed(path, errno, error);
    BW_TRY(judge_file_system(b, path, error));
    if (b->writable && faccessat(b->root_fd, ".", W_OK | X_OK, AT_EACCESS) != 0)
        return open_failed(path, errno, error);
    return BW_OK;
}

bw_status store_file_open(const char *path, const store_file_options *options, store **out,
                          bw_error *error)
{
    file_backend *b = mem_zalloc(sizeof *b);
    if (b == NULL || lock_init(&b->lock) != BW_OK) {
        mem_free(b);
        return error_set(error, BW_NOMEM, "no memory for a store");
    }
    atomic_init(&b->references, 1);
    b->root_fd = -1;
    b->locked.owner_fd = -1;
    b->durable = options->durable;
    b->writable = options->writable;
    bw_status status = open_root(b, path, error);
    if (status == BW_OK && b->writable)
        file_temp_clean(b);
    if (status == BW_OK)
        status = handle_new(b, out, error);
    backend_release(b); /* the handle has its own reference */
    return status;
}
