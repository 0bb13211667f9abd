// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Objects never change once they have their name (the hint is replaced as a whole), so a descriptor
 * sees one content and a size that differs from what was asked for is damage, not a race.
 */
#include "store/file_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

#define NS_PER_MS_LONG 1000000

/** Opens the object and reads its size; -1 after ending `op`. */
static int open_object(file_backend *b, store_op *op, int flags)
{
    const int fd = file_open_beneath(b, op->key, flags);
    if (fd < 0) {
        /* ENOTDIR: part of the key is an object, so there is none below it. */
        if ((errno == ENOENT || errno == ENOTDIR) && !file_root_is_gone(b))
            op->outcome = STORE_NOT_FOUND;
        else
            file_fail(b, op, errno, "cannot open the object");
        return -1;
    }
    struct stat info;
    if (fstat(fd, &info) != 0) {
        file_fail(b, op, errno, "cannot read the size of the object");
    } else if (S_ISREG(info.st_mode)) {
        op->object_bytes = (uint64_t)info.st_size;
        op->modified_ms =
            (int64_t)info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / NS_PER_MS_LONG;
        return fd;
    } else if (S_ISLNK(info.st_mode)) {
        file_fail(b, op, ELOOP, "the object is a symbolic link");
    } else {
        store_op_end(op, STORE_FATAL, BW_CORRUPT,
                     "there is something here that is no regular file");
    }
    close(fd);
    return -1;
}

/** Exactly [offset, offset + size); false after ending `op`. */
static bool read_exactly(file_backend *b, store_op *op, int fd, uint8_t *to, uint64_t offset,
                         uint64_t size)
{
    uint64_t done = 0;
    while (done < size) {
        const ssize_t got = pread(fd, to + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            file_fail(b, op, errno, "cannot read the object");
            return false;
        }
        if (got == 0) {
            store_op_end(op, STORE_FATAL, BW_CORRUPT,
                         "the object ends at byte %" PRIu64 "; it shrank while it was read",
                         offset + done);
            return false;
        }
        done += (uint64_t)got;
    }
    return true;
}

static void read_whole(file_backend *b, store_op *op, int fd)
{
    if (op->object_bytes > op->out.max) {
        store_op_end(op, STORE_FATAL, BW_TOO_LARGE,
                     "object of %" PRIu64 " bytes; at most %zu expected", op->object_bytes,
                     op->out.max);
        return;
    }
    const size_t size = (size_t)op->object_bytes;
    if (buf_reserve(&op->out, size) != BW_OK) {
        store_op_end(op, STORE_FATAL, BW_NOMEM, "no memory for %zu bytes", size);
    } else if (read_exactly(b, op, fd, op->out.data, 0, size)) {
        op->out.size = size;
        op->outcome = STORE_OK;
    }
}

static void unmap(store_mapping *mapping)
{
    (void)munmap(mapping->base, mapping->base_bytes);
}

static void map_range(file_backend *b, store_op *op, int fd)
{
    if (!b->is_local) {
        store_op_end(op, STORE_FATAL, BW_UNSUPPORTED,
                     "files are mapped on local file systems only: elsewhere one that vanishes "
                     "would kill this process");
        return;
    }
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t lead = op->offset % page;
    const size_t size = (size_t)(op->length + lead);
    /* Private and writable: trainers change a batch in place (masks), and must change only theirs.
     */
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd,
                      (off_t)(op->offset - lead));
    if (base == MAP_FAILED) {
        file_fail(b, op, errno, "cannot map the object");
        return;
    }
    op->mapping = (store_mapping){.data = (const uint8_t *)base + lead,
                                  .size = (size_t)op->length,
                                  .base = base,
                                  .base_bytes = size,
                                  .release = unmap};
    op->outcome = STORE_OK;
}

static void read_range(file_backend *b, store_op *op, int fd)
{
    if (op->offset + op->length > op->object_bytes)
        store_op_end(op, STORE_FATAL, BW_CORRUPT,
                     "object has %" PRIu64 " bytes; %" PRIu64 " at offset %" PRIu64
                     " were asked for",
                     op->object_bytes, op->length, op->offset);
    else if (op->kind == STORE_MAP)
        map_range(b, op, fd);
    else if (read_exactly(b, op, fd, op->dest, op->offset, op->length))
        op->outcome = STORE_OK;
}

void file_read(file_backend *b, store_op *op)
{
    /* O_NONBLOCK: a planted FIFO must not hang us. O_PATH: a head needs no right to read. */
    const int flags =
        op->kind == STORE_HEAD ? O_PATH | O_NOFOLLOW : O_RDONLY | O_NONBLOCK | O_NOCTTY;
    const int fd = open_object(b, op, flags);
    if (fd < 0)
        return;
    if (op->kind == STORE_HEAD)
        op->outcome = STORE_OK;
    else if (op->kind == STORE_GET)
        read_whole(b, op, fd);
    else
        read_range(b, op, fd);
    close(fd);
}
