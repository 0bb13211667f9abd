// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Stands between the product and the machine: every allocation, thread and system call of the
 * layers (linked statically with -Wl,--wrap) comes through here, where the n-th may be made to
 * fail, where what lives is counted, and where changes of the file system are told to a recorder.
 *
 * Time runs WRAP_SPEED times faster, so that back-offs and time limits cost little.
 */
#ifndef TESTS_INJECT_WRAP_H
#define TESTS_INJECT_WRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WRAP_SPEED 200

#define WRAP_MAP(X)                                                                                \
    X(malloc, MEMORY)                                                                              \
    X(calloc, MEMORY)                                                                              \
    X(realloc, MEMORY)                                                                             \
    X(posix_memalign, MEMORY)                                                                      \
    X(libcrypto, MEMORY)                                                                           \
    X(pthread_create, SYSTEM)                                                                      \
    X(pthread_mutex_init, SYSTEM)                                                                  \
    X(pthread_cond_init, SYSTEM)                                                                   \
    X(getrandom, SYSTEM)                                                                           \
    X(eventfd, SYSTEM)                                                                             \
    X(read, SYSTEM)                                                                                \
    X(write, SYSTEM)                                                                               \
    X(mmap, SYSTEM)                                                                                \
    X(open, SYSTEM)                                                                                \
    X(openat, SYSTEM)                                                                              \
    X(openat2, SYSTEM)                                                                             \
    X(access, SYSTEM)                                                                              \
    X(faccessat, SYSTEM)                                                                           \
    X(fstat, SYSTEM)                                                                               \
    X(fstatat, SYSTEM)                                                                             \
    X(fstatfs, SYSTEM)                                                                             \
    X(flock, SYSTEM)                                                                               \
    X(fdopendir, SYSTEM)                                                                           \
    X(readdir, SYSTEM)                                                                             \
    X(pread, SYSTEM)                                                                               \
    X(writev, SYSTEM)                                                                              \
    X(fdatasync, SYSTEM)                                                                           \
    X(fsync, SYSTEM)                                                                               \
    X(mkdir, SYSTEM)                                                                               \
    X(mkdirat, SYSTEM)                                                                             \
    X(linkat, SYSTEM)                                                                              \
    X(renameat, SYSTEM)                                                                            \
    X(renameat2, SYSTEM)                                                                           \
    X(unlinkat, SYSTEM)

typedef enum wrap_call {
#define WRAP_ENUM(name, kind) WRAP_##name,
    WRAP_MAP(WRAP_ENUM)
#undef WRAP_ENUM
        WRAP_CALLS
} wrap_call;

typedef enum wrap_kind { WRAP_MEMORY, WRAP_SYSTEM } wrap_kind;

/* How a system call fails. An allocation knows only WRAP_ERROR. */
typedef enum wrap_way {
    WRAP_ERROR,   /* with the first of the errors that this call may give */
    WRAP_ERROR_2, /* with another one */
    WRAP_ERROR_3,
    WRAP_LATE,  /* done, but the answer is an error: "may have landed" */
    WRAP_SHORT, /* reads and writes of objects move one byte; other calls fail */
    WRAP_WAYS
} wrap_way;

typedef struct wrap_plan {
    wrap_kind kind;
    wrap_way way;
    bool for_ever; /* every call from the n-th on, else the n-th only */
    uint32_t n;    /* from 1; calls of the kind, over all threads, since wrap_arm */
} wrap_plan;

/** Gives jansson and libcrypto the counted allocator, and lets libcrypto make what it keeps. Call
 * first. */
void wrap_begin(void);
void wrap_arm(const wrap_plan *plan);
/** Returns how many calls failed; `*first` is the first that did. */
uint32_t wrap_disarm(wrap_call *first);
/** Calls of the plan's kind since wrap_arm. */
uint32_t wrap_count(void);
const char *wrap_name(wrap_call call);

/** What the layers hold at this moment. */
typedef struct wrap_live {
    int64_t allocations, mappings, files, threads;
} wrap_live;
void wrap_live_now(wrap_live *live);

/* ---- for the recorder of the power-loss sweep ---- */

typedef enum wrap_change {
    WRAP_MADE_FILE, /* dir, name, file */
    WRAP_MADE_DIR,  /* dir, name, file */
    WRAP_WROTE,     /* file, bytes, size: appended */
    WRAP_SYNCED,    /* file: data or entries, by what it is */
    WRAP_LINKED,    /* dir, name, file */
    WRAP_RENAMED,   /* from, from_name, dir, name, file */
    WRAP_REMOVED    /* dir, name */
} wrap_change;

typedef struct wrap_event {
    wrap_change what;
    uint64_t dir, file, from; /* inode numbers */
    const char *name, *from_name;
    const void *bytes;
    size_t size;
} wrap_event;

/** Called under one lock around the change itself, so in the order of the changes. NULL: nobody. */
extern void (*wrap_recorder)(const wrap_event *event);

#endif
