// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** An input file in memory, for readers that open paths. */
#ifndef TESTS_FUZZ_MEMFILE_H
#define TESTS_FUZZ_MEMFILE_H

#include "fuzz.h"
#include "input/record.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/** One file for the life of the program; its path opens it anew. */
static inline void memfile_set(view bytes, char path[64])
{
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("input", MFD_CLOEXEC);
    PROMISE(fd >= 0 && ftruncate(fd, (off_t)bytes.size) == 0);
    PROMISE(bytes.size == 0 || pwrite(fd, bytes.data, bytes.size, 0) == (ssize_t)bytes.size);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
}

/** A file that begins as compressed ones do is told as such, and not passed over. */
static inline bool looks_compressed(view b)
{
    return (b.size >= 2 && memcmp(b.data, "\x1f\x8b", 2) == 0) ||
           (b.size >= 4 && memcmp(b.data, "\x28\xb5\x2f\xfd", 4) == 0) ||
           (b.size >= 5 && memcmp(b.data + 1, "7zXZ", 4) == 0) ||
           (b.size >= 10 && memcmp(b.data + 4, "1AY&SY", 6) == 0);
}

static inline bool record_equal(const record *a, const record *b)
{
    return strcmp(a->id, b->id) == 0 && a->field_count == b->field_count &&
           a->data.size == b->data.size && memcmp(a->data.data, b->data.data, a->data.size) == 0;
}

/** From the place before each record comes that record, and the place behind it is the same. */
static inline void check_place(reader *r, record_place from, const record *wanted,
                               record_place behind, size_t bytes_max)
{
    record again;
    record_init(&again, bytes_max);
    PROMISE(r->seek(r, from, NULL) == BW_OK);
    bw_status status;
    while ((status = r->next(r, &again, NULL)) == BW_INPUT_BAD) {
        record_free(&again);
        record_init(&again, bytes_max);
    }
    PROMISE(status == BW_OK && record_equal(&again, wanted));
    const record_place now = r->place(r);
    PROMISE(now.file == behind.file && now.at == behind.at && now.index == behind.index);
    record_free(&again);
}

#endif
