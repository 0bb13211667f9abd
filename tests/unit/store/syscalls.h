// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The system calls of the file store, through --wrap: they can be made to fail, and are written
 * down. Any thread may set them up and call them; the log is read when none calls.
 */
#ifndef TEST_SYSCALLS_H
#define TEST_SYSCALLS_H

/** No faults, empty log. */
void syscalls_reset(void);
/** The n-th call of `name` from here (1 = the next) fails with `number`; n = 0: every one. */
void syscalls_fail(const char *name, int n, int number);
/** writev takes at most this many bytes (0 = all), pread gives at most as many. */
void syscalls_limit(unsigned bytes);
/** fstatfs says this type (0 = the truth). */
void syscalls_file_system(long magic);
/** readdir knows no types. */
void syscalls_hide_types(void);
/** Writing calls so far, as "call:last segment of the file or directory ". */
const char *syscalls_log(void);

/** Runs `run` as nobody in a child; fails the test unless it returns 0. `path` is given to nobody
 * before. */
void as_nobody(const char *path, int (*run)(void *), void *context);

#endif
