// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * Lists keys in byte order. Within a directory the names are sorted with a `/` behind those of
 * directories, which is the order that the keys below them have ("a-b" < "a.b" < "a/x" < "ab"), so
 * a walk in that order needs no sort over directories. Subtrees that lie wholly before `after` or
 * outside the prefix are not entered.
 *
 * A listing is no snapshot; what comes or goes meanwhile may be in it or not.
 */
#include "base/alloc.h"
#include "store/file_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_MAX_DEFAULT 1000u
#define NS_PER_MS_LONG 1000000

typedef struct file_walk {
    store_op *op;
    size_t max;
    char path[STORE_KEY_MAX + 2]; /* of the directory, ending in `/` but for the root's "" */
    size_t path_size;
} file_walk;

/* Names of one directory, `/` at the end of those of directories. */
typedef struct name_list {
    char **names;
    size_t count, capacity;
} name_list;

typedef enum walk_result { WALK_ON, WALK_FULL, WALK_FAILED } walk_result;

/** Whether anything at or below `key` (a name; a directory's ends in `/`) can belong to the answer.
 */
static bool is_wanted(const store_op *op, const char *key, bool is_dir)
{
    if (!is_dir)
        return store_has_prefix(key, op->key) && strcmp(key, op->after) > 0;
    if (!store_has_prefix(key, op->key) && !store_has_prefix(op->key, key))
        return false;
    /* Temporary files are no objects; whoever wants to see them says so. */
    if (strcmp(key, "tmp/") == 0 && !store_has_prefix(op->key, "tmp/"))
        return false;
    return strcmp(key, op->after) > 0 || store_has_prefix(op->after, key);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void names_free(name_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        mem_free(list->names[i]);
    mem_free(list->names);
}

/** true with the type of the entry when it is one that a store can hold. */
static bool entry_type(int dir_fd, const struct dirent *entry, bool *is_dir)
{
    unsigned type = entry->d_type;
    if (type == DT_UNKNOWN) {
        struct stat info;
        if (fstatat(dir_fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
            return false;
        type = IFTODT(info.st_mode);
    }
    *is_dir = type == DT_DIR;
    return type == DT_DIR || type == DT_REG;
}

/** Adds `name` if it is wanted; 0 or -1 when out of memory. */
static int names_add(file_walk *w, name_list *list, const char *name, bool is_dir)
{
    const size_t size = strlen(name);
    const bool self = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
    const bool listed = store_key_is_valid(name) || (w->op->list_any && !self);
    if (!listed || w->path_size + size + (is_dir ? 2 : 0) > STORE_KEY_MAX)
        return 0; /* none of ours */
    memcpy(w->path + w->path_size, name, size);
    memcpy(w->path + w->path_size + size, is_dir ? "/" : "", is_dir ? 2 : 1);
    if (!is_wanted(w->op, w->path, is_dir))
        return 0;
    void *names = list->names;
    char *copy = mem_strdup(w->path + w->path_size);
    if (copy == NULL || mem_grow(&names, &list->capacity, list->count + 1, sizeof(char *)) != 0) {
        mem_free(copy);
        errno = ENOMEM;
        return -1;
    }
    list->names = names;
    list->names[list->count++] = copy;
    return 0;
}

/** Reads and sorts what is wanted of a directory; takes over `fd`. 0 or -1 with errno. */
static int names_read(file_walk *w, int fd, DIR **listing, name_list *list)
{
    *listing = fdopendir(fd);
    if (*listing == NULL) {
        const int number = errno;
        close(fd);
        errno = number;
        return -1;
    }
    const size_t path_size = w->path_size;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(*listing);
        if (entry == NULL)
            break;
        bool is_dir = false;
        if (entry_type(fd, entry, &is_dir) && names_add(w, list, entry->d_name, is_dir) != 0)
            break;
    }
    w->path[path_size] = '\0';
    if (errno != 0)
        return -1;
    if (list->count > 1)
        qsort(list->names, list->count, sizeof *list->names, compare_names);
    return 0;
}

static walk_result emit(file_walk *w, int dir_fd, const char *name)
{
    if (w->op->list.count == w->max) {
        w->op->list.more = true;
        return WALK_FULL;
    }
    struct stat info;
    if (fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? WALK_ON : WALK_FAILED;
    const size_t size = strlen(name);
    memcpy(w->path + w->path_size, name, size + 1);
    const bw_status status =
        store_list_add(&w->op->list, w->path, (uint64_t)info.st_size,
                       (int64_t)info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / NS_PER_MS_LONG);
    w->path[w->path_size] = '\0';
    errno = ENOMEM;
    return status == BW_OK ? WALK_ON : WALK_FAILED;
}

/** Walks the directory behind `fd`, which it takes over. WALK_FAILED leaves errno. */
static walk_result walk(file_walk *w, int fd)
{
    name_list list = {.count = 0};
    DIR *listing = NULL;
    walk_result result = names_read(w, fd, &listing, &list) == 0 ? WALK_ON : WALK_FAILED;
    for (size_t i = 0; result == WALK_ON && i < list.count; i++) {
        const char *name = list.names[i];
        const size_t size = strlen(name);
        if (name[size - 1] != '/') {
            result = emit(w, fd, name);
            continue;
        }
        const int below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0) {
            result = errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? WALK_ON : WALK_FAILED;
            continue;
        }
        memcpy(w->path + w->path_size, name, size + 1);
        w->path_size += size;
        result = walk(w, below);
        w->path_size -= size;
        w->path[w->path_size] = '\0';
    }
    const int number = errno;
    names_free(&list);
    if (listing != NULL)
        closedir(listing);
    errno = number;
    return result;
}

void file_list(file_backend *b, store_op *op)
{
    file_walk w = {.op = op, .max = op->list_max == 0 ? LIST_MAX_DEFAULT : op->list_max};
    const char *slash = strrchr(op->key, '/');
    const size_t start = slash == NULL ? 0 : (size_t)(slash - op->key);
    memcpy(w.path, op->key, start);
    const int fd = file_open_beneath(b, w.path, O_RDONLY | O_DIRECTORY);
    if (fd < 0) {
        if ((errno == ENOENT || errno == ENOTDIR) && !file_root_is_gone(b))
            op->outcome = STORE_OK;
        else
            file_fail(b, op, errno, "cannot open the directory");
        return;
    }
    w.path_size = start;
    if (start > 0)
        w.path[w.path_size++] = '/';
    if (walk(&w, fd) == WALK_FAILED)
        file_fail(b, op, errno, "cannot list the directory");
    else if (file_root_is_gone(b))
        file_fail(b, op, ENOENT, "cannot list the directory");
    else
        op->outcome = STORE_OK;
}
