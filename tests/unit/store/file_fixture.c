// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "file_fixture.h"

#include "syscalls.h"
#include "tests/contract/scratch.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

int file_set_up(void **state)
{
    syscalls_reset();
    *state = scratch_make();
    return 0;
}

int file_tear_down(void **state)
{
    syscalls_reset();
    scratch_remove(*state);
    return 0;
}

static store *open_with(const char *path, bool durable, bool writable)
{
    const store_file_options options = {.durable = durable, .writable = writable};
    store *s = NULL;
    bw_error *error = bw_error_new();
    if (store_file_open(path, &options, &s, error) != BW_OK)
        fail_msg("%s: %s", path, bw_error_message(error));
    bw_error_free(error);
    return s;
}

store *open_durable(const char *path)
{
    return open_with(path, true, true);
}

store *open_fast(const char *path)
{
    return open_with(path, false, true);
}

store *open_reader(const char *path)
{
    return open_with(path, false, false);
}

file_backend *backend_of(store *s)
{
    return ((file_store *)s)->backend;
}

const char *below(const char *root, const char *path)
{
    static char joined[4096];
    (void)snprintf(joined, sizeof joined, "%s/%s", root, path);
    return joined;
}

bool on_disk(const char *root, const char *path)
{
    struct stat info;
    return lstat(below(root, path), &info) == 0;
}

void write_file(const char *root, const char *path, const char *content)
{
    FILE *file = fopen(below(root, path), "w");
    assert_non_null(file);
    assert_int_equal(fputs(content, file) >= 0 ? 0 : -1, 0);
    assert_int_equal(fclose(file), 0);
}

int entries(const char *root, const char *path)
{
    DIR *listing = opendir(below(root, path));
    if (listing == NULL)
        return -1;
    int count = -2;
    while (readdir(listing) != NULL)
        count++;
    closedir(listing);
    return count;
}

store_outcome run_write(store *s, store_op *op, store_op_kind kind, const char *key,
                        const char *content)
{
    char bytes[256];
    const size_t size = strlen(content);
    assert_true(size < sizeof bytes);
    memcpy(bytes, content, size);
    const struct iovec piece = {.iov_base = bytes, .iov_len = size};
    store_op_init(op, kind, key);
    op->pieces = &piece;
    op->piece_count = 1;
    const store_outcome outcome = store_run(s, op);
    op->pieces = NULL;
    op->piece_count = 0;
    return outcome;
}

store_outcome run_read(store *s, store_op *op, store_op_kind kind, const char *key)
{
    store_op_init(op, kind, key);
    buf_init(&op->out, 4096);
    op->length = 1;
    uint8_t byte = 0;
    op->dest = &byte;
    const store_outcome outcome = store_run(s, op);
    op->dest = NULL;
    store_op_clear(op);
    return outcome;
}
