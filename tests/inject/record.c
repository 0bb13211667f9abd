// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "record.h"

#include "wrap.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHANGES_MAX 8192u
#define INODES_MAX 2048u
#define ENTRIES_MAX 512u
#define NAME_MAX_BYTES 160u
#define PATH_BYTES 512u
#define PIECES_MAX 64u

typedef struct change {
    wrap_change what;
    uint32_t dir, file; /* indexes of inodes */
    char name[NAME_MAX_BYTES];
    uint8_t *bytes;
    size_t size;
    uint64_t acknowledged; /* before it */
} change;

struct record_log {
    record_drop drop;
    uint32_t inodes; /* 0 is the root */
    uint64_t numbers[INODES_MAX];
    bool directory[INODES_MAX];
    size_t count;
    change changes[CHANGES_MAX];
    uint64_t acknowledged;
};

static record_log *recording;

static uint32_t find_inode(record_log *log, uint64_t number)
{
    for (uint32_t i = log->inodes; i-- > 0;)
        if (log->numbers[i] == number)
            return i;
    return UINT32_MAX;
}

static uint32_t add_inode(record_log *log, uint64_t number, bool directory)
{
    if (log->inodes == INODES_MAX) {
        fprintf(stderr, "record: too many files\n");
        abort();
    }
    log->numbers[log->inodes] = number;
    log->directory[log->inodes] = directory;
    return log->inodes++;
}

static void append(record_log *log, wrap_change what, uint32_t dir, const char *name, uint32_t file,
                   const void *bytes, size_t size)
{
    if (log->count == CHANGES_MAX) {
        fprintf(stderr, "record: too many changes\n");
        abort();
    }
    change *c = &log->changes[log->count++];
    *c = (change){.what = what, .dir = dir, .file = file, .size = size};
    c->acknowledged = log->acknowledged;
    if (name != NULL)
        (void)snprintf(c->name, sizeof c->name, "%s", name);
    if (size > 0) {
        c->bytes = malloc(size);
        if (c->bytes == NULL)
            abort();
        memcpy(c->bytes, bytes, size);
    }
}

static void on_change(const wrap_event *e)
{
    record_log *log = recording;
    const uint32_t dir = find_inode(log, e->dir);
    uint32_t file = find_inode(log, e->file);
    if ((e->what == WRAP_MADE_FILE || e->what == WRAP_MADE_DIR) && dir != UINT32_MAX)
        file = add_inode(log, e->file, e->what == WRAP_MADE_DIR);
    if (dir == UINT32_MAX && file == UINT32_MAX)
        return; /* elsewhere */
    if (e->what == WRAP_SYNCED) {
        const record_drop mine = log->directory[file] ? RECORD_NO_DIR_SYNC : RECORD_NO_FILE_SYNC;
        if (log->drop == mine)
            return;
    }
    if (e->what == WRAP_RENAMED) { /* not in one piece, unless the file system promises it */
        append(log, WRAP_LINKED, dir, e->name, file, NULL, 0);
        append(log, WRAP_REMOVED, find_inode(log, e->from), e->from_name, UINT32_MAX, NULL, 0);
        return;
    }
    append(log, e->what, dir, e->name, file, e->bytes, e->size);
}

record_log *record_begin(const char *root, record_drop drop)
{
    record_log *log = calloc(1, sizeof *log);
    struct stat info;
    if (log == NULL || stat(root, &info) != 0)
        abort();
    log->drop = drop;
    (void)add_inode(log, info.st_ino, true);
    recording = log;
    wrap_recorder = on_change;
    return log;
}

void record_stop(void)
{
    wrap_recorder = NULL;
}

void record_free(record_log *log)
{
    for (size_t i = 0; i < log->count; i++)
        free(log->changes[i].bytes);
    free(log);
}

void record_mark(record_log *log, uint64_t acknowledged)
{
    log->acknowledged = acknowledged;
}

size_t record_changes(const record_log *log)
{
    return log->count;
}

uint64_t record_acknowledged(const record_log *log, size_t n)
{
    return n < log->count ? log->changes[n].acknowledged : log->acknowledged;
}

/* ---- a crash ---- */

typedef struct entry {
    uint32_t dir;
    char name[NAME_MAX_BYTES];
    uint32_t states[PIECES_MAX]; /* inode or UINT32_MAX; [0] is durable, the last is in the cache */
    uint32_t count;
} entry;

typedef struct crash {
    const record_log *log;
    size_t n;
    record_pick pick;
    void *context;
    size_t choices;
    entry entries[ENTRIES_MAX];
    uint32_t entry_count;
    const char *to; /* NULL: nothing is made */
    uint64_t hash;
} crash;

static uint32_t choose(crash *k, uint32_t ways)
{
    return ways < 2 ? 0 : k->pick(k->context, k->choices++, ways);
}

static entry *find_entry(crash *k, uint32_t dir, const char *name)
{
    for (uint32_t i = 0; i < k->entry_count; i++)
        if (k->entries[i].dir == dir && strcmp(k->entries[i].name, name) == 0)
            return &k->entries[i];
    if (k->entry_count == ENTRIES_MAX) {
        fprintf(stderr, "record: too many names\n");
        abort();
    }
    entry *e = &k->entries[k->entry_count++];
    *e = (entry){.dir = dir, .count = 1, .states = {UINT32_MAX}};
    memcpy(e->name, name, sizeof e->name);
    return e;
}

static void gather_names(crash *k)
{
    for (size_t i = 0; i < k->n; i++) {
        const change *c = &k->log->changes[i];
        if (c->what == WRAP_SYNCED && k->log->directory[c->file]) {
            for (uint32_t j = 0; j < k->entry_count; j++) {
                entry *e = &k->entries[j];
                if (e->dir != c->file)
                    continue;
                e->states[0] = e->states[e->count - 1];
                e->count = 1;
            }
        } else if (c->what == WRAP_MADE_FILE || c->what == WRAP_MADE_DIR ||
                   c->what == WRAP_LINKED || c->what == WRAP_REMOVED) {
            entry *e = find_entry(k, c->dir, c->name);
            if (e->count == PIECES_MAX)
                abort();
            e->states[e->count++] = c->what == WRAP_REMOVED ? UINT32_MAX : c->file;
        }
    }
}

static void mix(crash *k, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++)
        k->hash = (k->hash ^ at[i]) * UINT64_C(0x100000001b3);
}

/** A file's bytes: synced pieces, and of each later one all, none (zeros, or nothing at the end) or
 * its first half. */
static void make_file(crash *k, uint32_t inode, const char *path)
{
    const change *pieces[PIECES_MAX];
    uint32_t count = 0, synced = 0;
    for (size_t i = 0; i < k->n; i++) {
        const change *c = &k->log->changes[i];
        if (c->file != inode)
            continue;
        if (c->what == WRAP_WROTE && count < PIECES_MAX)
            pieces[count++] = c;
        if (c->what == WRAP_SYNCED)
            synced = count;
    }
    uint8_t *bytes = NULL;
    size_t size = 0, whole = 0;
    for (uint32_t i = 0; i < count; i++)
        whole += pieces[i]->size;
    bytes = calloc(1, whole + 1);
    if (bytes == NULL)
        abort();
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t way = i < synced ? 0 : choose(k, 4);
        const size_t kept = way == 0 ? pieces[i]->size : way == 1 ? 0 : pieces[i]->size / 2;
        memcpy(bytes + at, pieces[i]->bytes, kept);
        at += pieces[i]->size;
        /* The size may have been written, and the bytes not: zeros. */
        size = way == 0 || way == 3 ? at : kept > 0 ? at - pieces[i]->size + kept : size;
    }
    mix(k, &size, sizeof size);
    mix(k, bytes, size);
    if (k->to != NULL) {
        const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        const bool written = fd >= 0 && write(fd, bytes, size) == (ssize_t)size;
        if (fd < 0 || close(fd) != 0 || !written) {
            fprintf(stderr, "record: cannot write %s\n", path);
            abort();
        }
    }
    free(bytes);
}

static void make_dir(crash *k, uint32_t inode, const char *path)
{
    if (k->to != NULL && mkdir(path, 0700) != 0) {
        fprintf(stderr, "record: cannot make %s\n", path);
        abort();
    }
    for (uint32_t i = 0; i < k->entry_count; i++) {
        const entry *e = &k->entries[i];
        if (e->dir != inode)
            continue;
        const uint32_t state = e->states[e->count - 1 - choose(k, e->count)];
        if (state == UINT32_MAX)
            continue;
        char below[PATH_BYTES];
        (void)snprintf(below, sizeof below, "%s/%s", path, e->name);
        mix(k, below + strlen(path), strlen(below) - strlen(path));
        if (k->log->directory[state])
            make_dir(k, state, below);
        else
            make_file(k, state, below);
    }
}

uint64_t record_make(const record_log *log, size_t n, record_pick pick, void *context,
                     const char *to)
{
    crash *k = calloc(1, sizeof *k);
    if (k == NULL)
        abort();
    *k = (crash){.log = log,
                 .n = n,
                 .pick = pick,
                 .context = context,
                 .to = to,
                 .hash = UINT64_C(0xcbf29ce484222325)};
    gather_names(k);
    make_dir(k, 0, to == NULL ? "" : to);
    const uint64_t hash = k->hash;
    free(k);
    return hash;
}

static uint32_t pick_last(void *context, size_t choice, uint32_t ways)
{
    (void)ways;
    *(size_t *)context = choice + 1;
    return 0;
}

size_t record_choices(const record_log *log, size_t n)
{
    size_t count = 0;
    (void)record_make(log, n, pick_last, &count, NULL);
    return count;
}
