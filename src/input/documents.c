// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/documents.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/utf8.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES_MAX 32768u
/** Deeper than any path that the kernel resolves. */
#define DEPTH_MAX 512u

/** A directory that is being listed, for the detection of loops. */
typedef struct ancestor {
    const struct ancestor *parent;
    dev_t device;
    ino_t inode;
    uint32_t depth;
} ancestor;

typedef struct lister {
    documents *out;
    bw_error *error;
    size_t name_at; /* where a document's name starts within its path; 0: the path is the name */
} lister;

static bw_status bad(bw_error *error, const char *path, const char *what)
{
    error_set(error, BW_INPUT_BAD, "input %s: %s", path, what);
    error_set_key(error, path);
    return BW_INPUT_BAD;
}

static bw_status bad_errno(bw_error *error, const char *path, const char *what, int number)
{
    char text[128];
    error_set(error, BW_INPUT_BAD, "input %s: %s: %s", path, what,
              strerror_r(number, text, sizeof text));
    error_set_key(error, path);
    return BW_INPUT_BAD;
}

static bw_status add_document(lister *l, const char *path, const char *name, uint64_t size)
{
    if (!utf8_is_valid(name, strlen(name)))
        return bad(l->error, path, "the name is not UTF-8; rename it");
    if (l->out->count >= DOCUMENTS_MAX)
        return error_set(l->error, BW_TOO_LARGE, "more than %u input files", DOCUMENTS_MAX);
    void *list = l->out->list;
    if (mem_grow(&list, &l->out->capacity, l->out->count + 1, sizeof(document)) != 0)
        return error_set(l->error, BW_NOMEM, "no memory for the list of input files");
    l->out->list = list;
    document *added = &l->out->list[l->out->count];
    added->path = mem_strdup(path);
    added->name = mem_strdup(name);
    added->size = size;
    l->out->count++; /* before the check, so that documents_free releases either string */
    if (added->path == NULL || added->name == NULL)
        return error_set(l->error, BW_NOMEM, "no memory for the list of input files");
    return BW_OK;
}

static bw_status add_path(lister *l, const char *path, const ancestor *parent);

static bw_status add_entries(lister *l, const char *path, DIR *folder, const ancestor *self)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (entry == NULL)
            return errno == 0 ? BW_OK : bad_errno(l->error, path, "cannot be listed", errno);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        buf child;
        buf_init(&child, PATH_BYTES_MAX);
        buf_put_text(&child, path);
        if (child.size == 0 || child.data[child.size - 1] != '/')
            buf_put_u8(&child, '/');
        buf_put_text(&child, entry->d_name);
        buf_put_u8(&child, 0);
        bw_status status = buf_status(&child);
        if (status == BW_OK)
            status = add_path(l, (const char *)child.data, self);
        else
            bad(l->error, path, "a path beneath it is too long");
        buf_free(&child);
        if (status != BW_OK)
            return status == BW_TOO_LARGE ? BW_INPUT_BAD : status;
    }
}

static bw_status add_folder(lister *l, const char *path, const struct stat *seen,
                            const ancestor *parent)
{
    const ancestor self = {.parent = parent,
                           .device = seen->st_dev,
                           .inode = seen->st_ino,
                           .depth = parent == NULL ? 0 : parent->depth + 1};
    if (self.depth > DEPTH_MAX)
        return bad(l->error, path, "directories are nested too deeply");
    for (const ancestor *a = parent; a != NULL; a = a->parent)
        if (a->device == self.device && a->inode == self.inode)
            return bad(l->error, path, "a link makes the directory contain itself");
    DIR *folder = opendir(path);
    if (folder == NULL)
        return bad_errno(l->error, path, "cannot be listed", errno);
    const bw_status status = add_entries(l, path, folder, &self);
    closedir(folder);
    return status;
}

/** Why `path` is not there. A listing shows a link to nothing as if it were, so that is said. */
static bw_status bad_stat(bw_error *error, const char *path, int number)
{
    char target[256], what[sizeof target + 32];
    const ssize_t size = number == ENOENT ? readlink(path, target, sizeof target) : -1;
    if (size < 0)
        return bad_errno(error, path, "cannot be read", number);
    snprintf(what, sizeof what, "a link to nothing (%.*s)", (int)size, target);
    return bad(error, path, what);
}

static bw_status add_path(lister *l, const char *path, const ancestor *parent)
{
    struct stat seen;
    if (stat(path, &seen) != 0)
        return bad_stat(l->error, path, errno);
    if (S_ISDIR(seen.st_mode))
        return add_folder(l, path, &seen, parent);
    if (!S_ISREG(seen.st_mode))
        return bad(l->error, path, "neither a regular file nor a directory");
    const char *name = path + l->name_at;
    while (l->name_at > 0 && *name == '/')
        name++;
    return add_document(l, path, name, (uint64_t)seen.st_size);
}

/**
 * Where names start in the paths beneath `input`: behind it, or at its last segment when it is a
 * file itself.
 */
static size_t name_start(const char *input)
{
    struct stat seen;
    if (stat(input, &seen) == 0 && S_ISDIR(seen.st_mode))
        return strlen(input);
    const char *slash = strrchr(input, '/');
    return slash == NULL ? 0 : (size_t)(slash - input) + 1;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const document *)a)->name, ((const document *)b)->name);
}

bw_status documents_list(const char *const *inputs, size_t count, documents *out, bw_error *error)
{
    *out = (documents){0};
    lister l = {.out = out, .error = error};
    for (size_t i = 0; i < count; i++) {
        l.name_at = count == 1 ? name_start(inputs[i]) : 0;
        BW_TRY(add_path(&l, inputs[i], NULL));
    }
    /* More likely a wrong path than a corpus of nothing. */
    if (out->count == 0)
        return bad(error, count > 0 ? inputs[0] : "", "there is no file beneath it");
    if (out->count > 1)
        qsort(out->list, out->count, sizeof(document), by_name);
    for (size_t i = 1; i < out->count; i++)
        if (strcmp(out->list[i - 1].name, out->list[i].name) == 0)
            return error_set(error, BW_INVALID, "input file %s is given twice", out->list[i].path);
    return BW_OK;
}

void documents_free(documents *docs)
{
    for (size_t i = 0; i < docs->count; i++) {
        mem_free(docs->list[i].path);
        mem_free(docs->list[i].name);
    }
    mem_free(docs->list);
    *docs = (documents){0};
}

double documents_bytes(const documents *docs, size_t count, uint32_t shard, uint32_t shards)
{
    double bytes = 0;
    for (size_t k = shard; k < count && k < docs->count; k += shards)
        bytes += (double)docs->list[k].size;
    return bytes;
}
