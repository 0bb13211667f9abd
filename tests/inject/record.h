// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What a power loss can leave of a directory tree. Every change of the file system is recorded in
 * order. At a crash behind change n, a file's data is what its last fdatasync covers, and of what
 * was written since any part in whole or torn; a directory's entries are those of its last fsync,
 * and of each name changed since, any of its later states. Files and names are independent: the
 * order of the changes binds nothing that was not synced.
 */
#ifndef TESTS_INJECT_RECORD_H
#define TESTS_INJECT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct record_log record_log;

/* What the recorder pretends not to see, to prove the sweep. */
typedef enum record_drop { RECORD_ALL, RECORD_NO_DIR_SYNC, RECORD_NO_FILE_SYNC } record_drop;

/** Begins to record changes beneath `root`, an empty directory. One at a time. */
record_log *record_begin(const char *root, record_drop drop);
/** Stops recording. */
void record_stop(void);
void record_free(record_log *log);
/** A mark at this place of the log: what has been acknowledged now. */
void record_mark(record_log *log, uint64_t acknowledged);

size_t record_changes(const record_log *log);
/** What was acknowledged before change `n` (changes 0 … n − 1 have happened). */
uint64_t record_acknowledged(const record_log *log, size_t n);

/** How many choices a crash behind `n` changes has: unsynced pieces of files, unsynced names. */
size_t record_choices(const record_log *log, size_t n);
/**
 * Makes in `to` (which must not exist) the tree that a crash behind `n` changes leaves when choice
 * i falls as pick(context, i, ways) says, in [0, ways). Way 0 is the last state. Returns a hash of
 * the tree, equal for equal trees; when `to` is NULL only the hash.
 */
typedef uint32_t (*record_pick)(void *context, size_t choice, uint32_t ways);
uint64_t record_make(const record_log *log, size_t n, record_pick pick, void *context,
                     const char *to);

#endif
