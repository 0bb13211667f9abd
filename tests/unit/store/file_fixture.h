// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** A directory and file stores on it. */
#ifndef TEST_FILE_FIXTURE_H
#define TEST_FILE_FIXTURE_H

#include "store/file_store.h"

/** State of a case: a scratch directory, and the system calls as they are. */
int file_set_up(void **state);
int file_tear_down(void **state);

store *open_durable(const char *path);
store *open_fast(const char *path);
store *open_reader(const char *path);
file_backend *backend_of(store *s);

/** `path` below `root` on disk; one static buffer. */
const char *below(const char *root, const char *path);
bool on_disk(const char *root, const char *path);
void write_file(const char *root, const char *path, const char *content);
/** Entries of a directory, without `.` and `..`; -1 when there is none. */
int entries(const char *root, const char *path);

/** Runs a create or put of `content` and leaves its result in `op`. */
store_outcome run_write(store *s, store_op *op, store_op_kind kind, const char *key,
                        const char *content);
store_outcome run_read(store *s, store_op *op, store_op_kind kind, const char *key);

#define FILE_CASE(name) cmocka_unit_test_setup_teardown(name, file_set_up, file_tear_down)

#endif
